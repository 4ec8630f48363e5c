//! The arguments of an operation as one JSON object.

use serde_json::{Map, Value, json};

use super::names::first_free_name;
use super::swagger;
use crate::import::refs::Refs;
use crate::{OperationArgument, OperationBody, Place, singular, words_of};

/// A body without its schema.
pub(super) struct Body<'a> {
    pub required: bool,
    pub encoding: &'a Value,
    pub is_multipart: bool,
}

/// A body in one media type.
pub(super) struct Variant<'a> {
    pub kind: &'a str,
    pub schema: Option<&'a Value>,
    pub encoding: &'a Value,
}

#[derive(Default)]
pub(super) struct Input {
    properties: Map<String, Value>,
    required: Vec<Value>,
    pub arguments: Vec<OperationArgument>,
    /// The body, if it is not JSON.
    pub other_body: Option<OperationBody>,
    /// The description's word for a separator of lists that calls do not send.
    pub other_separator: Option<String>,
    is_swagger: bool,
}

impl Input {
    pub fn new(is_swagger: bool) -> Self {
        Self { is_swagger, ..Self::default() }
    }

    /// Adds a parameter of an operation at `path`.
    pub fn parameter<'v>(&mut self, parameter: &'v Value, path: &str, refs: &mut Refs<'v>) {
        let parameter = refs.enter(parameter);
        let Some(name) = parameter["name"].as_str() else {
            return refs.record_unresolved(parameter);
        };
        let content = parameter["content"].as_object().and_then(json_schema);
        let mut schema = match content.or_else(|| parameter.get("schema")) {
            Some(schema) => refs.resolve(schema),
            None if self.is_swagger => swagger::schema(parameter, refs),
            None => json!({}),
        };
        if let (Some(members), Some(text)) = (schema.as_object_mut(), parameter.get("description"))
            && !members.contains_key("description")
            && let Some(text) = refs.copy(text)
        {
            members.insert("description".to_owned(), text);
        }
        let (place, suffix) = match parameter["in"].as_str() {
            Some("path") => (Place::Path, "path"),
            Some("header") => (Place::Header, "header"),
            _ => (Place::Query, "query"),
        };
        if let (Place::Path, Some(members)) = (place, schema.as_object_mut())
            && !members.contains_key("description")
            && let Some(text) = identified(name, path)
        {
            members.insert("description".to_owned(), Value::from(text));
        }
        let sent = name;
        let name = self.free(name, suffix);
        if parameter["required"] == json!(true) {
            self.required.push(json!(name));
        }
        self.properties.insert(name.clone(), schema);
        self.note_separator(parameter);
        let joined = match self.is_swagger {
            true => swagger::is_joined(parameter),
            false => parameter["explode"] == json!(false),
        };
        let deep = place == Place::Query && parameter["style"] == json!("deepObject");
        let sent_as = (name != sent).then(|| sent.to_owned());
        let argument = OperationArgument::new(name, place);
        self.arguments.push(OperationArgument { joined, deep, sent_as, ..argument });
    }

    /// Keeps the separator of a parameter's lists if calls do not send it.
    pub fn note_separator(&mut self, parameter: &Value) {
        const OTHERS: [&str; 5] = ["pipeDelimited", "spaceDelimited", "pipes", "ssv", "tsv"];
        let said = ["style", "collectionFormat"].iter().filter_map(|key| parameter[key].as_str());
        let other = said.into_iter().find(|word| OTHERS.contains(word));
        self.other_separator = other.map(str::to_owned).or(self.other_separator.take());
    }

    /// Returns the first of these names that no other argument has: `name`, `name_suffix`,
    /// `name_suffix_2` and so on.
    fn free(&self, name: &str, suffix: &str) -> String {
        let is_taken = |name: &str| self.properties.contains_key(name);
        match is_taken(name) {
            true => first_free_name(&format!("{name}_{suffix}"), is_taken),
            false => name.to_owned(),
        }
    }

    /// Adds the body of OpenAPI 3.
    pub fn body<'v>(&mut self, body: &'v Value, refs: &mut Refs<'v>) {
        let body = refs.enter(body);
        refs.record_unresolved(body);
        let content = body["content"].as_object().into_iter().flatten();
        let variants = content.map(|(kind, variant)| Variant {
            kind,
            schema: variant.get("schema"),
            encoding: &variant["encoding"],
        });
        self.variants(&variants.collect::<Vec<_>>(), body["required"] == json!(true), refs);
    }

    /// Adds a body: as JSON if the operation accepts it, otherwise as a form, otherwise as parts.
    /// Only the media type of any other body is kept.
    pub fn variants(&mut self, variants: &[Variant<'_>], required: bool, refs: &mut Refs<'_>) {
        let of = |variant: &Variant<'_>| of_type(variant.kind, required);
        let json = variants.iter().find(|variant| is_json(variant.kind));
        let form = variants.iter().find(|variant| of(variant).is_form());
        let parts = variants.iter().find(|variant| of(variant).is_multipart());
        let Some(variant) = json.or(form).or(parts) else {
            self.other_body = variants.first().map(of);
            return;
        };
        if json.is_none() {
            self.set_kind(variant.kind, required);
        }
        // A variant without a schema allows any value.
        let schema = variant.schema.map_or_else(|| json!({}), |schema| refs.resolve(schema));
        let is_multipart = self.other_body.as_ref().is_some_and(OperationBody::is_multipart);
        self.body_schema(schema, &Body { required, encoding: variant.encoding, is_multipart });
    }

    pub fn set_kind(&mut self, kind: &str, required: bool) {
        self.other_body = Some(of_type(kind, required));
    }

    pub fn body_schema(&mut self, mut schema: Value, body: &Body<'_>) {
        // Of parts each is sent by its name, so the members must be known.
        if body.is_multipart {
            merge_alternatives(&mut schema);
        }
        let is_plain = body.is_multipart || !has_alternatives(&schema);
        // A schema may also be a boolean, which has no members.
        let members = schema.get_mut("properties").filter(|_| is_plain);
        let members = members.and_then(Value::as_object_mut);
        let mergeable = members.filter(|m| !m.keys().any(|k| self.properties.contains_key(k)));
        if let Some(members) = mergeable {
            for (name, member) in members {
                let encoding = &body.encoding[name];
                let joined = encoding["explode"] == json!(false);
                let file = body.is_multipart.then(|| file(member, encoding)).flatten();
                let argument = OperationArgument::new(name.as_str(), Place::Member);
                self.arguments.push(OperationArgument { joined, file, ..argument });
                self.properties.insert(name.clone(), member.take());
            }
            if body.required {
                self.required.extend(schema["required"].as_array().into_iter().flatten().cloned());
            }
            return;
        }
        if body.is_multipart {
            // The parts cannot be distinguished from the arguments of the same names. The body is
            // left out, because a refused call is better than a wrong one.
            return;
        }
        let (name, place) = (self.free("body", "content"), Place::Body);
        if body.required {
            self.required.push(json!(name));
        }
        self.properties.insert(name.clone(), schema);
        self.arguments.push(OperationArgument::new(name, place));
    }

    pub fn into_schema(self) -> Value {
        let mut schema = json!({"type": "object", "properties": self.properties});
        if !self.required.is_empty() {
            schema["required"] = Value::Array(self.required);
        }
        schema
    }
}

