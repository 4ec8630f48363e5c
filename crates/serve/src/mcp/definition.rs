//! The MCP definition of a tool, as its server wrote it.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use toolroute_catalog::{MCP_MEMBERS, Tool, required};

use crate::About;

/// The schema of a tool without one: any object.
const ANY_OBJECT: &str = r#"{"type":"object"}"#;

/// A tool as an MCP object, with the members of [`About`] if they are given. Every other member is as
/// the server wrote it, except the name, which is the tool's id.
pub struct Definition<'a> {
    pub tool: &'a Tool,
    pub about: Option<About>,
}

impl<'a> Definition<'a> {
    pub fn of(tool: &'a Tool) -> Self {
        Self { tool, about: None }
    }

    /// Writes the members into an object that may have further members.
    pub fn members<M: SerializeMap>(&self, out: &mut M) -> Result<(), M::Error> {
        let tool = self.tool;
        out.serialize_entry("name", &tool.id)?;
        let beside: BTreeMap<&str, &RawValue> = tool
            .mcp
            .as_ref()
            .and_then(|members| serde_json::from_str(members.as_str()).ok())
            .unwrap_or_default();
        // The title may come from the annotations, which are written below.
        if let Some(title) = tool.title.as_ref().filter(|_| !titled(&beside)) {
            out.serialize_entry("title", title)?;
        }
        if !tool.description.is_empty() {
            out.serialize_entry("description", &tool.description)?;
        }
        match &tool.input_schema {
            Some(schema) => out.serialize_entry("inputSchema", schema)?,
            None => {
                let any: Result<&RawValue, _> = serde_json::from_str(ANY_OBJECT);
                out.serialize_entry("inputSchema", any.expect("an object. This is a bug."))?;
            }
        }
        for key in MCP_MEMBERS {
            if let Some(member) = beside.get(key) {
                out.serialize_entry(key, member)?;
            }
        }
        Ok(())
    }
}

/// Whether the annotations have a title.
fn titled(beside: &BTreeMap<&str, &RawValue>) -> bool {
    let notes = beside.get("annotations").map(|notes| notes.get());
    let notes: Option<BTreeMap<String, &RawValue>> =
        notes.and_then(|notes| serde_json::from_str(notes).ok());
    notes.is_some_and(|notes| notes.contains_key("title"))
}

impl Serialize for Definition<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(None)?;
        self.members(&mut out)?;
        if let Some(about) = &self.about {
            out.serialize_entry("about", about)?;
        }
        out.end()
    }
}

/// An answer as JSON.
pub fn to_json(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).expect("an answer has string keys only. This is a bug.")
}

/// A tool's parameters in one line: `path: string, head?: integer`.
pub fn parameters(tool: &Tool) -> String {
    const MOST: usize = 12;
    let schema = tool.input_schema.as_ref().and_then(|schema| schema.to_value());
    let Some(schema) = schema else { return String::new() };
    let required: Vec<&str> = required(&schema).collect();
    let Some(properties) = schema["properties"].as_object() else { return String::new() };
    let mut names: Vec<(&String, &Value)> = properties.iter().collect();
    // Required parameters come first, so that the line is cut at optional ones.
    names.sort_by_key(|(name, _)| !required.contains(&name.as_str()));
    let mut line = String::new();
    for (place, (name, about)) in names.iter().enumerate() {
        if place > 0 {
            line.push_str(", ");
        }
        if place == MOST {
            line.push('…');
            break;
        }
        line.push_str(name);
        if !required.contains(&name.as_str()) {
            line.push('?');
        }
        line.push_str(": ");
        line.push_str(&kind(about, &schema, MOST_REFERENCES, &Cell::new(MOST_PARTS)));
    }
    line
}

/// The most references and alternatives within each other that are followed: they may form a cycle.
const MOST_REFERENCES: usize = 4;

/// The most parts of a parameter's schema that are read. Alternatives that refer to their own list would
/// be read once more for each of them.
const MOST_PARTS: usize = 256;

/// The type of a parameter, or its few values. An alternative that only allows null is left out, as
/// in Python's `str | None`. Takes what it reads from `left`; what is beyond it is of any type.
fn kind(schema: &Value, root: &Value, depth: usize, left: &Cell<usize>) -> String {
    const MOST_VALUES: usize = 6;
    let Some(fewer) = left.get().checked_sub(1) else { return "any".to_owned() };
    left.set(fewer);
    if let Some(values) = schema["enum"].as_array().filter(|all| all.len() <= MOST_VALUES) {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        return values.join("|");
    }
    let any = || "any".to_owned();
    let within = |part: &Value| match depth.checked_sub(1) {
        Some(depth) => kind(part, root, depth, left),
        None => any(),
    };
    match &schema["type"] {
        Value::String(name) if name == "array" => match within(&schema["items"]) {
            of if of.contains('|') => format!("({of})[]"),
            of => format!("{of}[]"),
        },
        Value::String(name) => name.clone(),
        Value::Array(names) => one_of(names.iter().filter_map(Value::as_str).map(str::to_owned)),
        _ => {
            let target = schema["$ref"].as_str().and_then(|to| to.strip_prefix('#'));
            if let Some(target) = target.and_then(|to| root.pointer(to)) {
                return within(target);
            }
            let alternatives = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
            alternatives.map_or_else(any, |all| one_of(all.iter().map(within)))
        }
    }
}

