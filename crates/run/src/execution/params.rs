//! Adapts arguments to a tool's schema before a call is sent.
//!
//! Models write `q` where the schema says `query`, or `"5"` where it says 5. Changes that lose no
//! information are made and reported; anything else becomes a question.

mod coerce;
mod exact;
mod example;
mod names;
mod schema;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::types::JsonType;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde::Serialize;
use serde_json::{Map, Value, json};

pub(super) use coerce::{resolved, type_names};
use exact::inexact;
pub use exact::read_arguments;
pub(super) use names::{alike, plain};
pub use schema::schema_warnings;

use super::invoker::Arguments;
use toolroute_catalog::{
    Expansion, ParameterHints, Schema, TooLarge, Tool, ToolId, first_chars, pointer_part,
    properties, required, shortened,
};

/// A change that was made to the arguments before they were sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change {
    /// An argument was renamed to the schema's name for it.
    Renamed { from: String, to: String },
    /// A value was converted to the schema's type without changing its meaning.
    Converted { at: String, from: String, to: String },
    /// The schema's default was filled in for a missing argument.
    Default { name: String, value: String },
    /// A null was left out because the argument is optional.
    Dropped { name: String },
    /// Nothing was changed: the tool only reads and has no such parameter. The argument was sent as it
    /// is, because many tools accept more than their schema lists. `meant` is a similar parameter.
    Unknown {
        name: String,
        tool: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        meant: Option<String>,
    },
    /// An argument was left out, because an HTTP operation has no place for it in its request.
    NotSent { name: String, tool: String },
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Renamed { from, to } => write!(f, "`{from}` is called `{to}`"),
            Self::Converted { at, from, to } => write!(f, "`{at}`: {from} became {to}"),
            Self::Default { name, value } => write!(f, "`{name}` is {value} by default"),
            Self::Dropped { name } => write!(f, "`{name}` was null and is left out"),
            Self::Unknown { name, tool, meant } => {
                write!(f, "`{name}` is no parameter of {tool}")?;
                match meant {
                    Some(meant) => write!(f, "; did you mean `{meant}`?"),
                    None => f.write_str(", which may have ignored it"),
                }
            }
            Self::NotSent { name, tool } => {
                write!(f, "`{name}` is no parameter of {tool} and was not sent")
            }
        }
    }
}

/// A required input that was not given.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Missing {
    /// The name of the argument.
    pub name: String,
    /// Its description in the schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The type that the schema declares.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Value>,
    /// Tools that give such ids, the most likely first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<ToolId>,
}

/// What the caller must supply before the tool can be called.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Clarification {
    /// The required arguments that are missing.
    pub missing: Vec<Missing>,
    /// The arguments that do not fit the schema, each with the reason.
    pub unfit: Vec<String>,
    /// Example arguments that fit the schema; null if none were found.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub example: Value,
}

impl std::fmt::Display for Clarification {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut said = Vec::new();
        for missing in &self.missing {
            let about = about(missing.description.as_deref());
            let from: Vec<&str> = missing.from.iter().map(ToolId::as_str).collect();
            let from = match from[..] {
                [] => String::new(),
                [one] => format!("; {one} gives it"),
                _ => format!("; {} give it", from.join(" or ")),
            };
            said.push(format!("`{}`{about} is needed{from}", missing.name));
        }
        said.extend(self.unfit.iter().cloned());
        f.write_str(&said.join("; "))?;
        match &self.example {
            Value::Null => Ok(()),
            example => write!(f, "; for example {example}"),
        }
    }
}

/// The beginning of a parameter's description in brackets; empty if it has none.
pub(super) fn about(description: Option<&str>) -> String {
    let about = first_chars(description.unwrap_or_default().trim(), 160);
    if about.is_empty() { String::new() } else { format!(" ({about})") }
}

/// Arguments that may be sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prepared {
    pub arguments: Arguments,
    pub changes: Vec<Change>,
    /// The arguments were not checked, because the schema is unusable.
    pub unchecked: bool,
}

/// Renames arguments to the names in the schema.
pub(super) fn rename_given(given: &Arguments, root: &Value) -> Arguments {
    names::rename(given, root, &mut Vec::new())
}

/// Checks arguments against schemas. Each schema is compiled once.
#[derive(Default)]
pub struct Parameters {
    compiled: Mutex<HashMap<String, CompiledSchema>>,
}

