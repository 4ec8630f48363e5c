//! The HTTP API: the service for the programs of one user, and endpoints in the formats of other
//! APIs (OpenAI, Cohere, text-embeddings-inference).
//!
//! ```no_run
//! use toolroute_serve::http::{App, HttpOptions, serve};
//! use toolroute_serve::{Assembly, Shutdown};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let service = Assembly::default().build()?;
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! let app = App::new(service, HttpOptions::default());
//! serve(listener, app, &Shutdown::default()).await?;
//! # Ok(())
//! # }
//! ```

pub(super) mod analyze;
mod app;
pub(super) mod arguments;
pub(crate) mod bodies;
pub(super) mod call;
pub(super) mod conduct;
mod connections;
pub(super) mod embeddings;
mod error;
mod events;
mod extract;
pub(super) mod feedback;
pub(super) mod filter;
pub(crate) mod guard;
pub(crate) mod health;
mod log_limit;
pub(super) mod map;
mod openapi;
pub(super) mod outputs;
pub(super) mod reload;
pub(super) mod rerank;
pub(super) mod run;
pub(super) mod select;
pub(super) mod tools;
pub(super) mod watch;

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Json, Router};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tower_http::catch_panic::CatchPanicLayer;

use super::{Error, McpHttpOptions, Shutdown, mcp_router};

pub use app::{App, HttpOptions, Persist, SESSION_HEADER};
pub use conduct::Conduct;
pub use connections::Limits;
pub(super) use connections::{Client, accept};
pub use error::ApiError;
pub(super) use error::{ErrorBody, unknown_path, with_json};
pub(super) use filter::{add_counts, add_reason, limit_of};
pub use guard::Token;
pub(super) use log_limit::LogLimit;

/// Answers requests until the shutdown begins, then finishes those that are in progress.
///
/// # Errors
/// The listener has no address, or the gateway cannot be created.
pub async fn serve(
    listener: TcpListener,
    app: Arc<App>,
    shutdown: &Shutdown,
) -> std::io::Result<()> {
    let address = listener.local_addr()?;
    let limits = app.options.connections;
    let routes = routes(Arc::clone(&app), Some(address.ip()), shutdown);
    let routes = routes.map_err(std::io::Error::other)?;
    let [watching, reloading] = spawn_tasks(&app, shutdown);
    accept(listener, routes, limits, shutdown).await;
    watching.abort();
    reloading.abort();
    Ok(())
}

/// The API as routes, for a server of your own: `/v1/…`, `/mcp`, the page at `/`, and others. Every
/// request passes the checks of [`serve`] for hosts, origins, the token and sizes, for loopback
/// hosts and [`HttpOptions::hosts`]; the limits of connections are up to your server. The routes have
/// a fallback: [`Router::nest`] puts them below a path of a server that has one too.
///
/// Must be called within a runtime, because events and reloads are tasks there. They end when the
/// shutdown begins.
///
/// # Errors
/// Those of [`Gateway::new`](crate::Gateway::new).
pub fn router(app: &Arc<App>, shutdown: &Shutdown) -> Result<Router, Error> {
    let routes = routes(Arc::clone(app), None, shutdown)?;
    spawn_tasks(app, shutdown);
    Ok(routes)
}

/// Sends events and reloads on changes, each in a task, until the shutdown begins.
fn spawn_tasks(app: &Arc<App>, shutdown: &Shutdown) -> [JoinHandle<()>; 2] {
    [
        tokio::spawn(watch::send_changes(Arc::clone(app), shutdown.clone())),
        tokio::spawn(reload::reload_on_change(Arc::clone(app), shutdown.clone())),
    ]
}

/// All routes, including those of the MCP gateway, inside the layers that each request passes.
fn routes(
    app: Arc<App>,
    address: Option<std::net::IpAddr>,
    shutdown: &Shutdown,
) -> Result<Router, Error> {
    let guard = Arc::new(guard::Guard {
        hosts: app.options.hosts.clone(),
        address,
        token: app.options.token.clone(),
        ..guard::Guard::default()
    });
    let listed = || middleware::from_fn_with_state(Arc::clone(&app), listed);
    // These routes have no time limit: calls take as long as the tools do, and event streams do not
    // end.
    let long = Router::new()
        .route("/v1/call", post(call::call))
        .route("/v1/run", post(run::run))
        .route("/v1/conduct", post(conduct::conduct))
        .layer(listed())
        .route("/v1/events", get(watch::events))
        .layer(axum::Extension(shutdown.clone()));
    let short = tool_routes().layer(listed()).merge(other_routes());
    let short = short.layer(middleware::from_fn_with_state(app.options.timeout, in_time));
    let present = app.current();
    let shutdown = shutdown.clone();
    let options = McpHttpOptions { guarded: true, shutdown, ..McpHttpOptions::default() };
    let api = short.merge(long).with_state(Arc::clone(&app));
    let all = api
        .merge(mcp_router(&present, &options)?)
        .fallback(unknown_path)
        .layer(DefaultBodyLimit::max(app.options.max_body))
        .layer(middleware::from_fn_with_state(app.bodies.clone(), bodies::bounded))
        .layer(middleware::from_fn_with_state(guard, guard::admit))
        // This layer is outside the guard, so that refused requests count too.
        .layer(middleware::from_fn_with_state(app, counted))
        .layer(middleware::map_response(with_headers))
        .layer(CatchPanicLayer::custom(panicked));
    Ok(all)
}

