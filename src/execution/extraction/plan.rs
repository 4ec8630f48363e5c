//! Which value goes to which parameter.
//!
//! From the surest to the least sure: values that a word names, values that a preposition places in
//! a range, values that only one parameter can hold while it can hold no other. A value that could
//! go to two parameters, or a parameter that two values could fill, is a doubt, and nothing is
//! taken.

use std::ops::Range;

use serde_json::Value;

use super::Source;
use super::cue::{Cue, PREPOSITION, Surroundings, WHOLE_NAME};
use super::mention::{Content, Mention, is_path};
use super::reading::{Reader, Reading};
use super::slot::{Kind, Role, Slot};
use super::text::{is_function_word, stem};

/// A value on its way to a parameter.
#[derive(Clone, Debug)]
pub(super) struct Fill {
    pub value: Value,
    pub source: Source,
    pub how: String,
}

/// Why a parameter has no value although the prompt says something of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Doubt {
    pub why: String,
    pub candidates: Vec<String>,
}

/// What is decided of one prompt so far.
pub(super) struct Plan<'a> {
    pub surroundings: Surroundings<'a>,
    pub slots: &'a [Slot],
    pub reader: Reader<'a>,
    /// Stems of the words of the tool's name and description.
    pub tool_words: &'a [String],
    /// By slot.
    pub fills: Vec<Vec<Fill>>,
    pub doubts: Vec<Option<Doubt>>,
    pub is_given: Vec<bool>,
    /// By mention: it went somewhere, or nobody knows where.
    pub taken: Vec<bool>,
    /// By mention: the first of those that a list of them begins with.
    chains: Vec<usize>,
    /// Parts of the prompt that values and their words take.
    pub spent: Vec<Range<usize>>,
}

/// A mention that wants to be the value of a slot.
#[derive(Clone)]
struct Wish {
    mention: usize,
    cue: Cue,
    reading: Reading,
}

/// The slot that a mention wants, and how surely.
#[derive(Clone)]
struct Wanted {
    slot: usize,
    strength: u8,
    wish: Wish,
}

impl<'a> Plan<'a> {
    pub fn new(
        surroundings: Surroundings<'a>,
        slots: &'a [Slot],
        reader: Reader<'a>,
        tool_words: &'a [String],
    ) -> Self {
        let chains = chains(&surroundings);
        let (many, some) = (slots.len(), surroundings.mentions.len());
        Self {
            fills: vec![Vec::new(); many],
            doubts: vec![None; many],
            is_given: vec![false; many],
            taken: vec![false; some],
            spent: Vec::new(),
            chains,
            surroundings,
            slots,
            reader,
            tool_words,
        }
    }

    /// Gives out what words, prepositions and kinds decide.
    pub fn decide(&mut self) {
        self.choose();
        self.split_repository();
        let wanted: Vec<Option<Wanted>> =
            (0..self.taken.len()).map(|at| self.wanted_in_list(at)).collect();
        for strength in (PREPOSITION..=WHOLE_NAME + PREPOSITION).rev() {
            self.give_named(strength, &wanted);
        }
        self.give_periods();
        while self.give_lone() {}
    }

    pub fn is_open(&self, slot: usize) -> bool {
        self.fills[slot].is_empty() && self.doubts[slot].is_none() && !self.is_given[slot]
    }

