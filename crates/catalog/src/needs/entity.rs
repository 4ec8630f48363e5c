//! The parameters of a tool that are ids, and what they are ids of.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde_json::value::RawValue;

use crate::effects::is_reading_verb;
use crate::row::fields;
use crate::text::{properties, sentences, tokens, words_of};
use crate::{Tool, singular};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdParameter {
    pub name: String,
    /// The words of the entity, in the singular: `merge`, `request` of `merge_request_id`.
    pub entity: Vec<String>,
    /// Whether only a UUID is accepted, and not a key such as `WEB-7`.
    pub is_uuid: bool,
    /// Whether the schema or the name declares it. Otherwise only the description names it.
    pub is_declared: bool,
}

/// Last words of a parameter that is an id.
const ID_WORDS: [&str; 11] =
    ["id", "ids", "iid", "uuid", "guid", "uid", "pk", "key", "keys", "identifier", "identifiers"];

/// What stands before `key` where that is no id.
const SECRETS: [&str; 9] =
    ["access", "api", "auth", "encryption", "license", "private", "public", "secret", "ssh"];

/// Words that say nothing of the entity.
const GENERIC: [&str; 19] = [
    "a", "an", "from", "internal", "my", "new", "numeric", "old", "parent", "source", "specific",
    "sys", "target", "the", "to", "unique", "valid", "which", "your",
];

/// The shortest entity of an id in one word: `tvid`, not `void`.
const LEAST_STEM: usize = 3;

/// Words at the end of a name that are not what is given: `user_list`, `account_info`, `resolve_library_id`.
pub static FILLERS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "advanced all api autocomplete basic data detail detailed everything guid id identifier index \
     info information name number overview result suggestion summary tool uid uuid v1 v2"
        .split(' ')
        .collect()
});

const PREPOSITIONS: [&str; 15] = [
    "and", "at", "by", "for", "from", "in", "near", "of", "on", "or", "to", "using", "via", "with",
    "within",
];

/// The required parameters of a tool that are ids of something, and placeholders of its name such as
/// `{tv_id}`.
pub fn id_parameters(tool: &Tool) -> Vec<IdParameter> {
    let mut names = required(tool);
    names.extend(placeholders(&tool.name).map(|(_, name)| name.to_owned()));
    let mut found: Vec<IdParameter> = Vec::new();
    let mut described = None;
    for name in names {
        if found.iter().any(|known| known.name == name) {
            continue;
        }
        let mut description = || {
            let all = described.get_or_insert_with(|| descriptions(tool));
            let known = all.iter().find(|(of, _)| *of == name);
            known.map_or_else(String::new, |(_, text)| text.clone())
        };
        let words = words_of(&name);
        if let Some(entity) = entity(&words, &name, tool, &mut description) {
            found.push(IdParameter { name, entity, is_uuid: false, is_declared: true });
        }
    }
    mark_uuids(tool, &mut found);
    found
}

/// Marks the parameters that the schema or the description calls UUIDs.
fn mark_uuids(tool: &Tool, parameters: &mut [IdParameter]) {
    let schema = tool.input_schema.as_ref().filter(|schema| says_uuid(schema.raw().get()));
    if schema.is_some() && !parameters.is_empty() {
        for (name, raw) in schema.and_then(properties).unwrap_or_default() {
            let known = parameters.iter_mut().find(|known| known.name == name);
            let Some(known) = known else { continue };
            known.is_uuid = says_uuid(raw.get()) || says_uuid(&name);
        }
    }
    for sentence in sentences(&tool.description).filter(|sentence| says_uuid(sentence)) {
        for known in parameters.iter_mut() {
            known.is_uuid |= tokens(sentence).any(|token| token == known.name);
        }
    }
}

fn says_uuid(text: &str) -> bool {
    let is_uuid = |word: &str| matches!(word, "uuid" | "uuids" | "guid" | "guids");
    // Most texts have no such letters, and splitting one into words takes longer.
    let mut letters = text.as_bytes().windows(3);
    letters.any(|at| at.eq_ignore_ascii_case(b"uid")) && words_of(text).iter().any(|it| is_uuid(it))
}

/// The ids that a description names as parameters, such as `project_id`.
pub fn named_ids(tool: &Tool) -> Vec<IdParameter> {
    let mut found: Vec<IdParameter> = Vec::new();
    for name in tokens(&tool.description) {
        let words = words_of(name);
        if words.len() < 2 || !words.last().is_some_and(|last| is_id(last)) {
            continue;
        }
        let of = entity(&words, name, tool, &mut String::new);
        if let Some(entity) = of.filter(|of| !found.iter().any(|known| known.entity == *of)) {
            found.push(IdParameter {
                name: name.to_owned(),
                entity,
                is_uuid: false,
                is_declared: false,
            });
        }
    }
    mark_uuids(tool, &mut found);
    found
}

