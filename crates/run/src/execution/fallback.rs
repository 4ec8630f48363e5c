//! Fallbacks: whether other tools are tried when a tool fails, which ones, and with which
//! arguments.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::invoker::Arguments;
use super::params;
use toolroute_catalog::{Catalog, Facet, Tool, required};

/// Why a tool is a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "origin", rename_all = "snake_case")]
pub enum Origin {
    /// The requested tool.
    Asked,
    /// A request or a catalog declares the tool as a fallback.
    Declared,
    /// The tool satisfies a type of obligation that the requested tool satisfies.
    SameType,
    /// The tool is similar in meaning, and the user allows such fallbacks.
    ByMeaning,
}

/// A tool that may be called for a request.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The tool.
    pub tool: Arc<Tool>,
    /// Why the tool is a candidate.
    pub origin: Origin,
    /// Whether the tool may run even if an earlier candidate may have written something, as its
    /// declaration states.
    pub safe_after_write: bool,
}

/// A tool that is similar in meaning to another.
#[derive(Clone, Debug)]
pub struct Neighbor {
    /// The similar tool.
    pub tool: Arc<Tool>,
    /// The cosine of the two tools' vectors.
    pub similarity: f32,
}

/// The least similarity of a fallback by meaning. Tools below it share a subject, but do different
/// things with it.
const MIN_SIMILARITY: f32 = 0.6;

/// Trying more tools would take longer than a user waits.
const MOST_CANDIDATES: usize = 5;

/// The fallbacks for a requested tool, in addition to those that the catalog declares.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fallbacks<'a> {
    /// Fallbacks that the request names, in the order in which they are tried.
    pub named: &'a [Arc<Tool>],
    /// The most similar tools. Empty unless the user enables such fallbacks: of two similar
    /// databases, one must not answer for the other.
    pub by_meaning: &'a [Neighbor],
}

impl Candidate {
    /// The candidate for the requested tool itself.
    pub fn asked(tool: Arc<Tool>) -> Self {
        Self { tool, origin: Origin::Asked, safe_after_write: false }
    }

    /// Whether the candidate is tried after another tool answered with an error or an empty answer.
    /// A fallback by meaning is not, because it could return a record of something else.
    #[doc(hidden)] // For our own crates.
    pub fn follows_an_answer(&self) -> bool {
        self.origin != Origin::ByMeaning
    }
}

/// Returns the requested tool and its fallbacks in the order in which they are tried: first the
/// fallbacks that the request names, then those that the tool declares. If there are neither, tools
/// follow that satisfy the same types of obligations. Fallbacks by meaning come last.
///
/// No tool appears twice, and there are at most five candidates.
pub fn candidates(
    asked: &Arc<Tool>,
    catalog: &Catalog,
    fallbacks: Fallbacks<'_>,
) -> Vec<Candidate> {
    let mut chain = vec![Candidate::asked(Arc::clone(asked))];
    let mut add = |tool: &Arc<Tool>, origin, safe_after_write| {
        let is_known = chain.iter().any(|candidate| candidate.tool.id == tool.id);
        if !is_known && chain.len() < MOST_CANDIDATES {
            chain.push(Candidate { tool: Arc::clone(tool), origin, safe_after_write });
        }
    };
    for tool in fallbacks.named {
        add(tool, Origin::Declared, false);
    }
    for fallback in &asked.routing.fallbacks {
        // A fallback that the catalog lacks is ignored.
        if let Some(row) = catalog.row(&fallback.tool) {
            add(&catalog.tools()[row as usize], Origin::Declared, fallback.safe_after_write);
        }
    }
    if fallbacks.named.is_empty() && asked.routing.fallbacks.is_empty() {
        for tool in same_type(asked, catalog) {
            add(tool, Origin::SameType, false);
        }
    }
    for near in fallbacks.by_meaning.iter().filter(|near| may_answer_by_meaning(asked, near)) {
        add(&near.tool, Origin::ByMeaning, false);
    }
    chain
}

/// The tools that satisfy a type which the requested tool satisfies, have no worse effects and take
/// the same arguments, in the order of the catalog.
fn same_type<'a>(
    asked: &'a Tool,
    catalog: &'a Catalog,
) -> impl Iterator<Item = &'a Arc<Tool>> + 'a {
    let rows =
        asked.satisfies.iter().flat_map(|kind| catalog.facets().rows(Facet::Satisfies, kind));
    let mut rows: Vec<u32> = rows.copied().collect();
    rows.sort_unstable();
    rows.dedup();
    let tools = rows.into_iter().map(|row| &catalog.tools()[row as usize]);
    tools.filter(|other| {
        !other.effects().destroys() && !is_worse(other, asked) && takes_the_same(asked, other)
    })
}

/// Whether a call of a tool may do more harm than one of the requested tool: a person who asks to
/// look did not ask to change anything.
pub(super) fn is_worse(other: &Tool, asked: &Tool) -> bool {
    let (own, others) = (asked.effects(), other.effects());
    (own.reads_only() && !others.reads_only()) || (others.destroys() && !own.destroys())
}

