//! References to earlier values: "it", "that", "the last result".

use std::ops::Range;

use serde_json::Value;
use toolroute_catalog::{begins_clause, is_time_word, pointer_part};

use super::cue::{PREPOSITION, PromptContext};
use super::interpretation::Interpretation;
use super::mention::{Content, Mention};
use super::plan::Plan;
use super::slot::{Kind, Slot};
use super::text::{Word, is_listed};
use super::{ArgumentSources, Source};
use crate::execution::params::{alike, plain};

/// Words that refer back.
pub(super) const WORDS: &str = "it that them these this those result last previous";

/// The depth to which the last result is searched.
const DEPTH: usize = 3;

/// Words before "it" that make it a subject: "is it cold" refers to nothing.
const BEFORE_SUBJECT: &str = "is was does did will would can should if when how what";

/// Whether the prompt refers to something earlier.
pub(super) fn is_named(words: &[Word]) -> bool {
    let lower =
        |at: Option<usize>| at.and_then(|at| words.get(at)).map_or("", |word| word.lower.as_str());
    words.iter().enumerate().any(|(at, word)| {
        let (before, next) = (lower(at.checked_sub(1)), lower(Some(at + 1)));
        match word.lower.as_str() {
            "result" | "results" | "answer" | "output" | "response" => {
                is_listed(before, "last previous latest above")
            }
            "it" | "them" => at > 0 && !is_listed(before, BEFORE_SUBJECT),
            "that" | "this" | "those" | "these" => !begins_clause(next) && !is_time_word(next),
            _ => false,
        }
    })
}

/// An earlier value and its source.
#[derive(Clone, Debug)]
struct Candidate {
    value: Value,
    source: Source,
}

impl Plan<'_> {
    /// Fills required parameters without a value from the last result or from earlier prompts, if
    /// the prompt refers to them and only one value is possible. `earlier` are the mentions of each
    /// earlier prompt.
    pub fn give_referred(&mut self, sources: &ArgumentSources<'_>, earlier: &[Vec<Mention>]) {
        if !is_named(self.context.words) {
            return;
        }
        let open: Vec<usize> = (0..self.slots.len())
            .filter(|at| self.is_open(*at) && self.slots[*at].required)
            .collect();
        let texts = open.iter().filter(|at| self.slots[**at].kind.is_text()).count();
        for at in open {
            let slot = &self.slots[at];
            let mut candidates = Vec::new();
            let mut is_named = false;
            if let Some(result) = sources.last_result {
                (candidates, is_named) = self.of_result(slot, result, texts == 1);
            }
            // The last call gave what the parameter is named after: what was said before it is older.
            let older = earlier.len().saturating_sub(sources.newer);
            let from = if is_named { older } else { 0 };
            candidates.extend(self.of_earlier(slot, sources.earlier, earlier, from));
            let mut values: Vec<Candidate> = Vec::new();
            for candidate in candidates {
                if values.iter().all(|known| known.value != candidate.value) {
                    values.push(candidate);
                }
            }
            match <[Candidate; 1]>::try_from(values) {
                Ok([Candidate { value, source }]) => {
                    self.assign(at, value, source, "the prompt refers to it");
                }
                Err(values) if values.is_empty() => {}
                Err(values) => {
                    let text = |one: Candidate| match one.value {
                        Value::String(text) => text,
                        other => other.to_string(),
                    };
                    let candidates = values.into_iter().take(5).map(text).collect();
                    self.ask_about(at, "several values came before", candidates);
                }
            }
        }
    }

    /// Returns the values of the last result for a slot, and whether they have its name: members with
    /// its name, otherwise values of its form, otherwise the whole result for a message or query.
    fn of_result(&self, slot: &Slot, result: &Value, is_only_text: bool) -> (Vec<Candidate>, bool) {
        let parsed = parsed_result(result);
        let leaves = result_leaves(parsed.as_ref().unwrap_or(result), DEPTH);
        let fits = |value: &Value| {
            !value.is_null()
                && has_type(slot, value)
                && self.reader.checker.misfit(&slot.path, slot.is_list, value).is_none()
        };
        let named: Vec<Candidate> = leaves
            .iter()
            .filter(|(pointer, value)| {
                let name = pointer.rsplit('/').next().unwrap_or_default();
                is_name_of(slot, name) && fits(value)
            })
            .map(|(pointer, value)| candidate(pointer, value))
            .collect();
        if !named.is_empty() {
            return (named, true);
        }
        let has_form = |value: &Value| match (slot.kind, value.as_str()) {
            (Kind::Url, Some(text)) => text.contains("://"),
            (Kind::Email, Some(text)) => text.contains('@') && !text.contains(char::is_whitespace),
            (Kind::Path, Some(text)) => super::mention::is_path(text),
            (Kind::Id, Some(text)) => {
                slot.pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
            }
            _ => false,
        };
        let formed = leaves.iter().filter(|(_, value)| has_form(value) && fits(value));
        let formed: Vec<Candidate> =
            formed.map(|(pointer, value)| candidate(pointer, value)).collect();
        let is_passed_on = matches!(slot.kind, Kind::Message | Kind::Query) && is_only_text;
        // A message takes an object or a list as its JSON; a query would find nothing with it.
        let whole = match result {
            Value::Object(_) | Value::Array(_) if slot.kind == Kind::Message => {
                Value::String(result.to_string())
            }
            other => other.clone(),
        };
        if formed.is_empty() && is_passed_on && whole.is_string() && fits(&whole) {
            return (vec![candidate("", &whole)], false);
        }
        (formed, false)
    }

    /// Returns the values of the latest earlier prompt that has any for the slot, without the prompts
    /// before `from`.
    fn of_earlier(
        &self,
        slot: &Slot,
        prompts: &[&str],
        earlier: &[Vec<Mention>],
        from: usize,
    ) -> Vec<Candidate> {
        for (at, mentions) in earlier.iter().enumerate().skip(from).rev() {
            let words = super::text::words(prompts[at]);
            let context = PromptContext {
                text: prompts[at],
                words: &words,
                mentions,
                tool_nouns: self.context.tool_nouns,
                reads_only: self.context.reads_only,
            };
            let read = |mention: &Mention| {
                // A number is nothing to refer to, unless it is a name: "order 12".
                let is_named = match &mention.content {
                    Content::Token(_) if context.is_of_other(mention, slot) => return None,
                    Content::Path(_) | Content::Url(_) | Content::Email(_) | Content::Token(_) => {
                        false
                    }
                    Content::Amount(amount) if amount.digits.is_some() => {
                        let cue = context.cue(mention, slot, self.slots);
                        (cue.strength > PREPOSITION && !cue.conflicts).then_some(true)?
                    }
                    _ => return None,
                };
                let reading = self.reader.read(mention, slot, is_named);
                let Interpretation::Value { value, .. } = reading else { return None };
                let (prompt, Range { start, end }) = (at, mention.span.clone());
                let text = prompts[at][start..end].to_owned();
                Some(Candidate { value, source: Source::Earlier { prompt, start, end, text } })
            };
            let candidates: Vec<Candidate> = mentions.iter().filter_map(read).collect();
            if !candidates.is_empty() {
                return candidates;
            }
        }
        Vec::new()
    }
}