type ValidationOptions = jsonschema::ValidationOptions<'static>;

/// A compiled schema and the text that it was compiled from.
#[derive(Clone)]
struct CompiledSchema {
    schema: Schema,
    value: Arc<Value>,
    expansion: Expansion,
    /// `None` for an invalid schema, or one that is too large.
    validator: Option<Arc<Validator>>,
}

impl Parameters {
    /// Returns arguments that fit the tool's schema, or the clarification to ask for.
    pub fn prepare(&self, tool: &Tool, given: &Arguments) -> Result<Prepared, Box<Clarification>> {
        let Some(schema) = &tool.input_schema else {
            return Ok(Prepared { arguments: given.clone(), ..Prepared::default() });
        };
        let compiled = self.compiled(tool.id.as_str(), schema);
        let root = compiled.value.as_ref();
        let (mut prepared, mut unfit) = adapt(root, given);
        let hints = &tool.routing.parameter_hints;
        // A parameter that is missing, or that a default would replace, may be the one that is misspelt.
        let is_lacking = |one: &Missing| root["properties"][&one.name].get("default").is_none();
        let is_lacked = missing(&prepared.arguments, root, hints).iter().any(is_lacking);
        let may_ignore = !is_lacked && tool.effects().reads_only();
        unfit.extend(judge_unknown(&mut prepared, tool, root, may_ignore));
        add_defaults(&mut prepared, root);
        let missing = missing(&prepared.arguments, root, hints);
        let value = Value::Object(std::mem::take(&mut prepared.arguments));
        let validator = compiled.validator.as_ref();
        // Callers should have called `admit` before; the check is repeated so that a call without
        // it cannot hang either.
        match validator.filter(|_| compiled.expansion.fits_with(root, &value).is_ok()) {
            Some(validator) => {
                let violations = self::unfit(validator, &value, unfit.is_empty());
                unfit.extend(violations);
            }
            None => prepared.unchecked = true,
        }
        if missing.is_empty() && unfit.is_empty() {
            prepared.arguments = into_members(value);
            return Ok(prepared);
        }
        let (given, validator) = (&into_members(value), compiled.validator.as_deref());
        let example = example::ExampleRequest { root, given, hints, validator }.example();
        Err(Box::new(Clarification { missing, unfit, example }))
    }

    /// Checks that the arguments can be validated against the schema in bounded time.
    pub fn admit(&self, tool: &Tool, given: &Arguments) -> Result<(), TooLarge> {
        let Some(schema) = &tool.input_schema else { return Ok(()) };
        let compiled = self.compiled(tool.id.as_str(), schema);
        // Later changes affect names and single values, but not how many values there are.
        compiled.expansion.fits_with(&compiled.value, &Value::Object(given.clone()))
    }

    fn compiled(&self, id: &str, schema: &Schema) -> CompiledSchema {
        let known = || self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = known().get(id).filter(|compiled| compiled.schema == *schema) {
            return compiled.clone();
        }
        let value = Arc::new(schema.to_value().unwrap_or(Value::Bool(true)));
        let expansion = Expansion::of(&value);
        let validator = compile(&value, expansion, options()).map(Arc::new);
        let compiled = CompiledSchema { schema: schema.clone(), value, expansion, validator };
        known().insert(id.to_owned(), compiled.clone());
        compiled
    }
}

/// Returns `None` for an unusable schema: servers may send anything, and the tool stays callable.
fn compile(schema: &Value, expansion: Expansion, options: ValidationOptions) -> Option<Validator> {
    if !expansion.is_closed() || expansion.fits().is_err() {
        tracing::debug!("a schema that refers elsewhere or is too large is not used");
        return None;
    }
    let compiled = options.build(schema);
    compiled.inspect_err(|error| tracing::debug!(%error, "a schema that cannot be used")).ok()
}

/// Options for compiling schemas: regular expressions are bounded in memory and time.
fn options() -> ValidationOptions {
    let patterns = PatternOptions::fancy_regex()
        .size_limit(Expansion::PATTERN_SIZE)
        .dfa_size_limit(Expansion::PATTERN_SIZE / 4)
        .backtrack_limit(Expansion::PATTERN_STEPS);
    jsonschema::options().with_pattern_options(patterns)
}

/// Checks single values against a tool's schema.
pub(super) struct Checker(Option<(Validator, Expansion, Value)>);

