//! `GET /v1/map`: the tools and a prompt as points on a plane.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use toolroute_rank::engine::MapPoint;
use toolroute_rank::query::says_nothing;
use utoipa::IntoParams;

use super::extract::Params;
use super::{ApiError, App, ErrorBody, json};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct MapParams {
    /// A prompt to show among the tools.
    #[serde(alias = "query")]
    prompt: Option<String>,
    /// Whether the tools are left out: who asked before has them, as long as `version` is the same.
    prompt_only: Option<bool>,
}

#[derive(Serialize)]
struct MapView<'a> {
    version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a [MapPoint]>,
    prompt: Option<Point>,
}

#[derive(Serialize)]
struct Point {
    x: f32,
    y: f32,
}

/// Where the tools lie by their two principal components, and the prompt.
#[utoipa::path(get, path = "/v1/map", tag = "watching", params(MapParams), responses(
    (status = 200, body = ref("#/components/schemas/MapDoc")), (status = 400, body = ErrorBody),
    (status = 409, description = "there is no catalog or no model", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub async fn map(
    State(app): State<Arc<App>>,
    Params(MapParams { prompt, prompt_only }): Params<MapParams>,
) -> Result<Response, ApiError> {
    let prompt = prompt.filter(|prompt| !says_nothing(prompt));
    let mapping = Arc::clone(&app);
    let made = app.work(move || {
        let service = mapping.service();
        service.expect_catalog()?;
        let map = mapping.map(service.engine())?;
        let place = |prompt: String| map.place(service.engine(), &prompt);
        let [x, y] = match prompt.map(place).transpose()? {
            Some(place) => place,
            None => return Ok((map, None)),
        };
        Ok::<_, ApiError>((map, Some(Point { x, y })))
    });
    let (map, prompt) = made.await??;
    let tools = (prompt_only != Some(true)).then_some(map.points.as_slice());
    Ok(json(MapView { version: map.version, tools, prompt }))
}
