//! `GET /healthz`, `/readyz` and `/metrics`, for programs that monitor this one.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use toolroute_rank::engine::{Engine, HealthReport};
use utoipa::ToSchema;

use super::{ApiError, App};
use crate::service::ServerState;

/// The routes, which the HTTP API and the gateway share.
pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/healthz", get(alive))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
}

/// Whether the program lives.
#[derive(Serialize, ToSchema)]
pub struct Alive {
    status: &'static str,
    version: &'static str,
}

/// The program lives.
#[utoipa::path(get, path = "/healthz", tag = "operations", responses((status = 200, body = Alive)))]
pub async fn alive() -> Json<Alive> {
    Json(Alive { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

/// What `/readyz` answers.
#[derive(Serialize)]
struct Readiness {
    #[serde(flatten)]
    health: HealthReport,
    /// Servers whose tools are not in the catalog or cannot be called. They do not make the program
    /// unready, because the tools of the others can be found and called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
}

/// Whether it can do its work: the catalog, the model, the servers' first lists (which nobody waits for
/// longer than some seconds), each by its name; and the servers that are missing, for which `/v1/servers`
/// has the reasons.
#[utoipa::path(get, path = "/readyz", tag = "operations", responses(
    (status = 200, body = ref("#/components/schemas/Ready")), (status = 503, body = ref("#/components/schemas/Ready"))))]
pub async fn ready(State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    let service = app.service();
    // This does not wait for a worker: a program under load is still ready.
    let checking = tokio::task::spawn_blocking(move || {
        let missing = service.servers().into_iter().filter(ServerState::is_missing);
        let missing: Vec<String> = missing.map(|state| state.name).collect();
        let listed = match service.is_listed() {
            true => Ok(()),
            false => Err("servers are asked for their tools for the first time".to_owned()),
        };
        let health = service.engine().health().with("servers", listed);
        let health = match service.options.without_sources {
            true => health.with("catalog", Ok(())),
            false => health,
        };
        Readiness { health, missing }
    });
    let report = checking.await.map_err(|error| ApiError::internal(&error))?;
    let status =
        if report.health.healthy { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    Ok((status, Json(report)).into_response())
}

/// What was counted since the start, as Prometheus reads it.
#[utoipa::path(get, path = "/metrics", tag = "operations",
    responses((status = 200, body = String, content_type = "application/openmetrics-text")))]
pub async fn metrics(State(app): State<Arc<App>>) -> Response {
    let service = app.service();
    openmetrics(service.engine(), app.load())
}

/// The metrics of an engine whose requests are processed and wait in these numbers.
pub fn openmetrics(engine: &Engine, (working, waiting): (usize, usize)) -> Response {
    engine.metrics().set_load(working, waiting);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(CONTENT_TYPE, kind)], engine.metrics().text()).into_response()
}
