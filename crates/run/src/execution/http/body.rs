//! The body of a request, in the type that the operation takes.

use reqwest::header::CONTENT_TYPE;
use reqwest::{RequestBuilder, Url};
use serde_json::Value;

use super::{Arguments, add_pairs, given, multipart};
use toolroute_catalog::{Operation, OperationArgument, OperationBody, Place};

const FORM: &str = "application/x-www-form-urlencoded";

/// Adds the body to a request: the given members, or the one argument that is the whole body. An
/// error is the reason why the body that the operation needs cannot be built.
pub(super) fn add(
    request: RequestBuilder,
    operation: &Operation,
    arguments: &Arguments,
) -> Result<RequestBuilder, String> {
    match &operation.body {
        None => Ok(add_json(request, operation, arguments)),
        Some(body) if body.is_form() => add_form(request, body, operation, arguments),
        Some(body) if operation.is_body_known() => add_parts(request, body, operation, arguments),
        Some(OperationBody { media_type, required: true }) => Err(format!(
            "the operation needs a body of type {media_type}; only JSON, forms and named parts can be sent"
        )),
        Some(_) => Ok(request),
    }
}

fn add_json(
    request: RequestBuilder,
    operation: &Operation,
    arguments: &Arguments,
) -> RequestBuilder {
    if let Some(whole) = whole(operation, arguments) {
        return request.json(whole);
    }
    let members: Arguments = members(operation, arguments)
        .map(|(argument, value)| (argument.sent_name().to_owned(), value.clone()))
        .collect();
    if members.is_empty() { request } else { request.json(&members) }
}

fn add_form(
    request: RequestBuilder,
    body: &OperationBody,
    operation: &Operation,
    arguments: &Arguments,
) -> Result<RequestBuilder, String> {
    // The query of a URL has the encoding of a form, so a placeholder URL collects the pairs.
    let mut form = Url::parse("http://form/").map_err(|error| error.to_string())?;
    for (argument, value) in members(operation, arguments) {
        add_pairs(&mut form, argument, value);
    }
    match whole(operation, arguments) {
        Some(Value::Object(fields)) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .for_each(|(name, value)| add_pairs(&mut form, &field(name), value)),
        Some(_) => return Err("a form is made of an object; the body is another value".to_owned()),
        None if body.required && takes_whole(operation) => {
            return Err("the operation needs a body; give one as an object".to_owned());
        }
        None => {}
    }
    let text = form.query().unwrap_or_default();
    if text.is_empty() && !body.required {
        return Ok(request);
    }
    Ok(request.header(CONTENT_TYPE, FORM).body(text.to_owned()))
}

/// Adds the parts of a body. A body without parts is invalid, so a required body needs at least one
/// part.
fn add_parts(
    request: RequestBuilder,
    body: &OperationBody,
    operation: &Operation,
    arguments: &Arguments,
) -> Result<RequestBuilder, String> {
    match multipart::encode(members(operation, arguments))? {
        Some((kind, bytes)) => Ok(request.header(CONTENT_TYPE, kind).body(bytes)),
        None if body.required => Err(format!(
            "the operation needs a body of type {}; give a part of it",
            body.media_type
        )),
        None => Ok(request),
    }
}

fn field(name: &str) -> OperationArgument {
    OperationArgument::new(name, Place::Member)
}

fn members<'a>(
    operation: &'a Operation,
    arguments: &'a Arguments,
) -> impl Iterator<Item = (&'a OperationArgument, &'a Value)> {
    given(operation, arguments).filter(|(argument, _)| argument.place == Place::Member)
}

fn whole<'a>(operation: &'a Operation, arguments: &'a Arguments) -> Option<&'a Value> {
    given(operation, arguments)
        .find(|(argument, _)| argument.place == Place::Body)
        .map(|(_, value)| value)
}

fn takes_whole(operation: &Operation) -> bool {
    operation.arguments.iter().any(|argument| argument.place == Place::Body)
}
