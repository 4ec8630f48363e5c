//! Matches the names of arguments to parameters.

use serde_json::Value;

use super::super::invoker::Arguments;
use super::{Change, properties};
use toolroute_catalog::near_word;

/// Names that models and authors use for the same thing. An argument is renamed only if exactly one
/// parameter of its group exists and was not given, so a group may be broad.
const ALIASES: [&str; 12] = [
    "query q search searchquery searchterm term keywords question prompt",
    "path filepath file filename pathname",
    "directory dir folder path",
    "url uri link address href",
    "limit maxresults max count n topk numresults pagesize perpage",
    "content text body contents data",
    "message msg text content",
    "id identifier key uid",
    "language lang locale",
    "location city place",
    "start from begin startdate since",
    "end to until enddate",
];

/// Renames the arguments to the names in the schema.
pub(super) fn rename(given: &Arguments, root: &Value, changes: &mut Vec<Change>) -> Arguments {
    let known: Vec<&String> = properties(root).map(|(name, _)| name).collect();
    let mut renamed = Arguments::new();
    for (name, value) in given {
        if known.contains(&name) {
            renamed.insert(name.clone(), value.clone());
        }
    }
    for (name, value) in given.iter().filter(|(name, _)| !known.contains(name)) {
        let free = known.iter().copied().filter(|known| !renamed.contains_key(*known));
        match meant(name, free.collect()) {
            Some(to) => {
                changes.push(Change::Renamed { from: name.clone(), to: to.clone() });
                renamed.insert(to.clone(), value.clone());
            }
            // It is kept, because many tools accept arguments that their schema does not list.
            None => {
                renamed.insert(name.clone(), value.clone());
            }
        }
    }
    renamed
}

/// Whether a schema may take arguments that it does not list: it says so, has parts that may name
/// more, or lists none.
pub(super) fn are_open(root: &Value) -> bool {
    let others = &root["additionalProperties"];
    let parts = ["patternProperties", "anyOf", "oneOf", "allOf", "$ref", "dependentSchemas", "if"];
    others.is_object()
        || others == true
        || parts.iter().any(|part| !root[*part].is_null())
        || properties(root).next().is_none()
}

/// An argument that is no parameter.
pub(super) struct Unknown {
    pub name: String,
    /// The free parameter whose name is the most similar, if one is.
    pub meant: Option<String>,
    /// The tool's parameters.
    pub expected: String,
}

/// Maximum number of parameters to name; the others are counted.
const NAMED: usize = 20;

/// Names the parameters that a call may have.
fn named(parameters: &[&str]) -> String {
    match parameters {
        [only] => (*only).to_owned(),
        all if all.len() <= NAMED => format!("one of {}", all.join(", ")),
        all => format!("one of {} and {} more", all[..NAMED].join(", "), all.len() - NAMED),
    }
}

/// Returns the arguments that are none of these parameters.
pub(super) fn unknown(arguments: &Arguments, parameters: &[&str]) -> Vec<Unknown> {
    let given = |name: &&str| arguments.contains_key(*name);
    let free: Vec<&str> = parameters.iter().copied().filter(|name| !given(name)).collect();
    let expected = named(parameters);
    let unknown = arguments.keys().filter(|name| !parameters.contains(&name.as_str()));
    let unknown = unknown.map(|name| Unknown {
        name: name.clone(),
        meant: near_word(name, &free).map(str::to_owned),
        expected: expected.clone(),
    });
    unknown.collect()
}

/// Returns the only free parameter that a name can mean: the same name apart from case and
/// separators, or an alias.
fn meant<'a>(name: &str, free: Vec<&'a String>) -> Option<&'a String> {
    let only = |is_it: fn(&str, &str) -> bool| {
        let mut found = free.iter().filter(|free| is_it(name, free));
        found.next().filter(|_| found.next().is_none()).copied()
    };
    only(|name, free| plain(name) == plain(free)).or_else(|| only(alike))
}

/// Returns a name without separators, in lower case: `maxResults`, `max_results` and `Max-Results`
/// are one name.
pub(in super::super) fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether two parameters of different tools mean the same thing.
pub(in super::super) fn alike(a: &str, b: &str) -> bool {
    let (a, b) = (plain(a), plain(b));
    let has = |group: &str, name: &str| group.split(' ').any(|alias| alias == name);
    a == b || ALIASES.iter().any(|group| has(group, &a) && has(group, &b))
}
