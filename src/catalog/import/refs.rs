//! Local `$ref`s of an API description, put in place.

use serde_json::{Map, Value, json};

/// Schemas that refer to each other widely grow exponentially when put in place; no tool's
/// parameters need more than this many values.
const MAX_VALUES: usize = 4_000;

/// Deeper than any schema that a model could fill in, and shallow enough for the stack, with what
/// the parser allows (128) on top.
const MAX_DEPTH: usize = 64;

/// Members whose content is data, where `$ref` would be a plain key.
const DATA: [&str; 5] = ["default", "enum", "const", "example", "examples"];

/// Puts `#/…` references in place within one operation.
pub(super) struct Refs<'a> {
    root: &'a Value,
    open: Vec<String>,
    depth: usize,
    values: usize,
}

impl<'a> Refs<'a> {
    pub fn new(root: &'a Value) -> Self {
        Self { root, open: Vec::new(), depth: 0, values: 0 }
    }

    /// The value that a chain of local references ends at; for parts that are read, not copied.
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

    /// A copy with all local references put in place. A reference into itself becomes an empty
    /// schema that says so, and beyond the limits any reference becomes an empty one; references to
    /// other files or the network stay as they are.
    pub fn resolve(&mut self, value: &Value) -> Value {
        self.values += 1;
        self.depth += 1;
        let resolved = match value {
            Value::Object(members) => match local(value) {
                Some(path) => self.replace(path, members),
                None => Value::Object(self.members(members)),
            },
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.resolve(item)).collect())
            }
            plain => plain.clone(),
        };
        self.depth -= 1;
        resolved
    }

    fn members(&mut self, members: &Map<String, Value>) -> Map<String, Value> {
        members
            .iter()
            .map(|(key, value)| {
                let data = DATA.contains(&key.as_str());
                (key.clone(), if data { value.clone() } else { self.resolve(value) })
            })
            .collect()
    }

    /// OpenAPI 3.1 lets a description stand beside a reference; what stands beside it wins.
    fn replace(&mut self, path: &str, beside: &Map<String, Value>) -> Value {
        if self.values > MAX_VALUES || self.depth > MAX_DEPTH {
            return json!({});
        }
        if self.open.iter().any(|open| open == path) {
            return json!({"description": format!("again the value of #{path}")});
        }
        let Some(target) = self.root.pointer(path) else {
            return Value::Object(beside.clone());
        };
        self.open.push(path.to_owned());
        let mut target = self.resolve(target);
        if let Value::Object(members) = &mut target {
            let mut own = beside.clone();
            own.shift_remove("$ref");
            members.extend(self.members(&own));
        }
        self.open.pop();
        target
    }
}

/// The JSON pointer of a reference within the document.
fn local(value: &Value) -> Option<&str> {
    value.get("$ref")?.as_str()?.strip_prefix('#')
}
