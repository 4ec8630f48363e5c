//! Assigns listed values and booleans.

use std::ops::Range;

use super::super::arguments::LISTED;
use super::super::choice::{Choice, INTRODUCED, NAMED};
use super::super::sense::{Sense, Subject, subject};
use super::super::slot::{Kind, Slot};
use super::super::text::overlap;
use super::super::unit::{Dimension, Unit};
use super::Plan;

/// Choices by slot.
type ChoicesBySlot = Vec<(usize, Vec<Choice>)>;

impl Plan<'_> {
    /// Assigns booleans and listed values. The same words go to at most one parameter.
    pub(super) fn choose(&mut self) {
        self.set_truths();
        let open = (0..self.slots.len()).filter(|at| self.is_open(*at));
        let of_kind = open.filter(|at| matches!(self.slots[*at].kind, Kind::Choice | Kind::Text));
        let mut found: ChoicesBySlot = of_kind
            .map(|at| (at, self.choices_of(&self.slots[at])))
            .filter(|(_, choices)| !choices.is_empty())
            .collect();
        while let Some(at) = self.surest(&found) {
            let (slot, choices) = found.remove(at);
            let best = choices.iter().map(|choice| choice.strength).max().unwrap_or(0);
            let choices: Vec<Choice> =
                choices.into_iter().filter(|choice| choice.strength == best).collect();
            for (_, others) in &mut found {
                others.retain(|other| choices.iter().all(|c| !overlap(&c.span, &other.span)));
            }
            found.retain(|(_, choices)| !choices.is_empty());
            self.choose_value(slot, choices);
        }
        for (slot, choices) in found {
            if self.slots[slot].required {
                let candidates = choices.iter().map(|choice| self.text_of(&choice.span)).collect();
                self.ask_about(slot, "it is not said which value is for it", candidates);
            }
        }
    }

    /// The listed values of a parameter in the prompt. The examples of a description are not all its
    /// values: they count where they are introduced, or for a parameter that is needed.
    fn choices_of(&self, slot: &Slot) -> Vec<Choice> {
        let mut found = self.context.choices(slot);
        // A tool that may change something needs the parameter's name beside one, or a word that leads to it.
        let least = match (self.effects.reads_only(), slot.required) {
            _ if slot.kind == Kind::Choice => 0,
            (false, false) => NAMED,
            (false, true) => INTRODUCED,
            (true, true) => 0,
            (true, false) => INTRODUCED,
        };
        found.retain(|choice| choice.strength >= least);
        found
    }

    fn set_truths(&mut self) {
        let switched = |slot: &Slot| {
            let is_set = slot.kind == Kind::Boolean && !self.effects.reads_only();
            is_set.then(|| self.context.switched(slot)).flatten()
        };
        let switched: Vec<Option<Sense>> = self.slots.iter().map(switched).collect();
        for at in 0..self.slots.len() {
            let slot = &self.slots[at];
            if slot.kind != Kind::Boolean || !self.is_open(at) {
                continue;
            }
            // In "turn off night vision" the particle says nothing of `enabled`.
            let of_others = switched.iter().enumerate().filter(|(other, _)| *other != at);
            let of_others: Vec<&Sense> =
                of_others.filter_map(|(_, sense)| sense.as_ref()).collect();
            let is_of_other = |sense: &Sense| {
                let spans = || of_others.iter().flat_map(|other| other.spans());
                sense.spans().iter().all(|span| spans().any(|other| overlap(other, span)))
            };
            let sense = switched[at].clone().or_else(|| {
                let sense = self.context.sense(slot, self.slots, self.tool_words);
                sense.filter(|sense| !is_of_other(sense))
            });
            let said = match (self.context.stated_boolean(slot), sense) {
                (Some((span, truth)), _) | (None, Some(Sense::Said(span, truth))) => {
                    Some((span, truth))
                }
                (None, Some(Sense::Unclear(spans))) => {
                    let said = spans.iter().map(|span| self.text_of(span)).collect();
                    self.ask_about(at, "what the prompt says of it is not clear", said);
                    None
                }
                (None, None) => self
                    .context
                    .flag(slot, self.slots, self.tool_words)
                    .or_else(|| Some((self.context.ordered_flag(slot, self.tool_words)?, true))),
            };
            if let Some((span, truth)) = said {
                self.take(at, truth, &span, "");
                self.spent.push(span);
            }
        }
    }

    /// Turns a boolean that nothing sets into a doubt if the tool that may change something does nothing but
    /// set it: "open the garage door" says nothing of `locked`, and its default may be the opposite.
    pub(in super::super) fn doubt_unsaid_subjects(&mut self) {
        let is_set =
            |at: usize| !self.assignments[at].is_empty() || self.open_questions[at].is_some();
        let sets_more = (0..self.slots.len()).any(|at| !self.slots[at].required && is_set(at));
        for at in 0..self.slots.len() {
            let is_subject = match subject(&self.slots[at], self.tool_words, self.named) {
                Subject::OfName => true,
                Subject::OfDescription => !sets_more,
                Subject::No => false,
            };
            if is_subject && self.is_open(at) && !self.effects.reads_only() {
                self.ask_about(at, "the prompt does not say whether it is to be so", Vec::new());
            }
        }
    }

    /// Turns a currency that the prompt says, and that chose no value, into a doubt: the default would be
    /// another one.
    pub(in super::super) fn doubt_currency(&mut self) {
        let is_currency = |slot: &Slot| {
            slot.role.is_none() && (slot.kind == Kind::Currency || slot.has_word("currency"))
        };
        let Some(slot) = self.only(is_currency).filter(|_| !self.effects.reads_only()) else {
            return;
        };
        let is_money = |unit: &Unit| unit.dimension() == Dimension::Money && *unit != Unit::Cents;
        let mut mentions = self.context.mentions.iter();
        if let Some(said) = mentions.find(|mention| mention.content.units().iter().any(is_money)) {
            let said = self.text_of(&said.span);
            self.ask_about(slot, "which of its values is meant is not known", vec![said]);
        }
    }

    /// Returns the index in `found` of the slot with the strongest choice, if no other slot has a
    /// choice of at least that strength for the same words. If the tool searches with words, a choice
    /// that nothing introduces may be one of them, and counts only for a required slot.
    fn surest(&self, found: &ChoicesBySlot) -> Option<usize> {
        let has_query = self.slots.iter().any(|slot| slot.kind == Kind::Query);
        let strength = |choices: &[Choice]| choices.iter().map(|c| c.strength).max().unwrap_or(0);
        let mut order: Vec<usize> = (0..found.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(strength(&found[*at].1)));
        order.into_iter().find(|at| {
            let (slot, choices) = &found[*at];
            let best = strength(choices);
            let mut own = choices.iter().filter(|choice| choice.strength == best);
            let is_rival = |other: &Choice, own: &Choice| {
                other.strength >= own.strength && overlap(&other.span, &own.span)
            };
            let is_contested = own.any(|own| {
                let mut others = found.iter().filter(|(other, _)| other != slot);
                others.any(|(_, choices)| choices.iter().any(|other| is_rival(other, own)))
            });
            !is_contested && (best >= INTRODUCED || self.slots[*slot].required || !has_query)
        })
    }

    fn choose_value(&mut self, at: usize, found: Vec<Choice>) {
        let several = found.iter().any(|choice| choice.value != found[0].value);
        if several && !self.slots[at].is_list {
            let candidates = found.iter().map(|choice| self.text_of(&choice.span)).collect();
            self.spent.extend(found.into_iter().map(|choice| choice.whole));
            return self.ask_about(at, "several values are said", candidates);
        }
        for choice in found {
            if self.assignments[at].iter().all(|assignment| assignment.value != choice.value) {
                let is_example = self.slots[at].kind == Kind::Text;
                let how = if is_example { "an example of its values" } else { LISTED };
                self.take(at, choice.value, &choice.span, how);
            }
            self.take_within(&choice.span);
            self.spent.push(choice.whole);
        }
    }

    /// Marks mentions within a choice as taken, except an amount whose unit is the choice.
    fn take_within(&mut self, span: &Range<usize>) {
        for (at, mention) in self.context.mentions.iter().enumerate() {
            let is_unit = mention.content.kind() == "number" && mention.span.start <= span.start;
            if overlap(&mention.span, span) && !is_unit {
                self.taken[at] = true;
            }
        }
    }
}
