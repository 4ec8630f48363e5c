//! Rewrites the operations of a Swagger 2.0 description as OpenAPI 3 describes them.
//!
//! Only what calls need is rewritten: parameters, bodies and the address. Definitions stay where
//! they are, because references to them are followed there.

use serde_json::{Map, Value, json};

use super::METHODS;
use crate::import::refs::Refs;

const FORM: &str = "application/x-www-form-urlencoded";
const PARTS: &str = "multipart/form-data";

pub(super) fn upgrade(root: &mut Value) {
    let mut paths = root["paths"].take();
    for item in paths.as_object_mut().into_iter().flat_map(Map::values_mut) {
        let Some(item) = item.as_object_mut() else { continue };
        // Each operation gets those of its path, because a body is a parameter here.
        let shared = item.shift_remove("parameters").unwrap_or_default();
        for (method, operation) in item.iter_mut() {
            if METHODS.contains(&method.as_str()) && operation.is_object() {
                upgrade_operation(operation, &shared, root);
            }
        }
    }
    let server = server(root);
    root["paths"] = paths;
    if !server.is_empty() {
        root["servers"] = json!([{"url": server}]);
    }
}

/// Returns the address, as far as the description states it; HTTPS is preferred.
fn server(root: &Value) -> String {
    let path = root["basePath"].as_str().unwrap_or("/").trim_end_matches('/');
    let Some(host) = root["host"].as_str() else { return path.to_owned() };
    let schemes = root["schemes"].as_array();
    let has_https = schemes.is_none_or(|all| all.is_empty() || all.contains(&json!("https")));
    format!("{}://{host}{path}", if has_https { "https" } else { "http" })
}

fn upgrade_operation(operation: &mut Value, shared: &Value, root: &Value) {
    let own = operation["parameters"].take();
    let refs = Refs::new(root);
    let mut parameters: Vec<Value> = Vec::new();
    let mut form: Vec<&Value> = Vec::new();
    for parameter in [&own, shared].into_iter().filter_map(Value::as_array).flatten() {
        let parameter = refs.follow(parameter);
        match parameter["in"].as_str() {
            Some("body") if operation.get("requestBody").is_none() => {
                let kind = kind_of_body(consumed(operation, root));
                let content = json!({kind: {"schema": parameter["schema"]}});
                let required = parameter["required"] == json!(true);
                operation["requestBody"] = json!({"content": content, "required": required});
            }
            Some("body") => {}
            Some("formData") => form.push(parameter),
            // A reference out of the document is reported later.
            None => parameters.push(parameter.clone()),
            Some(_) => parameters.push(upgraded(parameter)),
        }
    }
    if !form.is_empty() {
        operation["requestBody"] = form_body(&form, consumed(operation, root));
    }
    operation["parameters"] = parameters.into();
}

fn upgraded(parameter: &Value) -> Value {
    let mut upgraded = json!({"schema": schema(parameter), "explode": is_repeated(parameter)});
    for key in ["name", "in", "required", "description"] {
        if let Some(value) = parameter.get(key) {
            upgraded[key] = value.clone();
        }
    }
    upgraded
}

/// Whether a list is sent as `a=1&a=2`. The default joins it by commas.
fn is_repeated(parameter: &Value) -> bool {
    parameter["type"] != json!("array") || parameter["collectionFormat"] == json!("multi")
}

/// Returns the schema of a parameter, whose members are beside its name.
fn schema(parameter: &Value) -> Value {
    const BESIDE: [&str; 7] =
        ["name", "in", "required", "description", "collectionFormat", "allowEmptyValue", "schema"];
    let members = parameter.as_object().into_iter().flatten();
    let members = members.filter(|(key, _)| !BESIDE.contains(&key.as_str()));
    let mut schema: Map<String, Value> =
        members.map(|(key, value)| (key.clone(), value.clone())).collect();
    if schema.get("type") == Some(&json!("file")) {
        schema.extend([("type".into(), json!("string")), ("format".into(), json!("binary"))]);
    }
    schema.into()
}

/// Returns the media types that an operation accepts.
fn consumed<'v>(operation: &'v Value, root: &'v Value) -> &'v [Value] {
    let of = |owner: &'v Value| owner.get("consumes")?.as_array().map(Vec::as_slice);
    of(operation).or_else(|| of(root)).unwrap_or_default()
}

fn kind_of_body(consumed: &[Value]) -> &str {
    let is_json = |kind: &&str| kind.contains("json") || *kind == "*/*";
    let kinds = || consumed.iter().filter_map(Value::as_str);
    kinds().find(is_json).or_else(|| kinds().next()).unwrap_or("application/json")
}

fn form_body(form: &[&Value], consumed: &[Value]) -> Value {
    let accepts = |kind: &str| consumed.contains(&json!(kind));
    let has_file = form.iter().any(|field| field["type"] == json!("file"));
    let kind = if has_file || accepts(PARTS) && !accepts(FORM) { PARTS } else { FORM };
    let (mut properties, mut encoding, mut required) = (Map::new(), Map::new(), Vec::new());
    for field in form {
        let Some(name) = field["name"].as_str() else { continue };
        let mut schema = schema(field);
        if let Some(text) = field.get("description") {
            schema["description"] = text.clone();
        }
        if properties.contains_key(name) {
            // The operation's own field, which comes first, replaces that of its path.
            continue;
        }
        properties.insert(name.to_owned(), schema);
        encoding.insert(name.to_owned(), json!({"explode": is_repeated(field)}));
        required.extend((field["required"] == json!(true)).then(|| json!(name)));
    }
    let is_required = !required.is_empty();
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let content = json!({kind: {"schema": schema, "encoding": encoding}});
    json!({"content": content, "required": is_required})
}