    fn mention(&self, at: usize) -> &'a Mention {
        &self.surroundings.mentions[at]
    }

    fn said(&self, span: &Range<usize>) -> String {
        self.surroundings.text[span.clone()].to_owned()
    }

    fn source(&self, span: &Range<usize>) -> Source {
        Source::Prompt { start: span.start, end: span.end, text: self.said(span) }
    }

    /// Takes a mention for a slot, or notes why it cannot be.
    fn give(&mut self, slot: usize, wish: Wish) {
        let span = self.mention(wish.mention).span.clone();
        self.taken[wish.mention] = true;
        self.spend(&span, &wish.cue);
        match wish.reading {
            Reading::Value { value, how } => {
                let fill = Fill { value, source: self.source(&span), how };
                self.fills[slot].push(fill);
            }
            Reading::Unfit(why) => self.doubt(slot, why, vec![self.said(&span)]),
            Reading::Several(candidates) => {
                let why = format!("\"{}\" can mean several", self.said(&span));
                self.doubt(slot, why, candidates);
            }
            Reading::No => {}
        }
    }

    fn spend(&mut self, span: &Range<usize>, cue: &Cue) {
        self.spent.push(span.clone());
        self.spent.extend(cue.span.clone());
    }

    fn doubt(&mut self, slot: usize, why: String, candidates: Vec<String>) {
        self.fills[slot].clear();
        self.doubts[slot] = Some(Doubt { why, candidates });
    }

    /// Several mentions that all could be one slot's value.
    fn doubt_between(&mut self, slot: usize, wishes: &[Wish]) {
        let mut candidates = Vec::new();
        for wish in wishes {
            self.taken[wish.mention] = true;
            let span = self.mention(wish.mention).span.clone();
            self.spend(&span, &wish.cue);
            candidates.push(self.said(&span));
        }
        self.doubt(slot, "several values are said".to_owned(), candidates);
    }

    /// Values that the schema lists, and yes or no.
    fn choose(&mut self) {
        for at in 0..self.slots.len() {
            let slot = &self.slots[at];
            if !self.is_open(at) {
                continue;
            }
            if slot.kind == Kind::Boolean {
                if let Some((span, truth)) = self.surroundings.truth(slot) {
                    let source = self.source(&span);
                    self.fills[at].push(Fill { value: truth.into(), source, how: String::new() });
                    self.spent.push(span);
                }
            } else if slot.kind == Kind::Choice {
                self.choose_value(at);
            }
        }
    }

    fn choose_value(&mut self, at: usize) {
        let slot = &self.slots[at];
        let mut found = self.surroundings.choices(slot, self.slots);
        let best = found.iter().map(|choice| choice.strength).max().unwrap_or(0);
        found.retain(|choice| choice.strength == best);
        let is_bare = best < super::choice::INTRODUCED;
        if found.is_empty() || (is_bare && !slot.required) {
            return;
        }
        let several = found.iter().any(|choice| choice.value != found[0].value);
        if several && !slot.is_list {
            let candidates = found.iter().map(|choice| self.said(&choice.span)).collect();
            self.spent.extend(found.into_iter().map(|choice| choice.whole));
            return self.doubt(at, "several values are said".to_owned(), candidates);
        }
        for choice in found {
            let is_new = self.fills[at].iter().all(|fill| fill.value != choice.value);
            if is_new {
                let fill =
                    Fill { value: choice.value, source: self.source(&choice.span), how: "one of its values".to_owned() };
                self.fills[at].push(fill);
            }
            self.take_within(&choice.span);
            self.spent.push(choice.whole);
        }
    }

    /// What looks like a place or an id and is a choice is not both.
    fn take_within(&mut self, span: &Range<usize>) {
        for (at, mention) in self.surroundings.mentions.iter().enumerate() {
            if mention.span.start < span.end && span.start < mention.span.end {
                self.taken[at] = true;
            }
        }
    }

    /// `owner/name` for a tool that takes the two apart.
    fn split_repository(&mut self) {
        let find = |words: &[&str]| {
            let is_it = |slot: &Slot| slot.words.len() == 1 && slot.has_word(words) && !slot.says("owner/");
            self.slots.iter().position(is_it).filter(|at| self.is_open(*at))
        };
        let (Some(owner), Some(name)) = (find(&["owner", "org", "organization"]), find(&["repo", "repository"])) else {
            return;
        };
        let slugs: Vec<usize> = (0..self.taken.len()).filter(|at| is_slug(self.mention(*at))).collect();
        let [one] = slugs[..] else { return };
        let span = self.mention(one).span.clone();
        let text = self.said(&span);
        let Some((first, second)) = text.split_once('/') else { return };
        for (slot, value, span) in [
            (owner, first, span.start..span.start + first.len()),
            (name, second, span.end - second.len()..span.end),
        ] {
            let how = format!("of {text}");
            let fill = Fill { value: value.into(), source: self.source(&span), how };
            self.fills[slot].push(fill);
        }
        self.taken[one] = true;
        self.spent.push(span);
    }

    /// The slot that the words beside a mention name more surely than any other.
    fn wanted(&self, at: usize) -> Option<Wanted> {
        let mention = self.mention(at);
        let mut best: Option<Wanted> = None;
        let mut is_tie = false;
        for (slot, parameter) in self.slots.iter().enumerate() {
            let cue = self.surroundings.cue(mention, parameter, self.slots);
            if cue.strength == 0 || cue.conflicts {
                continue;
            }
            let reading = self.reader.read(mention, parameter, true);
            if reading == Reading::No {
                continue;
            }
            let strength = cue.strength;
            match best.as_ref().map_or(0, |best| best.strength).cmp(&strength) {
                std::cmp::Ordering::Less => {
                    is_tie = false;
                    best = Some(Wanted { slot, strength, wish: Wish { mention: at, cue, reading } });
                }
                std::cmp::Ordering::Equal => is_tie = true,
                std::cmp::Ordering::Greater => {}
            }
        }
        best.filter(|_| !is_tie)
    }

    /// The same; a value of a list that nothing names goes where the list's first goes.
    fn wanted_in_list(&self, at: usize) -> Option<Wanted> {
        let head = self.chains[at];
        self.wanted(at).or_else(|| {
            let of_head = self.wanted(head).filter(|_| head != at)?;
            let reading = self.reader.read(self.mention(at), &self.slots[of_head.slot], true);
            let wish = Wish { mention: at, cue: Cue::default(), reading };
            (wish.reading != Reading::No).then_some(Wanted { wish, ..of_head })
        })
    }

    /// Gives out what is named with a strength.
    fn give_named(&mut self, strength: u8, wanted: &[Option<Wanted>]) {
        let mut wishes: Vec<Vec<Wish>> = self.slots.iter().map(|_| Vec::new()).collect();
        let free = wanted.iter().enumerate().filter(|(at, _)| !self.taken[*at]);
        for wanted in free.filter_map(|(_, wanted)| wanted.as_ref()) {
            if wanted.strength == strength {
                wishes[wanted.slot].push(wanted.wish.clone());
            }
        }
        for (slot, mut wishes) in wishes.into_iter().enumerate() {
            if wishes.is_empty() || !self.is_open(slot) {
                continue;
            }
            if wishes.len() == 1 || self.slots[slot].is_list {
                wishes.into_iter().for_each(|wish| self.give(slot, wish));
            } else {
                wishes.sort_by_key(|wish| wish.mention);
                self.doubt_between(slot, &wishes);
            }
        }
    }

    /// "next month" is the first day and the last.
    fn give_periods(&mut self) {
        for at in (0..self.taken.len()).filter(|at| !self.taken[*at]).collect::<Vec<_>>() {
            let Content::Period(period) = &self.mention(at).content else { continue };
            let ends = |role| {
                let is_end = |slot: &usize| {
                    self.slots[*slot].kind == Kind::Day && self.slots[*slot].role == Some(role) && self.is_open(*slot)
                };
                let mut ends = (0..self.slots.len()).filter(is_end);
                ends.next().filter(|_| ends.next().is_none())
            };
            let (Some(start), Some(end)) = (ends(Role::Start), ends(Role::End)) else { continue };
            let span = self.mention(at).span.clone();
            for (slot, is_first) in [(start, true), (end, false)] {
                let day = |reading: &(jiff::civil::Date, jiff::civil::Date)| {
                    let form = self.slots[slot].day_form.as_deref().unwrap_or("%Y-%m-%d");
                    (if is_first { reading.0 } else { reading.1 }).strftime(form).to_string()
                };
                let days: Vec<String> = period.readings.iter().map(day).collect();
                let how = if is_first { "its first day" } else { "its last day" };
                let reading = match &days[..] {
                    [day] => Reading::Value { value: day.clone().into(), how: how.to_owned() },
                    _ => Reading::Several(days),
                };
                let before = self.surroundings.before(span.start);
                let cue = Cue { span: before.first().filter(|w| is_function_word(&w.lower)).map(|w| w.span.start..span.end), ..Cue::default() };
                self.give(slot, Wish { mention: at, cue, reading });
            }
        }
    }

    /// Gives out one value, or one list of them, that can go nowhere else; whether there was one.
    fn give_lone(&mut self) -> bool {
        let free: Vec<usize> = (0..self.taken.len()).filter(|at| !self.taken[*at]).collect();
        let open: Vec<usize> = (0..self.slots.len()).filter(|slot| self.is_open(*slot)).collect();
        let holders: Vec<Vec<(usize, Reading)>> =
            free.iter().map(|at| self.holders(*at, &open)).collect();
        for &slot in &open {
            let reading = |at: usize| holders[at].iter().find(|(other, _)| *other == slot);
            let mut held: Vec<usize> = (0..free.len()).filter(|at| reading(*at).is_some()).collect();
            // A bare number beside "2 km" is none for a parameter in kilometres.
            let fits = |at: &usize| !matches!(reading(*at), Some((_, Reading::Unfit(_))));
            let in_list_of = |a: usize, b: usize| self.chains[free[a]] == self.chains[free[b]];
            if let Some(one) = held.iter().copied().find(fits) {
                held.retain(|at| fits(at) || in_list_of(*at, one));
            }
            let is_one_list = self.slots[slot].is_list && held.iter().all(|at| in_list_of(*at, held[0]));
            if held.is_empty() || !(held.len() == 1 || is_one_list) {
                continue;
            }
            if !held.iter().all(|at| self.is_only(slot, self.mention(free[*at]), &holders[*at])) {
                continue;
            }
            for at in held {
                let reading = holders[at].iter().find(|(other, _)| *other == slot);
                let reading = reading.map_or(Reading::No, |(_, reading)| reading.clone());
                let cue = self.lead(free[at]);
                self.give(slot, Wish { mention: free[at], cue, reading });
            }
            return true;
        }
        false
    }

    /// A preposition before a value goes with it.
    fn lead(&self, at: usize) -> Cue {
        let span = &self.mention(at).span;
        let before = self.surroundings.before(span.start);
        let is_lead = |word: &&&super::text::Word| {
            matches!(word.lower.as_str(), "in" | "on" | "at" | "for" | "from" | "to" | "by" | "near" | "with" | "of")
        };
        let lead = before.first().filter(is_lead).map(|word| word.span.start..span.end);
        Cue { span: lead, ..Cue::default() }
    }

    /// The open slots that can hold a mention that no word names.
    fn holders(&self, at: usize, open: &[usize]) -> Vec<(usize, Reading)> {
        let mention = self.mention(at);
        let mut holders: Vec<(usize, Reading)> = Vec::new();
        for &index in open {
            let slot = &self.slots[index];
            // The prompt's own words may be meant rather than a quote in them.
            if slot.kind == Kind::Query || self.surroundings.cue(mention, slot, self.slots).conflicts {
                continue;
            }
            let reading = self.reader.read(mention, slot, false);
            let is_value = match &mention.content {
                Content::Amount(_) => self.is_free(mention, slot),
                Content::Path(path) => is_path(path) && self.is_placed(mention, path),
                _ => true,
            };
            if reading != Reading::No && is_value {
                holders.push((index, reading));
            }
        }
        let is_special = |(slot, _): &(usize, Reading)| !self.slots[*slot].kind.is_text();
        if matches!(mention.content, Content::Quoted(_)) && holders.iter().any(is_special) {
            holders.retain(is_special);
        }
        holders
    }

    /// A value that a parameter could hold, and that none took for certain, must not be dropped:
    /// events "on 5 May" are not all events. Of numbers and ids this holds for what is required.
    pub fn doubt_unused(&mut self) {
        let open: Vec<usize> = (0..self.slots.len()).filter(|slot| self.is_open(*slot)).collect();
        let free: Vec<usize> = (0..self.taken.len()).filter(|at| !self.taken[*at]).collect();
        let holders: Vec<Vec<(usize, Reading)>> =
            free.iter().map(|at| self.holders(*at, &open)).collect();
        for &slot in &open {
            let holds = |at: &usize| holders[*at].iter().any(|(other, _)| *other == slot);
            let is_certain = |at: &usize| {
                let content = &self.mention(free[*at]).content;
                self.slots[slot].required
                    || matches!(content, Content::Url(_) | Content::Email(_) | Content::Path(_) | Content::When(_))
            };
            let held: Vec<usize> = (0..free.len()).filter(holds).filter(is_certain).collect();
            let Some(&first) = held.first() else { continue };
            let said: Vec<String> =
                held.iter().map(|at| self.said(&self.mention(free[*at]).span)).collect();
            let rivals: Vec<&str> =
                holders[first].iter().map(|(other, _)| self.slots[*other].name.as_str()).collect();
            let why = match holders[first].iter().find(|(other, _)| *other == slot) {
                _ if held.len() > 1 => "several values are said".to_owned(),
                Some((_, Reading::Unfit(why))) => why.clone(),
                _ if rivals.len() > 1 => format!("\"{}\" may be meant for {}", said[0], rivals.join(" or ")),
                _ => format!("\"{}\" may be meant for it", said[0]),
            };
            self.doubts[slot] = Some(Doubt { why, candidates: said });
        }
    }

    /// Whether a mention that only some slots can hold is meant for this one.
    fn is_only(&self, slot: usize, mention: &Mention, holders: &[(usize, Reading)]) -> bool {
        let this = &self.slots[slot];
        let others = || holders.iter().filter(|(other, reading)| *other != slot && !(matches!(reading, Reading::Unfit(_)) && self.slots[*other].kind.is_number()));
        let is_required = |at: usize| self.slots[at].required;
        let is_bound = matches!(this.role, Some(_)) && matches!(this.kind, Kind::Day | Kind::Moment | Kind::Integer | Kind::Number);
        match &mention.content {
            // Whoever counts in another unit is no other holder.
            Content::Amount(_) if holders.iter().any(|(other, reading)| *other == slot && matches!(reading, Reading::Unfit(_))) && others().count() > 0 => false,
            Content::Amount(amount) if !this.required => {
                let is_typed = !amount.units.is_empty() || amount.has_hash || this.is_money();
                is_typed && !is_bound && others().count() == 0
            }
            Content::Amount(_) => others().count() == 0,
            _ if is_bound && !this.required => false,
            _ => others().all(|(other, _)| this.required && !is_required(*other)),
        }
    }

    /// Whether a number stands for itself rather than count or number something else.
    fn is_free(&self, mention: &Mention, slot: &Slot) -> bool {
        let Content::Amount(amount) = &mention.content else { return true };
        let is_of_slot = |word: &str| {
            let about = slot.description.as_deref().unwrap_or_default();
            let mut words = super::text::words(about).into_iter().map(|word| word.lower).chain(slot.words.iter().cloned());
            words.any(|other| stem(&other) == stem(word))
        };
        let after = self.surroundings.after(mention.span.end);
        let counts = after.first().is_some_and(|word| !is_function_word(&word.lower) && !is_of_slot(&word.lower));
        if amount.units.is_empty() && counts {
            return false;
        }
        let before = self.surroundings.before(mention.span.start);
        let Some(word) = before.first() else { return true };
        let is_command = self.surroundings.words.first().is_some_and(|first| first.span == word.span);
        let is_measured = slot.unit.is_some_and(|unit| amount.units.iter().any(|said| said.dimension() == unit.dimension()));
        amount.has_hash
            || is_measured
            || is_function_word(&word.lower)
            || is_command
            || is_of_slot(&word.lower)
            || self.tool_words.contains(&stem(&word.lower))
    }

    /// Whether two words with a slash between them stand where a path stands.
    fn is_placed(&self, mention: &Mention, path: &str) -> bool {
        if !is_slug(mention) {
            return true;
        }
        let before = self.surroundings.before(mention.span.start);
        let has_letters = path.chars().all(|c| c.is_alphabetic() || c == '/');
        let nearest = before.first().map_or("", |word| word.lower.as_str());
        !has_letters || matches!(nearest, "in" | "from" | "of" | "at" | "to" | "into" | "under")
    }
}

