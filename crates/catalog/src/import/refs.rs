//! Resolves the local `$ref`s of an API description.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::expansion::{DATA, decoded};

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
    max_bytes: usize,
    /// The limit for references within each other.
    max_open: usize,
    /// Whether something was left out because of the limits.
    pub cut: bool,
    /// Whether the schemas were larger than the limit for their size.
    pub overflowed: bool,
    /// The references that lead out of the document or to a missing value.
    pub unresolved: BTreeSet<String>,
}

impl<'a> Refs<'a> {
    pub fn new(root: &'a Value) -> Self {
        Self::within(root, MAX_BYTES, usize::MAX)
    }

    /// Creates a resolver with a limit for the size of the schemas, if it is below the general one,
    /// and a limit for references within each other.
    pub fn within(root: &'a Value, max_bytes: usize, max_open: usize) -> Self {
        Self {
            root,
            open: Vec::new(),
            depth: 0,
            values: 0,
            bytes: 0,
            max_bytes: max_bytes.min(MAX_BYTES),
            max_open,
            cut: false,
            overflowed: false,
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
            match local(at).and_then(|path| self.target(path)) {
                Some(target) => at = target,
                None => break,
            }
        }
        at
    }

    /// Returns the value at a JSON pointer. In a reference, a pointer may be percent-encoded.
    fn target(&self, path: &str) -> Option<&'a Value> {
        let encoded = || self.root.pointer(&decoded(path).filter(|_| path.contains('%'))?);
        self.root.pointer(path).or_else(encoded)
    }

    /// Returns a copy of a schema with all local references resolved. A schema that refers to
    /// itself becomes an empty schema whose description says so; beyond the limits, any schema
    /// becomes an empty one. References to other files or the network are left unchanged.
    pub fn resolve(&mut self, schema: &Value) -> Value {
        // Checked for each schema, because parameters too are shared by reference, and this may be
        // the thousandth copy of one.
        if self.is_over_limit() { json!({}) } else { self.schema(schema) }
    }

    /// Returns a copy of data, or `None` if it would exceed the limits.
    pub fn copy(&mut self, data: &Value) -> Option<Value> {
        self.bytes += bytes(data);
        (!self.is_over_limit()).then(|| data.clone())
    }

    fn is_over_limit(&mut self) -> bool {
        let is_over = self.values > MAX_VALUES || self.bytes > self.max_bytes;
        self.cut |= is_over;
        self.overflowed |= is_over;
        is_over
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
            plain => {
                self.bytes += bytes(plain);
                plain.clone()
            }
        };
        self.depth -= 1;
        resolved
    }

    fn members(&mut self, members: &Map<String, Value>) -> Map<String, Value> {
        // Without a long text or a long list of values, a schema allows more, and nothing else.
        let member = |(key, value): (&String, &Value)| {
            self.bytes += key.len();
            let resolved = match value {
                value if DATA.contains(&key.as_str()) => self.copy(value)?,
                Value::String(_) => self.copy(value)?,
                Value::Object(named) if NAMED.contains(&key.as_str()) && local(value).is_none() => {
                    Value::Object(self.named(named))
                }
                value => self.schema(value),
            };
            Some((key.clone(), resolved))
        };
        members.iter().filter_map(member).collect()
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
        let Some(target) = self.target(path) else {
            self.record_unresolved(reference);
            return Value::Object(self.members(beside));
        };
        if self.open.len() >= self.max_open {
            self.cut = true;
            return json!({});
        }
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
