//! `POST /v1/arguments`: reads the arguments of a tool from a prompt, without calling the tool.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;
use toolroute_run::execution::{ArgumentSources, LocalTime, LocalTimeError};
use utoipa::ToSchema;

use super::extract::Body;
use super::{ApiError, App, ErrorBody, json};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ArgumentsBody {
    /// The tool's id, `server:tool`, or a name that only one tool has.
    #[schema(min_length = 1)]
    tool: String,
    #[serde(alias = "query")]
    prompt: String,
    /// Arguments that are settled, as an object or as its text; nothing is read for them.
    #[serde(default)]
    #[schema(value_type = Object)]
    arguments: Value,
    /// The user's earlier prompts, the latest last. They count where the prompt refers back.
    #[serde(default)]
    earlier: Vec<String>,
    /// What the last tool answered. It counts where the prompt refers to it.
    #[schema(value_type = Option<Object>)]
    last_result: Option<Value>,
    /// The moment that "tomorrow" is relative to, with its offset; the server's clock and time zone
    /// where nothing is said.
    #[schema(format = DateTime)]
    now: Option<String>,
    /// A profile of the server.
    profile: Option<String>,
    /// The conversation that it belongs to: its prompts and its last result count as if they were
    /// told here. The header `x-toolroute-session` says the same.
    #[schema(min_length = 1, max_length = 256)]
    session: Option<String>,
}

/// The time that a body names, or the current time.
pub(super) fn moment(now: Option<&str>) -> Result<LocalTime, ApiError> {
    match now {
        Some(now) => {
            now.parse().map_err(|error: LocalTimeError| ApiError::bad_request(error.to_string()))
        }
        None => Ok(LocalTime::of_this_machine()),
    }
}

/// Reads a tool's arguments out of a prompt. Nothing is guessed, and nothing is called.
#[utoipa::path(post, path = "/v1/arguments", tag = "tools", request_body = ArgumentsBody,
    params(("x-toolroute-session" = Option<String>, Header, description = "the session, where the body names none")), responses(
    (status = 200, body = ref("#/components/schemas/ArgumentsDoc")), (status = 400, body = ErrorBody),
    (status = 404, description = "no such tool or profile", body = ErrorBody),
    (status = 408, body = ErrorBody), (status = 409, description = "there is no catalog", body = ErrorBody),
    (status = 413, body = ErrorBody), (status = 415, body = ErrorBody)))]
pub async fn arguments(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Body(asked): Body<ArgumentsBody>,
) -> Result<Response, ApiError> {
    let session = app.session((asked.profile.as_deref(), asked.session.as_deref()), &headers)?;
    let given = super::call::arguments(asked.arguments)?;
    let now = moment(asked.now.as_deref())?;
    let tool = app.service().describe(&asked.tool, asked.profile.as_deref())?;
    let preparing = app.work(move || {
        let earlier: Vec<&str> = asked.earlier.iter().map(String::as_str).collect();
        let sources = ArgumentSources {
            given: Some(&given),
            earlier: &earlier,
            last_result: asked.last_result.as_ref(),
            ..ArgumentSources::new(&asked.prompt, &now)
        };
        session.prepare_arguments(&tool, &sources)
    });
    Ok(json(preparing.await?))
}
