//! The errors of the API, and their HTTP status.

use axum::Json;
use axum::http::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use toolroute_catalog as catalog;
use toolroute_conduct as conductor;
use toolroute_rank::engine;
use utoipa::ToSchema;

use crate::Error;

/// An error answer: `{"error": {"type": …, "message": …}}`, the format that clients of other APIs
/// expect.
#[derive(Debug)]
pub struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    retry_after: Option<u64>,
}

/// The body of every answer that is an error.
#[derive(Serialize, ToSchema)]
pub struct ErrorBody {
    error: ErrorDetail,
}

#[derive(Serialize, ToSchema)]
pub(super) struct ErrorDetail {
    /// A word for programs, such as `invalid_request`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// What was expected, what came, and how to cure it.
    message: String,
}

impl ApiError {
    pub fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, message: message.into(), retry_after: None }
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    /// The same error, with the position in the body that it concerns.
    #[must_use]
    pub(super) fn at(self, place: &str) -> Self {
        Self { message: format!("{place}: {}", self.message), ..self }
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// 409: the server runs without an option that the request needs.
    pub fn not_configured(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "not_configured", message)
    }

    pub fn busy(retry_after: u64) -> Self {
        let said = "more is asked than can be answered; try again, or start the server with a larger --queue";
        let busy = Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", said);
        Self { retry_after: Some(retry_after), ..busy }
    }

    /// What the client is told.
    pub(super) fn into_detail(self) -> ErrorDetail {
        ErrorDetail { kind: self.kind, message: self.message }
    }

    /// 500: not the client's fault. The details go only to the log.
    pub fn internal(error: &dyn std::fmt::Display) -> Self {
        tracing::error!(%error, "a request failed");
        let said = "the request could not be answered; the server's log says why";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", said)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let Self { status, retry_after, .. } = self;
        let body = Json(ErrorBody { error: self.into_detail() });
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        match error {
            Error::Engine(error) => error.into(),
            Error::UnknownTool { ref near, .. } if near.is_empty() => Self::not_found(format!(
                "{error}; GET /v1/tools lists the ids of tools, and POST /v1/select finds them"
            )),
            Error::UnknownTool { .. }
            | Error::HeldBack { .. }
            | Error::Forbidden { .. }
            | Error::NotListed { .. }
            | Error::UnknownHandle { .. }
            | Error::UnknownProfile { .. }
            | Error::UnknownServer { .. } => Self::not_found(error.to_string()),
            Error::BadSession { .. } | Error::PlanTooLong { .. } => {
                Self::bad_request(error.to_string())
            }
            Error::NoCatalog => Self::not_configured(error.to_string()),
            Error::NoExecutor => {
                Self::not_configured("tools cannot be called here; start with --servers FILE")
            }
            Error::Unavailable { .. } => {
                Self::new(StatusCode::BAD_GATEWAY, "unavailable", error.to_string())
            }
            other => Self::internal(&other),
        }
    }
}

impl From<tokio::task::JoinError> for ApiError {
    fn from(_: tokio::task::JoinError) -> Self {
        Self::internal(&"a panic; it is told above")
    }
}

impl From<engine::Error> for ApiError {
    fn from(error: engine::Error) -> Self {
        use engine::Error as Of;
        match error {
            Of::Catalog(error) => error.into(),
            Of::NoModel { .. } => Self::not_configured(error.to_string()),
            Of::NoFeedback => {
                Self::not_configured("no log of executions is kept; start with --feedback FILE")
            }
            Of::EmptyPrompt
            | Of::UnknownCandidates { .. }
            | Of::BadPolicyBand { .. }
            | Of::BadNearBest { .. }
            | Of::UnknownProfile { .. }
            | Of::Query(_)
            | Of::Selection(_)
            | Of::Log(_) => Self::bad_request(error.to_string()),
            other => Self::internal(&other),
        }
    }
}

impl From<catalog::Error> for ApiError {
    fn from(error: catalog::Error) -> Self {
        use catalog::Error as Of;
        match error {
            Of::Taken { .. } => Self::new(StatusCode::CONFLICT, "taken", error.to_string()),
            Of::UnknownTool { .. } => Self::not_found(error.to_string()),
            Of::Unusable { .. }
            | Of::Unrecognised { .. }
            | Of::Strict { .. }
            | Of::Refused { .. }
            | Of::NoTools => Self::bad_request(error.to_string()),
            other => Self::internal(&other),
        }
    }
}

impl From<conductor::Error> for ApiError {
    fn from(error: conductor::Error) -> Self {
        use conductor::Error as Of;
        match error {
            Of::Unfinished { .. } => {
                Self::new(StatusCode::CONFLICT, "unfinished", error.to_string())
            }
            Of::NothingToResume { .. } => Self::not_found(error.to_string()),
            Of::Busy { .. } => Self::busy(1),
            Of::Io { .. } | Of::Ledger { .. } | Of::Missing { .. } | Of::Damaged { .. } => {
                Self::internal(&error)
            }
            Of::Engine(error) => error.into(),
            other => Self::bad_request(other.to_string()),
        }
    }
}

/// The answer to a path without a route.
pub async fn unknown_path(uri: axum::http::Uri) -> ApiError {
    let path: String = uri.path().chars().take(80).collect();
    ApiError::not_found(format!("nothing is at `{path}`; /openapi.json says what is there"))
}

/// Replaces axum's answer to a wrong method with one in JSON.
pub fn with_json(response: Response) -> Response {
    if response.status() != StatusCode::METHOD_NOT_ALLOWED {
        return response;
    }
    let allow = response.headers().get(ALLOW).cloned();
    let said = "the path is right and the method is not; the header `Allow` names those it has";
    let mut answer =
        ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", said).into_response();
    if let Some(allow) = allow {
        answer.headers_mut().insert(ALLOW, allow);
    }
    answer
}
