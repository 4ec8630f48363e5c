//! What is tried where a tool fails: which tools, with which arguments, and when not.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::invoker::Arguments;
use super::params;
use super::permission::only_reads;
use crate::catalog::Tool;

/// How a tool came to be a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "origin", rename_all = "snake_case")]
pub enum Origin {
    /// The one that was asked for.
    Asked,
    /// Somebody wrote down that it takes over.
    Declared,
    /// It was found to do the same.
    Equivalent,
}

/// A tool that may be called for a request.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub tool: Arc<Tool>,
    pub origin: Origin,
    /// Somebody says that it may run even after a write elsewhere may have happened.
    pub safe_after_write: bool,
    /// Whether it is asked as well where a tool before it has answered, if only that it failed or found
    /// nothing. That is an answer: a guess at what else may know would take the arguments elsewhere,
    /// and bring back the record of another thing.
    pub after_answer: bool,
}

/// After which endings of one tool the next is tried.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    pub timeout: bool,
    pub error: bool,
    pub empty: bool,
}

impl Default for Conditions {
    fn default() -> Self {
        Self { timeout: true, error: true, empty: true }
    }
}

/// A tool that may do the same as another.
#[derive(Clone, Debug)]
pub struct Neighbor {
    pub tool: Arc<Tool>,
    /// How near in meaning, 0 to 1.
    pub similarity: f32,
}

/// Near enough to stand in for another. Below it tools of one subject are found that do different
/// things to it.
pub const MIN_SIMILARITY: f32 = 0.6;

/// More would take longer than a user waits.
const MOST_CANDIDATES: usize = 5;

impl Candidate {
    /// The one tool that was asked for.
    pub fn asked(tool: Arc<Tool>) -> Self {
        Self { tool, origin: Origin::Asked, safe_after_write: false, after_answer: true }
    }
}

/// The tool that was asked for, those declared to take over from it, and where there are none
/// those that are equivalent. No tool twice.
pub fn candidates(
    asked: &Arc<Tool>,
    declared: &[Arc<Tool>],
    neighbors: &[Neighbor],
    min_similarity: f32,
) -> Vec<Candidate> {
    let mut candidates = vec![Candidate::asked(Arc::clone(asked))];
    let found: Vec<Arc<Tool>> = if declared.is_empty() {
        let near = neighbors.iter().filter(|near| is_equivalent(asked, near, min_similarity));
        near.map(|near| Arc::clone(&near.tool)).collect()
    } else {
        declared.to_vec()
    };
    let origin = if declared.is_empty() { Origin::Equivalent } else { Origin::Declared };
    for tool in found {
        let known = candidates.iter().any(|candidate| candidate.tool.id == tool.id);
        if !known && candidates.len() < MOST_CANDIDATES {
            let after_answer = origin == Origin::Declared || satisfies_the_same(asked, &tool);
            candidates.push(Candidate { tool, origin, safe_after_write: false, after_answer });
        }
    }
    candidates
}

/// Whether a tool does the same: it discharges the same obligations, or is near in meaning. Its
/// parameters must be able to take what the other's take. Nothing that writes stands in for
/// another because of its meaning alone.
fn is_equivalent(asked: &Tool, near: &Neighbor, min_similarity: f32) -> bool {
    let satisfies = satisfies_the_same(asked, &near.tool);
    let reads = only_reads(asked) && only_reads(&near.tool);
    let alike = reads && near.similarity >= min_similarity;
    let gentle = near.tool.hints.destructive != Some(true) && (!only_reads(asked) || reads);
    asked.id != near.tool.id
        && gentle
        && (satisfies || alike)
        && map_arguments(asked, &near.tool, &sample(asked)).is_some()
}

fn satisfies_the_same(asked: &Tool, other: &Tool) -> bool {
    asked.satisfies.iter().any(|kind| other.satisfies.contains(kind))
}

/// Arguments that stand for "all that the tool requires".
fn sample(tool: &Tool) -> Arguments {
    let schema = schema(tool);
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    required.map(|name| (name.to_owned(), kind_sample(&schema["properties"][name]))).collect()
}

fn kind_sample(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("integer" | "number") => Value::from(1),
        Some("boolean") => Value::from(true),
        Some("array") => Value::Array(Vec::new()),
        Some("object") => Value::Object(Arguments::new()),
        _ => Value::from("text"),
    }
}

fn schema(tool: &Tool) -> Value {
    tool.input_schema.as_ref().and_then(|schema| schema.to_value()).unwrap_or_default()
}