/// Different kinds in one word, without null if there are others.
fn one_of(kinds: impl Iterator<Item = String>) -> String {
    let mut named: Vec<String> = Vec::new();
    for kind in kinds {
        if kind == "any" {
            return kind;
        }
        if !named.contains(&kind) {
            named.push(kind);
        }
    }
    if named.len() > 1 {
        named.retain(|kind| kind != "null");
    }
    match named.as_slice() {
        [] => "any".to_owned(),
        kinds => kinds.join("|"),
    }
}

#[cfg(test)]
mod tests {
    use toolroute_catalog::Catalog;

    use super::*;

    #[test]
    fn a_definition_keeps_the_bytes_of_its_source() {
        let schema = r#"{ "type":"object", "properties": {"z": {"type": "number", "maximum": 1e3}, "a": {}}, "required":["z"] }"#;
        let text = format!(
            r#"[{{"name": "get", "description": "Gets", "inputSchema": {schema},
               "annotations": {{"title": "Get it", "readOnlyHint": true}}, "outputSchema": {{ "type": "object" }}}}]"#
        );
        let catalog = Catalog::read(&text).unwrap().catalog;
        let tool = &catalog.tools()[0];
        let json = to_json(&Definition::of(tool));
        assert!(json.contains(&format!("\"inputSchema\":{schema}")), "{json}");
        assert!(json.contains(r#""outputSchema":{ "type": "object" }"#), "{json}");
        assert!(json.contains(r#""annotations":{"title": "Get it", "readOnlyHint": true}"#));
        assert!(!json.contains(r#""title":"Get it""#), "{json}");
        assert_eq!(parameters(tool), "z: number, a?: any");
    }

    #[test]
    fn types_are_shown_in_a_word() {
        let root = serde_json::json!({"$defs": {
            "Level": {"enum": ["low", "high"]},
            "Tree": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
        }});
        for (schema, shown) in [
            (r#"{"type": "array", "items": {"type": "string"}}"#, "string[]"),
            (r#"{"type": "array"}"#, "any[]"),
            (r#"{"enum": ["a", 1]}"#, "\"a\"|1"),
            (r#"{"type": ["string", "null"]}"#, "string"),
            (r#"{"type": "null"}"#, "null"),
            (r#"{"anyOf": [{"type": "string"}, {"type": "null"}]}"#, "string"),
            (r#"{"oneOf": [{"type": "integer"}, {"type": "string"}]}"#, "integer|string"),
            (r##"{"anyOf": [{"$ref": "#/$defs/Level"}, {"type": "null"}]}"##, "\"low\"|\"high\""),
            (
                r#"{"type": "array", "items": {"type": ["integer", "string"]}}"#,
                "(integer|string)[]",
            ),
            (r##"{"$ref": "#/$defs/Tree"}"##, "any[][]"),
            (r#"{"anyOf": [{}, {"type": "null"}]}"#, "any"),
            (r#"{"$ref": "https://example.org/x"}"#, "any"),
        ] {
            let schema = serde_json::from_str(schema).unwrap();
            let left = Cell::new(MOST_PARTS);
            assert_eq!(kind(&schema, &root, MOST_REFERENCES, &left), shown, "{schema}");
        }
    }

    #[test]
    fn alternatives_that_refer_to_their_own_list_take_no_time() {
        let again = serde_json::json!({"$ref": "#/properties/a"});
        let text = serde_json::json!({"anyOf": [{"$ref": "#/properties/b"}, {"type": "string"}]});
        let mut many = vec![again; 5_000];
        many.insert(0, text.clone());
        let root = serde_json::json!({"properties": {"a": {"anyOf": many}, "b": text}});
        let left = Cell::new(MOST_PARTS);
        assert_eq!(kind(&root["properties"]["a"], &root, 40, &left), "any");
        let plain = vec![serde_json::json!({"type": "string"}); 5_000];
        let (plain, left) = (serde_json::json!({"anyOf": plain}), Cell::new(MOST_PARTS));
        assert_eq!(kind(&plain, &root, MOST_REFERENCES, &left), "any");
        assert_eq!(left.get(), 0);
    }
}
