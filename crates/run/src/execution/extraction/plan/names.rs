//! Assigns the words after a parameter's name: "with assignee maria", "in zone D".

use std::ops::Range;

use serde_json::Value;

use super::super::mention::Content;
use super::super::slot::{Kind, Slot};
use super::super::text::{is_function_word, is_listed, stem};
use super::{Assignment, Plan};

/// Words before a name after which its value is sure to follow.
const SURE: &str = "with using";

/// Words before a name after which its value may follow: "to agent tom", but "for customer support".
const LIKELY: &str = "to for of in from at on by";

/// Verbs that give a parameter a value: "set the title to Lost parcel".
const SETTING: &str = "set change update make switch turn rename";

/// The most words of a value that no sign ends.
const MOST_WORDS: usize = 8;

/// What stands after the name of a parameter.
struct NamedWords {
    span: Range<usize>,
    /// The span with the name and the word before it.
    whole: Range<usize>,
    is_sure: bool,
}

impl Plan<'_> {
    /// Gives open text parameters the words after their names. Words that may mean something else,
    /// and words that are no value of a parameter with listed values, become a question.
    pub(super) fn give_after_names(&mut self) {
        for at in 0..self.slots.len() {
            let slot = &self.slots[at];
            let is_text = matches!(slot.kind, Kind::Text | Kind::Place | Kind::Id | Kind::Choice);
            if !is_text || slot.is_list || !self.is_open(at) {
                continue;
            }
            let Some(found) = self.after_name(slot) else { continue };
            let said = self.text_of(&found.span);
            let value = Value::from(said.as_str());
            let misfit = self.reader.checker.misfit(&slot.path, false, &value);
            self.spent.push(found.whole.clone());
            for (mention, taken) in self.context.mentions.iter().zip(&mut self.taken) {
                *taken |=
                    found.span.start <= mention.span.start && mention.span.end <= found.span.end;
            }
            match misfit {
                Some(why) => self.ask_about(at, why, vec![said]),
                None if found.is_sure => {
                    let source = self.source(&found.span);
                    self.assignments[at].push(Assignment { value, source, how: String::new() });
                }
                None => self.ask_about(at, format!("\"{said}\" may be meant for it"), vec![said]),
            }
        }
    }

    /// Finds the first words that stand after the name of a slot as its value.
    fn after_name(&self, slot: &Slot) -> Option<NamedWords> {
        let nouns: Vec<&str> = slot.nouns().collect();
        let words = self.context.words;
        let last = words.len().checked_sub(nouns.len() + 1).filter(|_| !nouns.is_empty())?;
        (0..=last).find_map(|at| {
            let named = &words[at..at + nouns.len()];
            let is_named = named.iter().zip(&nouns).all(|(word, noun)| word.lower == *noun);
            is_named.then(|| self.value_after(slot, at, at + nouns.len())).flatten()
        })
    }

    /// Returns the value after the words from `first` up to `next`, which are the name of a slot.
    fn value_after(&self, slot: &Slot, first: usize, next: usize) -> Option<NamedWords> {
        let words = self.context.words;
        let lead = words[..first].iter().rposition(|word| !is_listed(&word.lower, "a an its the"));
        let lead_word = lead.map_or("", |at| words[at].lower.as_str());
        let edge = lead.map_or(0, |at| words[at].span.end);
        let before = &self.context.text[edge..words[first].span.start];
        let is_listed_part = before.contains([',', ';']) && lead.is_some();
        let begins = lead.is_none_or(|at| at == 0);
        let verb = words.first().map_or("", |word| word.lower.as_str());
        let gap = self.gap(next - 1, next)?;
        let is_set = is_listed(verb, SETTING) && words[next].lower == "to" && gap.is_empty();
        let is_told = words[next].lower == "is" && gap.is_empty();
        let start = next + usize::from(is_set || is_told);
        let is_assigned = is_set || is_told || matches!(gap, ":" | "=");
        if !gap.is_empty() && !is_assigned {
            return None;
        }
        let is_sure_lead = is_assigned || is_listed_part || is_listed(lead_word, SURE);
        let (span, is_whole) = self.value_at(start, is_sure_lead)?;
        let said = self.context.text[span.clone()].to_owned();
        let is_code = said.contains(|c: char| c.is_uppercase() || c.is_ascii_digit());
        let is_likely = is_listed(lead_word, LIKELY) || (begins && is_code);
        if !is_sure_lead && (!is_likely || said.contains(char::is_whitespace)) {
            return None;
        }
        let is_lead = |word: &str| is_listed(word, SURE) || is_listed(word, LIKELY);
        let from = lead.filter(|_| is_lead(lead_word)).unwrap_or(first);
        let is_login = slot.says(&["login", "username", "user", "handle"]);
        let is_sure = (is_sure_lead && is_whole) || is_code || is_login;
        Some(NamedWords { whole: words[from].span.start..span.end, span, is_sure })
    }

    /// Returns the text between two words if it ends no clause.
    fn gap(&self, left: usize, right: usize) -> Option<&str> {
        let words = self.context.words;
        let (left, right) = (words.get(left)?, words.get(right)?);
        Some(self.context.text[left.span.end..right.span.start].trim())
    }

    /// Returns the range of the words from `start` up to a sign, a function word, or a value of another
    /// kind, and whether the text ends there. A word of the tool may only begin it, if `is_sure`.
    fn value_at(&self, start: usize, is_sure: bool) -> Option<(Range<usize>, bool)> {
        let words = self.context.words;
        let is_free = |at: usize| {
            let span = &words[at].span;
            let overlaps = |other: &Range<usize>| other.start < span.end && span.start < other.end;
            let is_other = self.context.mentions.iter().any(|mention| {
                let is_word = matches!(
                    mention.content,
                    Content::Token(_) | Content::Place(_) | Content::Amount(_)
                );
                overlaps(&mention.span) && !is_word
            });
            let is_of_tool = self.tool_words.contains(&stem(&words[at].lower));
            let is_prose =
                is_function_word(&words[at].lower) || (is_of_tool && !(is_sure && at == start));
            !is_other && !is_prose && !self.spent.iter().any(overlaps)
        };
        let goes_on = |at: usize| {
            let gap = at.checked_sub(1).and_then(|before| self.gap(before, at));
            at < words.len() && gap.is_some_and(|gap| matches!(gap, "" | "-" | "."))
        };
        let mut end = start;
        while end < words.len() && is_free(end) && (end == start || goes_on(end)) {
            end += 1;
        }
        let next = words.get(end).map_or("", |word| word.lower.as_str());
        let is_whole = !goes_on(end) || is_listed(next, "and or please with");
        let is_value = end > start && end - start <= MOST_WORDS;
        let has_end = is_whole || is_function_word(next);
        (is_value && has_end).then(|| (words[start].span.start..words[end - 1].span.end, is_whole))
    }
}
