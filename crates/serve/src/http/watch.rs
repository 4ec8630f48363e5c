//! Endpoints for watching the program: the servers, the latest selections, and a stream of events.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::{Extension, Json};
use futures_util::stream::{self, Stream, StreamExt as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use toolroute_run::execution::{BreakerState, LeftOut, Phase};
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::extract::Params;
use crate::{RecentSelection, ServerState, Service, Shutdown, Status};

/// The time between two comparisons with the previous state, while a client listens.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// An event of `GET /v1/events`.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamEvent {
    pub name: &'static str,
    pub data: Value,
}

/// An upstream server, or a server that only a file of tools names.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Watched)]
struct ServerRow {
    name: String,
    /// `idle`, `starting`, `ready`, `unavailable`, `disabled`, or `listed`: in a file of tools alone.
    state: &'static str,
    /// Why it is unavailable, and how many of its tools pins hold back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    reason: Option<String>,
    tools: usize,
    /// Since when it is so, in milliseconds since 1970.
    since_ms: u64,
    /// The server's own breaker: `closed`, `open` or `half_open`.
    #[schema(value_type = String)]
    breaker: Phase,
    /// Those of its tools that have failed lately.
    #[schema(value_type = Vec<Object>)]
    tool_breakers: Vec<BreakerState>,
}

/// The servers and their states.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct Servers {
    /// Tools of all servers, and those without one.
    tools: usize,
    servers: Vec<ServerRow>,
}

/// The upstream servers, and of each its state, its tools and its breaker.
#[utoipa::path(get, path = "/v1/servers", tag = "watching", responses((status = 200, body = Servers)))]
pub async fn servers(State(app): State<Arc<App>>) -> Json<Servers> {
    Json(all(&app.service()))
}

fn all(service: &Service) -> Servers {
    let breakers = service.executor().map(|executor| executor.breakers()).unwrap_or_default();
    let catalog = service.catalog();
    let mut own: BTreeMap<&str, usize> = BTreeMap::new();
    for tool in catalog.iter() {
        *own.entry(tool.server.as_deref().unwrap_or_default()).or_default() += 1;
    }
    own.remove("");
    let of_tool = |breaker: &BreakerState, server: &str| {
        let tool = catalog.get(&breaker.of).filter(|_| breaker.kind == "tool");
        tool.is_some_and(|tool| tool.server.as_deref() == Some(server))
    };
    let mut servers = Vec::new();
    for state in service.servers() {
        let (word, reason) = (word(&state.status), state.reason());
        let ServerState { name, tools, since_ms, .. } = state;
        own.remove(name.as_str());
        let breaker = breakers.iter().find(|b| b.kind == "server" && b.of == name);
        servers.push(ServerRow {
            state: word,
            reason,
            tools,
            since_ms,
            breaker: breaker.map_or(Phase::Closed, |breaker| breaker.phase),
            tool_breakers: breakers.iter().filter(|b| of_tool(b, &name)).cloned().collect(),
            name,
        });
    }
    let listed = own.into_iter().map(|(name, tools)| ServerRow {
        name: name.to_owned(),
        state: "listed",
        reason: None,
        tools,
        since_ms: 0,
        breaker: Phase::Closed,
        tool_breakers: Vec::new(),
    });
    servers.extend(listed);
    servers.sort_by(|a, b| a.name.cmp(&b.name));
    Servers { tools: catalog.len(), servers }
}

fn word(status: &Status) -> &'static str {
    match status {
        Status::Idle => "idle",
        Status::Starting => "starting",
        Status::Ready => "ready",
        Status::LeftOut { because: LeftOut::Disabled } => "disabled",
        Status::Unavailable { .. } | Status::LeftOut { .. } => "unavailable",
    }
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct RecentParams {
    /// Answers at most.
    #[param(minimum = 0)]
    limit: Option<usize>,
}

/// The latest answers, newest first. They hold prompts: in memory alone, and in no log.
#[utoipa::path(get, path = "/v1/recent", tag = "watching", params(RecentParams), responses(
    (status = 200, body = Latest), (status = 400, body = super::ErrorBody)))]
