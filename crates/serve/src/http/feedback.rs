//! `POST /v1/feedback`: reports on tools that ran elsewhere, for the log that selections learn
//! from.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolroute_rank::feedback::{Execution, RecordOutcome};
use toolroute_session::Session;
use utoipa::ToSchema;

use super::extract::Body;
use super::{ApiError, App, Client, ErrorBody, json};
use crate::Service;
use crate::service::Sessions;

/// A run of a tool, as a line of `toolroute feedback export`. It has `prompt`, `query` (the same) or
/// `prompt_hash`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "documents `Execution`")]
pub struct ExecutionDoc {
    /// The id of the tool that ran.
    #[schema(min_length = 1, max_length = 256)]
    tool: String,
    /// Whether it did what the prompt was after.
    success: bool,
    #[schema(max_length = 65536)]
    prompt: Option<String>,
    #[schema(max_length = 65536)]
    query: Option<String>,
    /// The SHA-256 of the prompt, where its text is unknown.
    #[schema(pattern = "^[0-9a-fA-F]{64}$")]
    prompt_hash: Option<String>,
    /// Milliseconds since 1970; now where nothing is said.
    #[schema(minimum = 100_000_000_000i64)]
    at: Option<i64>,
    #[schema(minimum = 0)]
    duration_ms: Option<u64>,
    /// In a unit of your own.
    #[schema(minimum = 0)]
    cost: Option<f64>,
    /// A word for what went wrong, such as `timeout`.
    #[schema(max_length = 256)]
    error_kind: Option<String>,
    /// What the user or the agent said of it.
    #[schema(max_length = 65536)]
    feedback: Option<String>,
    /// The conversation or client that it belongs to; where nothing names one, the address that the
    /// report comes from.
    #[schema(min_length = 1, max_length = 256)]
    session: Option<String>,
    /// `phase`, `task_type`, `languages`, `complexity`, `structure`, `testing`.
    #[schema(nullable = false, value_type = Option<Object>)]
    context: Option<Value>,
    /// `rank`, `score`, `parts`, `offered`.
    #[schema(nullable = false, value_type = Option<Object>)]
    choice: Option<Value>,
    /// `model` and `values`.
    #[schema(value_type = Option<Object>)]
    vector: Option<Value>,
    /// How a call of toolroute went.
    #[schema(value_type = Option<Object>)]
    called: Option<Value>,
}

/// Several runs.
#[derive(ToSchema)]
#[schema(as = Executions)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "documents what is read")]
pub struct ExecutionsDoc {
    executions: Vec<ExecutionDoc>,
}

/// One run, or several.
#[derive(ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "documents what is read")]
pub enum FeedbackBody {
    One(Box<ExecutionDoc>),
    Many(ExecutionsDoc),
}

#[derive(ToSchema)]
#[schema(as = Taken)]
#[allow(dead_code, reason = "documents the answer")]
pub struct Receipt {
    /// The number of runs, from the first on, that wait to be written now, or are.
    taken: usize,
    /// The number of runs after them, which were dropped because the queue was full.
    dropped: usize,
}

/// Takes runs of tools for the log; they are written in the background. The prompt's text is kept
/// only where the server was told to keep it.
#[utoipa::path(post, path = "/v1/feedback", tag = "tools", request_body = FeedbackBody,
    params(("x-toolroute-session" = Option<String>, Header, description = "the session of the runs that name none")), responses(
    (status = 202, body = Receipt), (status = 400, body = ErrorBody),
    (status = 404, description = "no such tool", body = ErrorBody),
    (status = 409, description = "no log is kept", body = ErrorBody),
    (status = 413, body = ErrorBody), (status = 415, body = ErrorBody)))]
pub async fn add(
    State(app): State<Arc<App>>,
    client: Option<Extension<Client>>,
    headers: HeaderMap,
    Body(told): Body<Map<String, Value>>,
) -> Result<Response, ApiError> {
    // The weight of each session is limited, so reports without a session count for their sender.
    let session = app.logged_session(client, (None, None), &headers)?;
    let service = app.service();
    let engine = service.engine();
    engine.recorder().ok_or(toolroute_rank::engine::Error::NoFeedback)?;
    let resolved = resolve(&service, told, &session)?;
    let all = resolved.len();
    let mut taken = 0;
    for execution in resolved {
        if engine.record(execution)? == RecordOutcome::Dropped {
            break;
        }
        taken += 1;
    }
    let receipt = json!({"taken": taken, "dropped": all - taken});
    Ok((StatusCode::ACCEPTED, json(receipt)).into_response())
}

/// Reads and checks one execution or a list. One that is invalid refuses the whole body.
fn resolve(
    service: &Service,
    mut told: Map<String, Value>,
    session: &Session,
) -> Result<Vec<Execution>, ApiError> {
    let Some(list) = told.remove("executions") else {
        return Ok(vec![execution(service, Value::Object(told), session)?]);
    };
    if let Some(other) = told.keys().next() {
        let said = format!("expected no member beside `executions`, found `{other:.40}`");
        return Err(ApiError::bad_request(said));
    }
    let Value::Array(list) = list else {
        return Err(ApiError::bad_request("expected `executions` as a list of executions"));
    };
    let read = |(at, told)| {
        let read = execution(service, told, session);
        read.map_err(|error| error.at(&format!("executions[{at}]")))
    };
    list.into_iter().enumerate().map(read).collect()
}

fn execution(service: &Service, told: Value, session: &Session) -> Result<Execution, ApiError> {
    let read = serde_json::from_value(told);
    let mut read: Execution =
        read.map_err(|error| ApiError::bad_request(super::extract::message_of(&error)))?;
    read.check().map_err(|error| ApiError::bad_request(error.to_string()))?;
    if let Some(name) = &read.session {
        Sessions::check_name(name)?;
    }
    read.tool = service.describe(read.tool.as_str(), None)?.id.clone();
    read.session = read.session.or_else(|| session.name().map(str::to_owned));
    Ok(read)
}
