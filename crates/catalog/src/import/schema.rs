//! Reads a tool's parameters as JSON Schema, in the spellings that formats have for them.

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::excerpt::{one_line, shortened};
use crate::expansion::{DATA, NAMED};
use crate::row::{Row, fields};
use crate::{Problem, Schema, Severity};

/// The members that contain a tool's parameters; the first one that a tool has is read. A format
/// most often needs no more than its name in this list.
pub(super) const NAMES: [&str; 11] = [
    // MCP and Anthropic, which define them as JSON Schema.
    "input_schema",
    "inputSchema",
    // OpenAI, Gemini, Bedrock's action groups, xLAM.
    "parameters",
    // Gemini.
    "parametersJsonSchema",
    "parameters_json_schema",
    // Cohere.
    "parameter_definitions",
    // LangChain and DSPy.
    "args_schema",
    "args",
    // LlamaIndex.
    "fn_schema",
    // smolagents and UTCP.
    "inputs",
    // ACEBench.
    "arguments",
];

/// ToolBench's two lists of parameters.
pub(super) const PARAMETER_LISTS: [&str; 2] = ["required_parameters", "optional_parameters"];

pub(super) const JSON_TYPES: [&str; 7] =
    ["string", "number", "integer", "boolean", "object", "array", "null"];

/// Words for types that are not JSON Schema's, in lower case: those of Python, Java and others.
const TYPES: [(&str, &[&str]); 6] = [
    ("string", &["str", "char"]),
    ("integer", &["int", "long"]),
    ("number", &["float", "double"]),
    ("boolean", &["bool"]),
    ("array", &["list", "tuple", "set", "arraylist"]),
    ("object", &["dict", "hashmap", "map"]),
];

/// Reads the parameters of a tool; those that are no JSON Schema are converted to one, or left out
/// with a warning. A JSON Schema keeps its bytes.
pub(super) fn read(row: &mut Row<'_>) -> Option<Schema> {
    let Some(key) = row.first_of(&NAMES) else { return of_two_lists(row) };
    let written = row.schema(key)?;
    if key == "input_schema" || is_json_schema(written.raw()) {
        return Some(written);
    }
    // The check of its depth reports a schema that nests too deep to be parsed.
    let Some(mut schema) = written.to_value() else { return Some(written) };
    let original = schema.clone();
    // Bedrock and the Vercel AI SDK write the schema into a member of its own.
    for inner in ["json", "jsonSchema"] {
        if key == "inputSchema" && schema.as_object().is_some_and(|members| members.len() == 1) {
            schema = schema.get_mut(inner).map(Value::take).unwrap_or(schema);
        }
    }
    let schema = match schema {
        Value::Array(items) => by_name(items).map(of_parameters),
        Value::Object(members) if is_parameter_map(&members) => Some(of_parameters(members)),
        Value::Object(members) if members.is_empty() || has_keyword(&members) => {
            Some(members.into())
        }
        _ => None,
    };
    let Some(mut schema) = schema else {
        row.problem(key, unknown_parameters(written.raw()));
        return None;
    };
    translate_types(&mut schema);
    if schema == original { Some(written) } else { to_schema(&schema) }
}

fn of_two_lists(row: &mut Row<'_>) -> Option<Schema> {
    row.first_of(&PARAMETER_LISTS)?;
    let (mut all, mut failed) = (Map::new(), false);
    for key in PARAMETER_LISTS {
        let Some(raw) = row.value(key) else { continue };
        let list: Option<Vec<Value>> = serde_json::from_str(raw.get()).ok();
        let Some(list) = list.and_then(by_name) else {
            row.problem(key, unknown_parameters(raw));
            failed = true;
            continue;
        };
        for (name, mut parameter) in list {
            parameter["required"] = json!(key == PARAMETER_LISTS[0]);
            all.insert(name, parameter);
        }
    }
    if failed && all.is_empty() {
        return None;
    }
    let mut schema = of_parameters(all);
    translate_types(&mut schema);
    to_schema(&schema)
}

fn to_schema(value: &Value) -> Option<Schema> {
    to_raw_value(value).ok().map(Schema::new)
}

/// Whether a value is a JSON Schema that needs no conversion. Looks only at its outermost members
/// and at the words for types, because a catalog may have thousands of schemas.
fn is_json_schema(raw: &RawValue) -> bool {
    let Some(members) = fields(raw) else { return false };
    let is_object = |key: &str| members.get(key).is_some_and(|raw| fields(raw).is_some());
    let has_type = members.get("type").is_some_and(|raw| raw.get().starts_with(['"', '[']));
    let is_foreign = |after: &str| {
        let word = after.trim_start().strip_prefix(':').map(str::trim_start);
        let word = word.and_then(|word| word.strip_prefix('"')?.split('"').next());
        word.is_some_and(|word| !JSON_TYPES.contains(&word))
    };
    (has_type || members.is_empty() || !members.contains_key("type") && is_object("properties"))
        && !raw.get().split("\"type\"").skip(1).any(is_foreign)
}

