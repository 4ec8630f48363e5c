//! Assigns values that no word names but that fit only one parameter, and records questions about
//! the rest.

use super::super::Source;
use super::super::arguments::may_be_meant;
use super::super::interpretation::Interpretation;
use super::super::mention::{Content, Mention, is_path, is_repository, is_slug};
use super::super::slot::{Kind, Slot};
use super::super::text::{is_function_word, is_listed};
use super::super::unit::{Dimension, Unit};
use super::{Claim, Cue, Plan};

/// A slot that a mention fits, and its interpretation.
type Holder = (usize, Interpretation);

/// Prepositions that belong to the value after them.
const LEADS: &str = "in on at for from to by near with of";

impl Plan<'_> {
    /// Assigns one value or one list that fits a single parameter. Returns whether there was one.
    pub(super) fn give_unnamed(&mut self) -> bool {
        let (free, open) = (self.free(), self.open());
        let holders: Vec<Vec<Holder>> = free.iter().map(|at| self.holders(*at, &open)).collect();
        for &slot in &open {
            let reading = |at: usize| holders[at].iter().find(|(other, _)| *other == slot);
            let mut held: Vec<usize> =
                (0..free.len()).filter(|at| reading(*at).is_some()).collect();
            // If the prompt has "2 km", a bare number is not a value for a parameter in kilometres.
            let fits = |at: &usize| !matches!(reading(*at), Some((_, Interpretation::Invalid(_))));
            let in_list_of = |a: usize, b: usize| self.chains[free[a]] == self.chains[free[b]];
            if let Some(one) = held.iter().copied().find(fits) {
                held.retain(|at| fits(at) || in_list_of(*at, one));
            }
            let is_one_list =
                self.slots[slot].is_list && held.iter().all(|at| in_list_of(*at, held[0]));
            // A list with an invalid item is not used in part.
            let is_whole = held.iter().all(|at| {
                let in_list = |other: &usize| self.chains[*other] == self.chains[free[*at]];
                free.iter().filter(|other| in_list(other)).count() == held.len()
            });
            let is_one = held.len() == 1 || (is_one_list && is_whole && !held.is_empty());
            if !is_one || !held.iter().all(|at| self.is_only(slot, free[*at], &holders[*at])) {
                continue;
            }
            for at in held {
                let reading = holders[at].iter().find(|(other, _)| *other == slot);
                let reading =
                    reading.map_or(Interpretation::NotApplicable, |(_, reading)| reading.clone());
                let cue = self.lead(free[at]);
                self.give(slot, Claim { mention: free[at], cue, reading });
            }
            return true;
        }
        false
    }

    fn free(&self) -> Vec<usize> {
        (0..self.taken.len()).filter(|at| !self.taken[*at]).collect()
    }

    fn open(&self) -> Vec<usize> {
        (0..self.slots.len()).filter(|slot| self.is_open(*slot)).collect()
    }

    /// Returns the word right before a mention; empty if there is none.
    pub(super) fn word_before(&self, mention: &Mention) -> String {
        let before = self.context.before(mention.span.start);
        before.first().map_or(String::new(), |word| word.lower.clone())
    }

    fn lead(&self, at: usize) -> Cue {
        let span = &self.mention(at).span;
        let before = self.context.before(span.start);
        let lead = before.first().filter(|word| is_listed(&word.lower, LEADS));
        Cue { span: lead.map(|word| word.span.start..span.end), ..Cue::default() }
    }

    /// Returns the open slots that an unnamed mention fits.
    fn holders(&self, at: usize, open: &[usize]) -> Vec<Holder> {
        let mention = self.mention(at);
        let mut holders: Vec<Holder> = Vec::new();
        for &index in open {
            let slot = &self.slots[index];
            // A query may be meant as a whole rather than a quote in it, and labels and owners are
            // quoted only with a name.
            let is_text = slot.kind == Kind::Text && matches!(mention.content, Content::Quoted(_));
            let needs_name = slot.is_list || slot.is_owner() || slot.is_repository();
            let is_never_lone = slot.kind == Kind::Query || (is_text && needs_name);
            if is_never_lone || self.cue(mention, slot).conflicts {
                continue;
            }
            let is_code = slot.is_code() && is_capitals(mention);
            let head = self.mention(self.chains[at]);
            let is_introduced = || matches!(self.word_before(head).as_str(), "of" | "for");
            let reading = self.reader.read(mention, slot, is_code && is_introduced());
            let is_value = match &mention.content {
                Content::Amount(_) => slot.kind == Kind::Month || self.is_free(mention, slot),
                // "Delete branch feature/login".
                Content::Path(_) if slot.is_repository() && !self.effects.reads_only() => {
                    is_listed(&self.word_before(mention), "at for from in of on repo repository")
                }
                Content::Path(path) if slot.kind == Kind::Path => {
                    let is_other =
                        is_repository(path) && self.slots.iter().any(Slot::is_repository);
                    is_path(path) && self.is_placed(mention, path) && !is_other
                }
                _ => true,
            };
            if reading != Interpretation::NotApplicable && is_value {
                holders.push((index, reading));
            }
        }
        if let Content::Token(id) = &mention.content
            && holders.iter().any(|(slot, _)| self.slots[*slot].shows(id))
        {
            holders.retain(|(slot, _)| self.slots[*slot].shows(id));
        }
        holders
    }

    /// Like `holders`, but a period or an unclear day is an invalid value for every slot for a day.
    fn holders_of_any(&self, at: usize, open: &[usize]) -> Vec<Holder> {
        let mut holders = self.holders(at, open);
        let (why, of_month) = match self.mention(at).content {
            Content::Period(_) => ("one day of it is needed", None),
            Content::Unclear => {
                ("it cannot be read as one day", Some("it cannot be read as one month"))
            }
            _ => return holders,
        };
        for &slot in open {
            let why = match self.slots[slot].kind {
                Kind::Day | Kind::Moment => Some(why),
                Kind::Month => of_month,
                _ => None,
            };
            holders.extend(why.map(|why| (slot, Interpretation::Invalid(why.to_owned()))));
        }
        holders
    }

    /// Whether a mention is meant for this slot rather than for another that it fits.
    fn is_only(&self, slot: usize, at: usize, holders: &[Holder]) -> bool {
        let (this, mention) = (&self.slots[slot], self.mention(at));
        let rivals: Vec<usize> =
            holders.iter().map(|(other, _)| *other).filter(|other| *other != slot).collect();
        if let Content::Amount(amount) = &mention.content
            && this.kind != Kind::Month
        {
            let is_typed = !amount.units.is_empty() || amount.has_hash || this.is_money();
            // "add 4 and 5": one number may be meant for anything, but a list is meant for a list.
            let is_list = this.is_list
                && (0..self.chains.len())
                    .any(|other| other != at && self.chains[other] == self.chains[at]);
            let is_meant = this.required || is_list || (is_typed && !this.is_bound());
            return rivals.is_empty() && is_meant;
        }
        // "The report of October" is for October.
        let is_month = this.kind == Kind::Month;
        if is_month && self.is_end(mention) {
            return false;
        }
        let is_led = self.is_led(mention) && !this.is_bound() || self.begins_effect(mention, this);
        if !this.required && !is_month && !is_led {
            return false;
        }
        rivals.iter().all(|other| this.required && !self.slots[*other].required)
    }

    /// Whether a day is said as the one from which something is to be so, for the only day of the tool:
    /// "starting 1 April" for `effective_date`, "as of 31 July" for the `end_date` of a contract.
    fn begins_effect(&self, mention: &Mention, slot: &Slot) -> bool {
        let before = self.context.before(mention.span.start);
        let word = |at: usize| before.get(at).map_or("", |word| word.lower.as_str());
        let is_as_of = word(0) == "of" && word(1) == "as";
        let is_end = slot.has_word("due end expiry expires until");
        let is_from = word(0) == "from";
        let is_begun = is_listed(word(0), "beginning effective starting")
            || is_from && slot.says("effective from start starting");
        let is_effect = is_as_of || is_from && word(1) == "effect" || !is_end && is_begun;
        let days = self.slots.iter().filter(|slot| matches!(slot.kind, Kind::Day | Kind::Moment));
        matches!(slot.kind, Kind::Day | Kind::Moment) && days.count() == 1 && is_effect
    }

    /// Whether a preposition makes a mention the end of a range or excludes it: "from March", "since May".
    fn is_end(&self, mention: &Mention) -> bool {
        const ENDS: &str = "after and before between from or since than till to until";
        is_listed(&self.word_before(mention), ENDS)
    }

    /// Whether a mention can be the value of an optional parameter, rather than an attribute of
    /// something else as in "the mail of 5 May".
    fn is_led(&self, mention: &Mention) -> bool {
        let before = self.context.before(mention.span.start);
        let word = |at: usize| before.get(at).map_or("", |word| word.lower.as_str());
        let is_as_of = word(0) == "of" && word(1) == "as";
        match mention.content {
            Content::When(_) | Content::Period(_) => {
                let said = &self.context.text[mention.span.clone()];
                let is_relative = said.starts_with(char::is_alphabetic);
                is_as_of
                    || matches!(word(0), "on" | "by" | "for" | "at" | "until")
                    || (is_relative && !matches!(word(0), "of" | "from" | "about" | "than"))
            }
            // What a tool that only reads shows of a person is told by the address.
            Content::Email(_) if self.effects.reads_only() => {
                !matches!(word(0), "about" | "than" | "like")
            }
            _ => !matches!(word(0), "of" | "from" | "about" | "than" | "like" | "by"),
        }
    }

    /// Whether a number is a value, rather than the count or number of something else.
    fn is_free(&self, mention: &Mention, slot: &Slot) -> bool {
        let Content::Amount(amount) = &mention.content else { return true };
        if amount.digits.as_ref().is_some_and(|digits| slot.has_form_of(digits)) {
            return true;
        }
        let after = self.context.after(mention.span.end);
        let counts_other = after.first().is_some_and(|word| slot.counts_other(&word.lower));
        // "Raise the capacity to 28 seats".
        let mut places = 0..self.context.words.len();
        let mut is_said = || places.any(|at| self.context.spoken_stems(at, &slot.words).is_some());
        let is_set = self.word_before(mention) == "to" && is_said();
        if amount.units.is_empty() && counts_other && !is_set {
            return false;
        }
        let before = self.context.before(mention.span.start);
        let Some(word) = before.first() else { return true };
        // "Older than 30" is no order 30.
        if word.lower == "than" && !slot.is_bound() && !self.effects.reads_only() {
            return false;
        }
        let is_command = self.context.words[0].span == word.span;
        let dimension = slot.unit.map(Unit::dimension);
        let dimension = dimension.or(slot.is_money().then_some(Dimension::Money));
        let is_measured = amount.units.iter().any(|said| Some(said.dimension()) == dimension);
        amount.has_hash || is_measured || is_command || slot.is_about(&word.lower)
    }

    /// Whether a path is used as one. Two words with a slash between them need a preposition before
    /// them, or characters other than letters.
    fn is_placed(&self, mention: &Mention, path: &str) -> bool {
        if !is_slug(path) {
            return true;
        }
        let has_letters = path.chars().all(|c| c.is_alphabetic() || c == '/');
        let before = self.word_before(mention);
        !has_letters
            || matches!(before.as_str(), "in" | "from" | "of" | "at" | "to" | "into" | "under")
    }

    /// Turns an amount of money with a part or a percentage into a doubt: "20 EUR plus 19 % tax".
    fn doubt_parts(&mut self) {
        let is_part = |at: &usize| {
            matches!(&self.mention(*at).content, Content::Amount(amount)
                if amount.is_part || amount.units.contains(&Unit::Percent))
        };
        let Some(at) = self.free().into_iter().find(is_part) else { return };
        let part = self.text_of(&self.mention(at).span);
        for slot in 0..self.slots.len() {
            if let ([assignment], true) = (&self.assignments[slot][..], self.slots[slot].is_money())
            {
                let why = format!("\"{part}\" is said of it too");
                let said = assignment.value.to_string();
                self.ask_about(slot, &why, vec![said]);
            }
        }
    }

    /// Notes a doubt for each value that fits a parameter and was not assigned: events "on 5 May"
    /// are not all events. Numbers and ids count only for required parameters.
    pub fn doubt_unused(&mut self) {
        self.doubt_parts();
        let (free, open) = (self.free(), self.open());
        let holders: Vec<Vec<Holder>> =
            free.iter().map(|at| self.holders_of_any(*at, &open)).collect();
        for &slot in &open {
            let is_held = |at: &usize| holders[*at].iter().any(|(other, _)| *other == slot);
            let is_certain = |at: &usize| {
                let mention = self.mention(free[*at]);
                let before = self.word_before(mention);
                let is_near = match mention.content {
                    Content::Url(_) | Content::Email(_) | Content::Path(_) => {
                        !is_listed(&before, "of about than like from")
                    }
                    Content::When(_) | Content::Period(_) | Content::Unclear => {
                        !is_listed(&before, "of about than like")
                    }
                    _ => false,
                };
                self.slots[slot].required || is_near
            };
            let held: Vec<usize> = (0..free.len()).filter(is_held).filter(is_certain).collect();
            let Some(&first) = held.first() else { continue };
            let said: Vec<String> =
                held.iter().map(|at| self.text_of(&self.mention(free[*at]).span)).collect();
            let rivals: Vec<&str> =
                holders[first].iter().map(|(other, _)| self.slots[*other].name.as_str()).collect();
            if let ([_], [(_, reading @ Interpretation::Value { .. })]) =
                (&held[..], &holders[first][..])
                && self.slots[slot].required
            {
                let (mention, cue) = (free[first], self.lead(free[first]));
                self.give(slot, Claim { mention, cue, reading: reading.clone() });
                continue;
            }
            let why = match holders[first].iter().find(|(other, _)| *other == slot) {
                _ if held.len() > 1 => "several values are said".to_owned(),
                Some((_, Interpretation::Invalid(why))) => why.clone(),
                _ if rivals.len() > 1 => {
                    format!("{} may be meant for {}", quoted(&said[0]), rivals.join(" or "))
                }
                _ => format!("{} may be meant for it", quoted(&said[0])),
            };
            self.ask_about(slot, &why, said);
        }
        self.doubt_others();
        self.doubt_emptiness(&free, &open);
    }

    /// Turns an id into a doubt if digits that nothing took follow it directly: "FR-RB 7".
    pub fn doubt_cut_ids(&mut self) {
        for at in 1..self.taken.len() {
            let (id, next) = (self.mention(at - 1), self.mention(at));
            let is_bare =
                matches!(&next.content, Content::Amount(amount) if amount.digits.is_some());
            let is_cut = matches!(id.content, Content::Token(_))
                && is_bare
                && !self.taken[at]
                && self.context.text.get(id.span.end..next.span.start) == Some(" ")
                && self
                    .context
                    .after(next.span.end)
                    .first()
                    .is_none_or(|word| is_function_word(&word.lower));
            let start = id.span.start;
            let takes = |slot: &usize| {
                let mut taken = self.assignments[*slot].iter();
                taken.any(
                    |one| matches!(one.source, Source::Prompt { start: from, .. } if from == start),
                )
            };
            let Some(slot) = (0..self.slots.len()).find(takes).filter(|_| is_cut) else { continue };
            let whole = self.text_of(&(id.span.start..next.span.end));
            let said = self.text_of(&id.span);
            self.taken[at] = true;
            self.ask_about(slot, "where it ends is not clear", vec![said, whole]);
        }
    }

    /// Notes a doubt for each required id without a value, if the prompt has ids that seem to be those
    /// of other things.
    fn doubt_others(&mut self) {
        for slot in self.open() {
            let this = &self.slots[slot];
            let is_other_kind = |mention: &Mention| {
                mention.content.token().is_some_and(|id| self.is_of_another_kind(id, this))
            };
            let is_other = |at: &usize| {
                let mention = self.mention(*at);
                let reading = self.reader.read(mention, this, true);
                self.is_distinct(mention)
                    && matches!(reading, Interpretation::Value { .. })
                    && (self.is_of_another(mention, this) || is_other_kind(mention))
            };
            if !this.required {
                continue;
            }
            let others = self.free().into_iter().filter(is_other);
            let said: Vec<String> = others.map(|at| self.text_of(&self.mention(at).span)).collect();
            if !said.is_empty() {
                self.ask_about(slot, "what the prompt names may be another thing", said);
            }
        }
    }

    /// Notes a doubt if the prompt has values and the call would be made without any argument,
    /// although a parameter takes such values.
    fn doubt_emptiness(&mut self, free: &[usize], open: &[usize]) {
        let is_needed = |slot: &usize| self.slots[*slot].required && !self.slots[*slot].has_default;
        if self.has_any() || open.iter().any(is_needed) {
            return;
        }
        for &slot in open {
            let fits = |at: &&usize| {
                let mention = self.mention(**at);
                let reading = self.reader.read(mention, &self.slots[slot], true);
                self.is_distinct(mention) && matches!(reading, Interpretation::Value { .. })
            };
            let said = free.iter().filter(fits).map(|at| self.text_of(&self.mention(*at).span));
            let said: Vec<String> = said.collect();
            if !said.is_empty() {
                let why = "no parameter took a value of the prompt, and it may be meant for this";
                self.ask_about(slot, why, said);
            }
        }
        // "Branches for private customers" says nothing of their names.
        let is_text =
            |slot: &Slot| matches!(slot.kind, Kind::Text | Kind::Place) && !slot.has_word("name");
        let said: Vec<String> = self.words_unused().iter().map(|span| self.text_of(span)).collect();
        if let (false, Some(slot), Some(first)) = (self.has_any(), self.only(is_text), said.first())
        {
            self.ask_about(slot, &may_be_meant(first), said);
        }
    }

    /// Whether a mention is a value that an order would lose: no number of other things, no word in
    /// capitals, and no name after "and".
    pub fn is_distinct_value(&self, mention: &Mention) -> bool {
        match &mention.content {
            Content::Amount(amount) if amount.units.is_empty() => {
                let after = self.context.after(mention.span.end);
                !amount.is_spelled && after.first().is_none_or(|word| is_function_word(&word.lower))
            }
            content @ Content::Token(_) => content.is_id(),
            Content::Place(_) => {
                let before = self.word_before(mention);
                matches!(before.as_str(), "in" | "at" | "near" | "to" | "from" | "around")
            }
            // The currency of an amount is a part of it.
            Content::Currency(_) | Content::Unclear => false,
            _ => true,
        }
    }

    /// Whether a mention is certain to be a value: "one" and words in capitals may be none.
    fn is_distinct(&self, mention: &Mention) -> bool {
        match &mention.content {
            Content::Amount(_) => !self.text_of(&mention.span).eq_ignore_ascii_case("one"),
            content @ Content::Token(_) => content.is_id(),
            Content::Quoted(_) | Content::When(_) | Content::Period(_) => true,
            _ => false,
        }
    }
}

/// Puts a part of the prompt in quotes, unless it has its own.
fn quoted(said: &str) -> String {
    let has_own = said.starts_with(['"', '\'', '“', '„', '«', '‘', '`', '״']);
    if has_own { said.to_owned() } else { format!("\"{said}\"") }
}

/// Whether a mention is a word of two to six capitals that is not a currency: "MSFT".
fn is_capitals(mention: &Mention) -> bool {
    matches!(&mention.content, Content::Token(text)
        if (2..=6).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_uppercase()))
}
