//! Assigns numbers by what they count: "2 microphones".

use super::super::arguments::may_be_meant;
use super::super::cue::Cue;
use super::super::interpretation::Interpretation;
use super::super::mention::Content;
use super::super::slot::{Kind, Slot};
use super::super::text::is_function_word;
use super::{Claim, Plan, Source};

impl Plan<'_> {
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
        // "On 4 gpus" for `gpu_count`.
        let counts_it = |at: usize| {
            let after = self.context.after(self.mention(at).span.end);
            after.first().is_some_and(|word| self.slots[slot].is_about(&word.lower))
        };
        if let ([at], Some(_)) = (&counts[..], quantity)
            && (self.counts_value(*at) || counts_it(*at))
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
