//! The gateway: an MCP server through which an agent reaches all others.
//!
//! Agents see few tools: `find_tools`, `describe_tool` and `call_tool`, and those that their profile
//! pins; or, instead of the three, the tools that are best for what their profile is about. What is
//! found can be called, by `call_tool` and under its own id. The definitions do not change while the
//! gateway runs, so that the prompts around them stay in a model's cache; `hint.rs` puts into them
//! what there is to find, as it was known when the gateway started.

mod answer;
mod arguments;
mod call;
mod definition;
mod find_tools;
mod hint;
mod http;
mod listing;
mod meta;
mod notifications;
mod prompts;
mod resources;
mod sessions;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
    GetPromptRequestParams, GetPromptResponse, Implementation, InitializeRequestParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler, ServiceExt as _};
use toolroute_rank::engine::Session;

use super::{Error, Service};

pub use hint::catalog_hint;
pub use http::{CurrentService, McpHttpOptions, mcp_router, serve_mcp};
pub use listing::SELECTED;

/// How long a client is given to read the last answers.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Which tools an agent sees in `tools/list`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expose {
    /// `find_tools`, `describe_tool` and `call_tool`, by which all others are reached.
    #[default]
    Search,
    /// The tools that are best for the profile's query.
    Selected,
}

/// How a gateway behaves.
#[derive(Clone, Debug, Default)]
pub struct GatewayOptions {
    pub expose: Expose,
    /// The profile of clients that name none.
    pub profile: Option<String>,
    /// By profile (the empty name is none), what the description of `find_tools` says there is to
    /// find. What is missing is made of the catalog as it is when a gateway is made.
    pub hints: BTreeMap<String, String>,
}

/// What one client speaks to. Cheap to make: a client each gets its own.
#[derive(Clone)]
pub struct Gateway {
    shared: Arc<Shared>,
    /// What the client was offered, and what it called.
    session: Arc<Session>,
    /// Resources whose changes the client wants to hear of.
    wanted: Arc<Mutex<BTreeSet<String>>>,
    /// The tools that the client was listed last.
    seen: Arc<Mutex<Option<listing::ToolList>>>,
    /// What happened since the client shook hands or asked to listen, until somebody tells it.
    unheard: Arc<Mutex<VecDeque<notifications::NoticeReceiver>>>,
}

/// What all clients of a profile have in common.
struct Shared {
    service: Arc<Service>,
    expose: Expose,
    profile: Option<String>,
    /// `find_tools` with its hint, `describe_tool` and `call_tool`.
    meta: Vec<rmcp::model::Tool>,
    /// Characters of all definitions, of one version of the catalog.
    baseline: Mutex<Option<(u64, usize)>>,
    /// The tools that are listed by themselves, of one version of the catalog.
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
        let shared = Shared {
            expose: options.expose,
            meta: meta::definitions(&hint),
            service,
            profile,
            baseline: Mutex::default(),
            listed: Mutex::default(),
        };
        Ok(Self::of(Arc::new(shared)))
    }

    /// The same gateway for another client.
    fn for_another(&self) -> Self {
        Self::of(Arc::clone(&self.shared))
    }

    fn of(shared: Arc<Shared>) -> Self {
        let (wanted, seen, unheard) = Default::default();
        let session = shared.service.sessions().of_connection();
        Self { shared, session, wanted, seen, unheard }
    }

    /// Serves one client over stdin and stdout until it closes them, or `end` comes.
    ///
    /// # Errors
    /// Where the client says nothing that begins a session.
    pub async fn serve_stdio(self, end: impl Future<Output = ()>) -> Result<(), Error> {
        let serving = self.serve(rmcp::transport::io::stdio_pipes());
        tokio::pin!(end);
        let running = tokio::select! {
            begun = serving => match begun {
                Ok(running) => running,
                // Who closes stdin before a word has changed its mind; that is no error.
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
                // What is still to be written is; a client that reads nothing is not waited for.
                tokio::time::timeout(LAST_WORDS, gone).await.ok();
            }
        }
        Ok(())
    }

    fn wanted(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
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
        let us = Implementation::new("toolroute", env!("CARGO_PKG_VERSION"));
        let instructions = match self.shared.expose {
            Expose::Search => meta::INSTRUCTIONS,
            Expose::Selected => meta::INSTRUCTIONS_SELECTED,
        };
        ServerConfig::new(capabilities).with_server_info(us).with_instructions(instructions)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        // Not only when it says that it is ready: that may be read after what it asks next.
        self.keep_notices();
        self.negotiate_initialize(&request)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.tell_peer(context.peer);
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // Before the client is told that it is listened for: it may cause a change at once.
        self.keep_notices();
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.tell_subscriber(&context).await;
        Ok(())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.tools_are_known().await;
        let listed = self.listed().await.map_err(|error| internal(&error))?;
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(listed.clone());
        Ok(ListToolsResult::with_all_items(listed.tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(self.answer(request, context).await?.into())
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
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(self.prompt(request).await?.into())
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
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(self.resource(&request.uri).await?.into())
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
        // Before it is asked for: the first change may be told before the answer is.
        let is_new = self.wanted().insert(request.uri.clone());
        let subscribed = self.subscribe_to(&request.uri).await;
        if subscribed.is_ok() {
            // Again: another request for it may have been refused in between.
            self.wanted().insert(request.uri);
        } else if is_new {
            self.wanted().remove(&request.uri);
        }
        subscribed
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // Other clients may go on to want it, so its server is not told.
        self.wanted().remove(&request.uri);
        Ok(())
    }
}

/// What went wrong that is not the caller's doing.
fn internal(error: &Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
