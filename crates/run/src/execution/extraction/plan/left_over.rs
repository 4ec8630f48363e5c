//! Fills required parameters that are still open from what is left of the prompt: names, quotes and
//! numbers that nothing else took. Of all ways to assign them, one must be clearly the best.

use std::cmp::Ordering;

use super::super::arguments::may_be_meant;
use super::super::flag::BEFORE_ORDERS;
use super::super::interpretation::Interpretation;
use super::super::mention::Content;
use super::super::slot::{Slot, role_of_word};
use super::super::text::{is_function_word, is_listed, stem};
use super::{Claim, Cue, Plan};

/// The most open parameters and the most values for which every assignment is compared.
pub(super) const MOST: usize = 6;

impl Plan<'_> {
    /// Assigns lists, numbers, names and quotes. For a tool that may change something, those become a question that the
    /// words beside them do not give it.
    pub(super) fn give_left_over(&mut self) {
        self.give_lists();
        self.give_numbers();
        if !self.effects.reads_only() {
            self.give_phrase_left();
        }
        self.give_proper_names();
        self.give_list_of_names();
        if self.effects.reads_only() {
            self.give_phrase_left();
            self.give_passage();
        } else {
            self.give_direct_object();
            self.give_label();
        }
    }

    /// Gives the lists in brackets to list parameters: to those of a row in order, otherwise to the one that
    /// is meant.
    fn give_lists(&mut self) {
        let lists: Vec<usize> = (0..self.taken.len())
            .filter(|at| !self.taken[*at] && matches!(self.mention(*at).content, Content::List(_)))
            .filter(|at| !self.context.denies(self.mention(*at).span.start))
            .collect();
        let slots: Vec<usize> = (0..self.slots.len())
            .filter(|at| self.is_open(*at) && self.slots[*at].is_list)
            .collect();
        if lists.is_empty() || slots.len().max(lists.len()) > MOST {
            return;
        }
        let score = |slot: &usize, at: &usize| {
            let (slot, mention) = (&self.slots[*slot], self.mention(*at));
            let Content::List(items) = &mention.content else { return None };
            let fits =
                self.reader.checker.misfit(&slot.path, false, &items.clone().into()).is_none();
            let named = u8::from(self.cue(mention, slot).strength > 0) * 4;
            fits.then_some(named + if slot.required { 2 } else { 1 })
        };
        let scores: Vec<Vec<Option<u8>>> =
            slots.iter().map(|slot| lists.iter().map(|at| score(slot, at)).collect()).collect();
        let rows = self.rows(&slots);
        let chosen = match &rows[..] {
            [row]
                if row.len() == slots.len()
                    && row.len() == lists.len()
                    && row.iter().all(|slot| self.slots[*slot].role.is_none()) =>
            {
                (0..lists.len()).map(Some).collect()
            }
            _ => best(&scores).unwrap_or_default(),
        };
        for (&slot, at) in slots.iter().zip(chosen) {
            let Some(at) = at.map(|at: usize| lists[at]) else { continue };
            let mention = self.mention(at);
            let Content::List(items) = &mention.content else { continue };
            let is_named = || self.cue(mention, &self.slots[slot]).strength > 0;
            if !self.effects.reads_only() && !is_named() {
                let said = self.text_of(&mention.span);
                self.ask_about(slot, &may_be_meant(&said), vec![said]);
                continue;
            }
            for item in items {
                self.take(slot, item.clone(), &mention.span, "");
            }
            self.taken[at] = true;
            self.spent.push(mention.span.clone());
        }
    }

    fn give_numbers(&mut self) {
        let slots = self.open_required(|slot| slot.kind.is_number() && !slot.is_list);
        let amounts = self.left_amounts();
        if slots.is_empty() || amounts.is_empty() || slots.len().max(amounts.len()) > MOST {
            return;
        }
        // "20 kg at 30 degrees and 15 kg at 60 degrees": each row takes the numbers of its unit.
        for row in self.rows(&slots) {
            let score = |slot: &usize, at: &usize| self.score_of_number(*slot, *at);
            let is_own = |at: &&usize| {
                slots.iter().all(|slot| score(slot, at).is_some() == row.contains(slot))
            };
            let own: Vec<usize> = amounts.iter().filter(is_own).copied().collect();
            if own.len() == row.len() {
                row.iter().zip(own).for_each(|(slot, at)| self.give_number(*slot, at));
            }
        }
        let slots: Vec<usize> = slots.into_iter().filter(|slot| self.is_open(*slot)).collect();
        let amounts = self.left_amounts();
        let scores: Vec<Vec<Option<u8>>> = slots
            .iter()
            .map(|slot| amounts.iter().map(|at| self.score_of_number(*slot, *at)).collect())
            .collect();
        for (&slot, at) in slots.iter().zip(best(&scores).into_iter().flatten()) {
            if let Some(at) = at {
                self.give_number(slot, amounts[at]);
            }
        }
    }

    /// The numbers in digits that nothing took.
    fn left_amounts(&self) -> Vec<usize> {
        let is_left = |at: &usize| {
            let mention = self.mention(*at);
            !self.taken[*at]
                && matches!(&mention.content, Content::Amount(amount) if !amount.is_spelled)
                && !self.context.denies(mention.span.start)
        };
        (0..self.taken.len()).filter(is_left).collect()
    }

    fn give_number(&mut self, slot: usize, mention: usize) {
        let reading = self.reader.read(self.mention(mention), &self.slots[slot], true);
        if self.effects.reads_only() || self.is_meant_by_number(slot, mention) {
            self.give(slot, Claim { mention, cue: Cue::default(), reading });
        }
    }

    /// Whether nothing beside a number says that it is that of another thing, for a tool that may change something: "rebuild
    /// mobile-ios 558", "set the limit of account 7 to 1500", but not "flight 4711".
    fn is_meant_by_number(&self, slot: usize, at: usize) -> bool {
        let (this, mention) = (&self.slots[slot], self.mention(at));
        let Content::Amount(amount) = &mention.content else { return false };
        let before = self.context.before(mention.span.start);
        let Some(word) = before.first() else { return true };
        let lead = word.lower.as_str();
        let is_set = lead == "to" && self.left_amounts().len() == 1;
        let is_of_unit = amount.units.is_empty() || this.unit.is_some();
        let mut earlier = before.iter().skip(1);
        let is_command = earlier.all(|word| is_listed(&word.lower, BEFORE_ORDERS));
        let is_led = is_function_word(lead)
            && !is_listed(lead, "above after before from in last of on over plus since than under");
        let is_named = this.words.iter().any(|own| stem(own) == stem(lead));
        let named = &self.tool_words[..self.named];
        // "Close issue 12" for `close_issue {number}`.
        let is_own = this.nouns().next().is_none() && this.has_word("id no nr num number");
        let is_beside_value = self.spent.iter().any(|spent| spent.end == word.span.end);
        is_set
            || is_of_unit
                && (is_command
                    || is_led
                    || is_named
                    || is_beside_value
                    || (self.sets() || is_own) && named.contains(&stem(lead)))
    }

    /// How well a number fits a parameter; `None` if it does not.
    fn score_of_number(&self, slot: usize, at: usize) -> Option<u8> {
        let (slot, mention) = (&self.slots[slot], self.mention(at));
        let Content::Amount(amount) = &mention.content else { return None };
        let reading = self.reader.read(mention, slot, true);
        let fits =
            matches!(reading, Interpretation::Value { .. }) && !self.cue(mention, slot).conflicts;
        let after = self.context.after(mention.span.end);
        let is_bare = amount.units.is_empty();
        let counts_other =
            is_bare && after.first().is_some_and(|word| slot.counts_other(&word.lower));
        let has_unit = !is_bare && slot.unit.is_some();
        (fits && !counts_other).then(|| 2 + u8::from(has_unit) * 2)
    }

    pub(super) fn open_required(&self, is_it: impl Fn(&Slot) -> bool) -> Vec<usize> {
        let slots = self.slots.iter().enumerate();
        let open = slots.filter(|(at, slot)| {
            slot.required && !slot.has_default && self.is_open(*at) && is_it(slot)
        });
        open.map(|(at, _)| at).collect()
    }

    /// Returns the groups of open parameters that differ only in their place in a row.
    pub(super) fn rows(&self, slots: &[usize]) -> Vec<Vec<usize>> {
        let mut rows: Vec<Vec<usize>> = Vec::new();
        for &slot in slots.iter().filter(|at| self.slots[**at].required) {
            let of = |row: &&mut Vec<usize>| is_in_row(&self.slots[row[0]], &self.slots[slot]);
            match rows.iter_mut().find(of) {
                Some(row) => row.push(slot),
                None => rows.push(vec![slot]),
            }
        }
        rows.retain(|row| row.len() > 1);
        rows
    }
}

