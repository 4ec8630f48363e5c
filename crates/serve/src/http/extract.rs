//! Extractors for bodies and parameters. Their errors are answers in JSON.

use std::collections::BTreeMap;
use std::future::Future;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use toolroute_catalog::{json_fault, member_fault, shortened, type_fault};

use super::ApiError;

/// A JSON body. Its content type must be JSON, because a foreign page cannot send that type without
/// a preflight request.
pub struct Body<T>(pub T);

/// An unparsed JSON body.
pub struct RawJson(pub Bytes);

/// The parameters of the query string.
pub struct Params<T>(pub T);

/// The variable part of a path.
pub struct Part(pub String);

impl<S: Send + Sync> FromRequest<S> for RawJson {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        if !is_json(request.headers()) {
            let said = "expected a body of JSON, with `Content-Type: application/json`";
            return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", said));
        }
        if request.headers().get(CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
            let said = "expected a body that is not compressed, found one with `Content-Encoding`";
            return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "encoded", said));
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
        // As in [`object`], serde would accept a list of the members' values.
        if bytes.trim_ascii_start().starts_with(b"[") {
            return Err(ApiError::bad_request("expected a body that is an object, found a list"));
        }
        parse_prompt(&bytes).map(Self)
    }
}

/// Like [`parse`], for bodies that take their prompt as `prompt` or as `query`. If both are there,
/// they must be the same text. Serde alone rejects the second as a duplicate.
fn parse_prompt<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let failed = match serde_json::from_slice(bytes) {
        Ok(read) => return Ok(read),
        Err(error) => unparsed(bytes, &error),
    };
    let Ok(mut members) = serde_json::from_slice::<BTreeMap<String, Box<RawValue>>>(bytes) else {
        return Err(failed);
    };
    let text = |name: &str| serde_json::from_str::<String>(members.get(name)?.get()).ok();
    match (text("prompt"), text("query")) {
        (Some(prompt), Some(query)) if prompt == query => {
            members.remove("query");
            let once = serde_json::to_vec(&members).map_err(|error| ApiError::internal(&error))?;
            parse(&once)
        }
        (Some(_), Some(_)) => {
            let said = "expected `prompt` or `query`, found both with different texts";
            Err(ApiError::bad_request(said))
        }
        _ => Err(failed),
    }
}

/// Deserializes an object or null. Serde alone would also accept a list of the members' values.
pub fn object<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
where
    T: DeserializeOwned,
    D: Deserializer<'de>,
{
    let members = Option::<serde_json::Map<String, Value>>::deserialize(from)?;
    let Some(members) = members.map(Value::Object) else { return Ok(None) };
    T::deserialize(&members).map(Some).map_err(|error| {
        let fault = member_fault::<T>(&members);
        D::Error::custom(fault.unwrap_or_else(|| type_fault(&error.to_string())))
    })
}

/// Parses a JSON body, or says where and why it cannot (400).
pub fn parse<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, ApiError> {
    serde_json::from_slice(bytes).map_err(|error| unparsed(bytes, &error))
}

fn unparsed(bytes: &[u8], error: &serde_json::Error) -> ApiError {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    ApiError::bad_request(message_of(&json_fault(text, error)))
}

/// A message about an invalid body. It is short, because the body may contain secrets.
pub fn message_of(fault: &str) -> String {
    shortened(&format!("the body is not as expected: {fault}"), 300)
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
            let pairs = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
            let pairs = pairs.map(|Query(pairs)| pairs).unwrap_or_default();
            ApiError::bad_request(bad_parameter(&rejection.body_text(), &pairs))
        });
        std::future::ready(read)
    }
}

/// Says what a parameter must be, in place of what the parser says of its characters.
fn bad_parameter(said: &str, pairs: &[(String, String)]) -> String {
    const LONGEST: usize = 40;
    let fault = said.strip_prefix("Failed to deserialize query string: ").unwrap_or(said);
    let (name, reason) = fault.split_once(": ").unwrap_or_default();
    let expected = if reason.contains("`true` or `false`") {
        "true or false"
    } else if ["digit", "integer", "number"].iter().any(|word| reason.contains(word)) {
        "a whole number from 0 up"
    } else {
        return format!("a parameter is not as expected: {fault}");
    };
    let found = pairs.iter().find(|(named, _)| named == name);
    let found: String =
        found.map(|(_, value)| value.chars().take(LONGEST).collect()).unwrap_or_default();
    format!("expected {expected} for the parameter `{name}`, found {found:?}")
}

impl<S: Send + Sync> FromRequestParts<S> for Part {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = Path::<String>::from_request_parts(parts, state).await;
        let read = read.map(|Path(part)| Self(part));
        read.map_err(|_| ApiError::bad_request("the path is no text in UTF-8"))
    }
}
