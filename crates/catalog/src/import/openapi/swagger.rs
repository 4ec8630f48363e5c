//! Reads what Swagger 2.0 describes in another way than OpenAPI 3: parameters, bodies and the address.
//!
//! Everything is read where it stands, because thousands of operations may share it by reference.

use serde_json::{Map, Value, json};

use super::input::{Body, Input, Variant, is_json};
use crate::import::refs::Refs;

#[cfg(test)]
mod tests;

const FORM: &str = "application/x-www-form-urlencoded";
const PARTS: &str = "multipart/form-data";

/// Returns the address, as far as the description states it; HTTPS is preferred.
pub(super) fn server(root: &Value) -> Option<String> {
    let path = root["basePath"].as_str().unwrap_or("/").trim_end_matches('/');
    let Some(host) = root["host"].as_str() else {
        return Some(path.to_owned()).filter(|path| !path.is_empty());
    };
    let schemes = root["schemes"].as_array();
    let has_https = schemes.is_none_or(|all| all.is_empty() || all.contains(&json!("https")));
    Some(format!("{}://{host}{path}", if has_https { "https" } else { "http" }))
}

/// Whether a list is joined by commas or by another separator instead of sent as `a=1&a=2`.
pub(super) fn is_joined(parameter: &Value) -> bool {
    parameter["type"] == json!("array") && parameter["collectionFormat"] != json!("multi")
}

/// Returns the schema of a parameter, whose members are beside its name.
pub(super) fn schema(parameter: &Value, refs: &mut Refs<'_>) -> Value {
    const BESIDE: [&str; 6] =
        ["name", "in", "required", "description", "collectionFormat", "allowEmptyValue"];
    let members = parameter.as_object().into_iter().flatten();
    let mut schema =
        refs.resolve_members(members.filter(|(key, _)| !BESIDE.contains(&key.as_str())));
    if schema.get("type") == Some(&json!("file")) {
        schema.extend([("type".into(), json!("string")), ("format".into(), json!("binary"))]);
    }
    schema.into()
}

/// Returns the media types that an operation accepts.
pub(super) fn consumed<'v>(operation: &'v Value, root: &'v Value) -> &'v [Value] {
    let of = |owner: &'v Value| owner.get("consumes")?.as_array().map(Vec::as_slice);
    of(operation).or_else(|| of(root)).unwrap_or_default()
}

/// Adds the body, which is a parameter here, or several, if it is a form.
pub(super) fn add_body<'v>(
    input: &mut Input,
    parameters: &[&'v Value],
    consumed: &'v [Value],
    refs: &mut Refs<'v>,
) {
    let is_field = |entry: &&&Value| refs.follow(entry)["in"] == json!("formData");
    let fields: Vec<&Value> = parameters.iter().filter(is_field).copied().collect();
    if !fields.is_empty() {
        return add_form(input, &fields, consumed, refs);
    }
    let is_body = |entry: &&&Value| refs.follow(entry)["in"] == json!("body");
    if let Some(body) = parameters.iter().find(is_body).map(|body| refs.enter(body)) {
        let (kind, schema) = (kind_of_body(consumed), body.get("schema"));
        let variant = Variant { kind, schema, encoding: &body["encoding"] };
        input.variants(&[variant], body["required"] == json!(true), refs);
    }
}

fn kind_of_body(consumed: &[Value]) -> &str {
    let kinds = || consumed.iter().filter_map(Value::as_str);
    kinds().find(|kind| is_json(kind)).or_else(|| kinds().next()).unwrap_or("application/json")
}

fn add_form<'v>(input: &mut Input, fields: &[&'v Value], consumed: &[Value], refs: &mut Refs<'v>) {
    let accepts = |kind: &str| consumed.contains(&json!(kind));
    let has_file = fields.iter().any(|field| refs.follow(field)["type"] == json!("file"));
    let kind = if has_file || accepts(PARTS) && !accepts(FORM) { PARTS } else { FORM };
    let (mut properties, mut encoding, mut required) = (Map::new(), Map::new(), Vec::new());
    for field in fields {
        let field = refs.enter(field);
        let Some(name) = field["name"].as_str() else { continue };
        input.note_separator(field);
        let mut schema = schema(field, refs);
        if let Some(text) = field.get("description").and_then(|text| refs.copy(text)) {
            schema["description"] = text;
        }
        properties.insert(name.to_owned(), schema);
        encoding.insert(name.to_owned(), json!({"explode": !is_joined(field)}));
        required.extend((field["required"] == json!(true)).then(|| json!(name)));
    }
    let is_required = !required.is_empty();
    let schema = json!({"type": "object", "properties": properties, "required": required});
    input.set_kind(kind, is_required);
    let encoding = &encoding.into();
    input.body_schema(
        schema,
        &Body { required: is_required, encoding, is_multipart: kind == PARTS },
    );
}