/// Names of parameters that say nothing of the thing that they identify.
const IDENTIFYING: [&str; 9] =
    ["code", "guid", "id", "identifier", "key", "name", "number", "slug", "uuid"];

/// Returns the description of a parameter whose name says nothing of the thing in whose place it stands: "ID of the
/// incident" for `id` in `/incidents/{id}/timeline`. Without it, neither ranking nor a model knows what is meant.
fn identified(name: &str, path: &str) -> Option<String> {
    let kind = IDENTIFYING.into_iter().find(|kind| name.eq_ignore_ascii_case(kind))?;
    let (before, _) = path.split_once(&format!("/{{{name}}}"))?;
    let thing = words_of(before.rsplit('/').next().filter(|segment| !segment.contains('{'))?);
    let (last, others) = thing.split_last()?;
    let thing =
        others.iter().map(String::as_str).chain([&*singular(last)]).collect::<Vec<_>>().join(" ");
    let kind = match kind {
        "id" | "guid" | "uuid" => kind.to_uppercase(),
        _ => format!("{}{}", kind[..1].to_uppercase(), &kind[1..]),
    };
    Some(format!("{kind} of the {thing}"))
}

/// Whether a schema names more members than those in its `properties`. Alternatives that only
/// require some of them do not count; these are left to the server to check, because models' APIs
/// refuse alternatives at the top of a schema.
fn has_alternatives(schema: &Value) -> bool {
    let parts = ["allOf", "anyOf", "oneOf"].iter().filter_map(|key| schema.get(key)?.as_array());
    let only_requires = |part: &Value| {
        part.as_object().is_some_and(|members| members.keys().all(|key| key == "required"))
    };
    parts.flatten().any(|part| !only_requires(part))
}