impl Checker {
    /// Checks formats too, because the values come from prose. Generators of schemas write `time` for a time
    /// of the day without an offset.
    pub fn new(schema: &Value) -> Self {
        let expansion = Expansion::of(schema);
        let options = options().should_validate_formats(true);
        let validator = compile(schema, expansion, options.with_format("time", is_time_of_day));
        Self(validator.map(|validator| (validator, expansion, schema.clone())))
    }

    /// Returns why a value does not fit the parameter at `path`. For a list, `value` is one item.
    pub fn misfit(&self, path: &[String], is_item: bool, value: &Value) -> Option<String> {
        let (validator, expansion, schema) = self.0.as_ref()?;
        let mut root = if is_item { json!([value]) } else { value.clone() };
        let mut at = String::new();
        for name in path.iter().rev() {
            root = json!({name: root});
            at = format!("/{}{at}", pointer_part(name));
        }
        at.push_str(if is_item { "/0" } else { "" });
        expansion.fits_with(schema, &root).ok()?;
        let mut errors =
            validator.iter_errors(&root).filter(|error| error.instance_path().to_string() == at);
        errors.next().map(|error| violation(&error))
    }
}

/// Whether a text is a time of the day, with or without its offset.
fn is_time_of_day(text: &str) -> bool {
    let time = text.split(['Z', 'z', '+', '-', '.']).next().unwrap_or_default();
    let parts: Vec<&str> = time.split(':').collect();
    let is_below = |part: &str, limit: u8| {
        part.len() == 2 && part.parse::<u8>().is_ok_and(|number| number < limit)
    };
    let [hour, rest @ ..] = &parts[..] else { return false };
    (1..=2).contains(&rest.len())
        && is_below(hour, 24)
        && rest.iter().all(|part| is_below(part, 60))
}

/// Whether a value fits a schema, including its formats.
#[cfg(test)]
pub(super) fn is_valid(schema: &Value, value: &Value) -> bool {
    Checker::new(schema).0.is_some_and(|(validator, ..)| validator.is_valid(value))
}

/// Returns the arguments with the schema's names and types, as far as nothing is lost by it. They may still not fit.
#[doc(hidden)] // For our own crates.
pub fn adapted(schema: &Value, given: &Arguments) -> Arguments {
    adapt(schema, given).0.arguments
}

/// Like [`adapted`], with the changes and what does not fit.
fn adapt(schema: &Value, given: &Arguments) -> (Prepared, Vec<String>) {
    let mut prepared = Prepared::default();
    prepared.arguments = names::rename(given, schema, &mut prepared.changes);
    drop_nulls(&mut prepared, schema);
    let unfit = coerce::members(&mut prepared.arguments, schema, &mut prepared.changes);
    (prepared, unfit)
}

