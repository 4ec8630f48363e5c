//! The gateway: an MCP server that gives an agent the tools of all upstream servers.
//!
//! `tools/list` has few tools: `find_tools`, `describe_tool`, `call_tool` and `read_more`, and
//! those that the profile pins. With [`Expose::Selected`], the best tools for the profile's query
//! replace the first three. Each tool that is found can be called, through `call_tool` or under its
//! own id.
//!
//! The definitions do not change while the gateway runs, so that prompts stay in a model's cache.
//! They contain a hint on what can be found, as known at the start, which `hint.rs` makes.

mod answer;
mod arguments;
mod call;
mod definition;
mod elicitation;
mod find_tools;
mod hint;
mod http;
mod listing;
mod malformed;
mod meta;
mod notifications;
mod prompts;
mod resources;
mod sessions;
mod stdio;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, GetPromptRequestParams, GetPromptResponse, Implementation,
    InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, ServerHandler, ServiceExt as _};
use toolroute_session::Session;

use super::{Error, Service};

pub use hint::catalog_hint;
pub(crate) use http::mcp_router;
pub use http::{CurrentService, McpHttpOptions, gateway_router, serve_mcp};
pub use listing::SELECTED;

/// How long a shutdown waits for the client to read the last answers.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Which tools are in `tools/list`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Expose {
    /// `find_tools`, `describe_tool`, `call_tool` and `read_more`, which give access to all others.
    #[default]
    Search,
    /// The best tools for the profile's query.
    Selected,
}

/// Options of a gateway.
#[derive(Clone, Debug, Default)]
pub struct GatewayOptions {
    /// Which tools clients list.
    pub expose: Expose,
    /// The profile of the clients; `None` is the default profile.
    pub profile: Option<String>,
    /// The hint in the description of `find_tools`, by profile; the empty name is the default
    /// profile. A missing hint is made from the catalog when the gateway is created.
    pub hints: BTreeMap<String, String>,
}

/// The MCP server of one client. Each client has its own, which is cheap to make.
#[derive(Clone)]
pub struct Gateway {
    shared: Arc<GatewayState>,
    /// The client's conversation: the tools that were offered to it, and its calls.
    session: Arc<Session>,
    /// The URIs of the resources that the client subscribed to.
    subscriptions: Arc<Mutex<BTreeSet<String>>>,
    client_lists: Arc<Mutex<listing::ClientLists>>,
    /// Receivers of notices. They are opened when the client initializes or asks to listen, and
    /// kept until a task takes them.
    receivers: Arc<Mutex<VecDeque<notifications::NoticeReceiver>>>,
}

/// The state that all clients of a profile share.
struct GatewayState {
    service: Arc<Service>,
    expose: Expose,
    profile: Option<String>,
    /// `find_tools` with its hint, `describe_tool` and `call_tool`.
    meta: Vec<rmcp::model::Tool>,
    /// The version of the catalog, and the number of characters of all its definitions.
    baseline: Mutex<Option<(u64, usize)>>,
    /// The version of the catalog, and the tools of `tools/list`.
    listed: Mutex<Option<(u64, listing::ToolList)>>,
}

impl Gateway {
    /// A gateway for clients of one profile.
    ///
    /// # Errors
    /// [`Error::UnknownProfile`].
    pub fn new(service: Arc<Service>, options: &GatewayOptions) -> Result<Self, Error> {
        let profile = options.profile.clone();
        service.profile(profile.as_deref())?;
        let known = options.hints.get(profile.as_deref().unwrap_or_default());
        let hint = match known {
            Some(hint) => hint.clone(),
            None => catalog_hint(&service, profile.as_deref())?,
        };
        let shared = GatewayState {
            expose: options.expose,
            meta: meta::definitions(&hint),
            service,
            profile,
            baseline: Mutex::default(),
            listed: Mutex::default(),
        };
        Ok(Self::of(Arc::new(shared)))
    }

    fn of(shared: Arc<GatewayState>) -> Self {
        let (subscriptions, client_lists, receivers) = Default::default();
        let session = shared.service.sessions().limited(Session::of_connection());
        Self { shared, session, subscriptions, client_lists, receivers }
    }

    /// Serves one client over stdin and stdout until it closes them or `end` completes.
    ///
    /// # Errors
    /// [`Error::NoSession`] if the client does not initialize a session.
    pub async fn serve_stdio(self, end: impl Future<Output = ()>) -> Result<(), Error> {
        let (input, output) = rmcp::transport::io::stdio_pipes();
        let (input, faults) = stdio::Checked::new(input);
        let transport = AsyncRwTransport::new(input, output);
        let serving = self.serve(stdio::Advising::new(transport, faults));
        tokio::pin!(end);
        let running = tokio::select! {
            begun = serving => match begun {
                Ok(running) => running,
                // A client may close stdin before its first message. That is not an error.
                Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
                Err(error) => return Err(Error::NoSession { because: error.to_string() }),
            },
            () = &mut end => return Ok(()),
        };
        let stop = running.cancellation_token();
        let gone = running.waiting();
        tokio::pin!(gone);
        tokio::select! {
            _ = &mut gone => {}
            () = &mut end => {
                stop.cancel();
                // Pending answers are written, but the program does not wait for a client that does
                // not read.
                tokio::time::timeout(LAST_WORDS, gone).await.ok();
            }
        }
        Ok(())
    }

    fn client_lists(&self) -> MutexGuard<'_, listing::ClientLists> {
        self.client_lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn subscriptions(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerHandler for Gateway {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_completions()
            .build();
        let implementation = Implementation::new("toolroute", env!("CARGO_PKG_VERSION"));
        let instructions = match self.shared.expose {
            Expose::Search => meta::INSTRUCTIONS,
            Expose::Selected => meta::INSTRUCTIONS_SELECTED,
        };
        ServerConfig::new(capabilities)
            .with_server_info(implementation)
            .with_instructions(instructions)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        // Opened here, because `on_initialized` may run after the client's next request.
        self.open_receiver();
        self.negotiate_initialize(&request)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.notify_peer(context.peer);
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // Opened before the client gets the answer, because the client may cause a change right
        // after it.
        self.open_receiver();
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.notify_subscriber(&context).await;
        Ok(())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.tools_are_known().await;
        let listed = self.listed().await.map_err(|error| internal(&error))?;
        self.client_lists().received(&listed);
        Ok(ListToolsResult::with_all_items(listed.tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(self.answer(request, context).await?.into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(malformed::refusal(&request))
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(self.prompts().await?))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(self.prompt(request, &self.user(&context)).await?.into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(self.resources().await?))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(self.resource_templates().await?))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(self.resource(&request.uri, &self.user(&context)).await?.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.completion(request).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // Inserted before the server is asked, because its first notification may come before its
        // answer.
        let is_new = self.subscriptions().insert(request.uri.clone());
        let subscribed = self.subscribe_to(&request.uri).await;
        if subscribed.is_ok() {
            // Inserted again, because a concurrent request that failed may have removed it.
            self.subscriptions().insert(request.uri);
        } else if is_new {
            self.subscriptions().remove(&request.uri);
        }
        subscribed
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // Upstream is not unsubscribed, because other clients may still be subscribed.
        self.subscriptions().remove(&request.uri);
        Ok(())
    }
}

/// An error that is not the client's fault.
fn internal(error: &Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