fn candidate(pointer: &str, value: &Value) -> Candidate {
    let pointer = pointer.to_owned();
    Candidate { value: value.clone(), source: Source::LastResult { pointer } }
}

/// Returns a result that is a text with JSON as that JSON, as many servers answer; `None` for another.
pub fn parsed_result(result: &Value) -> Option<Value> {
    let parsed = result.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    parsed.filter(|value| value.is_object() || value.is_array())
}

/// Returns every value within `depth` levels of objects and lists that is neither, with its JSON pointer.
pub fn result_leaves(value: &Value, depth: usize) -> Vec<(String, &Value)> {
    let mut leaves = Vec::new();
    collect(value, String::new(), depth, &mut leaves);
    leaves
}

fn collect<'a>(
    value: &'a Value,
    pointer: String,
    depth: usize,
    leaves: &mut Vec<(String, &'a Value)>,
) {
    match value {
        Value::Object(members) if depth > 0 => {
            for (name, member) in members {
                let name = pointer_part(name);
                collect(member, format!("{pointer}/{name}"), depth - 1, leaves);
            }
        }
        Value::Array(items) if depth > 0 => {
            for (at, item) in items.iter().enumerate() {
                collect(item, format!("{pointer}/{at}"), depth - 1, leaves);
            }
        }
        Value::Object(_) | Value::Array(_) => {}
        _ => leaves.push((pointer, value)),
    }
}

fn has_type(slot: &Slot, value: &Value) -> bool {
    match slot.kind {
        Kind::Integer => value.is_i64() || value.is_u64(),
        Kind::Number => value.is_number(),
        Kind::Boolean | Kind::Other => false,
        Kind::Choice => slot.choices.iter().any(|(_, choice)| choice == value),
        _ => value.is_string(),
    }
}

/// Whether a member of a result has the name of a slot. For `ticket_id`, a member `id` counts too.
fn is_name_of(slot: &Slot, name: &str) -> bool {
    let Some(own) = slot.path.last() else { return false };
    let is_id = slot.words.last().is_some_and(|last| last == "id") && plain(name) == "id";
    (alike(own, name) && !name.is_empty()) || is_id
}
