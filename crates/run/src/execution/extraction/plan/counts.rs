//! Assigns numbers by what they count: "2 microphones", "the 2nd floor".

use std::ops::Range;

use serde_json::Value;

use super::super::arguments::may_be_meant;
use super::super::cue::Cue;
use super::super::interpretation::Interpretation;
use super::super::mention::Content;
use super::super::slot::{Kind, Slot};
use super::super::text::{is_function_word, is_listed, overlap, singular};
use super::{Claim, Plan, Source};

/// Ordinals that are written as words, from the first.
const ORDINALS: &str =
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth";

/// Things whose numbers are their places in a row.
const IN_A_ROW: &str = "chapter column day episode floor gate lane lap layer lesson level line month page part \
     period phase platform quarter round row season section semester shelf slide stage step story storey tier \
     track volume week";

impl Plan<'_> {
    /// Gives open whole numbers the ordinals before their names: "the 2nd floor". Several become a
    /// question, and so does one for a tool that may change something if the thing may have another
    /// number: "the first ticket". An id is no place in a row.
    pub(super) fn give_ordinals(&mut self) {
        for at in 0..self.slots.len() {
            let slot = &self.slots[at];
            let is_number = slot.kind == Kind::Integer && slot.unit.is_none() && !slot.is_limit();
            // Numbers that begin at zero have another first.
            if !is_number || !self.is_open(at) || slot.says("0 zero index") || is_id(slot) {
                continue;
            }
            let said = self.ordinals_of(slot);
            for (_, span) in &said {
                self.spent.push(span.clone());
            }
            match &said[..] {
                [] => {}
                [(_, span)] if !self.effects.reads_only() && !is_in_a_row(slot) => {
                    let why = format!("\"{}\" may be a place in a list", self.text_of(span));
                    self.ask_about(at, &why, vec![]);
                }
                [(number, span)] => {
                    let value = Value::from(*number);
                    match self.reader.checker.misfit(&slot.path, slot.is_list, &value) {
                        None => self.take(at, value, span, ""),
                        Some(why) => self.ask_about(at, &why, vec![self.text_of(span)]),
                    }
                }
                several => {
                    let said = several.iter().map(|(_, span)| self.text_of(span)).collect();
                    self.ask_about(at, "several values are said", said);
                }
            }
        }
    }

    /// Returns the ordinals before the name of a slot, and those that "and" or the like joins to them.
    fn ordinals_of(&self, slot: &Slot) -> Vec<(u64, Range<usize>)> {
        let [name] = &slot.nouns().collect::<Vec<_>>()[..] else { return Vec::new() };
        let words = self.context.words;
        let is_free = |span: &Range<usize>| {
            !self.context.mentions.iter().any(|mention| overlap(&mention.span, span))
                && !self.context.denies(span.start)
        };
        let mut found = Vec::new();
        for at in 1..words.len() {
            if singular(&words[at].lower) != singular(name) {
                continue;
            }
            let mut next = at;
            while let Some(word) = next.checked_sub(1).map(|before| &words[before])
                && let Some(number) = ordinal(&word.lower).filter(|_| is_free(&word.span))
            {
                found.push((number, word.span.clone()));
                let joins = |at: &usize| is_listed(&words[*at].lower, "and or to");
                next = next.checked_sub(2).filter(joins).unwrap_or(0);
            }
        }
        found
    }

    /// Gives the number of a value of another parameter, as in "2 microphones", to the only open
    /// quantity. A number of other things, or one that a parameter of another name may take, becomes
    /// a question if the tool may change something.
    pub(super) fn give_counts(&mut self) {
        let is_count = |slot: &Slot| {
            let is_measured = slot.unit.is_some() || slot.is_bound() || slot.is_limit();
            slot.kind == Kind::Integer && !slot.is_list && !is_measured
        };
        let quantity = self.only(Slot::is_quantity);
        let Some(slot) = quantity.or_else(|| self.only(is_count)) else { return };
        let counts: Vec<usize> = (0..self.taken.len())
            .filter(|at| self.counts_noun(*at) && (quantity.is_some() || self.counts_value(*at)))
            .collect();
        if let ([at], Some(_)) = (&counts[..], quantity)
            && self.counts_value(*at)
            && !self.cue(self.mention(*at), &self.slots[slot]).conflicts
        {
            let reading = self.reader.read(self.mention(*at), &self.slots[slot], true);
            return self.give(slot, Claim { mention: *at, cue: Cue::default(), reading });
        }
        let fits = |at: &usize| {
            let reading = self.reader.read(self.mention(*at), &self.slots[slot], true);
            matches!(reading, Interpretation::Value { .. })
        };
        let said: Vec<usize> = counts.into_iter().filter(fits).collect();
        let Some(first) = said.first().filter(|_| !self.effects.reads_only()) else { return };
        let why = may_be_meant(&self.text_of(&self.mention(*first).span));
        let candidates = said.iter().map(|at| self.text_of(&self.mention(*at).span)).collect();
        said.iter().for_each(|at| self.taken[*at] = true);
        self.ask_about(slot, &why, candidates);
    }

    /// Whether a free mention is a number without a unit before a noun.
    fn counts_noun(&self, at: usize) -> bool {
        let mention = self.mention(at);
        let Content::Amount(amount) = &mention.content else { return false };
        let after = self.context.after(mention.span.end);
        let has_noun = after.first().is_some_and(|word| !is_function_word(&word.lower))
            || self.id_after(at).is_some();
        let is_number = amount.units.is_empty() && !amount.has_hash && !amount.is_part;
        is_number && has_noun && !self.taken[at] && !self.context.denies(mention.span.start)
    }

    /// Returns where the id begins that stands right after a mention: "2 SKU-13".
    fn id_after(&self, at: usize) -> Option<usize> {
        let end = self.mention(at).span.end;
        let mut mentions = self.context.mentions.iter();
        let next = mentions.find(|next| next.span.start > end)?;
        let is_id = matches!(next.content, Content::Token(_));
        (is_id && &self.context.text[end..next.span.start] == " ").then_some(next.span.start)
    }

    /// Whether the word after a mention begins a value of a parameter.
    fn counts_value(&self, at: usize) -> bool {
        let after = self.context.after(self.mention(at).span.end);
        let next = after.first().map(|word| word.span.start).or_else(|| self.id_after(at));
        let mut sources = self.assignments.iter().flatten().map(|taken| &taken.source);
        sources.any(|source| matches!(source, Source::Prompt { start, .. } if Some(*start) == next))
    }
}

fn is_in_a_row(slot: &Slot) -> bool {
    slot.nouns().last().is_some_and(|noun| is_listed(&singular(noun), IN_A_ROW))
}

/// Whether a number is a name, whose value no place in a list tells: `ticket_id`, `issue_number`.
fn is_id(slot: &Slot) -> bool {
    slot.has_word("code id ids key ref") || slot.has_word("no nr num number") && !is_in_a_row(slot)
}

/// The number of an ordinal: 2 of "2nd" and "second".
fn ordinal(word: &str) -> Option<u64> {
    let ends = ["st", "nd", "rd", "th"];
    let digits = ends.iter().find_map(|end| word.strip_suffix(end));
    let spelled = ORDINALS.split(' ').zip(1..).find(|(ordinal, _)| *ordinal == word);
    spelled.map(|(_, number)| number).or_else(|| digits?.parse().ok())
}
