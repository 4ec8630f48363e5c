//! `POST /v1/feedback`: reports on tools that ran elsewhere, for the log that selections learn
//! from.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use toolroute_rank::feedback::Execution;
use utoipa::ToSchema;

use super::extract::Body;
use super::{ApiError, App, Client, ErrorBody, json};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "documents `Execution`")]
pub struct ExecutionDoc {
    /// The id of the tool that ran.
    #[schema(min_length = 1)]
    tool: String,
    /// Whether it did what the prompt was after.
    success: bool,
    #[schema(max_length = 65536)]
    prompt: String,
    #[schema(minimum = 0)]
    duration_ms: Option<u64>,
    /// A word for what went wrong, such as `timeout`.
    #[schema(min_length = 1, max_length = 64)]
    error_kind: Option<String>,
    /// What the user or the agent said of it.
    feedback: Option<String>,
    /// The conversation or client that it belongs to; where nothing names one, the address that the
    /// report comes from.
    #[schema(min_length = 1, max_length = 64)]
    session: Option<String>,
}

#[derive(ToSchema)]
#[schema(as = Taken)]
#[allow(dead_code, reason = "documents the answer")]
pub struct Receipt {
    /// Runs that wait to be written now, or are.
    taken: usize,
    /// What was dropped since the start, because the queue was full.
    dropped: u64,
}

/// Takes runs of tools for the log; they are written in the background. The prompt's text is kept
/// only where the server was told to keep it.
#[utoipa::path(post, path = "/v1/feedback", tag = "tools", request_body = ExecutionDoc, responses(
    (status = 202, body = Receipt), (status = 400, body = ErrorBody),
    (status = 404, description = "no such tool", body = ErrorBody),
    (status = 409, description = "no log is kept", body = ErrorBody),
    (status = 413, body = ErrorBody), (status = 415, body = ErrorBody)))]
pub async fn add(
    State(app): State<Arc<App>>,
    client: Option<Extension<Client>>,
    headers: HeaderMap,
    Body(told): Body<Value>,
) -> Result<Response, ApiError> {
    let executions = read(told)?;
    // The weight of each session is limited, so reports without a session count for their sender.
    let session = app.logged_session(client, (None, None), &headers)?;
    let service = app.service();
    let engine = service.engine();
    let recorder = engine.recorder().ok_or(toolroute_rank::engine::Error::NoFeedback)?;
    let mut resolved = Vec::with_capacity(executions.len());
    for mut execution in executions {
        execution.tool = service.describe(execution.tool.as_str(), None)?.id.clone();
        execution.session = execution.session.or_else(|| session.name().map(str::to_owned));
        execution.check().map_err(|error| ApiError::bad_request(error.to_string()))?;
        resolved.push(execution);
    }
    let taken = resolved.len();
    for execution in resolved {
        engine.record(execution)?;
    }
    let dropped = recorder.counts().dropped;
    Ok((StatusCode::ACCEPTED, json(json!({"taken": taken, "dropped": dropped}))).into_response())
}

/// Reads one execution or a list. This is not an untagged enum, whose errors would not name the
/// field.
fn read(told: Value) -> Result<Vec<Execution>, ApiError> {
    let bad = |error: serde_json::Error| ApiError::bad_request(super::extract::message_of(&error));
    match told {
        Value::Object(mut members) if members.contains_key("executions") => {
            let list = members.remove("executions").unwrap_or_default();
            serde_json::from_value(list).map_err(bad)
        }
        one @ Value::Object(_) => Ok(vec![serde_json::from_value(one).map_err(bad)?]),
        _ => Err(ApiError::bad_request("expected an object with `tool`, `success` and `prompt`")),
    }
}
