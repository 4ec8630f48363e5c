//! `POST /v1/analyze`: what a prompt and its context are about, in the format of
//! `toolroute analyze --json`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use toolroute_rank::engine::{Analysis, Context};
use utoipa::ToSchema;

use super::extract::{Body, object};
use super::{ApiError, App, ErrorBody, json};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnalyzeBody {
    #[schema(min_length = 1, pattern = r"\S", example = "fix the failing test")]
    #[serde(alias = "query")]
    prompt: String,
    /// What is known around the prompt; `docs/context.md` has all members.
    #[schema(value_type = Option<Object>)]
    #[serde(default, deserialize_with = "object")]
    context: Option<Context>,
}

#[derive(Serialize)]
struct Answer {
    prompt: String,
    files: usize,
    #[serde(flatten)]
    analysis: Analysis,
}

/// The features of a prompt and its context: phase, kind of work, languages, complexity, structure
/// and tests of the files at hand.
#[utoipa::path(post, path = "/v1/analyze", tag = "tools", request_body = AnalyzeBody, responses(
    (status = 200, body = ref("#/components/schemas/AnalysisDoc")), (status = 400, body = ErrorBody),
    (status = 408, description = "no answer in time", body = ErrorBody), (status = 413, body = ErrorBody),
    (status = 415, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub async fn analyze(
    State(app): State<Arc<App>>,
    Body(asked): Body<AnalyzeBody>,
) -> Result<Response, ApiError> {
    let AnalyzeBody { prompt, context } = asked;
    let service = app.service();
    let analyzing = app.work(move || {
        let context = context.unwrap_or_default();
        let analysis = service.engine().analyze(&prompt, &context)?;
        Ok::<_, toolroute_rank::engine::Error>(Answer {
            prompt,
            files: context.files.len(),
            analysis,
        })
    });
    Ok(json(analyzing.await??))
}