/// Whether an object has a member that only a JSON Schema has.
fn has_keyword(members: &Map<String, Value>) -> bool {
    members.iter().any(|(key, value)| match key.as_str() {
        "type" | "$ref" => value.is_string() || value.is_array(),
        "allOf" | "anyOf" | "oneOf" => value.is_array(),
        "properties" | "patternProperties" => value.is_object(),
        "additionalProperties" => value.is_object() || value.is_boolean(),
        _ => false,
    })
}

/// Whether an object contains parameters by name: `{"city": {"type": "string"}}`.
fn is_parameter_map(members: &Map<String, Value>) -> bool {
    let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
    let is_schema = |key: &str| key.starts_with('$') || key == "additionalProperties";
    !members.keys().any(|key| is_schema(key))
        && members.values().all(|value| is_parameter(value) || is_empty(value))
        && members.values().any(is_parameter)
}

fn is_parameter(value: &Value) -> bool {
    let text = |key: &str| value[key].is_string();
    let list = |key: &str| value[key].is_array();
    value.is_object()
        && (["type", "description", "title", "$ref"].into_iter().any(text)
            || ["type", "enum", "allOf", "anyOf", "oneOf"].into_iter().any(list))
}

/// Returns a list of parameters with names as a map; `None` if one has no name. Their schemas may
/// be members of them, as in Qwen-Agent and Semantic Kernel.
fn by_name(items: Vec<Value>) -> Option<Map<String, Value>> {
    let parameter = |mut item: Value| {
        let members = item.as_object_mut()?;
        let Some(Value::String(name)) = members.shift_remove("name") else { return None };
        let inner = ["schema", "schema_data"].iter().find_map(|key| members.shift_remove(*key));
        if let Some(Value::Object(inner)) = inner {
            // What else describes a parameter has been read into its schema by the exporter.
            members.retain(|key, _| ["description", "required", "is_required"].contains(&&**key));
            members.extend(inner);
        }
        Some((name, item))
    };
    items.into_iter().map(parameter).collect()
}

/// Makes a schema of parameters. One is required if it says so.
fn of_parameters(mut parameters: Map<String, Value>) -> Value {
    let mut required = Vec::new();
    for (name, parameter) in &mut parameters {
        let Some(members) = parameter.as_object_mut() else { continue };
        for mark in ["required", "is_required"] {
            if members.get(mark).is_some_and(Value::is_boolean)
                && members.shift_remove(mark) == Some(json!(true))
            {
                required.push(json!(name));
            }
        }
    }
    let mut schema = json!({"type": "object", "properties": parameters});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

/// Replaces the words of other languages for types. An unknown word stays, so that the check of the
/// schema reports it.
fn translate_types(schema: &mut Value) {
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(translate_types),
        Value::Object(members) => {
            if let Some(Value::String(word)) = members.get("type") {
                let word = word.to_lowercase();
                match json_type(&word) {
                    Some(known) => _ = members.insert("type".to_owned(), json!(known)),
                    // JSON Schema has no word for it.
                    None if word == "any" => _ = members.shift_remove("type"),
                    None => {}
                }
            }
            for (key, member) in members.iter_mut() {
                match member {
                    Value::Object(named) if NAMED.contains(&key.as_str()) => {
                        named.values_mut().for_each(translate_types);
                    }
                    member if !DATA.contains(&key.as_str()) => translate_types(member),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// Returns JSON Schema's word for a type: `STRING`, `str`, `str, optional`, `List[int]`, `int[]`.
fn json_type(word: &str) -> Option<&'static str> {
    let word = word.split(',').next().filter(|_| word.ends_with("optional")).unwrap_or(word).trim();
    let word = word.strip_prefix("optional[").and_then(|w| w.strip_suffix(']')).unwrap_or(word);
    let word =
        if word.ends_with("[]") { "array" } else { word.split('[').next().unwrap_or_default() };
    let known = JSON_TYPES.into_iter().find(|known| *known == word);
    known.or_else(|| Some(TYPES.iter().find(|(_, words)| words.contains(&word))?.0))
}

fn unknown_parameters(raw: &RawValue) -> Problem {
    let expected = "a JSON Schema, or schemas by the names of parameters";
    let found = shortened(&one_line(raw.get()), 60);
    let cure = "write {\"type\": \"object\", \"properties\": {}}; the tool is kept without them";
    Problem::new(Severity::Warning, expected, found, cure)
}
