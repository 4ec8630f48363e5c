//! `POST /v1/run`: finds and calls a tool for each thing that a prompt asks for.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use toolroute_rank::query::says_nothing;
use utoipa::ToSchema;

use super::arguments::moment;
use super::extract::Body;
use super::{ApiError, App, Client, ErrorBody, events};
use crate::RunRequest;

/// The longest prompt in bytes.
const MOST_BYTES: usize = 32_768;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunBody {
    /// What is wanted: one thing or several.
    #[schema(
        min_length = 1,
        pattern = r"\S",
        example = "get the weather in Paris and email it to Dana"
    )]
    #[serde(alias = "query")]
    prompt: String,
    /// A person agreed to what may destroy something.
    #[serde(default, alias = "confirm")]
    confirmed: bool,
    /// Only show the steps, and call nothing.
    #[serde(default)]
    dry_run: bool,
    /// The moment that "tomorrow" is relative to, with its offset; the server's clock and time zone
    /// where nothing is said.
    #[schema(format = DateTime)]
    now: Option<String>,
    /// A profile of the server.
    profile: Option<String>,
    /// The conversation that it belongs to; the header `x-toolroute-session` says the same.
    #[schema(min_length = 1, max_length = 256)]
    session: Option<String>,
}

/// Cuts a prompt into the things that it asks for, and finds and calls a tool for each, in their order,
/// until one is not answered. Arguments are read out of the prompt, the conversation and the results
/// before. With `Accept: text/event-stream` what happens on the way is told as events, and the report is
/// the last of them.
#[utoipa::path(post, path = "/v1/run", tag = "tools", request_body = RunBody,
    params(("x-toolroute-session" = Option<String>, Header, description = "the session, where the body names none")), responses(
    (status = 200, content((ref("#/components/schemas/PlanDoc") = "application/json"), (String = "text/event-stream"))), (status = 400, body = ErrorBody),
    (status = 404, description = "no such profile", body = ErrorBody),
    (status = 409, description = "no servers are configured", body = ErrorBody),
    (status = 413, body = ErrorBody), (status = 415, body = ErrorBody)))]
pub async fn run(
    State(app): State<Arc<App>>,
    client: Option<Extension<Client>>,
    headers: HeaderMap,
    Body(asked): Body<RunBody>,
) -> Result<Response, ApiError> {
    let named = (asked.profile.as_deref(), asked.session.as_deref());
    let session = app.logged_session(client, named, &headers)?;
    let now = moment(asked.now.as_deref())?;
    if says_nothing(&asked.prompt) {
        return Err(ApiError::bad_request("expected a prompt with at least one word"));
    }
    if asked.prompt.len() > MOST_BYTES {
        let said = format!(
            "expected a prompt of at most {MOST_BYTES} bytes, found {}; shorten it",
            asked.prompt.len()
        );
        return Err(ApiError::bad_request(said));
    }
    let service = app.service();
    let work = move |on_event: events::Tell| -> events::Work<_> {
        Box::pin(async move {
            let run = RunRequest {
                prompt: &asked.prompt,
                session: &session,
                now: &now,
                confirmed: asked.confirmed,
                draft: asked.dry_run,
                profile: asked.profile.as_deref(),
                on_event: &*on_event,
            };
            service.run(run).await
        })
    };
    events::answer(&headers, work).await
}
