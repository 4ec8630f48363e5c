//! For those who watch: servers, the latest selections, and what happens as it happens.

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
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::extract::Params;
use crate::execution::BreakerState;
use crate::server::{Recent, ServerState, Service, Shutdown};

/// How often what may have changed is looked at, while somebody listens.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Something that happened, under a name that a listener may choose by.
#[derive(Clone, Debug, PartialEq)]
pub struct Happening {
    pub name: &'static str,
    pub data: Value,
}

/// A server behind this one, or one that a file of tools names.
#[derive(Serialize)]
pub struct Watched {
    #[serde(flatten)]
    state: ServerState,
    /// The server's own; `null` where it has not failed lately.
    breaker: Option<BreakerState>,
    /// Those of its tools.
    tool_breakers: Vec<BreakerState>,
}

/// The servers and their states.
#[derive(Serialize, ToSchema)]
pub struct Servers {
    #[schema(value_type = Vec<ServerDoc>)]
    servers: Vec<Watched>,
    /// Tools that no server is named for.
    tools_without_server: usize,
}

#[derive(ToSchema)]
#[allow(dead_code, reason = "documents `Watched`")]
struct ServerDoc {
    name: String,
    /// `idle`, `connecting`, `ready`, `unavailable`, or `listed`: in a file of tools alone.
    status: String,
    /// Why it is unavailable.
    #[schema(required = false, nullable = false)]
    because: Option<String>,
    tools: usize,
    since_ms: u64,
    breaker: Option<BreakerDoc>,
    tool_breakers: Vec<BreakerDoc>,
}

#[derive(ToSchema)]
#[allow(dead_code, reason = "documents `BreakerState`")]
pub struct BreakerDoc {
    kind: String,
    of: String,
    /// `closed`, `open` or `half_open`.
    phase: String,
    failures: u32,
    opens_in_ms: u64,
}

/// The servers behind, and of each its state, its tools and its breaker.
#[utoipa::path(get, path = "/v1/servers", tag = "watching", responses((status = 200, body = Servers)))]
pub async fn servers(State(app): State<Arc<App>>) -> Json<Value> {
    let (servers, tools_without_server) = all(&app.service());
    Json(json!({"servers": servers, "tools_without_server": tools_without_server}))
}

fn all(service: &Service) -> (Vec<Value>, usize) {
    let breakers = service.executor().map(|executor| executor.breakers()).unwrap_or_default();
    let catalog = service.catalog();
    let mut own: BTreeMap<&str, usize> = BTreeMap::new();
    for tool in catalog.iter() {
        *own.entry(tool.server.as_deref().unwrap_or_default()).or_default() += 1;
    }
    let without = own.remove("").unwrap_or_default();
    let mut states = service.servers();
    let of_tool = |breaker: &&BreakerState, server: &str| {
        let tool = catalog.get(&breaker.of).filter(|_| breaker.kind == "tool");
        tool.is_some_and(|tool| tool.server.as_deref() == Some(server))
    };
    let mut servers = Vec::new();
    for state in states.drain(..) {
        own.remove(state.name.as_str());
        let mut breakers_of = breakers.iter();
        let breaker = breakers_of.find(|b| b.kind == "server" && b.of == state.name).cloned();
        let tools = breakers.iter().filter(|b| of_tool(b, &state.name)).cloned();
        let watched = Watched { breaker, tool_breakers: tools.collect(), state };
        servers.push(serde_json::to_value(watched).unwrap_or_default());
    }
    for (name, tools) in own {
        servers.push(json!({"name": name, "status": "listed", "tools": tools, "since_ms": 0,
            "breaker": null, "tool_breakers": []}));
    }
    servers.sort_by(|a, b| a["name"].as_str().cmp(&b["name"].as_str()));
    (servers, without)
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct RecentParams {
    /// Answers at most.
    #[param(minimum = 0)]
    limit: Option<usize>,
}

/// The latest answers, newest first. They hold prompts: in memory alone, and in no log.
#[utoipa::path(get, path = "/v1/recent", tag = "watching", params(RecentParams), responses(
    (status = 200, body = RecentDoc), (status = 400, body = super::ErrorBody)))]
pub async fn recent(
    State(app): State<Arc<App>>,
    Params(params): Params<RecentParams>,
) -> Json<Value> {
    let mut recent = app.service().recent();
    recent.truncate(params.limit.unwrap_or(usize::MAX));
    Json(json!({ "recent": recent }))
}

#[derive(ToSchema)]
#[allow(dead_code, reason = "documents the answer of `recent`")]
pub struct RecentDoc {
    recent: Vec<RecentItem>,
}

