//! `POST /v1/select`: the tools for a prompt, in the format of `toolroute route --json`.

mod many;

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use toolroute_rank::engine::{Context, Policy, SelectRequest, Strategy, Timings};
use toolroute_session::Session;
use utoipa::ToSchema;

use super::extract::{Body, object};
use super::{ApiError, App, ErrorBody, json_text};
use crate::{FindRequest, FindResult};

/// What is wanted.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SelectBody {
    #[schema(min_length = 1, pattern = r"\S", example = "send an email to Dana")]
    #[serde(alias = "query")]
    prompt: Option<String>,
    /// Up to 1,000 prompts in the place of `prompt`: the answer is `{"results": […]}`, one selection for each in
    /// their order.
    #[schema(min_items = 1, max_items = 1000)]
    prompts: Option<Vec<String>>,
    /// Tools to rank in the place of the catalog's, 4,096 at most, in any format that `POST /v1/tools` takes.
    #[schema(value_type = Option<Vec<Object>>, min_items = 1, max_items = 4096)]
    tools: Option<Box<RawValue>>,
    /// Tools at most, or `auto`: as many as the prompt needs, up to 10.
    limit: Option<Limit>,
    #[schema(value_type = Option<String>)]
    strategy: Option<Strategy>,
    /// Whether the answer is sized to the prompt, `limit` tools at most.
    adaptive: Option<bool>,
    /// Whether a tool that requires an id comes with a tool that gives it, unless the prompt has the id.
    complete: Option<bool>,
    /// Which tools may be chosen at all.
    #[schema(value_type = Option<Object>)]
    #[serde(default, deserialize_with = "object")]
    policy: Option<Policy>,
    /// Tools whose scores lie within so much of each other are ordered by reliability, cost and latency,
    /// where they declare them; 0 leaves it at the score.
    #[schema(minimum = 0.0, maximum = 1.0)]
    policy_band: Option<f32>,
    /// Ids of the only tools to rank.
    candidates: Option<Vec<String>>,
    /// What is known around the prompt; `docs/context.md` has all members.
    #[schema(value_type = Option<Object>)]
    #[serde(default, deserialize_with = "object")]
    context: Option<Context>,
    /// A profile of the server.
    profile: Option<String>,
    /// Tools of this server alone.
    server: Option<String>,
    /// The conversation that it belongs to; the header `x-toolroute-session` says the same.
    #[schema(min_length = 1, max_length = 256)]
    session: Option<String>,
    /// Tools that score less are left out.
    min_score: Option<f32>,
    /// Whether each tool's explanation is in the answer.
    #[serde(default = "yes")]
    explain: bool,
    /// Whether the tools that were left out are in the answer, with the reason.
    #[serde(default = "yes")]
    excluded: bool,
    /// Whether the answer says where the time went.
    #[serde(default)]
    timings: bool,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected `limit` as a whole number, or `auto`")]
enum Limit {
    Most(usize),
    Auto(Auto),
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Auto {
    Auto,
}

/// The limit that `auto` stands for, as on the command line.
const MOST_BY_ITSELF: usize = 10;

fn yes() -> bool {
    true
}

/// The members have the order of `toolroute route --json`.
#[derive(Serialize)]
struct Answer {
    prompt: String,
    #[serde(flatten)]
    found: FindResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    timings: Option<Map<String, Value>>,
}

/// The tools for a prompt, best first.
#[utoipa::path(post, path = "/v1/select", tag = "tools", request_body = SelectBody,
    params(("x-toolroute-session" = Option<String>, Header, description = "the session, where the body names none")), responses(
    (status = 200, body = ref("#/components/schemas/SelectAnswerDoc")),
    (status = 400, description = "the request is wrong", body = ErrorBody),
    (status = 404, description = "no such profile or server", body = ErrorBody),
    (status = 408, description = "no answer in time", body = ErrorBody),
    (status = 409, description = "no catalog, or a strategy that needs a model, and none is there", body = ErrorBody),
    (status = 413, description = "the body is too large", body = ErrorBody),
    (status = 415, description = "the body is not labelled as JSON", body = ErrorBody),
    (status = 503, description = "more is asked than can be answered", body = ErrorBody)))]
pub async fn select(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Body(asked): Body<SelectBody>,
) -> Result<Response, ApiError> {
    if asked.tools.is_some() || asked.prompts.is_some() {
        return many::select(&app, asked).await;
    }
    let (shown, prompt) = (asked.shown(), asked.prompt.clone());
    let said = "expected `prompt`, what tools are wanted for, or `prompts`, a list of such texts";
    let prompt = prompt.ok_or_else(|| ApiError::bad_request(said))?;
    let session = app.session((asked.profile.as_deref(), asked.session.as_deref()), &headers)?;
    let found = app.find(asked.find(prompt.clone(), session)).await?;
    Ok(json_text(shown.text(prompt, found)?))
}

/// The parts of an answer that the client wants.
#[derive(Clone, Copy)]
struct ShownParts {
    explain: bool,
    excluded: bool,
    timings: bool,
}

impl ShownParts {
    /// Converts an answer to JSON.
    fn text(self, prompt: String, found: FindResult) -> Result<String, ApiError> {
        let timings = self.timings.then(|| stages(&found.selection.timings, found.took_ms));
        let failed = |error: serde_json::Error| ApiError::internal(&error);
        // Through text, because `to_value` widens each f32: 0.478 would become 0.4779999852180481.
        let text = serde_json::to_string(&Answer { prompt, found, timings }).map_err(failed)?;
        if self.explain && self.excluded {
            return Ok(text);
        }
        let mut answer: Value = serde_json::from_str(&text).map_err(failed)?;
        let without =
            |from: &mut Value, name| from.as_object_mut().and_then(|from| from.remove(name));
        if !self.excluded {
            without(&mut answer, "excluded");
        }
        if !self.explain {
            for tool in answer["tools"].as_array_mut().into_iter().flatten() {
                without(tool, "explanation");
            }
        }
        Ok(answer.to_string())
    }
}

impl SelectBody {
    fn shown(&self) -> ShownParts {
        let &Self { explain, excluded, timings, .. } = self;
        ShownParts { explain, excluded, timings }
    }

    /// The request for a prompt of the body.
    fn find(self, prompt: String, session: Arc<Session>) -> FindRequest {
        let (limit, sized) = match self.limit {
            None => (None, None),
            Some(Limit::Most(limit)) => (Some(limit), None),
            Some(Limit::Auto(Auto::Auto)) => (Some(MOST_BY_ITSELF), Some(true)),
        };
        FindRequest {
            session,
            request: SelectRequest {
                prompt,
                strategy: self.strategy,
                limit,
                adaptive: self.adaptive.or(sized),
                complete: self.complete,
                policy: self.policy,
                policy_band: self.policy_band,
                candidates: self.candidates,
                context: self.context,
            },
            profile: self.profile,
            server: self.server,
            min_score: self.min_score,
        }
    }
}

/// Milliseconds by stage. `whole_ms` includes the time between stages.
fn stages(timings: &Timings, whole_ms: f64) -> Map<String, Value> {
    let millis = |time: std::time::Duration| Value::from(time.as_secs_f64() * 1e3);
    let stage = |(name, time): &(&str, _)| (format!("{name}_ms"), millis(*time));
    let mut stages: Map<String, Value> = timings.stages().iter().map(stage).collect();
    stages.insert("total_ms".to_owned(), millis(timings.total()));
    stages.insert("whole_ms".to_owned(), whole_ms.into());
    stages
}
