//! `POST /v1/call`: calls a tool, and its fallbacks if it fails.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;
use toolroute_run::execution::{Arguments, read_arguments};
use utoipa::ToSchema;

use super::extract::Body;
use super::{ApiError, App, Client, ErrorBody, events};
use crate::CallRequest;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CallBody {
    /// The tool's id, `server:tool`, or a name that only one tool has.
    #[schema(min_length = 1)]
    tool: String,
    /// An object, or its text as models write it.
    #[serde(default)]
    #[schema(value_type = Object)]
    arguments: Value,
    /// A person agreed to what may destroy something.
    #[serde(default, alias = "confirm")]
    confirmed: bool,
    /// What the user wants to know, for summaries and for the log.
    #[serde(default)]
    question: String,
    /// A profile of the server.
    profile: Option<String>,
    /// The conversation that it belongs to; the header `x-toolroute-session` says the same.
    #[schema(min_length = 1, max_length = 256)]
    session: Option<String>,
    /// Tokens that the answer may have.
    #[schema(minimum = 0)]
    budget_tokens: Option<usize>,
}

/// Calls a tool: its arguments are made to fit, and another tool answers where it is declared to. With
/// `Accept: text/event-stream` what happens on the way is told as events (`working`, `progress`,
/// `fell_back`), and the report is the last of them.
#[utoipa::path(post, path = "/v1/call", tag = "tools", request_body = CallBody,
    params(("x-toolroute-session" = Option<String>, Header, description = "the session, where the body names none")), responses(
    (status = 200, content((ref("#/components/schemas/ReportDoc") = "application/json"), (String = "text/event-stream"))), (status = 400, body = ErrorBody),
    (status = 404, description = "no such tool or profile", body = ErrorBody),
    (status = 409, description = "no servers are configured", body = ErrorBody),
    (status = 413, body = ErrorBody), (status = 415, body = ErrorBody)))]
pub async fn call(
    State(app): State<Arc<App>>,
    client: Option<Extension<Client>>,
    headers: HeaderMap,
    Body(mut asked): Body<CallBody>,
) -> Result<Response, ApiError> {
    let named = (asked.profile.as_deref(), asked.session.as_deref());
    let session = app.logged_session(client, named, &headers)?;
    let arguments = arguments(std::mem::take(&mut asked.arguments))?;
    let service = app.service();
    // These errors are found before the answer begins, because an event stream always has status
    // 200.
    service.executor().ok_or(crate::Error::NoExecutor)?;
    service.describe(&asked.tool, asked.profile.as_deref())?;
    let work = move |on_event: events::Tell| -> events::Work<_> {
        Box::pin(async move {
            let call = CallRequest {
                id: &asked.tool,
                arguments: &arguments,
                session: &session,
                confirmed: asked.confirmed,
                question: &asked.question,
                profile: asked.profile.as_deref(),
                user: None,
                alone: false,
                budget_tokens: asked.budget_tokens,
                on_event: &*on_event,
            };
            service.call(call).await
        })
    };
    events::answer(&headers, work).await
}

pub(super) fn arguments(given: Value) -> Result<Arguments, ApiError> {
    read_arguments(given, "`arguments`").map_err(ApiError::bad_request)
}
