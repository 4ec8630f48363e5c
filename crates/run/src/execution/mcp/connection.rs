//! A connection to an MCP server, over the pipes of a process or over HTTP.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::ClientHandler;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ClientCapabilities, ClientConfig, ClientRequest, CustomRequest, CustomResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ErrorCode, ErrorData, Implementation,
    ListToolsRequest, PaginatedRequestParams, PingRequest, ProtocolVersion, RequestId,
    RequestMetaObject, ServerResult, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, InboundStreamOrigin, Peer,
    PeerRequestOptions, RequestContext, RoleClient, RunningService, ServiceError,
};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use serde_json::{Map, Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStderr;
use tokio::sync::watch;

use super::super::client;
use super::super::elicitation::User;
use super::super::invoker::{Call, Fault, FaultKind, Output};
use super::super::servers::{Program, Remote};
use super::super::spawn::ProcessOptions;
use super::intake::{Intake, Routes, ServerHandle, Watcher};
use super::pipes::Pipes;
use super::progress::Listeners;
use super::questions::{self, Questions};
use super::translate;

/// The most pages of a list, because a server may return a next page forever.
const MOST_PAGES: usize = 200;
const MOST_TOOLS: usize = 20_000;
/// The most bytes of all pages of a list.
const MOST_LISTED: usize = 64 << 20;

/// The name of the idempotency key in `_meta`.
const KEY: &str = "toolroute/idempotencyKey";

/// The last bytes of a server's stderr that are kept for the log when the server fails.
const STDERR_TAIL_BYTES: usize = 2_000;

/// The last output of a server on stderr.
type StderrTail = Arc<Mutex<Vec<u8>>>;

pub(super) struct Connection {
    peer: Peer<RoleClient>,
    service: Mutex<Option<RunningService<RoleClient, Handler>>>,
    progress: Listeners,
    questions: Questions,
    stderr_tail: StderrTail,
    server_handle: Arc<ServerHandle>,
    /// The number of calls that wait for their answers.
    pub running: watch::Sender<usize>,
}

/// The capabilities of a client that servers are told of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Announced {
    #[default]
    Nothing,
    /// That a user can be asked. A question during a call is put to the call's [`User`], any other
    /// is answered with `cancel`.
    Elicitation,
    /// Sampling, elicitation and roots. Their requests are refused, cancelled or answered with an
    /// empty list. This is only for finding out which tools a server lists to such clients, not for
    /// calls.
    Everything,
}

/// Handles requests of the server: pings are answered, the list of roots is empty, questions are put
/// to the user, and all other requests are refused. Notifications are handled earlier.
#[derive(Clone)]
pub(super) struct Handler {
    pub announced: Announced,
    pub questions: Questions,
}

impl Handler {
    async fn answer(&self, sent: Value, context: &RequestContext<RoleClient>) -> Value {
        let origin = context.extensions.get::<InboundStreamOrigin>();
        self.questions.answer(&context.id, origin, sent).await
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("toolroute", env!("CARGO_PKG_VERSION"));
        let offers = match self.announced {
            Announced::Nothing => json!({}),
            Announced::Elicitation => json!({"elicitation": {"form": {}, "url": {}}}),
            Announced::Everything => {
                json!({"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}})
            }
        };
        let offers: ClientCapabilities =
            serde_json::from_value(offers).expect("these are MCP's own words. This is a bug.");
        ClientConfig::new(offers, us)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let sent = serde_json::to_value(request).unwrap_or_default();
        let answered = serde_json::from_value(self.answer(sent, &context).await);
        Ok(answered.unwrap_or_else(|_| ElicitResult::new(ElicitationAction::Cancel)))
    }

    /// Answers questions that rmcp cannot read.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != questions::METHOD {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None));
        }
        let sent = request.params.unwrap_or_default();
        Ok(CustomResult::new(self.answer(sent, &context).await))
    }
}

