//! Resolves the local `$ref`s of an API description.

use std::collections::BTreeSet;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use crate::expansion::{DATA, NAMED, children};

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

/// How many references within each other are followed. If an operation's schemas do not fit in its
/// share, the next number is tried, so that the outermost arguments are complete.
pub(super) const DEPTHS: [usize; 4] = [usize::MAX, 4, 2, LAST_DEPTH];
const LAST_DEPTH: usize = 1;

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
    /// Whether what is resolved may be part of many operations, because a reference led to it.
    is_shared: bool,
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
            is_shared: false,
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

    /// Follows a reference to a part that is copied afterwards.
    pub fn enter(&mut self, value: &'a Value) -> &'a Value {
        let part = self.follow(value);
        self.is_shared = !std::ptr::eq(part, value);
        part
    }

    /// Returns the value at a JSON pointer. In a reference, a pointer may be percent-encoded.
    fn target(&self, path: &str) -> Option<&'a Value> {
        let encoded = || self.root.pointer(&percent_decode_str(path).decode_utf8().ok()?);
        self.root.pointer(path).or_else(encoded)
    }

    /// Returns a copy of a schema with all local references resolved. A schema that refers to
    /// itself becomes an empty schema whose description says so; beyond the limits, any schema to
    /// which a reference led becomes an empty one. References to other files or the network are
    /// left unchanged.
    pub fn resolve(&mut self, schema: &Value) -> Value {
        // Checked for each schema, because parameters too are shared by reference, and this may be
        // the thousandth copy of one.
        if self.is_full() { json!({}) } else { self.schema(schema) }
    }

    /// Returns a copy of the members of a schema, as [`Refs::resolve`] does.
    pub fn resolve_members<'m>(
        &mut self,
        members: impl Iterator<Item = (&'m String, &'m Value)>,
    ) -> Map<String, Value> {
        if self.is_full() { Map::new() } else { self.members(members) }
    }

    /// Returns a copy of data, or `None` if it would exceed the limits.
    pub fn copy(&mut self, data: &Value) -> Option<Value> {
        self.count(data);
        (!self.is_full()).then(|| data.clone())
    }

    /// Adds the approximate length of the data as JSON text, in bytes, as far as it fits. What is
    /// left out must cost no more than what is kept, because thousands of operations may share it.
    fn count(&mut self, data: &Value) {
        const SMALL: usize = 4;
        self.bytes += SMALL + data.as_str().map_or(0, str::len);
        if let Value::Object(members) = data {
            self.bytes += members.keys().map(String::len).sum::<usize>();
        }
        for part in children(data) {
            if self.bytes > self.max_bytes {
                return;
            }
            self.count(part);
        }
    }

    fn is_over_limit(&mut self) -> bool {
        let is_over = self.values > MAX_VALUES || self.bytes > self.max_bytes;
        self.cut |= is_over;
        self.overflowed |= is_over;
        is_over
    }

    /// Whether what follows is left out. What an operation has of its own is kept in any case,
    /// because it cannot be larger than the document.
    fn is_full(&mut self) -> bool {
        (self.is_shared || !self.open.is_empty()) && self.is_over_limit()
    }

    /// Whether the schemas will be resolved again with fewer references.
    fn is_discarded(&self) -> bool {
        self.overflowed && self.max_open > LAST_DEPTH
    }

    fn schema(&mut self, value: &Value) -> Value {
        self.values += 1;
        self.depth += 1;
        let resolved = match value {
            Value::Object(_) if self.is_full() => json!({}),
            Value::Object(members) => match local(value) {
                Some(path) => self.replace(path, value, members),
                None => {
                    self.record_unresolved(value);
                    Value::Object(self.members(members.iter()))
                }
            },
            Value::Array(items) => {
                let mut resolved = Vec::new();
                for item in items {
                    if self.is_discarded() {
                        break;
                    }
                    resolved.push(self.schema(item));
                }
                Value::Array(resolved)
            }
            plain => {
                self.count(plain);
                plain.clone()
            }
        };
        self.depth -= 1;
        resolved
    }

    /// Leaves out what does not fit: without a member, a schema allows more, and nothing else.
    fn members<'m>(
        &mut self,
        members: impl Iterator<Item = (&'m String, &'m Value)>,
    ) -> Map<String, Value> {
        let mut all = Map::new();
        for (key, value) in members {
            if self.is_discarded() {
                break;
            }
            self.bytes += key.len();
            let resolved = match value {
                Value::Object(named) if NAMED.contains(&key.as_str()) && local(value).is_none() => {
                    Some((key.as_str(), Value::Object(self.named(named))))
                }
                _ if self.is_full() => None,
                value if value.is_string() || DATA.contains(&key.as_str()) => {
                    self.copy(value).map(|copy| (key.as_str(), copy))
                }
                value => self.member(key, value),
            };
            all.extend(resolved.map(|(key, resolved)| (key.to_owned(), resolved)));
        }
        all
    }

    /// Resolves a member. If a part of it is left out, the member must not refuse what the whole
    /// allows, as `oneOf` does when two empty parts allow a value.
    fn member<'k>(&mut self, key: &'k str, value: &Value) -> Option<(&'k str, Value)> {
        let was_cut = std::mem::take(&mut self.cut);
        let resolved = self.schema(value);
        let is_cut = self.cut;
        self.cut |= was_cut;
        match key {
            "oneOf" if is_cut => Some(("anyOf", resolved)),
            "not" | "if" if is_cut => None,
            key => Some((key, resolved)),
        }
    }

    /// Keeps every name, so that the arguments are complete.
    fn named(&mut self, schemas: &Map<String, Value>) -> Map<String, Value> {
        let mut all = Map::new();
        for (name, schema) in schemas {
            if self.is_discarded() {
                break;
            }
            self.bytes += name.len();
            all.insert(name.clone(), self.schema(schema));
        }
        all
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
            return Value::Object(self.members(beside.iter()));
        };
        if self.open.len() >= self.max_open {
            self.cut = true;
            return json!({});
        }
        self.open.push(path.to_owned());
        let mut target = self.schema(target);
        if let Value::Object(members) = &mut target {
            members.extend(self.members(beside.iter().filter(|(key, _)| *key != "$ref")));
        }
        self.open.pop();
        target
    }
}

/// Returns the JSON pointer of a reference within the document.
fn local(value: &Value) -> Option<&str> {
    value.get("$ref")?.as_str()?.strip_prefix('#')
}
