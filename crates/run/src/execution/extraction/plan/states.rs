//! Gives the state that an order's verb leads to: "reopen issue 91" for `update_issue {state: open | closed}`.

use serde_json::Value;

use super::super::flag::leads_to_order;
use super::super::slot::{Kind, Slot};
use super::super::text::{Word, is_article, is_listed, name_words, overlap, stem};
use super::Plan;

/// Words in names of parameters for the state of a thing.
const STATES: &str = "mode phase position stage state status";

/// States that the verb's stem does not show.
const LEADING: [(&str, &str); 8] = [
    ("activate", "active"),
    ("deactivate", "inactive"),
    ("disable", "disabled"),
    ("enable", "enabled"),
    ("finish", "done"),
    ("open", "open"),
    ("reopen", "open"),
    ("start", "in_progress"),
];

impl Plan<'_> {
    /// Gives the state to the only parameter for one of a tool that sets what it is told: `update_issue`, but not
    /// `close_issue`.
    pub(super) fn give_state(&mut self) {
        let is_state = |slot: &Slot| {
            let is_named = slot.words.last().is_some_and(|last| is_listed(last, STATES));
            slot.kind == Kind::Choice && !slot.is_list && is_named
        };
        let (true, Some(slot)) = (self.sets(), self.only(is_state)) else { return };
        let all = self.context.words;
        let begins = |at: usize| {
            let before = all[..at].iter().rposition(|word| !leads_to_order(&word.lower));
            let edge = before.map_or(0, |before| all[before].span.end);
            let gap = &self.context.text[edge..all[at].span.start];
            !leads_to_order(&all[at].lower)
                && (before.is_none() || gap.contains([',', '.', ';', ':', '!']))
        };
        // "Close the shade, open the shade", "Tom said, close the shade".
        let verbs = (0..all.len()).filter(|at| begins(*at));
        let mut states = verbs.filter_map(|at| Some((at, self.state_of(slot, at)?)));
        let (Some((at, value)), None) = (states.next(), states.next()) else { return };
        let is_told = all[..at].iter().any(|word| is_listed(&word.lower, "asked said says told"));
        if !is_told && !self.context.denies(all[at].span.start) {
            let span = all[at].span.clone();
            self.take(slot, value, &span, "what the verb leads to");
        }
    }

    /// Returns the value of a parameter that the verb at a place leads to.
    fn state_of(&self, slot: usize, at: usize) -> Option<Value> {
        let verb = &self.context.words[at];
        let mut words = self.context.words[at + 1..].iter();
        // "Start the review of task T-5" starts no task.
        let object = words.find(|word| !is_article(&word.lower));
        let is_value = |word: &Word| {
            let mut mentions = self.context.mentions.iter();
            mentions.any(|mention| overlap(&mention.span, &word.span))
        };
        let named = &self.tool_words[..self.named];
        let is_own = |word: &Word| named.contains(&stem(&word.lower)) || is_value(word);
        if !object.is_some_and(is_own) {
            return None;
        }
        let led =
            LEADING.iter().find(|(leading, _)| *leading == verb.lower).map(|(_, state)| *state);
        let is_led = |state: &&Vec<String>| match led {
            Some(led) => **state == name_words(led),
            None => {
                matches!(&state[..], [word] if stem(word) == stem(&verb.lower) && *word != verb.lower)
            }
        };
        let choices = &self.slots[slot].choices;
        let mut found = choices.iter().filter(|(state, _)| is_led(&state));
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Some(value.clone()),
            _ => None,
        }
    }
}
