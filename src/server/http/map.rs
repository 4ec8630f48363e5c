//! `GET /v1/map`: the catalog on a plane, and a prompt in it.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::extract::Params;
use super::{ApiError, App, ErrorBody, json};
use crate::engine::Map;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct MapParams {
    /// A prompt to show among the tools.
    prompt: Option<String>,
}

#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    map: &'a Map,
    prompt: Option<Point>,
}

#[derive(Serialize, ToSchema)]
struct Point {
    x: f32,
    y: f32,
}

#[derive(ToSchema)]
#[allow(dead_code, reason = "documents `Shown`")]
pub struct MapDoc {
    /// Of the catalog.
    version: u64,
    points: Vec<PointDoc>,
    prompt: Option<Point>,
}

#[derive(ToSchema)]
#[allow(dead_code, reason = "documents `MapPoint`")]
struct PointDoc {
    id: String,
    server: Option<String>,
    x: f32,
    y: f32,
}

/// Where the tools lie by their two principal components, and the prompt.
#[utoipa::path(get, path = "/v1/map", tag = "watching", params(MapParams), responses(
    (status = 200, body = MapDoc), (status = 400, body = ErrorBody),
    (status = 409, description = "there is no model", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub async fn map(
    State(app): State<Arc<App>>,
    Params(MapParams { prompt }): Params<MapParams>,
) -> Result<Response, ApiError> {
    let prompt = prompt.filter(|prompt| !prompt.trim().is_empty());
    let mapping = Arc::clone(&app);
    let made = app.work(move || {
        let service = mapping.service();
        let map = mapping.map(service.engine())?;
        let place = |prompt: String| service.engine().place(&map, &prompt);
        let [x, y] = match prompt.map(place).transpose()? {
            Some(place) => place,
            None => return Ok((map, None)),
        };
        Ok::<_, ApiError>((map, Some(Point { x, y })))
    });
    let (map, prompt) = made.await??;
    Ok(json(Shown { map: &map, prompt }))
}
