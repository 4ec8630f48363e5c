//! Assigns words that filter what a tool lists: "the closed tickets", "in the sauna".

use std::ops::Range;

use super::super::slot::{Kind, Slot};
use super::super::text::{is_function_word, is_listed, overlap, singular};
use super::Plan;

/// States that a parameter for the state of things takes, if its description names no others.
const STATES: &str = "active archived canceled cancelled closed done inactive open overdue paid pending \
     resolved unpaid";

/// Words that say a place after "in the" or "at the" in no tool.
const NOT_PLACES: &str = "afternoon app background beginning calendar catalog catalogue database day end evening file \
     first following form future hour last list log meantime moment month morning next night order past \
     previous quarter queue record report same system table time way week weekend year";

impl Plan<'_> {
    /// Gives the state and the place of the things that a tool lists to its open text parameters for
    /// them. A call without them would list other things.
    pub(super) fn give_filters(&mut self) {
        if !self.effects.reads_only() {
            return;
        }
        let of = |slot: &Slot, among: &str| {
            slot.kind == Kind::Text && !slot.is_list && slot.has_word(among)
        };
        if let Some(slot) = self.only(|slot| of(slot, "state status")) {
            let states = (0..self.context.words.len()).filter(|at| self.is_state(*at, slot));
            let spans = states.map(|at| self.context.words[at].span.clone()).collect();
            self.give_filter(slot, spans);
        }
        if let Some(slot) = self.only(|slot| of(slot, "area location place site where zone")) {
            let (sure, doubtful) = self.places();
            match (&sure[..], doubtful.first()) {
                ([], Some(span)) => self.offer(slot, span, false),
                _ => self.give_filter(slot, sure),
            }
        }
    }

    fn give_filter(&mut self, slot: usize, spans: Vec<Range<usize>>) {
        match &spans[..] {
            [] => {}
            [span] => self.offer(slot, span, true),
            several => {
                let said = several.iter().map(|span| self.text_of(span)).collect();
                self.ask_about(slot, "several values are said", said);
            }
        }
    }

    /// Whether a word is a state of the tool's things: "closed tickets", "tickets that are closed".
    fn is_state(&self, at: usize, slot: usize) -> bool {
        let word = &self.context.words[at];
        let is_known = is_listed(&word.lower, STATES) || self.slots[slot].says(&word.lower);
        let is_other = self.spent.iter().any(|spent| overlap(spent, &word.span));
        if !is_known || is_other || is_function_word(&word.lower) {
            return false;
        }
        let before = self.context.before(word.span.start);
        let after = self.context.after(word.span.end);
        let is_thing = |word: &str| {
            let one = singular(word);
            one != word && self.context.tool_nouns.iter().any(|noun| *noun == one)
        };
        let is_attribute = after.first().is_some_and(|word| is_thing(&word.lower));
        let is_said = before.first().is_some_and(|word| is_listed(&word.lower, "are is"))
            && after.first().is_none_or(|word| is_function_word(&word.lower));
        (is_attribute || is_said) && !self.context.denies(word.span.start)
    }

    /// Returns the words after "in the" and "at the", and those that may be no place or not all of it:
    /// those after "for the", and before a function word.
    fn places(&self) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
        let words = self.context.words;
        let (mut sure, mut doubtful) = (Vec::new(), Vec::new());
        for start in 2..words.len() {
            let lead = words[start - 2].lower.as_str();
            let is_led = words[start - 1].lower == "the" && is_listed(lead, "at for in on");
            let is_place = !is_listed(&words[start].lower, NOT_PLACES)
                && !self.context.denies(words[start].span.start);
            if let Some((span, is_whole)) =
                self.value_at(start, false).filter(|_| is_led && is_place)
            {
                if is_whole && lead != "for" { &mut sure } else { &mut doubtful }.push(span);
            }
        }
        (sure, doubtful)
    }
}
