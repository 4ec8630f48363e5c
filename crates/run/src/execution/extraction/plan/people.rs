//! Assigns the name of a person that nothing but "to" introduces: "assign ticket 7 to Marek".

use super::super::mention::Content;
use super::super::slot::{Kind, Slot};
use super::super::text::{is_function_word, is_listed, stem};
use super::Plan;

impl Plan<'_> {
    /// Gives the only name after "to" to the only open required text for a person, if the tool takes no
    /// places. Several names, and one after another preposition, become a question.
    pub(super) fn give_person(&mut self) {
        let is_person = |slot: &Slot| {
            let is_text = slot.kind == Kind::Text && !slot.is_list && slot.required;
            is_text && slot.is_person()
        };
        let takes_places =
            |slot: &Slot| matches!(slot.kind, Kind::Place | Kind::Address | Kind::Country);
        let Some(slot) = self.only(is_person) else { return };
        if self.slots.iter().any(takes_places) {
            return;
        }
        let lead = |at: usize| self.word_before(self.mention(at));
        let is_name = |at: &usize| {
            matches!(self.mention(*at).content, Content::Place(_))
                && !self.taken[*at]
                && !self.context.denies(self.mention(*at).span.start)
                && is_listed(&lead(*at), "and by for or to with")
        };
        let names: Vec<usize> = (0..self.taken.len()).filter(is_name).collect();
        let is_sure =
            names.first().is_some_and(|first| lead(*first) == "to" && self.is_of_tool(*first));
        if names.is_empty() {
            return;
        }
        if let [one] = names[..] {
            let span = self.mention(one).span.clone();
            return self.offer(slot, &span, is_sure);
        }
        let candidates = names.iter().map(|at| self.text_of(&self.mention(*at).span)).collect();
        names.iter().for_each(|at| self.taken[*at] = true);
        self.ask_about(slot, "several values are said", candidates);
    }

    /// Whether the part of the prompt before a mention has a word of the tool: "reply to Dana and assign
    /// ticket 7" assigns nothing to Dana.
    fn is_of_tool(&self, at: usize) -> bool {
        let start = self.mention(at).span.start;
        let before = self.context.words.iter().rev().skip_while(|word| word.span.end > start);
        let mut part = before.take_while(|word| !is_listed(&word.lower, "and then but"));
        part.any(|word| {
            !is_function_word(&word.lower) && self.tool_words.contains(&stem(&word.lower))
        })
    }
}
