//! Resolves the local `$ref`s of an API description.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::expansion::DATA;

/// The limit for the values of an operation's schemas. Schemas that refer to each other grow
/// exponentially when references are resolved, and the parameters of no real tool need this many
/// values.
const MAX_VALUES: usize = 4_000;

/// The limit for the depth of nested references. It exceeds any schema that a model could fill in,
/// and fits on the stack together with the depth that the parser allows (128).
const MAX_DEPTH: usize = 64;

/// The limit for the text of an operation's schemas in bytes. More would fill a model's context by
/// itself.
const MAX_BYTES: usize = 256 << 10;

/// Members that hold schemas by name. Any name is allowed, including `default` and `enum`.
const NAMED: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Resolves `#/…` references within one operation.
pub(super) struct Refs<'a> {
    root: &'a Value,
    open: Vec<String>,
    depth: usize,
    values: usize,
    bytes: usize,
    /// Whether a schema was left empty because of the limits.
    pub cut: bool,
    /// The references that lead out of the document or to a missing value.
    pub unresolved: BTreeSet<String>,
}

impl<'a> Refs<'a> {
    pub fn new(root: &'a Value) -> Self {
        Self {
            root,
            open: Vec::new(),
            depth: 0,
            values: 0,
            bytes: 0,
            cut: false,
            unresolved: BTreeSet::new(),
        }
    }

    /// Records a value as unresolved if it is still a reference after it was followed.
    pub fn record_unresolved(&mut self, followed: &Value) {
        /// The limit for a reference in characters. No real address is longer, and a problem is one
        /// line.
        const MOST: usize = 200;
        if let Some(reference) = followed.get("$ref").and_then(Value::as_str) {
            self.unresolved.insert(reference.chars().take(MOST).collect());
        }
    }

    /// Returns the value at the end of a chain of local references, for parts that are read without
    /// being copied.
    pub fn follow(&self, value: &'a Value) -> &'a Value {
        let mut at = value;
        for _ in 0..MAX_DEPTH {
            match local(at).and_then(|path| self.root.pointer(path)) {
                Some(target) => at = target,
                None => break,
            }
        }
        at
    }

    /// Returns a copy of a schema with all local references resolved. A schema that refers to
    /// itself becomes an empty schema whose description says so; beyond the limits, any schema
    /// becomes an empty one. References to other files or the network are left unchanged.
    pub fn resolve(&mut self, schema: &Value) -> Value {
        // Checked for each schema, because parameters too are shared by reference, and this may be
        // the thousandth copy of one.
        if self.is_over_limit() { json!({}) } else { self.schema(schema) }
    }

    /// Returns a copy of data, or `None` beyond the limits.
    pub fn copy(&mut self, data: &Value) -> Option<Value> {
        (!self.is_over_limit()).then(|| self.data(data))
    }

    fn is_over_limit(&mut self) -> bool {
        let is_over = self.values > MAX_VALUES || self.bytes > MAX_BYTES;
        self.cut |= is_over;
        is_over
    }

    fn data(&mut self, data: &Value) -> Value {
        self.bytes += bytes(data);
        data.clone()
    }

    fn schema(&mut self, value: &Value) -> Value {
        self.values += 1;
        self.depth += 1;
        let resolved = match value {
            Value::Object(members) => match local(value) {
                Some(path) => self.replace(path, value, members),
                None => {
                    self.record_unresolved(value);
                    Value::Object(self.members(members))
                }
            },
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.schema(item)).collect())
            }
            plain => self.data(plain),
        };
        self.depth -= 1;
        resolved
    }

    fn members(&mut self, members: &Map<String, Value>) -> Map<String, Value> {
        let member = |(key, value): (&String, &Value)| {
            self.bytes += key.len();
            let resolved = match value {
                value if DATA.contains(&key.as_str()) => self.data(value),
                Value::Object(named) if NAMED.contains(&key.as_str()) && local(value).is_none() => {
                    Value::Object(self.named(named))
                }
                value => self.schema(value),
            };
            (key.clone(), resolved)
        };
        members.iter().map(member).collect()
    }

    fn named(&mut self, schemas: &Map<String, Value>) -> Map<String, Value> {
        let schema = |(name, schema): (&String, &Value)| {
            self.bytes += name.len();
            (name.clone(), self.schema(schema))
        };
        schemas.iter().map(schema).collect()
    }

    /// Resolves a reference. The members beside the reference override those of its target, because
    /// OpenAPI 3.1 allows a description there.
    fn replace(&mut self, path: &str, reference: &Value, beside: &Map<String, Value>) -> Value {
        if self.is_over_limit() || self.depth > MAX_DEPTH {
            self.cut = true;
            return json!({});
        }
        if self.open.iter().any(|open| open == path) {
            return json!({"description": format!("again the value of #{path}")});
        }
        let Some(target) = self.root.pointer(path) else {
            self.record_unresolved(reference);
            return Value::Object(self.members(beside));
        };
        self.open.push(path.to_owned());
        let mut target = self.schema(target);
        if let Value::Object(members) = &mut target {
            let mut own = beside.clone();
            own.shift_remove("$ref");
            members.extend(self.members(&own));
        }
        self.open.pop();
        target
    }
}

/// Returns the approximate length of the data as JSON text, in bytes.
fn bytes(data: &Value) -> usize {
    const SMALL: usize = 4;
    SMALL
        + match data {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(bytes).sum(),
            Value::Object(members) => members.iter().map(|(key, v)| key.len() + bytes(v)).sum(),
            _ => 0,
        }
}

/// Returns the JSON pointer of a reference within the document.
fn local(value: &Value) -> Option<&str> {
    value.get("$ref")?.as_str()?.strip_prefix('#')
}