fn entity(
    words: &[String],
    name: &str,
    tool: &Tool,
    description: &mut dyn FnMut() -> String,
) -> Option<Vec<String>> {
    let (last, before) = words.split_last()?;
    if ID_WORDS.contains(&last.as_str()) {
        // `issueIdOrKey`.
        let before = match before {
            [of @ .., id, or] if or == "or" && ID_WORDS.contains(&id.as_str()) => of,
            _ => before,
        };
        let is_said = |word: &&String| !GENERIC.contains(&word.as_str());
        let of: Vec<String> =
            before.iter().filter(is_said).map(|word| singular(word).into_owned()).collect();
        let is_key = last.starts_with("key");
        let is_secret = of.last().is_some_and(|noun| SECRETS.contains(&noun.as_str()));
        return match of.is_empty() {
            true if is_key => None,
            true => owner(name, tool, &description()).map(|owner| vec![owner]),
            false => (!(is_key && is_secret)).then_some(of),
        };
    }
    if !before.is_empty() {
        return None;
    }
    if let Some(stem) = last.strip_suffix("id").filter(|stem| stem.len() >= LEAST_STEM) {
        return Some(vec![singular(stem).into_owned()]);
    }
    let text = description().to_lowercase();
    let says_id = text.split(|c: char| !c.is_alphanumeric()).any(is_id);
    says_id.then(|| vec![singular(last).into_owned()])
}

pub fn is_id(word: &str) -> bool {
    matches!(word, "id" | "ids" | "uuid" | "identifier" | "identifiers")
}

/// What a bare `id` is the id of: the part of the path before it, the noun that its description names, or
/// what the tool is about.
fn owner(name: &str, tool: &Tool, description: &str) -> Option<String> {
    let path = placeholders(&tool.name).find(|(_, found)| *found == name);
    let segments =
        path.map_or_else(Vec::new, |(before, _)| words_of(&without_placeholders(before)));
    if let Some(last) = segments.last() {
        return Some(singular(last).into_owned());
    }
    let text = words_of(description);
    let is_noun = |word: &&String| {
        !GENERIC.contains(&word.as_str()) && !matches!(word.as_str(), "of" | "for" | "this")
    };
    for (at, word) in text.iter().enumerate() {
        if !is_id(word) {
            continue;
        }
        let after = text.get(at + 1).is_some_and(|next| matches!(next.as_str(), "of" | "for"));
        let noun = match after {
            true => text[at + 2..].iter().find(is_noun),
            false => text[..at].last().filter(is_noun),
        };
        if let Some(noun) = noun {
            return Some(singular(noun).into_owned());
        }
    }
    objects(&words_of(&tool.name)).into_iter().next()
}

/// The nouns that a name says are given: `tv` of `search_tv`, `dashboard` of `dashboard_list`, `tab` of
/// `get_list_of_open_tabs`. `by` begins what they are found by.
pub fn objects(name: &[String]) -> Vec<String> {
    let name: Vec<String> = name.iter().map(|word| singular(word).into_owned()).collect();
    let end = name.iter().position(|word| word == "by").unwrap_or(name.len());
    let is_verb = |word: &String| is_reading_verb(word) || word == "create";
    let is_noun = |word: &&String| !is_verb(word) && !FILLERS.contains(word.as_str());
    let is_preposition = |word: &String| PREPOSITIONS.contains(&word.as_str());
    let mut parts = name[..end].split(is_preposition);
    let object = parts.find_map(|part| part.iter().rfind(is_noun));
    let verb = name.iter().position(is_verb).filter(|at| *at > 0);
    let before = verb.map(|at| &name[at - 1]);
    let mut found: Vec<String> = object.into_iter().chain(before).cloned().collect();
    found.dedup();
    found
}

/// The names of the parameters that the schema requires.
pub fn required(tool: &Tool) -> Vec<String> {
    let schema = tool.input_schema.as_ref();
    let top = schema.and_then(|schema| fields(schema.raw())).unwrap_or_default();
    let names = top.get("required").and_then(|raw| serde_json::from_str(raw.get()).ok());
    names.unwrap_or_default()
}

pub fn descriptions(tool: &Tool) -> Vec<(String, String)> {
    let parameters = tool.input_schema.as_ref().and_then(properties).unwrap_or_default();
    let description = |raw: &RawValue| -> Option<String> {
        serde_json::from_str(fields(raw)?.get("description")?.get()).ok()
    };
    let described = |(name, raw)| (name, description(raw).unwrap_or_default());
    parameters.into_iter().map(described).collect()
}

/// The placeholders of a path, each with the path before it.
fn placeholders(path: &str) -> impl Iterator<Item = (&str, &str)> {
    path.match_indices('{').filter_map(|(at, _)| {
        let rest = &path[at + 1..];
        Some((&path[..at], &rest[..rest.find('}')?]))
    })
}

/// A path without its placeholders.
pub fn without_placeholders(path: &str) -> String {
    let (mut kept, mut depth) = (String::with_capacity(path.len()), 0usize);
    for c in path.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            c if depth == 0 => kept.push(c),
            _ => {}
        }
    }
    kept
}