/// Returns for each row the column of the assignment with the largest sum, unless another has the same
/// sum.
pub(super) fn best(scores: &[Vec<Option<u8>>]) -> Option<Vec<Option<usize>>> {
    /// The best assignments so far: their sum, how many have it, and the first of them.
    #[derive(Default)]
    struct Best(u32, usize, Vec<Option<usize>>);

    fn search(
        scores: &[Vec<Option<u8>>],
        chosen: &mut Vec<Option<usize>>,
        sum: u32,
        best: &mut Best,
    ) {
        let Some(row) = scores.get(chosen.len()) else {
            match sum.cmp(&best.0) {
                Ordering::Less => {}
                Ordering::Equal => best.1 += 1,
                Ordering::Greater => *best = Best(sum, 1, chosen.clone()),
            }
            return;
        };
        for (at, score) in row.iter().enumerate() {
            let Some(score) = score.filter(|_| !chosen.contains(&Some(at))) else { continue };
            chosen.push(Some(at));
            search(scores, chosen, sum + u32::from(score), best);
            chosen.pop();
        }
        chosen.push(None);
        search(scores, chosen, sum, best);
        chosen.pop();
    }
    let mut best = Best::default();
    search(scores, &mut Vec::new(), 0, &mut best);
    let Best(sum, count, chosen) = best;
    (sum > 0 && count == 1).then_some(chosen)
}

/// Whether two parameters differ only in their place in a row: `a` and `b`, `num1` and `num2`,
/// `first_name` and `second_name`.
fn is_in_row(one: &Slot, other: &Slot) -> bool {
    const ORDER: &str = "first second third fourth one two three initial final subsequent";
    let key = |slot: &Slot| {
        let words = slot
            .words
            .iter()
            .filter(|word| !is_listed(word, ORDER) && role_of_word(word).is_none());
        let bare = words.map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned());
        bare.filter(|word| word.len() > 1).collect::<Vec<_>>()
    };
    one.kind == other.kind && key(one) == key(other)
}