/// The arguments for one tool as another takes them; `None` where one that the first requires has
/// no place in the second, or the second requires one that was not given.
///
/// Parameters of the same name or of names for the same thing belong together. Where a tool
/// requires one text and one text is left over, that is the one.
pub fn map_arguments(from: &Tool, to: &Tool, given: &Arguments) -> Option<Arguments> {
    let (from, to) = (schema(from), schema(to));
    let Some(targets) = to["properties"].as_object() else { return Some(given.clone()) };
    let mut mapped = Arguments::new();
    let mut left: BTreeMap<&String, &Value> = given.iter().collect();
    for (name, schema) in targets {
        let same = |given: &&&String| params::plain(given) == params::plain(name);
        let alike =
            |given: &&&String| params::alike(given, name) && same_kind(given, &from, schema);
        let source = left.keys().find(same).or_else(|| left.keys().find(alike)).copied();
        if let Some(value) = source.and_then(|source| left.remove(source)) {
            mapped.insert(name.clone(), value.clone());
        }
    }
    let requires = |schema: &Value, name: &str| {
        schema["required"].as_array().into_iter().flatten().any(|required| required == name)
    };
    let mut open =
        targets.iter().filter(|(name, _)| requires(&to, name) && !mapped.contains_key(*name));
    if let Some((name, schema)) = open.next() {
        let mut texts = left.iter().filter(|(_, value)| value.is_string());
        let (text, value) = texts.next().map(|(name, value)| (*name, *value))?;
        let is_text = schema["type"].as_str().is_none_or(|kind| kind == "string");
        if !is_text || texts.next().is_some() || open.next().is_some() {
            return None;
        }
        left.remove(text);
        mapped.insert(name.clone(), value.clone());
    }
    let lost = left.keys().any(|name| requires(&from, name));
    (!lost).then_some(mapped)
}

/// An alias must not put a number where a list belongs.
fn same_kind(name: &str, from: &Value, to: &Value) -> bool {
    let kind = |schema: &Value| schema["type"].as_str().map(str::to_owned);
    match (kind(&from["properties"][name]), kind(to)) {
        (Some(from), Some(to)) => from == to,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;
    use crate::catalog::Schema;

    fn tool(name: &str, reads: bool, schema: Value) -> Arc<Tool> {
        let mut tool = Tool::new(Some("web"), name, "");
        tool.hints.read_only = Some(reads);
        tool.input_schema = Some(Schema::new(to_raw_value(&schema).unwrap()));
        Arc::new(tool)
    }

    fn text(required: &str) -> Value {
        json!({"type": "object", "required": [required], "properties": {
            required: {"type": "string"}, "limit": {"type": "integer"}}})
    }

    fn members(value: Value) -> Arguments {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn arguments_find_their_place_in_another_tool() {
        let (search, ask) =
            (tool("search", true, text("query")), tool("ask", true, text("question")));
        let given = members(json!({"query": "rust", "limit": 3}));
        let mapped = map_arguments(&search, &ask, &given).unwrap();
        assert_eq!(Value::Object(mapped), json!({"question": "rust", "limit": 3}));
        let topic = tool("wiki", true, text("topic"));
        assert_eq!(map_arguments(&search, &topic, &given).unwrap()["topic"], "rust");
        let two = json!({"required": ["from", "to"], "properties": {"from": {}, "to": {}}});
        assert!(map_arguments(&search, &tool("route", true, two), &given).is_none());
        let none = tool("now", true, json!({"properties": {}}));
        assert!(map_arguments(&search, &none, &given).is_none(), "what is asked would be lost");
    }

    #[test]
    fn what_is_declared_decides_over_what_is_near() {
        let asked = tool("a", true, text("query"));
        let [declared, near] = ["b", "c"].map(|name| tool(name, true, text("query")));
        let neighbors = [Neighbor { tool: near, similarity: 0.9 }];
        let ids = |candidates: Vec<Candidate>| -> Vec<String> {
            candidates.iter().map(|candidate| candidate.tool.name.clone()).collect()
        };
        assert_eq!(ids(candidates(&asked, &[declared], &neighbors, 0.6)), ["a", "b"]);
        assert_eq!(ids(candidates(&asked, &[], &neighbors, 0.6)), ["a", "c"]);
        assert_eq!(ids(candidates(&asked, &[], &neighbors, 0.95)), ["a"]);
    }

    #[test]
    fn nothing_that_writes_stands_in_for_another_by_its_meaning() {
        let (read, write) = (tool("a", true, text("query")), tool("b", false, text("query")));
        for (asked, other) in
            [(&read, &write), (&write, &read), (&write, &tool("c", false, text("query")))]
        {
            let neighbors = [Neighbor { tool: Arc::clone(other), similarity: 1.0 }];
            assert_eq!(candidates(asked, &[], &neighbors, 0.6).len(), 1);
        }
    }
}
