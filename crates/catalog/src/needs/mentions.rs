//! Suppliers that a tool's own texts name: "Requires the athleteId from the get-athlete-profile tool."
//!
//! Such a sentence is surer than a guess from names, because its author knows which of two searches
//! returns the id that this tool accepts.

use std::collections::HashMap;

use super::entity::{IdParameter, descriptions, is_id, named_ids};
use crate::text::{sentences, tokens, words_of};
use crate::{Tool, singular};

/// The rows of a server's tools by name. A name of one word ("search") is left out: in a sentence
/// it is mostly no name.
pub struct Names<'a>(HashMap<&'a str, u32>);

/// An id parameter, and the tools that return such ids according to the tool's texts.
pub struct Mention {
    pub parameter: String,
    pub rows: Vec<u32>,
}

/// Words, in the singular, of a sentence that names a tool for another purpose than an id.
const OTHERWISE: [&str; 9] =
    ["alias", "alternative", "avoid", "instead", "like", "never", "than", "unlike", "without"];

/// Words that refer to the id of a sentence before: "Find this with get_playerid_lookup."
const REFERENCES: [&str; 6] = ["it", "one", "that", "them", "these", "this"];

/// How many sentences before a reference may name the id.
const REACH: usize = 2;

impl<'a> Names<'a> {
    pub fn new(tools: &[(u32, &'a Tool)]) -> Self {
        let is_long = |name: &str| words_of(name).len() > 1 && tokens(name).eq([name]);
        let named = tools.iter().filter(|(_, tool)| is_long(&tool.name));
        Self(named.map(|(row, tool)| (tool.name.as_str(), *row)).collect())
    }

    fn are_in(&self, text: &str, tool: &Tool) -> bool {
        tokens(text).any(|token| token != tool.name && self.0.contains_key(token))
    }
}

/// Returns the suppliers that a tool's texts name for its id parameters.
pub fn mentions(tool: &Tool, parameters: &[IdParameter], names: &Names<'_>) -> Vec<Mention> {
    let mut found = Vec::new();
    let schema = tool.input_schema.as_ref().map_or("", |schema| schema.raw().get());
    if !parameters.is_empty() && names.are_in(schema, tool) {
        for (name, text) in descriptions(tool) {
            let known = parameters.iter().find(|known| known.name == name);
            for sentence in known.into_iter().flat_map(|_| sentences(&text)) {
                add(&mut found, &name, &Sentence::read(sentence, tool, names).named);
            }
        }
    }
    if !parameters.is_empty() && names.are_in(&tool.description, tool) {
        read_description(&mut found, tool, parameters, names);
    }
    found
}

fn read_description(
    found: &mut Vec<Mention>,
    tool: &Tool,
    parameters: &[IdParameter],
    names: &Names<'_>,
) {
    let (mut last, mut since) = (None, 0);
    for text in sentences(&tool.description) {
        let sentence = Sentence::read(text, tool, names);
        let mut said: Vec<_> = parameters.iter().filter(|it| sentence.is_about(it)).collect();
        since += 1;
        if let Some(parameter) = said.last() {
            (last, since) = (Some(*parameter), 0);
        } else if since <= REACH && sentence.refers_back() {
            said.extend(last);
        }
        for parameter in said {
            add(found, &parameter.name, &sentence.named);
        }
    }
}

/// Returns the ids that the description names as parameters, such as `project_id`, if it also
/// names another tool. For tools whose schema declares no parameter.
pub fn undeclared(tool: &Tool, names: &Names<'_>) -> Vec<IdParameter> {
    if !names.are_in(&tool.description, tool) {
        return Vec::new();
    }
    let is_name = |token: &str| token == tool.name || names.0.contains_key(token);
    let ids = named_ids(tool).into_iter().filter(|parameter| !is_name(&parameter.name));
    ids.collect()
}

fn add(found: &mut Vec<Mention>, parameter: &str, rows: &[u32]) {
    if rows.is_empty() {
        return;
    }
    match found.iter_mut().find(|known| known.parameter == parameter) {
        Some(known) => known.rows.extend(rows),
        None => found.push(Mention { parameter: parameter.to_owned(), rows: rows.to_vec() }),
    }
}

struct Sentence<'a> {
    tokens: Vec<&'a str>,
    /// The words without names of tools, in lower case and singular.
    words: Vec<String>,
    /// The rows of the tools that it names, unless it names them for another purpose.
    named: Vec<u32>,
}

impl<'a> Sentence<'a> {
    fn read(text: &'a str, tool: &Tool, names: &Names<'_>) -> Self {
        let (mut named, mut kept) = (Vec::new(), Vec::new());
        let tokens: Vec<&str> = tokens(text).collect();
        for token in &tokens {
            match names.0.get(token) {
                Some(_) if *token == tool.name => {}
                Some(row) => named.push(*row),
                None => kept.extend(words_of(token).iter().map(|word| singular(word).into_owned())),
            }
        }
        if kept.iter().any(|word| OTHERWISE.contains(&word.as_str())) {
            named.clear();
        }
        Self { tokens, words: kept, named }
    }

    /// Whether it names the id, as `project_id` or as "the ID of the project".
    fn is_about(&self, parameter: &IdParameter) -> bool {
        let noun = parameter.entity.last();
        let has_noun = || noun.is_some_and(|noun| self.words.contains(noun));
        self.tokens.contains(&parameter.name.as_str())
            || self.words.iter().any(|word| is_id(word)) && has_noun()
    }

    fn refers_back(&self) -> bool {
        self.words.iter().any(|word| REFERENCES.contains(&word.as_str()))
    }
}