impl Connection {
    /// Starts the program and does the handshake.
    pub async fn stdio(
        program: &Program,
        options: &ProcessOptions,
        handler: Handler,
        watcher: Watcher,
    ) -> Result<Self, ConnectFault> {
        let stderr_tail = StderrTail::default();
        let open = || {
            let (pipes, stderr, lease) = Pipes::open(program, options)
                .map_err(|error| format!("cannot start `{}`: {error}", program.command))?;
            collect_stderr(stderr, &stderr_tail);
            Ok((pipes, ServerHandle::of(lease)))
        };
        Self::connect(open, Arc::clone(&stderr_tail), handler, watcher).await
    }

    pub async fn http(
        remote: &Remote,
        handler: Handler,
        watcher: Watcher,
    ) -> Result<Self, ConnectFault> {
        let open = || {
            let client = client::for_remote(remote).map_err(|error| error.to_string())?;
            let config = StreamableHttpClientTransportConfig::with_uri(remote.url.as_str());
            let transport = StreamableHttpClientTransport::with_client(client, config);
            Ok((transport, ServerHandle::default()))
        };
        Self::connect(open, StderrTail::default(), handler, watcher).await
    }

    /// Does the handshake over a transport, or the next handshake over a new one.
    async fn connect<T: Transport<RoleClient> + 'static>(
        open: impl Fn() -> Result<(T, ServerHandle), String>,
        stderr_tail: StderrTail,
        handler: Handler,
        watcher: Watcher,
    ) -> Result<Self, ConnectFault> {
        let progress = Listeners::default();
        let mut mode = ClientLifecycleMode::Initialize;
        loop {
            let (transport, server_handle) = open()?;
            let server_handle = Arc::new(server_handle);
            let handle = Arc::clone(&server_handle);
            let questions = handler.questions.clone();
            let routes = Routes { listeners: progress.clone(), questions };
            let intake = Intake::new(transport, routes, watcher.clone(), handle);
            match handler.clone().serve_with_lifecycle(intake, mode.clone()).await {
                Ok(service) => {
                    listen(&mode, &service);
                    let peer = service.peer().clone();
                    let service = Mutex::new(Some(service));
                    let questions = handler.questions;
                    return Ok(Self {
                        peer,
                        service,
                        progress,
                        questions,
                        stderr_tail,
                        server_handle,
                        running: watch::Sender::new(0),
                    });
                }
                Err(error) => {
                    mode = next_mode(&mode, &error)
                        .ok_or_else(|| connect_fault(&error, &stderr_tail, &server_handle))?;
                }
            }
        }
    }

    pub fn is_open(&self) -> bool {
        // After a drop, rmcp takes a moment to close the transport.
        self.dropped().is_none() && !self.peer.is_transport_closed()
    }

    /// Why the server was dropped, if it was.
    pub fn dropped(&self) -> Option<&str> {
        self.server_handle.dropped()
    }

    pub async fn call(&self, call: Call<'_>) -> Result<Output, Fault> {
        let params = CallToolRequestParams::new(call.tool.name.clone());
        let params = params.with_arguments(call.arguments.clone());
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let running = self.questions.begin(call.user);
        let sent = self.peer.send_cancellable_request(request, options(call.key));
        let mut handle = sent.await.map_err(|error| Fault::before(FaultKind::Broken, error))?;
        running.sent(&handle.id);
        let mut progress = self.progress.listen(handle.progress_token.clone());
        let mut abandoned = CancelOnDrop { peer: &self.peer, id: Some(handle.id.clone()) };
        let answered = loop {
            tokio::select! {
                biased;
                Some(told) = progress.next() => (call.on_progress)(told),
                answered = &mut handle.rx => break answered,
            }
        };
        // Progress messages that came before the answer are queued by now.
        progress.rest().for_each(|told| (call.on_progress)(told));
        abandoned.id = None;
        let answered = answered.unwrap_or(Err(ServiceError::TransportClosed));
        translate::output(answered).map_err(|fault| self.with_stderr_tail(fault))
    }

    /// Lists all tools, as the values that the server sent.
    pub async fn list(&self) -> Result<Vec<Value>, Fault> {
        let mut tools = Pages::default();
        let mut cursor: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor.clone());
            let request = ListToolsRequest::with_param(page);
            let asked = self.peer.send_request(ClientRequest::ListToolsRequest(request)).await;
            let listed = asked.map_err(|error| self.with_stderr_tail(translate::fault(&error)))?;
            let mut listed = value_of(listed);
            let Value::Array(page) = listed["tools"].take() else {
                let said = "its answer to tools/list has no list `tools`";
                return Err(Fault::after(FaultKind::Unreadable, said));
            };
            tools.add(page)?;
            let next = listed["nextCursor"].as_str().map(str::to_owned);
            if next.is_none() || tools.elements.len() > MOST_TOOLS {
                break;
            }
            if next == cursor {
                tracing::warn!("a server's list of tools repeats its cursor; it is ended there");
                break;
            }
            cursor = next;
        }
        tools.elements.truncate(MOST_TOOLS);
        Ok(tools.elements)
    }

    /// Sends an MCP request that is not a tool call. Only if it has a user can the server ask one. While
    /// one without a user runs, nobody is asked: a question could be about it. Lists contain nothing of
    /// a client, and are no reason for a question.
    pub async fn ask(
        &self,
        method: &str,
        params: Value,
        user: Option<&User>,
    ) -> Result<Value, Fault> {
        if !self.has(method) {
            return Err(Fault::before(FaultKind::Missing, format!("the server has no {method}")));
        }
        let request = CustomRequest::new(method, Some(params));
        let request = ClientRequest::CustomRequest(request);
        let running = (!method.ends_with("/list")).then(|| self.questions.begin(user));
        let sent = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        let asked = match sent.await {
            Ok(mut handle) => {
                running.iter().for_each(|running| running.sent(&handle.id));
                let mut abandoned = CancelOnDrop { peer: &self.peer, id: Some(handle.id.clone()) };
                let answered = (&mut handle.rx).await;
                abandoned.id = None;
                answered.unwrap_or(Err(ServiceError::TransportClosed))
            }
            Err(error) => Err(error),
        };
        asked.map(value_of).map_err(|error| self.with_stderr_tail(translate::fault(&error)))
    }

    /// Whether the server declares support for a request method.
    pub fn has(&self, method: &str) -> bool {
        let Some(about) = self.peer.peer_info() else { return true };
        let has = &about.capabilities;
        match method.split('/').next() {
            Some("resources") => has.resources.is_some(),
            Some("prompts") => has.prompts.is_some(),
            Some("completion") => has.completions.is_some(),
            _ => true,
        }
    }

    /// Whether the server answers a ping; an error is an answer too.
    pub async fn ping(&self) -> bool {
        let asked =
            self.peer.send_request(ClientRequest::PingRequest(PingRequest::default())).await;
        matches!(asked, Ok(_) | Err(ServiceError::McpError(_) | ServiceError::UnexpectedResponse))
    }

    /// Waits for the server to exit for at most `grace`, and then kills what is left of it.
    pub async fn close(&self, grace: Duration) {
        let service = self.service.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut service) = service {
            service.close_with_timeout(grace).await.ok();
        }
        self.server_handle.end();
    }

    fn with_stderr_tail(&self, mut fault: Fault) -> Fault {
        if let Some(because) = self.dropped() {
            return Fault { kind: FaultKind::Flooding, detail: because.to_owned(), ..fault };
        }
        if fault.kind == FaultKind::Broken {
            fault.detail = with_stderr(fault.detail, &self.stderr_tail);
        }
        fault
    }
}