fn into_members(value: Value) -> Arguments {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// Judges the arguments that are no parameters. A tool that may change something would ignore them and do
/// something else than what was asked: they are returned as unfit. If the tool may ignore them, because it only
/// reads, they are noted, unless an HTTP operation has no place for one that may be misspelt.
fn judge_unknown(
    prepared: &mut Prepared,
    tool: &Tool,
    root: &Value,
    may_ignore: bool,
) -> Vec<String> {
    let unknown = match &tool.operation {
        Some(operation) => {
            let names = operation.arguments.iter().map(|argument| argument.name.as_str());
            names::unknown(&prepared.arguments, &names.collect::<Vec<_>>())
        }
        None if names::are_open(root) => Vec::new(),
        None => {
            let names = properties(root).map(|(name, _)| name.as_str());
            names::unknown(&prepared.arguments, &names.collect::<Vec<_>>())
        }
    };
    let mut unfit = Vec::new();
    for names::Unknown { name, meant, expected } in unknown {
        let tool_name = tool.name.clone();
        match meant {
            meant if !may_ignore || tool.operation.is_some() && meant.is_some() => {
                let cure = meant.map_or_else(
                    || format!("expected {expected}"),
                    |meant| format!("did you mean `{meant}`?"),
                );
                unfit.push(format!("`{name}` is no parameter of {tool_name}; {cure}"));
            }
            meant if tool.operation.is_none() => {
                prepared.changes.push(Change::Unknown { name, tool: tool_name, meant });
            }
            _ => prepared.changes.push(Change::NotSent { name, tool: tool_name }),
        }
    }
    unfit
}

/// Removes nulls that the schema does not allow: models write null for "not given".
fn drop_nulls(prepared: &mut Prepared, root: &Value) {
    for (name, schema) in properties(root) {
        let is_null = prepared.arguments.get(name).is_some_and(Value::is_null);
        if is_null && !coerce::takes(schema, root, "null") {
            prepared.arguments.shift_remove(name);
            prepared.changes.push(Change::Dropped { name: name.clone() });
        }
    }
}

fn add_defaults(prepared: &mut Prepared, root: &Value) {
    for (name, schema) in properties(root) {
        let Some(default) = schema.get("default").filter(|default| !default.is_null()) else {
            continue;
        };
        if !prepared.arguments.contains_key(name) {
            prepared.arguments.insert(name.clone(), default.clone());
            let (name, value) = (name.clone(), shown(default));
            prepared.changes.push(Change::Default { name, value });
        }
    }
}

/// The names that the schema requires, then known names that the tool's hints require.
fn needed<'a>(root: &'a Value, hints: &'a ParameterHints) -> impl Iterator<Item = &'a str> {
    let known = |name: &&str| root["properties"].get(*name).is_some();
    let is_new = |name: &&str| required(root).all(|other| other != *name);
    let hinted = hints.required.iter().map(String::as_str).filter(known).filter(is_new);
    required(root).chain(hinted)
}

fn missing(arguments: &Arguments, root: &Value, hints: &ParameterHints) -> Vec<Missing> {
    let absent = needed(root, hints).filter(|name| !arguments.contains_key(*name));
    let missing = absent.map(|name| {
        let schema = &root["properties"][name];
        Missing {
            name: name.to_owned(),
            description: schema["description"].as_str().map(str::to_owned),
            kind: schema.get("enum").or_else(|| schema.get("type")).cloned(),
            from: Vec::new(),
        }
    });
    missing.collect()
}

/// The schema violations, without missing top-level members, which are reported separately, as unknown
/// ones may be.
fn unfit(validator: &Validator, arguments: &Value, tells_unknown: bool) -> Vec<String> {
    const MOST: usize = 5;
    let errors = validator.iter_errors(arguments).filter_map(|error| {
        let at = error.instance_path().to_string();
        let top = at.is_empty();
        match error.kind() {
            ValidationErrorKind::Required { .. } if top => return None,
            ValidationErrorKind::AdditionalProperties { .. } if top && !tells_unknown => {
                return None;
            }
            _ => {}
        }
        let said = violation(&error);
        Some(if top { said } else { format!("`{}`: {said}", at.trim_start_matches('/')) })
    });
    errors.take(MOST).collect()
}

/// What is wrong with a value. Allowed values are listed, because the caller has to choose one.
fn violation(error: &ValidationError<'_>) -> String {
    const MOST_VALUES: usize = 30;
    let allowed = match error.kind() {
        ValidationErrorKind::Enum { options } => options.as_array(),
        ValidationErrorKind::AnyOf { context } => match one_or_null(context) {
            // Python's `Literal[…] | None`.
            Some(error) => return violation(error),
            None => None,
        },
        _ => None,
    };
    let Some(allowed) = allowed else { return error.to_string().chars().take(200).collect() };
    let listed: Vec<String> = allowed.iter().take(MOST_VALUES).map(shown).collect();
    let rest = match allowed.len().saturating_sub(MOST_VALUES) {
        0 => String::new(),
        rest => format!(" or {rest} others"),
    };
    format!("{} is not one of {}{rest}", shown(error.instance()), listed.join(", "))
}

/// The error of the only alternative besides null.
fn one_or_null<'a>(
    alternatives: &'a [Vec<ValidationError<'static>>],
) -> Option<&'a ValidationError<'static>> {
    let is_null = |error: &ValidationError<'_>| {
        matches!(error.kind(), ValidationErrorKind::Type { kind: TypeKind::Single(JsonType::Null) })
    };
    let mut others = alternatives.iter().filter(|errors| !errors.iter().all(is_null));
    let one = others.next().filter(|_| others.next().is_none())?;
    one.first()
}

/// A value for a report, truncated if it is long.
fn shown(value: &Value) -> String {
    const MOST: usize = 60;
    shortened(&value.to_string(), MOST)
}
