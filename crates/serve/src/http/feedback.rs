//! `POST /v1/feedback`: reports on tools that ran elsewhere, for the log that selections learn
//! from.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use toolroute_catalog::type_fault;
use toolroute_rank::feedback::{Execution, RecordOutcome};
use toolroute_rank::query::says_nothing;
use toolroute_session::Session;
use utoipa::ToSchema;

use super::extract::Body;
use super::{ApiError, App, Client, ErrorBody, json};
use crate::Service;
use crate::service::Sessions;

#[derive(Serialize, ToSchema)]
#[schema(as = Taken)]
pub struct Receipt {
    /// The number of runs, from the first on, that wait to be written now, or are.
    taken: usize,
    /// The number of runs after them, which were dropped because the queue was full.
    dropped: usize,
}

/// Takes runs of tools for the log; they are written in the background. The prompt's text is kept
/// only where the server was told to keep it.
#[utoipa::path(post, path = "/v1/feedback", operation_id = "add_feedback", tag = "tools", request_body = ref("#/components/schemas/FeedbackBody"),
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
    let receipt = Receipt { taken, dropped: all - taken };
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
    let Value::Object(told) = told else {
        return Err(ApiError::bad_request("expected an execution as an object"));
    };
    let mut read = Execution::from_json(told)
        .map_err(|error| ApiError::bad_request(super::extract::message_of(&type_fault(&error))))?;
    // No tool can be learned from a prompt without words.
    if read.prompt.as_deref().is_some_and(says_nothing) {
        return Err(toolroute_rank::engine::Error::EmptyPrompt.into());
    }
    read.check().map_err(|error| ApiError::bad_request(error.to_string()))?;
    if let Some(name) = &read.session {
        Sessions::check_name(name)?;
    }
    read.tool = service.describe(read.tool.as_str(), None)?.id.clone();
    read.session = read.session.or_else(|| session.name().map(str::to_owned));
    Ok(read)
}