pub async fn recent(
    State(app): State<Arc<App>>,
    Params(params): Params<RecentParams>,
) -> Json<Latest> {
    let mut recent = app.service().recent();
    recent.truncate(params.limit.unwrap_or(usize::MAX));
    Json(Latest { recent })
}

/// The latest answers.
#[derive(Serialize, ToSchema)]
pub struct Latest {
    recent: Vec<RecentSelection>,
}

/// What happens, as server-sent events: `selection`, `servers`, `catalog`, `reload`.
/// `missed` says that the listener was too slow, and how many it missed.
#[utoipa::path(get, path = "/v1/events", tag = "watching",
    responses((status = 200, body = String, content_type = "text/event-stream")))]
pub async fn events(
    State(app): State<Arc<App>>,
    Extension(shutdown): Extension<Shutdown>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let receiver = app.stream_events.subscribe();
    let events = stream::unfold(receiver, |mut receiver| async move {
        let event = match receiver.recv().await {
            Ok(event) => event,
            Err(RecvError::Lagged(missed)) => {
                StreamEvent { name: "missed", data: json!({ "missed": missed }) }
            }
            Err(RecvError::Closed) => return None,
        };
        Some((event, receiver))
    });
    let first = StreamEvent { name: "hello", data: hello(&app.service()) };
    let all = stream::once(async { first }).chain(events);
    let all = all
        .map(|StreamEvent { name, data }| Ok(Event::default().event(name).data(data.to_string())));
    // Otherwise the stream would delay the end of the program.
    let all = all.take_until(async move { shutdown.begun().await });
    Sse::new(all).keep_alive(KeepAlive::default())
}

fn hello(service: &Service) -> Value {
    json!({"version": service.engine().version(), "tools": service.catalog().len()})
}

/// The state that was last sent to the clients.
#[derive(Default)]
struct Snapshot {
    number: u64,
    version: u64,
    engine: usize,
    servers: Servers,
}

/// Sends the changes as events, while any client listens.
pub async fn send_changes(app: Arc<App>, shutdown: Shutdown) {
    let mut last = compare(&app, &mut Snapshot::default()).0;
    while !shutdown.has_begun() {
        tokio::time::sleep(LOOK_EVERY).await;
        if app.stream_events.receiver_count() == 0 {
            last.number = app.service().recent().first().map_or(0, |latest| latest.number);
            continue;
        }
        let (now, events) = compare(&app, &mut last);
        last = now;
        for event in events {
            // An error means that no client listens any more.
            app.stream_events.send(event).ok();
        }
    }
}

/// The current state, and events for its differences from the previous one.
fn compare(app: &App, before: &mut Snapshot) -> (Snapshot, Vec<StreamEvent>) {
    let service = app.service();
    let engine = service.engine();
    let mut new = Vec::new();
    let recent = service.recent();
    let number = recent.first().map_or(0, |latest| latest.number);
    // A service that replaces another starts to count from one.
    let is_other = before.engine != Arc::as_ptr(engine) as usize;
    let last = if is_other { 0 } else { before.number };
    let fresh: Vec<&RecentSelection> =
        recent.iter().take_while(|answer| answer.number > last).collect();
    new.extend(fresh.into_iter().rev().map(|answer| stream_event("selection", answer)));
    let version = engine.version();
    if is_other || version != before.version {
        new.push(StreamEvent { name: "catalog", data: hello(&service) });
    }
    let mut servers = all(&service);
    // A countdown is not a change.
    for breaker in servers.servers.iter_mut().flat_map(|server| &mut server.tool_breakers) {
        breaker.opens_in_ms = 0;
    }
    if servers != before.servers {
        new.push(stream_event("servers", &servers));
    }
    let engine = Arc::as_ptr(engine) as usize;
    (Snapshot { number, version, engine, servers }, new)
}

fn stream_event(name: &'static str, data: &impl Serialize) -> StreamEvent {
    StreamEvent { name, data: serde_json::to_value(data).unwrap_or_default() }
}

impl App {
    /// The number of requests that workers process, and the number of those that wait.
    pub fn load(&self) -> (usize, usize) {
        (self.queue.working(), self.queue.waiting())
    }
}
