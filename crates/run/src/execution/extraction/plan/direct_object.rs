//! Gives what an order is about to the only text that a tool needs: "turn the coffee machine on", "put 10 eggs on the
//! shopping list".

use std::ops::Range;

use super::super::flag::leads_to_order;
use super::super::interpretation::Interpretation;
use super::super::mention::Content;
use super::super::slot::{Kind, Slot};
use super::super::text::{CALLED, is_article, is_function_word, is_listed, overlap, stem};
use super::Plan;
use super::phrase_left::{ADVERBS, CHOOSING};

/// Verbs whose object is what a tool needs.
const VERBS: &str = "activate add book buy call create deactivate dim disable enable log make mute note open order pause play \
    put record save schedule set start stop switch take turn unmute write";

/// Words for no thing in particular.
const NO_THING: &str = "no none nothing other same stuff usual";

/// Words that end the object of a verb, beside prose.
const PARTICLES: &str = "again away back down off out please too up";

/// Words of parameters that no object of an order is the value of.
const NO_OBJECTS: &str = "code command commands date datetime expression format function instruction language script \
    sql status time type";

/// The most words of an object.
const MOST_WORDS: usize = 4;

impl Plan<'_> {
    /// Gives the direct object of the order to the only required text that is open, for a tool that may change
    /// something. It is asked whether it is meant if other words are left that nothing took.
    pub(super) fn give_direct_object(&mut self) {
        let slots = self.open_required(|slot| slot.kind.is_text() || slot.kind == Kind::Place);
        let ([slot], false) = (&slots[..], self.effects.reads_only()) else { return };
        let this = &self.slots[*slot];
        // "Add buy milk to my list" for a text; other verbs only point at one: "post the report".
        let adds = self.context.words.iter().find(|word| !leads_to_order(&word.lower));
        let adds = adds.is_some_and(|verb| is_listed(&verb.lower, "add put write"));
        let is_text = this.kind == Kind::Message && adds;
        let is_name = (matches!(this.kind, Kind::Text | Kind::Place) || is_text) && !this.is_list;
        if !is_name || this.is_person() || this.says(NO_OBJECTS) {
            return;
        }
        let Some((amount, phrase)) = self.direct_object(this) else { return };
        let all = self.context.words;
        let span = all[phrase.start].span.start..all[phrase.end - 1].span.end;
        if self.context.denies(span.start) {
            return;
        }
        // "Eggs, milk and butter" are several.
        let is_list = self.context.text[span.end..].trim_start().starts_with([',', ';', '/']);
        let is_sure = self.is_spoken_for(phrase.end) && !is_list;
        self.offer(*slot, &span, is_sure);
        if let Some(amount) = amount {
            self.give_quantity(amount);
        }
    }

    /// Gives the words between the verb and the preposition of the last value to the only text that a tool which only reads
    /// needs: "translate good night into Finnish".
    pub(super) fn give_passage(&mut self) {
        let slots = self.open_required(|slot| slot.kind.is_text() && !slot.is_list);
        let all = self.context.words;
        let verb = all.iter().position(|word| !leads_to_order(&word.lower));
        let ([slot], Some(verb)) = (&slots[..], verb) else { return };
        let is_led = |at: &usize| {
            let ends = |spent: &Range<usize>| {
                let rest = &self.context.text[spent.end..];
                spent.start == all[at + 1].span.start && !rest.contains(char::is_alphanumeric)
            };
            is_listed(&all[*at].lower, "in into to") && self.spent.iter().any(ends)
        };
        let end = (verb + 2..all.len().max(1) - 1).find(is_led);
        let (true, Some(end)) = (self.is_in_name(&all[verb].lower), end) else { return };
        let span = all[verb + 1].span.start..all[end - 1].span.end;
        let is_free = |taken: &Range<usize>| !overlap(taken, &span);
        let is_pointer = is_listed(&all[verb + 1].lower, "it my that the them these this those");
        if self.slots[*slot].has_word("text sentence phrase")
            && !is_pointer
            && self.spent.iter().all(is_free)
        {
            self.offer(*slot, &span, true);
        }
    }

    /// Returns the words of the direct object, without articles, and the mention of an amount before it.
    fn direct_object(&self, slot: &Slot) -> Option<(Option<usize>, Range<usize>)> {
        let all = self.context.words;
        let verb = all.iter().position(|word| !leads_to_order(&word.lower))?;
        if !self.is_own_verb(&all[verb].lower, slot) && !is_listed(&all[verb].lower, VERBS) {
            return None;
        }
        let mention_at = |at: usize| {
            let mut mentions = self.context.mentions.iter();
            mentions.position(|mention| overlap(&mention.span, &all[at].span))
        };
        let is_amount = |at: usize| matches!(self.mention(at).content, Content::Amount(_));
        let (mut start, mut amount) = (verb + 1, None);
        while start < all.len() {
            let counted = mention_at(start).filter(|at| is_amount(*at));
            amount = amount.or(counted);
            let is_of = amount.is_some() && all[start].lower == "of";
            // "Turn off the radio".
            let is_particle = start == verb + 1 && is_listed(&all[start].lower, "off on out up");
            let is_article = is_article(&all[start].lower) || is_particle;
            if counted.is_none() && !is_of && !is_article {
                break;
            }
            start += 1;
        }
        let goes_on = |at: usize| {
            let gap = &self.context.text[all[at - 1].span.end..all[at].span.start];
            matches!(gap.trim(), "" | "-")
        };
        let is_end = |at: &usize| {
            let word = all[*at].lower.as_str();
            let is_value = mention_at(*at)
                .is_some_and(|at| !matches!(self.mention(at).content, Content::Place(_)));
            is_function_word(word)
                || is_listed(word, PARTICLES)
                || is_value
                || self.spent.iter().any(|spent| overlap(spent, &all[*at].span))
                || *at > start && !goes_on(*at)
        };
        let end = (start..all.len()).find(is_end).unwrap_or(all.len());
        // "Stop notebook eda", "start a notebook called eda", "restart the nginx service".
        let is_noun = |at: usize| self.is_in_name(&all[at].lower);
        while start + 1 < end && (is_noun(start) || is_listed(&all[start].lower, "called named")) {
            start += 1;
        }
        let end = if start + 1 < end && is_noun(end - 1) { end - 1 } else { end };
        let head = all.get(end.checked_sub(1)?)?;
        let is_adverb = |at: usize| {
            let word = all[at].lower.as_str();
            [ADVERBS, CHOOSING, NO_THING, CALLED].iter().any(|list| is_listed(word, list))
                || end == start + 1 && word.ends_with("ly")
        };
        let is_object = !(start..end).any(is_adverb)
            && (1..=MOST_WORDS).contains(&end.saturating_sub(start))
            && goes_on(start)
            && !self.is_of_tool(&head.lower);
        is_object.then_some((amount, start..end))
    }

    pub(in super::super) fn is_in_name(&self, word: &str) -> bool {
        self.tool_words[..self.named].contains(&stem(word))
    }

    /// Whether a verb is in the tool's name, and a slot is named after the tool's thing: "restart nginx" for
    /// `service_restart {service}`.
    fn is_own_verb(&self, verb: &str, slot: &Slot) -> bool {
        let mut nouns = slot.nouns().peekable();
        self.is_in_name(verb) && (nouns.peek().is_none() || nouns.any(|noun| self.is_in_name(noun)))
    }

    /// Whether a word is the tool's, and no function word.
    pub(super) fn is_content_of_tool(&self, word: &str) -> bool {
        !is_function_word(word) && self.tool_words.contains(&stem(word))
    }

    /// Whether a word is the tool's or one of its parameters'.
    pub(super) fn is_of_tool(&self, word: &str) -> bool {
        let is_of_slot = |slot: &Slot| slot.words.iter().any(|own| stem(own) == stem(word));
        self.tool_words.contains(&stem(word)) || self.slots.iter().any(is_of_slot)
    }

    /// Whether all words of the clause from one on are prose, words of the tool, or values that were taken.
    fn is_spoken_for(&self, from: usize) -> bool {
        let all = self.context.words;
        let ends = |at: &usize| {
            let before = at.checked_sub(1).map_or(0, |before| all[before].span.end);
            self.context.text[before..all[*at].span.start].contains([',', '.', ';', '!', '?', '\n'])
        };
        let end = (from..all.len()).find(ends).unwrap_or(all.len());
        all[from..end].iter().all(|word| {
            let is_known = is_function_word(&word.lower)
                || is_listed(&word.lower, PARTICLES)
                || word.lower == "list"
                || self.is_of_tool(&word.lower);
            let is_taken = |span: &Range<usize>| overlap(span, &word.span);
            let mut mentions = self.context.mentions.iter().zip(&self.taken);
            is_known
                || self.spent.iter().any(is_taken)
                || mentions.any(|(mention, taken)| *taken && is_taken(&mention.span))
        })
    }

    /// Gives the amount of the direct object to the only number that counts it.
    fn give_quantity(&mut self, amount: usize) {
        // An earlier step may ask about it, because it did not know what is counted.
        let is_quantity = |at: &usize| {
            let slot = &self.slots[*at];
            slot.kind.is_number()
                && slot.has_word("amount count pieces qty quantity")
                && self.assignments[*at].is_empty()
                && !self.is_given[*at]
        };
        let mut slots = (0..self.slots.len()).filter(is_quantity);
        let (Some(slot), None) = (slots.next(), slots.next()) else { return };
        let mention = self.mention(amount).clone();
        if matches!(&mention.content, Content::Amount(amount) if !amount.units.is_empty()) {
            return;
        }
        if let Interpretation::Value { value, how } =
            self.reader.read(&mention, &self.slots[slot], true)
        {
            self.taken[amount] = true;
            self.open_questions[slot] = None;
            self.take(slot, value, &mention.span, &how);
        }
    }
}
