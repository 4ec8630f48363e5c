//! `POST /v1/tools/filter`: removes tools that a request to a language model does not need.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::extract::{Params, RawJson};
use super::{ApiError, App, ErrorBody, json_text};
use crate::filter::{self, FilterError, FilterReport, SkipReason};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct FilterParams {
    /// Tools to keep for the prompt, beside those that must stay. The header `x-toolroute-limit`
    /// says the same.
    #[param(minimum = 1)]
    limit: Option<usize>,
    /// Where the answer says what was cut: `headers`, or `body` as a member `toolroute`, which also has the
    /// scores (`CutReport`).
    report: Option<ReportIn>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReportIn {
    Headers,
    Body,
}

impl From<FilterError> for ApiError {
    fn from(error: FilterError) -> Self {
        match error {
            FilterError::Engine(error) => error.into(),
            FilterError::NotARequest(_) | FilterError::TwoPrompts => {
                Self::bad_request(error.to_string())
            }
        }
    }
}

/// Takes the body of an OpenAI (chat completions, responses) or Anthropic (messages) request and
/// gives it back with those tools that the messages need. No other byte changes.
#[utoipa::path(post, path = "/v1/tools/filter", tag = "drop-in",
    params(FilterParams, ("x-toolroute-limit" = Option<usize>, Header, description = "the same as `limit`", minimum = 1)),
    request_body(content = Object, description = "the body of a request to a language model; a text `prompt` (or \
        `query`) beside its messages is what the tools are ranked for, and the messages are the conversation before"),
    responses((status = 200, description = "the body, cut", body = Object), (status = 400, body = ErrorBody),
        (status = 408, body = ErrorBody), (status = 413, body = ErrorBody), (status = 415, body = ErrorBody),
        (status = 503, body = ErrorBody)))]
pub async fn filter(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Params(params): Params<FilterParams>,
    RawJson(body): RawJson,
) -> Result<Response, ApiError> {
    if params.limit == Some(0) {
        return Err(ApiError::bad_request("expected a limit of at least 1 tool, found 0"));
    }
    let keep = params.limit.or(limit_of(&headers)?).unwrap_or(app.options.keep);
    let (service, with_scores) = (app.service(), params.report == Some(ReportIn::Body));
    let filtering = app.work(move || {
        let filtered = filter::filtered(service.engine(), &body, keep, with_scores)?;
        Ok::<_, FilterError>((filtered.body.into_owned(), filtered.report))
    });
    let (mut body, report) = filtering.await??;
    if with_scores {
        body = with_report(body, &report);
    }
    let mut response = json_text(body);
    if params.report == Some(ReportIn::Headers) {
        add_counts(response.headers_mut(), &report);
    }
    Ok(response)
}

/// The number of tools to keep that the header `x-toolroute-limit` names.
pub fn limit_of(headers: &HeaderMap) -> Result<Option<usize>, ApiError> {
    let Some(limit) = headers.get("x-toolroute-limit") else { return Ok(None) };
    let limit = limit.to_str().ok().and_then(|limit| limit.trim().parse().ok());
    let said = "expected the header `x-toolroute-limit` as a whole number of at least 1";
    limit.filter(|limit| *limit > 0).map(Some).ok_or_else(|| ApiError::bad_request(said))
}

/// Adds the counts to the headers. Names are left out: there may be thousands, with any characters.
pub fn add_counts(headers: &mut HeaderMap, report: &FilterReport) {
    headers.insert("x-toolroute-tools", HeaderValue::from(report.tools));
    headers.insert("x-toolroute-kept", HeaderValue::from(report.kept));
    if let Some(because) = report.untouched {
        add_reason(headers, because);
    }
}

/// Adds the reason why no tool was removed.
pub fn add_reason(headers: &mut HeaderMap, because: SkipReason) {
    headers.insert("x-toolroute-untouched", HeaderValue::from_static(because.as_str()));
}

/// The body with the report as its last member.
fn with_report(mut body: Vec<u8>, report: &FilterReport) -> Vec<u8> {
    let Some(end) = body.iter().rposition(|byte| *byte == b'}') else { return body };
    let is_empty = body[..end].iter().rfind(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let comma = if is_empty { "" } else { "," };
    // The report is written as text, because a `Value` widens each f32.
    let report = serde_json::to_string(report).expect("a report has texts as keys. This is a bug.");
    let member = format!("{comma}\"toolroute\":{report}");
    body.splice(end..end, member.into_bytes());
    body
}