/// One slash between two names, neither a root nor an ending of a file.
fn is_slug(mention: &Mention) -> bool {
    let Content::Path(path) = &mention.content else { return false };
    let starts = path.starts_with(|c: char| c.is_alphanumeric());
    let mut parts = path.split('/');
    let (first, second) = (parts.next(), parts.next());
    let is_name = |part: Option<&str>| part.is_some_and(|part| !part.is_empty());
    starts && is_name(first) && is_name(second) && parts.next().is_none()
}

/// By mention, the first of the list that it is in: "1, 2 and 3".
fn chains(surroundings: &Surroundings<'_>) -> Vec<usize> {
    let mentions = surroundings.mentions;
    let mut chains: Vec<usize> = (0..mentions.len()).collect();
    for at in 1..mentions.len() {
        let same = |before: &usize| mentions[*before].content.kind() == mentions[at].content.kind();
        let Some(before) = (0..at).rev().find(same) else { continue };
        let (end, start) = (mentions[before].span.end, mentions[at].span.start);
        if end > start {
            continue;
        }
        let gap = surroundings.text[end..start].trim().to_lowercase();
        let is_pair = gap == "and" && {
            let of_first = surroundings.before(mentions[before].span.start);
            of_first.first().is_some_and(|word| word.lower == "between")
        };
        if matches!(gap.as_str(), "," | "and" | ", and" | "or" | ", or" | "&" | "/") && !is_pair {
            chains[at] = chains[before];
        }
    }
    chains
}