fn options(key: Option<&str>) -> PeerRequestOptions {
    let options = PeerRequestOptions::no_options();
    match key {
        Some(key) => {
            let meta = Map::from_iter([(KEY.to_owned(), Value::from(key))]);
            options.with_meta(RequestMetaObject::from(meta))
        }
        None => options,
    }
}

/// Returns a result as JSON, whichever type rmcp parsed it as.
fn value_of(result: ServerResult) -> Value {
    serde_json::to_value(result).unwrap_or_default()
}

/// Returns the handshake to try next, if any. Servers that support only the newest protocol refuse
/// `initialize` and need its handshake.
fn next_mode(
    tried: &ClientLifecycleMode,
    error: &ClientInitializeError,
) -> Option<ClientLifecycleMode> {
    let refused = matches!(error, ClientInitializeError::JsonRpcError(_));
    (refused && *tried == ClientLifecycleMode::Initialize).then(|| ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    })
}

/// Subscribes to the changes of a server of the newest protocol, which announces them only to
/// subscribers. The intake handles the announcements.
fn listen(mode: &ClientLifecycleMode, service: &RunningService<RoleClient, Handler>) {
    if *mode == ClientLifecycleMode::Initialize {
        return;
    }
    let peer = service.peer().clone();
    let wanted = SubscriptionFilter::builder()
        .tools_list_changed()
        .prompts_list_changed()
        .resources_list_changed()
        .build();
    tokio::spawn(async move {
        match peer.listen(wanted).await {
            Ok(mut subscription) => while let Ok(Some(_)) = subscription.next().await {},
            Err(error) => tracing::debug!(%error, "a server lets nobody listen"),
        }
    });
}