/// The endpoints that read or change the catalog.
fn tool_routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v1/select", post(select::select))
        .route("/v1/analyze", post(analyze::analyze))
        .route("/v1/arguments", post(arguments::arguments))
        .route("/v1/tools", get(tools::list).post(tools::register))
        .route("/v1/tools/{id}", get(tools::show).put(tools::update).delete(tools::remove))
        .route("/v1/feedback", post(feedback::add))
        .route("/v1/outputs/{handle}", get(outputs::output))
        .route("/v1/map", get(map::map))
}

fn other_routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v1/tools/filter", post(filter::filter))
        .route("/v1/servers", get(watch::servers))
        .route("/v1/recent", get(watch::recent))
        .route("/v1/reload", post(reload::reload))
        .route("/v1/models", get(embeddings::models))
        .route("/v1/embeddings", post(embeddings::embed))
        .route("/v1/rerank", post(rerank::rerank))
        .route("/rerank", post(rerank::rerank))
        .route("/openapi.json", get(openapi::document))
        .route("/", page_file("text/html", include_str!("page/index.html")))
        .route("/page.css", page_file("text/css", include_str!("page/page.css")))
        .route("/page.js", page_file("text/javascript", include_str!("page/page.js")))
        .merge(health::routes())
}

/// Waits for the servers' first lists, during the first seconds of the program.
async fn listed(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    app.service().catch_up().await;
    next.run(request).await
}

/// Answers with 408 after the time limit. Work on the blocking pool still runs until it is done.
async fn in_time(
    State(most): State<std::time::Duration>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let answered = tokio::time::timeout(most, next.run(request)).await;
    answered.map_err(|_| {
        let said = format!("no answer within {} s", most.as_secs());
        ApiError::new(StatusCode::REQUEST_TIMEOUT, "timeout", said)
    })
}

/// Counts the request by its route, not by its path, because clients could send any number of
/// paths.
async fn counted(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let start = Instant::now();
    let response = with_json(next.run(request).await);
    let (route, status) = (route.as_ref().map_or("none", |r| r.as_str()), response.status());
    app.service().engine().metrics().count_request(route, status.as_u16(), start.elapsed());
    let micros = start.elapsed().as_micros() as u64;
    tracing::info!(route, status = status.as_u16(), micros, "answered");
    if status == StatusCode::SERVICE_UNAVAILABLE
        && route != "/readyz"
        && let Some(count) = app.log_limit.count("overload")
    {
        let said = "turned away: more is asked than can be answered; see --workers and --queue";
        tracing::warn!(count, route, "{said}");
    }
    response
}

/// Adds headers: answers repeat what the user asked, so they must not be cached, and browsers must
/// not guess their type.
async fn with_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    ApiError::internal(&"a panic; it is told above").into_response()
}

/// An answer from text that is already JSON.
fn json_text(text: impl Into<axum::body::Body>) -> Response {
    let kind = [(axum::http::header::CONTENT_TYPE, "application/json")];
    (kind, text.into()).into_response()
}

fn json(value: impl serde::Serialize) -> Response {
    Json(value).into_response()
}

/// The content security policy of the page: it runs no script from a tool's text, and loads nothing
/// from other hosts.
const PAGE_POLICY: &str = "default-src 'self'; img-src data:; style-src 'self'; script-src 'self'; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

fn page_file(kind: &str, text: &'static str) -> MethodRouter<Arc<App>> {
    let headers = [
        (CONTENT_TYPE, format!("{kind}; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, PAGE_POLICY.to_owned()),
        (REFERRER_POLICY, "no-referrer".to_owned()),
        // Checked at each visit, because a new version of the program has a new page.
        (CACHE_CONTROL, "no-cache".to_owned()),
    ];
    get(move || std::future::ready((headers, text)))
}
