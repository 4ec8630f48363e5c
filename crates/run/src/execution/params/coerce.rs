//! Conversion of values to another type with the same meaning.

use serde_json::{Number, Value};

use super::super::invoker::Arguments;
use super::{Change, exact, inexact, shown};

/// The most references that are followed, because references may form a cycle.
const MOST_REFERENCES: usize = 16;

/// Converts each argument that its schema rejects, if the conversion loses nothing. Returns the
/// numbers that had already lost digits when they were parsed.
pub(super) fn members(
    arguments: &mut Arguments,
    root: &Value,
    changes: &mut Vec<Change>,
) -> Vec<String> {
    let mut coercion = Coercion { root, changes, lost: Vec::new() };
    for (name, value) in arguments.iter_mut() {
        if let Some(schema) = root["properties"].get(name) {
            coercion.value(value, schema, name);
        }
    }
    coercion.lost
}

struct Coercion<'a> {
    root: &'a Value,
    changes: &'a mut Vec<Change>,
    /// Whole numbers that lost digits when they were parsed.
    lost: Vec<String>,
}

impl Coercion<'_> {
    fn value(&mut self, value: &mut Value, schema: &Value, at: &str) {
        let schema = resolved(schema, self.root);
        if exact::may_be_another(value) && !takes(schema, self.root, "number") {
            self.lost.push(format!("`{at}`: expected {}; found {value}", exact::WHOLE_NUMBERS));
            return;
        }
        if !fits(value, schema, self.root)
            && let Some(converted) = convert(value, schema, self.root)
        {
            let (from, to) = (shown(value), shown(&converted));
            self.changes.push(Change::Converted { at: at.to_owned(), from, to });
            *value = converted;
        }
        let schema = alternative(value, schema, self.root);
        let others = schema.get("additionalProperties");
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.value(item, &schema["items"], &format!("{at}/{index}"));
                }
            }
            Value::Object(members) => {
                for (name, member) in members.iter_mut() {
                    let schema = schema["properties"].get(name);
                    let schema = schema.or_else(|| others.filter(|others| others.is_object()));
                    if let Some(schema) = schema {
                        self.value(member, schema, &format!("{at}/{name}"));
                    }
                }
            }
            _ => {}
        }
    }
}

/// The only alternative of a schema for lists or objects, if the value is one: "a number or a list of numbers".
fn alternative<'a>(value: &Value, schema: &'a Value, root: &'a Value) -> &'a Value {
    let kind = kind(value);
    if !matches!(kind, "array" | "object") {
        return schema;
    }
    let all = [&schema["anyOf"], &schema["oneOf"]].into_iter();
    let all = all.flat_map(|all| all.as_array().into_iter().flatten());
    let mut fitting =
        all.map(|one| resolved(one, root)).filter(|one| type_names(one).any(|name| name == kind));
    match (fitting.next(), fitting.next()) {
        (Some(one), None) => one,
        _ => schema,
    }
}