#[derive(ToSchema)]
#[allow(dead_code, reason = "documents `Recent`")]
struct RecentItem {
    number: u64,
    /// Milliseconds since 1970.
    at_ms: u64,
    query: String,
    profile: Option<String>,
    /// Pairs of an id and a score, best first.
    #[schema(value_type = Vec<Vec<Value>>)]
    tools: Vec<(String, f32)>,
    confidence: Option<f32>,
    took_ms: f64,
}

/// What happens, as server-sent events: `selection`, `server`, `breakers`, `catalog`, `reload`.
/// `missed` says that the listener was too slow, and how many it missed.
#[utoipa::path(get, path = "/v1/events", tag = "watching",
    responses((status = 200, body = String, content_type = "text/event-stream")))]
pub async fn events(
    State(app): State<Arc<App>>,
    Extension(shutdown): Extension<Shutdown>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let heard = app.happenings.subscribe();
    let happenings = stream::unfold(heard, |mut heard| async move {
        let happening = match heard.recv().await {
            Ok(happening) => happening,
            Err(RecvError::Lagged(missed)) => {
                Happening { name: "missed", data: json!({ "missed": missed }) }
            }
            Err(RecvError::Closed) => return None,
        };
        Some((happening, heard))
    });
    let first = Happening { name: "hello", data: hello(&app.service()) };
    let all = stream::once(async { first }).chain(happenings);
    let all =
        all.map(|Happening { name, data }| Ok(Event::default().event(name).data(data.to_string())));
    // Without an end of its own it would hold up the end of the program.
    let all = all.take_until(async move { shutdown.begun().await });
    Sse::new(all).keep_alive(KeepAlive::default())
}

fn hello(service: &Service) -> Value {
    json!({"version": service.engine().version(), "tools": service.catalog().len()})
}

/// What was told of last.
#[derive(Default)]
struct Told {
    number: u64,
    version: u64,
    engine: usize,
    servers: BTreeMap<String, ServerState>,
    breakers: Vec<(String, String)>,
}

/// Looks at what may have changed and tells of it, while anybody listens.
pub async fn tell_of_changes(app: Arc<App>, shutdown: Shutdown) {
    let mut told = look(&app, &mut Told::default()).0;
    while !shutdown.has_begun() {
        tokio::time::sleep(LOOK_EVERY).await;
        let (now, happenings) = look(&app, &mut told);
        told = now;
        for happening in happenings {
            // Nobody may be listening, which is fine.
            app.happenings.send(happening).ok();
        }
    }
}

/// What is so now, and what is new of it.
fn look(app: &App, before: &mut Told) -> (Told, Vec<Happening>) {
    let service = app.service();
    let engine = service.engine();
    let mut new = Vec::new();
    let recent = service.recent();
    let number = recent.first().map_or(0, |latest| latest.number);
    // A service that took the place of another counts from one again.
    let is_other = before.engine != Arc::as_ptr(engine) as usize;
    let last = if is_other { 0 } else { before.number };
    let fresh: Vec<&Recent> = recent.iter().take_while(|answer| answer.number > last).collect();
    new.extend(fresh.iter().rev().map(|answer| happening("selection", answer)));
    let version = engine.version();
    if is_other || version != before.version {
        new.push(Happening { name: "catalog", data: hello(&service) });
    }
    let servers: BTreeMap<String, ServerState> =
        service.servers().into_iter().map(|state| (state.name.clone(), state)).collect();
    let changed = servers.iter().filter(|(name, state)| before.servers.get(*name) != Some(state));
    new.extend(changed.map(|(_, state)| happening("server", state)));
    let states = service.executor().map(|executor| executor.breakers()).unwrap_or_default();
    let breakers: Vec<_> =
        states.iter().map(|state| (state.of.clone(), format!("{:?}", state.phase))).collect();
    if breakers != before.breakers {
        new.push(Happening { name: "breakers", data: json!({ "breakers": states }) });
    }
    let engine = Arc::as_ptr(engine) as usize;
    (Told { number, version, engine, servers, breakers }, new)
}

fn happening(name: &'static str, data: &impl Serialize) -> Happening {
    Happening { name, data: serde_json::to_value(data).unwrap_or_default() }
}

impl App {
    /// Tells listeners.
    pub(super) fn tell(&self, name: &'static str, data: Value) {
        self.happenings.send(Happening { name, data }).ok();
    }

    /// Requests at work, and those that wait.
    pub fn load(&self) -> (usize, usize) {
        (self.gate.working(), self.gate.waiting())
    }
}