/// Whether both tools only read, are similar enough and take the same arguments.
fn may_answer_by_meaning(asked: &Tool, near: &Neighbor) -> bool {
    near.similarity >= MIN_SIMILARITY
        && asked.effects().declares_reads_only()
        && near.tool.effects().declares_reads_only()
        && takes_the_same(asked, &near.tool)
}

fn takes_the_same(asked: &Tool, other: &Tool) -> bool {
    asked.id != other.id && map_arguments(asked, other, &sample(asked)).is_some()
}

/// Sample arguments for [`map_arguments`], which only distinguishes texts from other values: one for
/// each required parameter.
fn sample(tool: &Tool) -> Arguments {
    let schema = schema(tool);
    let value = |name: &str| match schema["properties"][name]["type"].as_str() {
        Some("integer" | "number" | "boolean" | "array" | "object") => Value::Null,
        _ => Value::from("text"),
    };
    required(&schema).map(|name| (name.to_owned(), value(name))).collect()
}

fn schema(tool: &Tool) -> Value {
    tool.input_schema.as_ref().and_then(|schema| schema.to_value()).unwrap_or_default()
}

/// Maps the arguments of one tool to the parameters of another. Returns `None` if an argument that
/// the first tool requires has no parameter in the second, or if the second requires one that was
/// not given.
///
/// Parameters match if their names are equal or mean the same. If the second tool still requires
/// one text, and one text is left over, these two match as well.
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
    let requires = |schema, name: &str| required(schema).any(|required| required == name);
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

/// Whether the types of two parameters agree, if both are declared. An alias must not put a number
/// where a list is expected.
fn same_kind(name: &str, from: &Value, to: &Value) -> bool {
    let (from, to) = (from["properties"][name]["type"].as_str(), to["type"].as_str());
    from.is_none() || to.is_none() || from == to
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;
    use toolroute_catalog::Schema;

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

    fn chain(asked: &Arc<Tool>, others: &[&Arc<Tool>], fallbacks: Fallbacks<'_>) -> Vec<String> {
        let tools = others.iter().chain([&asked]).map(|tool| tool.as_ref().clone()).collect();
        let catalog = Catalog::from_tools(tools).catalog;
        let chain = candidates(asked, &catalog, fallbacks);
        chain.iter().map(|candidate| candidate.tool.name.clone()).collect()
    }

    fn near(tool: &Arc<Tool>) -> Neighbor {
        Neighbor { tool: Arc::clone(tool), similarity: 0.9 }
    }

    #[test]
    fn nobody_stands_in_whom_nobody_named() {
        let (asked, twin) = (tool("a", true, text("query")), tool("b", true, text("query")));
        assert_eq!(chain(&asked, &[&twin], Fallbacks::default()), ["a"]);
        let by_meaning = &[near(&twin)];
        let opted_in = Fallbacks { by_meaning, ..Fallbacks::default() };
        assert_eq!(chain(&asked, &[&twin], opted_in), ["a", "b"]);
        let far = &[Neighbor { similarity: 0.5, ..near(&twin) }];
        let opted_in = Fallbacks { by_meaning: far, ..Fallbacks::default() };
        assert_eq!(chain(&asked, &[&twin], opted_in), ["a"]);
    }

    #[test]
    fn what_is_named_goes_before_what_is_declared_and_that_before_a_type() {
        let mut asked = tool("a", true, text("query")).as_ref().clone();
        let mut typed = tool("typed", true, text("query")).as_ref().clone();
        asked.satisfies = vec!["REPORT(x)".into()];
        typed.satisfies = asked.satisfies.clone();
        let typed = Arc::new(typed);
        let [declared, named] = ["declared", "named"].map(|name| tool(name, true, text("query")));
        let all = [&declared, &named, &typed];
        let of_type = chain(&Arc::new(asked.clone()), &all, Fallbacks::default());
        assert_eq!(of_type, ["a", "typed"]);
        asked.routing.fallbacks = vec!["web__gone".into(), "web__declared".into()];
        let asked = Arc::new(asked);
        assert_eq!(chain(&asked, &all, Fallbacks::default()), ["a", "declared"]);
        let named = std::slice::from_ref(&named);
        let request = Fallbacks { named, ..Fallbacks::default() };
        assert_eq!(chain(&asked, &all, request), ["a", "named", "declared"]);
    }

    #[test]
    fn nothing_that_writes_stands_in_for_another_by_its_meaning() {
        let (read, write) = (tool("a", true, text("query")), tool("b", false, text("query")));
        for (asked, other) in
            [(&read, &write), (&write, &read), (&write, &tool("c", false, text("query")))]
        {
            let by_meaning = &[near(other)];
            let opted_in = Fallbacks { by_meaning, ..Fallbacks::default() };
            assert_eq!(chain(asked, &[other], opted_in).len(), 1);
        }
    }
}