/// Moves the members that alternatives name to the `properties` of the schema, so that each can be
/// sent. Only those that `allOf` requires are required.
fn merge_alternatives(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else { return };
    for key in ["allOf", "anyOf", "oneOf"] {
        let Some(Value::Array(parts)) = members.shift_remove(key) else { continue };
        for mut part in parts {
            merge_alternatives(&mut part);
            if let Some(Value::Object(more)) = part.get_mut("properties").map(Value::take) {
                let all = members.entry("properties").or_insert_with(|| json!({}));
                for (name, member) in more {
                    all.as_object_mut().map(|all| all.entry(name).or_insert(member));
                }
            }
            if let (true, Some(more)) = (key == "allOf", part["required"].as_array()) {
                let all = members.entry("required").or_insert_with(|| json!([])).as_array_mut();
                all.into_iter().for_each(|all| all.extend(more.iter().cloned()));
            }
        }
    }
}

/// Returns the media type of a member that is a file or a list of files; `None` for other members.
/// Changes the schema of such a member to require text in base64, because arguments are JSON.
fn file(member: &mut Value, encoding: &Value) -> Option<String> {
    let is_list = member["type"] == json!("array");
    let one = if is_list { member.get_mut("items")? } else { member };
    let declared = one["contentMediaType"].as_str().map(str::to_owned);
    let is_text = one.get("contentEncoding").is_some();
    let is_file = one["format"] == json!("binary") || declared.is_some() && !is_text;
    let one = one.as_object_mut().filter(|_| is_file)?;
    one.shift_remove("format");
    one.shift_remove("contentMediaType");
    one.insert("type".to_owned(), json!("string"));
    one.insert("contentEncoding".to_owned(), json!("base64"));
    let said = one.get("description").and_then(Value::as_str).unwrap_or_default();
    let said = format!("{said} (the file's content in base64)");
    one.insert("description".to_owned(), json!(said.trim()));
    // If the server accepts several types, the type of the file is unknown.
    let kind = encoding["contentType"].as_str().map(str::to_owned).or(declared);
    let kind = kind.filter(|kind| !kind.contains([',', '*']));
    Some(kind.unwrap_or_else(|| "application/octet-stream".to_owned()))
}

/// Returns the schema of the JSON variant among a parameter's media types.
fn json_schema(content: &Map<String, Value>) -> Option<&Value> {
    content.iter().find(|(kind, _)| is_json(kind))?.1.get("schema")
}

pub(super) fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_lowercase();
    kind == "application/json" || kind.ends_with("+json") || kind == "*/*"
}

fn of_type(kind: &str, required: bool) -> OperationBody {
    OperationBody { media_type: kind.to_owned(), required }
}
