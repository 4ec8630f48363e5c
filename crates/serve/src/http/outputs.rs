//! `GET /v1/outputs/{handle}`: the rest of an answer that was truncated.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::Params;
use super::{ApiError, App, ErrorBody, json};
use crate::PAGE_CHARS;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct PageParams {
    /// Where to begin, in characters.
    offset: Option<usize>,
    /// Characters at most.
    #[param(minimum = 1, maximum = 1_000_000)]
    chars: Option<usize>,
}

/// The rest of an answer that was cut, by the handle that its marker names.
#[utoipa::path(get, path = "/v1/outputs/{handle}", tag = "tools",
    params(("handle" = String, Path, description = "as the marker names it"), PageParams), responses(
    (status = 200, body = ref("#/components/schemas/PageDoc")), (status = 400, body = ErrorBody),
    (status = 404, description = "nothing is kept under it", body = ErrorBody),
    (status = 409, description = "no servers are configured", body = ErrorBody)))]
pub async fn output(
    State(app): State<Arc<App>>,
    Path(handle): Path<String>,
    Params(params): Params<PageParams>,
) -> Result<Response, ApiError> {
    let most = params.chars.unwrap_or(PAGE_CHARS);
    if !(1..=1_000_000).contains(&most) {
        let said = format!("expected `chars` of 1 to 1000000, found {most}");
        return Err(ApiError::bad_request(said));
    }
    let page = app.service().read_more(&handle, params.offset.unwrap_or_default(), most)?;
    Ok(json(page))
}