/// Follows references within the schema.
pub(in super::super) fn resolved<'a>(mut schema: &'a Value, root: &'a Value) -> &'a Value {
    for _ in 0..MOST_REFERENCES {
        let target = schema["$ref"].as_str().and_then(|to| root.pointer(to.strip_prefix('#')?));
        match target {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// Returns the types that a schema and its alternatives name; empty if they name none.
fn types<'a>(schema: &'a Value, root: &'a Value) -> Vec<&'a str> {
    let alternatives = [&schema["anyOf"], &schema["oneOf"]].into_iter();
    let alternatives = alternatives.flat_map(|all| all.as_array().into_iter().flatten());
    let alternatives = alternatives.map(|one| resolved(one, root));
    [schema].into_iter().chain(alternatives).flat_map(type_names).collect()
}

/// The types that a schema itself names.
pub(in super::super) fn type_names(schema: &Value) -> impl Iterator<Item = &str> {
    let types = schema["type"].as_array().into_iter().flatten();
    types.chain([&schema["type"]]).filter_map(Value::as_str)
}

/// Whether a schema accepts values of a type. A schema that names no type accepts all.
pub(super) fn takes(schema: &Value, root: &Value, kind: &str) -> bool {
    let types = types(resolved(schema, root), root);
    types.is_empty() || types.contains(&kind)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn fits(value: &Value, schema: &Value, root: &Value) -> bool {
    let types = types(schema, root);
    let kind = kind(value);
    let typed = types.is_empty()
        || types.contains(&kind)
        || (kind == "integer" && types.contains(&"number"))
        || (types.contains(&"integer") && value.as_f64().is_some_and(|n| n.fract() == 0.0));
    let allowed = schema["enum"].as_array().is_none_or(|allowed| allowed.contains(value));
    typed && allowed
}

/// Converts a value to another type that the schema accepts. Parsing a text is tried before
/// wrapping the text in a list.
fn convert(value: &Value, schema: &Value, root: &Value) -> Option<Value> {
    if let Some(allowed) = schema["enum"].as_array()
        && let Some(one) = one_of(value, allowed)
    {
        return Some(one);
    }
    let types = types(schema, root);
    let to = |kind: &str| types.contains(&kind);
    match value {
        Value::String(text) => {
            let text = text.trim();
            let number = (to("integer") || to("number")).then(|| number(text, to("number")));
            let boolean = || to("boolean").then(|| boolean(text)).flatten();
            let opened = || opened(text).filter(|opened| to(kind(opened)));
            number.flatten().or_else(boolean).or_else(opened)
        }
        Value::Number(number) if to("string") => Some(Value::String(number.to_string())),
        Value::Bool(truth) if to("string") => Some(Value::String(truth.to_string())),
        _ => None,
    }
    .or_else(|| wrapped(value, schema, root).filter(|_| to("array")))
}

/// Parses a text as a number, if the number would be written in the same way.
fn number(text: &str, fraction: bool) -> Option<Value> {
    if let Ok(whole) = text.parse::<i64>() {
        return (whole.to_string() == text).then(|| Value::from(whole));
    }
    let number = Number::from_f64(text.parse().ok().filter(|_| fraction)?)?;
    // "007" is a name, "1e400" is too large for a number, and many decimals of 17 digits lose some. Only
    // zeros at the end of the decimals say nothing.
    let plain = |text: &str| match text.split_once('.') {
        Some(_) => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        None => text.to_owned(),
    };
    let is_number = text.split_once('.').is_none_or(|(_, decimals)| !decimals.is_empty());
    (is_number && plain(&number.to_string()) == plain(text)).then_some(Value::Number(number))
}

fn boolean(text: &str) -> Option<Value> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        _ => None,
    }
}

/// Parses a list or an object that is encoded in a string.
fn opened(text: &str) -> Option<Value> {
    let value = serde_json::from_str::<Value>(text).ok().filter(|_| inexact(text).is_none())?;
    (value.is_array() || value.is_object()).then_some(value)
}

/// Wraps a value in a list, converted if needed.
fn wrapped(value: &Value, schema: &Value, root: &Value) -> Option<Value> {
    if value.is_null() || value.is_array() {
        return None;
    }
    let items = resolved(&schema["items"], root);
    let item = if fits(value, items, root) { value.clone() } else { convert(value, items, root)? };
    Some(Value::Array(vec![item]))
}

/// Returns the allowed value that differs only in case or type, if there is exactly one.
fn one_of(value: &Value, allowed: &[Value]) -> Option<Value> {
    let text = |value: &Value| match value {
        Value::String(text) => text.trim().to_lowercase(),
        value => value.to_string(),
    };
    let wanted = text(value);
    let mut same = allowed.iter().filter(|allowed| text(allowed) == wanted);
    let one = same.next()?;
    same.next().is_none().then(|| one.clone())
}
