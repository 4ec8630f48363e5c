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
        let Some(name) = parameter["name"].as_str() else { return };
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
        if parameter["required"] == json!(true) {
            self.required.push(json!(name));
        }
        self.properties.insert(name.to_owned(), schema);
        let place = match parameter["in"].as_str() {
            Some("path") => Place::Path,
            Some("header") => Place::Header,
            _ => Place::Query,
        };
        let joined = parameter["explode"] == json!(false);
        self.arguments.push(OperationArgument { name: name.to_owned(), place, joined });
    }

    /// JSON where the operation takes it, else a form. Of any other body only the type is kept.
    pub fn body<'v>(&mut self, body: &'v Value, refs: &mut Refs<'v>) {
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
                self.arguments.push(OperationArgument { name, place, joined });
            }
            self.properties.extend(members.clone());
            if required {
                self.required.extend(schema["required"].as_array().into_iter().flatten().cloned());
            }
            return;
        }
        if required {
            self.required.push(json!("body"));
        }
        let (name, place) = ("body".to_owned(), Place::Body);
        self.arguments.push(OperationArgument { name, place, joined: false });
        self.properties.insert("body".to_owned(), schema);
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
