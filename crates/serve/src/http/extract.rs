//! What a request brings, read so that whatever is wrong with it is told as JSON.

use std::future::Future;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::ApiError;

/// A body of JSON.
///
/// It must be labelled so: what a foreign page can send without asking first is labelled otherwise.
pub struct Body<T>(pub T);

/// A body of JSON as it came, byte for byte.
pub struct RawJson(pub Bytes);

/// What stands behind the `?`.
pub struct Params<T>(pub T);

/// The one part of a path that is not fixed.
pub struct Part(pub String);

impl<S: Send + Sync> FromRequest<S> for RawJson {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        if !is_json(request.headers()) {
            let said = "expected a body of JSON, with `Content-Type: application/json`";
            return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", said));
        }
        let read = Bytes::from_request(request, state).await;
        read.map(Self).map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => ApiError::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "too_large",
                "the body is larger than this server takes; --max-body raises that",
            ),
            _ => ApiError::bad_request("the body ended before it was whole"),
        })
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let RawJson(bytes) = RawJson::from_request(request, state).await?;
        // As for [`object`]: no endpoint takes a list.
        if bytes.trim_ascii_start().starts_with(b"[") {
            return Err(ApiError::bad_request("expected a body that is an object, found a list"));
        }
        parse(&bytes).map(Self)
    }
}

/// An object or nothing: serde would also take a list for the members in their order.
pub fn object<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
where
    T: DeserializeOwned,
    D: Deserializer<'de>,
{
    let members = Option::<serde_json::Map<String, Value>>::deserialize(from)?;
    let read = members.map(|members| serde_json::from_value(Value::Object(members)));
    read.transpose().map_err(D::Error::custom)
}

/// # Errors
/// 400 with the place and the reason.
pub fn parse<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, ApiError> {
    serde_json::from_slice(bytes).map_err(|error| ApiError::bad_request(told(&error)))
}

/// What is wrong with a body, without repeating what it says at length: it may be a secret.
pub fn told(error: &serde_json::Error) -> String {
    const MOST: usize = 300;
    let said = format!("the body is not as expected: {error}");
    match said.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &said[..end]),
        None => said,
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    fn from_request_parts(
        parts: &mut Parts,
        _: &S,
    ) -> impl Future<Output = Result<Self, ApiError>> + Send {
        let read = Query::<T>::try_from_uri(&parts.uri);
        let read = read.map(|Query(read)| Self(read)).map_err(|rejection| {
            ApiError::bad_request(format!("a parameter is not as expected: {rejection}"))
        });
        std::future::ready(read)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Part {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = Path::<String>::from_request_parts(parts, state).await;
        let read = read.map(|Path(part)| Self(part));
        read.map_err(|_| ApiError::bad_request("the path is no text in UTF-8"))
    }
}