/// Why there is no connection.
pub(super) enum ConnectFault {
    /// The program or its folder does not exist; a description that is safe to show.
    Missing(String),
    /// The server sent too many messages and was dropped.
    Flooding(String),
    /// Another failure; its description may quote the server.
    Failed(String),
}

impl From<String> for ConnectFault {
    fn from(said: String) -> Self {
        Self::Failed(said)
    }
}

fn connect_fault(
    error: &ClientInitializeError,
    words: &StderrTail,
    server_handle: &ServerHandle,
) -> ConnectFault {
    if let Some(because) = server_handle.dropped() {
        return ConnectFault::Flooding(because.to_owned());
    }
    let said = match error {
        // The error's own text names internal types.
        ClientInitializeError::TransportError { error, .. } => {
            translate::with_causes(error.error.as_ref())
        }
        other => other.to_string(),
    };
    with_stderr(format!("no handshake: {said}"), words).into()
}

/// The elements of a list that a server sends in pages.
#[derive(Default)]
pub struct Pages {
    pub elements: Vec<Value>,
    bytes: usize,
}

impl Pages {
    /// Adds a page, unless the list becomes too long with it.
    pub fn add(&mut self, page: Vec<Value>) -> Result<(), Fault> {
        self.bytes += page.iter().map(|element| element.to_string().len()).sum::<usize>();
        if self.bytes > MOST_LISTED {
            let said = format!("one of its lists is longer than {} MiB", MOST_LISTED >> 20);
            return Err(Fault::after(FaultKind::TooLong, said));
        }
        self.elements.extend(page);
        Ok(())
    }
}

fn with_stderr(said: String, words: &StderrTail) -> String {
    let words = words.lock().unwrap_or_else(PoisonError::into_inner);
    if words.is_empty() {
        return said;
    }
    format!("{said}; it said: {}", String::from_utf8_lossy(&words).trim())
}

/// Reads a server's stderr, because a full pipe would block the server.
fn collect_stderr(stderr: Option<ChildStderr>, kept: &StderrTail) {
    let Some(mut stderr) = stderr else { return };
    let kept = Arc::clone(kept);
    tokio::spawn(async move {
        let mut part = [0; 1_024];
        while let Ok(read @ 1..) = stderr.read(&mut part).await {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(&part[..read]);
            let excess = kept.len().saturating_sub(STDERR_TAIL_BYTES);
            kept.drain(..excess);
        }
    });
}

/// Cancels the call on the server when it is dropped.
struct CancelOnDrop<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let why = "no longer waited for".to_owned();
            let params = CancelledNotificationParam::new(Some(id), Some(why));
            peer.send_notification(CancelledNotification::new(params).into()).await.ok();
        });
    }
}
