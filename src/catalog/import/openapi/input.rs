//! The one object of arguments that an operation takes.

use serde_json::{Map, Value, json};

use super::super::super::{OperationArgument, OperationBody, Place};
use super::super::refs::Refs;

#[derive(Default)]
pub(super) struct Input {
    properties: Map<String, Value>,
    required: Vec<Value>,
    pub arguments: Vec<OperationArgument>,
    /// The body, where it is not JSON.
    pub unlike_json: Option<OperationBody>,
}

impl Input {
    pub fn parameter(&mut self, parameter: &Value, refs: &mut Refs<'_>) {
        let Some(name) = parameter["name"].as_str() else { return refs.note(parameter) };
        let content = parameter["content"].as_object().and_then(json_schema);
        let mut schema = match content.or_else(|| parameter.get("schema")) {
            Some(schema) => refs.resolve(schema),
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
        let sent = name;
        let name = self.free(name, suffix);
        if parameter["required"] == json!(true) {
            self.required.push(json!(name));
        }
        self.properties.insert(name.clone(), schema);
        let joined = parameter["explode"] == json!(false);
        let sent_as = (name != sent).then(|| sent.to_owned());
        self.arguments.push(OperationArgument { name, place, joined, sent_as });
    }

    /// The name, or where another argument has it already, `name_suffix`, or that with a number.
    fn free(&self, name: &str, suffix: &str) -> String {
        let first = [name.to_owned(), format!("{name}_{suffix}")];
        let numbered = (2..).map(|number| format!("{name}_{suffix}_{number}"));
        let mut names = first.into_iter().chain(numbered);
        let is_free = |name: &String| !self.properties.contains_key(name);
        names.find(is_free).expect("numbers do not end. This is a bug.")
    }

    /// JSON where the operation takes it, else a form. Of any other body only the type is kept.
    pub fn body<'v>(&mut self, body: &'v Value, refs: &mut Refs<'v>) {
        refs.note(body);
        let required = body["required"] == json!(true);
        let Some(content) = body["content"].as_object() else { return };
        let json = content.iter().find(|(kind, _)| is_json(kind));
        let form = content.iter().find(|(kind, _)| of_type(kind, required).is_form());
        let Some((kind, variant)) = json.or(form) else {
            self.unlike_json = content.keys().next().map(|kind| of_type(kind, required));
            return;
        };
        if json.is_none() {
            self.unlike_json = Some(of_type(kind, required));
        }
        // Without a schema anything goes.
        let schema = variant.get("schema").map_or_else(|| json!({}), |schema| refs.resolve(schema));
        self.body_schema(schema, required, &variant["encoding"]);
    }

    fn body_schema(&mut self, schema: Value, required: bool, encoding: &Value) {
        let members = schema["properties"].as_object();
        let mergeable = members.filter(|m| !m.keys().any(|k| self.properties.contains_key(k)));
        if let Some(members) = mergeable {
            for name in members.keys() {
                let joined = encoding[name]["explode"] == json!(false);
                let (name, place) = (name.clone(), Place::Member);
                self.arguments.push(OperationArgument { name, place, joined, sent_as: None });
            }
            self.properties.extend(members.clone());
            if required {
                self.required.extend(schema["required"].as_array().into_iter().flatten().cloned());
            }
            return;
        }
        let (name, place) = (self.free("body", "content"), Place::Body);
        if required {
            self.required.push(json!(name));
        }
        self.properties.insert(name.clone(), schema);
        self.arguments.push(OperationArgument { name, place, joined: false, sent_as: None });
    }

    pub fn into_schema(self) -> Value {
        let mut schema = json!({"type": "object", "properties": self.properties});
        if !self.required.is_empty() {
            schema["required"] = Value::Array(self.required);
        }
        schema
    }
}

/// The schema of the JSON variant among a parameter's media types.
fn json_schema(content: &Map<String, Value>) -> Option<&Value> {
    content.iter().find(|(kind, _)| is_json(kind))?.1.get("schema")
}

fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_lowercase();
    kind == "application/json" || kind.ends_with("+json") || kind == "*/*"
}

fn of_type(kind: &str, required: bool) -> OperationBody {
    OperationBody { media_type: kind.to_owned(), required }
}
