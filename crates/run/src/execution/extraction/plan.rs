//! Assigns values to parameters.
//!
//! Values are assigned in the order of certainty: values that a word names, values that a
//! preposition places in a range, and values that fit exactly one parameter, which no other value
//! fits. If a value fits two parameters, or two values fit a parameter, none is assigned and a
//! question is asked.

mod choices;
mod counts;
mod direct_object;
mod identifiers;
mod left_over;
mod name_fit;
mod names;
mod names_left;
mod pairs;
mod phrase_left;
mod rooms;
mod states;
mod unnamed;

use std::ops::Range;

use serde_json::Value;

use super::cue::{Cue, PREPOSITION, PromptContext, WHOLE_NAME};
use super::flag::leads_to_order;
use super::interpretation::{Interpretation, Interpreter};
use super::mention::{Amount, Content, Mention};
use super::slot::{Kind, Slot, is_abbreviation, is_lettered};
use super::text::{is_article, is_function_word, is_listed, joins_list, name_words, stem};
use super::unit::{Dimension, Unit};
use super::{Question, Source, TakenValue};
use toolroute_catalog::{Effects, same_things};

/// Verbs in names of tools that destroy. A prompt may say another: "fold" for `merge`.
const DESTROYING: &str = "cancel clear close delete destroy drop end erase kill merge purge remove reset \
     revoke stop wipe";

/// Verbs in names of tools that set what they are told.
const SETTING: &str = "adjust change edit modify set update";

/// The decisions on one prompt so far.
pub(super) struct Plan<'a> {
    pub context: PromptContext<'a>,
    pub slots: &'a [Slot],
    pub reader: Interpreter<'a>,
    /// Stems of the words of the tool's name and description.
    pub tool_words: &'a [String],
    /// How many of them are those of its name.
    named: usize,
    pub effects: Effects,
    /// Whether a verb of the tool's name ends something.
    ends: bool,
    /// The nouns of the tool's name that the prompt does not have.
    unsaid: Vec<String>,
    /// The values of each slot.
    pub assignments: Vec<Vec<TakenValue>>,
    /// Why a slot has no value although the prompt mentions one.
    pub open_questions: Vec<Option<Question>>,
    pub is_given: Vec<bool>,
    /// For each mention, whether it was assigned or is part of a doubt.
    pub taken: Vec<bool>,
    /// For each mention, the first mention of its list.
    chains: Vec<usize>,
    /// Parts of the prompt that belong to assigned or doubtful values.
    pub spent: Vec<Range<usize>>,
}

/// A mention that may become the value of a slot.
#[derive(Clone)]
struct Claim {
    mention: usize,
    cue: Cue,
    reading: Interpretation,
}

/// The slot that a mention may fill, and the strength of the cue.
#[derive(Clone)]
struct SlotMatch {
    slot: usize,
    strength: u8,
    claim: Claim,
}

impl<'a> Plan<'a> {
    pub fn new(
        context: PromptContext<'a>,
        slots: &'a [Slot],
        reader: Interpreter<'a>,
        (tool, effects, tool_words): (&str, Effects, &'a [String]),
    ) -> Self {
        let is_said = |word: &String| {
            let mut said = context.words.iter();
            is_function_word(word) || said.any(|said| stem(&said.lower) == stem(word))
        };
        let mut unsaid = name_words(tool);
        let named = unsaid.len();
        let ends = unsaid.iter().any(|word| is_listed(word, DESTROYING));
        unsaid.retain(|word| !is_said(word) && !is_listed(word, DESTROYING));
        let chains = chains(&context);
        let (many, some) = (slots.len(), context.mentions.len());
        Self {
            assignments: vec![Vec::new(); many],
            open_questions: vec![None; many],
            is_given: vec![false; many],
            taken: vec![false; some],
            spent: Vec::new(),
            chains,
            context,
            slots,
            reader,
            tool_words,
            named,
            effects,
            ends,
            unsaid,
        }
    }

    /// Assigns values by words, prepositions and kinds.
    pub fn decide(&mut self) {
        for at in 0..self.taken.len() {
            if self.context.is_old(at, self.slots) {
                self.taken[at] = true;
                // The words before the old value are said of the new one.
                self.chains[at + 1] = at;
            }
        }
        self.give_statement();
        self.choose();
        self.give_state();
        self.give_room();
        self.split_repository();
        self.give_channel();
        self.give_periods(true);
        self.give_clock_range();
        let wanted: Vec<Option<SlotMatch>> =
            (0..self.taken.len()).map(|at| self.claim_in_list(at)).collect();
        for strength in (PREPOSITION..=WHOLE_NAME + PREPOSITION).rev() {
            self.give_named(strength, &wanted);
        }
        self.give_pairs();
        self.give_after_names();
        self.give_called();
        self.give_reason();
        self.give_counts();
        while self.give_unnamed() {}
        self.give_day_as_said();
        self.give_identifier();
        self.give_left_over();
    }

    pub fn is_open(&self, slot: usize) -> bool {
        self.assignments[slot].is_empty()
            && self.open_questions[slot].is_none()
            && !self.is_given[slot]
    }

    /// Whether any parameter has a value or a question.
    pub fn has_any(&self) -> bool {
        self.is_given.contains(&true)
            || self.assignments.iter().any(|assignments| !assignments.is_empty())
            || self.open_questions.iter().any(Option::is_some)
    }

    /// Whether the tool is named after setting something.
    fn sets(&self) -> bool {
        SETTING.split(' ').any(|verb| self.tool_words[..self.named].contains(&stem(verb)))
    }

    fn mention(&self, at: usize) -> &'a Mention {
        &self.context.mentions[at]
    }

    fn text_of(&self, span: &Range<usize>) -> String {
        self.context.text[span.clone()].to_owned()
    }

    /// Assigns a value from a part of the prompt to a slot.
    pub fn take(&mut self, slot: usize, value: impl Into<Value>, span: &Range<usize>, how: &str) {
        let source = Source::Prompt { start: span.start, end: span.end, text: self.text_of(span) };
        self.assign(slot, value.into(), source, how);
    }

    pub fn assign(&mut self, slot: usize, value: Value, source: Source, how: &str) {
        let (Slot { name, is_list, .. }, taken) = (&self.slots[slot], &mut self.assignments[slot]);
        let name = if *is_list { format!("{name}/{}", taken.len()) } else { name.clone() };
        taken.push(TakenValue { name, value, source, how: how.to_owned() });
    }

    /// Assigns a mention to a slot, or notes why it is invalid.
    fn give(&mut self, slot: usize, claim: Claim) {
        let span = self.mention(claim.mention).span.clone();
        self.taken[claim.mention] = true;
        self.spend(&span, &claim.cue);
        let counts_money = self.slots[slot].unit.map(Unit::dimension) == Some(Dimension::Money);
        for (at, mention) in self.context.mentions.iter().enumerate() {
            let is_within = span.start <= mention.span.start && mention.span.end <= span.end;
            self.taken[at] |= counts_money && is_within;
        }
        let lead = self.word_before(self.mention(claim.mention));
        let is_amount = matches!(self.mention(claim.mention).content, Content::Amount(_));
        if is_amount
            && !self.effects.reads_only()
            && is_listed(&lead, "about almost approximately around nearly roughly")
        {
            return self.ask_about(slot, "it is not said exactly", vec![self.text_of(&span)]);
        }
        if is_amount && is_listed(&lead, "double half triple twice") {
            let why = format!("it is said with \"{lead}\"");
            return self.ask_about(slot, &why, vec![self.text_of(&span)]);
        }
        match claim.reading {
            Interpretation::Value { value, how } => self.take(slot, value, &span, &how),
            Interpretation::Invalid(why) => self.ask_about(slot, &why, vec![self.text_of(&span)]),
            Interpretation::Ambiguous(candidates) => {
                let why = format!("\"{}\" can mean several", self.text_of(&span));
                self.ask_about(slot, &why, candidates);
            }
            Interpretation::NotApplicable => {}
        }
    }

    /// Marks a value and the words that belong to it as spent.
    fn spend(&mut self, span: &Range<usize>, cue: &Cue) {
        self.spent.push(span.clone());
        let Some(mut whole) = cue.span.clone() else { return };
        let before = self.context.before(whole.start);
        let mut before = before.into_iter().peekable();
        while let Some(article) = before.next_if(|word| is_article(&word.lower)) {
            whole.start = article.span.start;
        }
        self.spent.push(whole);
    }

    /// Returns the cue for a mention and a slot. A mention that the prompt denies or that is
    /// relative conflicts with every slot.
    fn cue(&self, mention: &Mention, slot: &Slot) -> Cue {
        // "The priority of T-32" is that of a thing, and no id.
        let is_text = slot.kind == Kind::Text;
        if is_text && mention.content.is_id() && self.word_before(mention) == "of" {
            return Cue::default();
        }
        // "Lower the budget to 20" gives a number, and no id of a budget.
        let is_number = |other: &Slot| matches!(other.kind, Kind::Integer | Kind::Number);
        let is_value = slot.kind == Kind::Id
            && matches!(mention.content, Content::Amount(_))
            && self.word_before(mention) == "to"
            && self.slots.iter().any(is_number);
        if is_value {
            return Cue { conflicts: true, ..Cue::default() };
        }
        let cue = self.context.cue(mention, slot, self.slots);
        let start = cue.span.as_ref().map_or(mention.span.start, |span| span.start);
        if cue.strength > 0 && self.is_only_the_order(start, mention, slot) {
            return Cue::default();
        }
        let denies = |at: usize| self.context.denies(at);
        let is_unnamed = cue.strength <= PREPOSITION;
        let is_other_kind =
            mention.content.token().is_some_and(|id| self.is_of_another_kind(id, slot));
        if is_unnamed && self.is_of_another(mention, slot) || is_other_kind {
            return Cue { conflicts: true, ..Cue::default() };
        }
        let is_relative = matches!(&mention.content, Content::Amount(amount)
            if !slot.is_change() && self.is_relative(&mention.span, amount, slot)
                || self.is_ahead(&mention.span, amount) && !self.is_of_later(slot));
        if is_relative || denies(mention.span.start) || denies(start) {
            return Cue { conflicts: true, ..Cue::default() };
        }
        cue
    }

    /// Whether the word that seems to name a parameter is the verb of the order, and another parameter may take the
    /// value: "tag "Taxes" with finance", "print hook.gcode" for a printer.
    fn is_only_the_order(&self, start: usize, mention: &Mention, slot: &Slot) -> bool {
        let is_text =
            |slot: &Slot| slot.kind.is_text() || matches!(slot.kind, Kind::Path | Kind::Id);
        let is_rival = |other: &Slot| other.required && other.name != slot.name && is_text(other);
        matches!(mention.content, Content::Quoted(_) | Content::Token(_) | Content::Path(_))
            && self.is_order_verb(start)
            && self.slots.iter().any(is_rival)
    }

    /// Whether the verb of the order begins at a place of the prompt, and is in the tool's name.
    fn is_order_verb(&self, start: usize) -> bool {
        let mut words = self.context.words.iter();
        let verb = words.find(|word| !leads_to_order(&word.lower));
        verb.is_some_and(|verb| verb.span.start == start && self.is_in_name(&verb.lower))
    }

    /// Whether an id is that of another thing than the parameter's, so that a tool that may change
    /// something must not act on it: "remove driver D-12" for a ticket. The prompt or the id must also say
    /// each noun of the tool's name: "delete D-12" for `delete_ticket` says no ticket, and "delete T-12"
    /// may. If the tool only ends something, as `cancel_booking` does, an id is enough that the schema shows.
    fn is_of_another(&self, mention: &Mention, slot: &Slot) -> bool {
        let Content::Token(id) = &mention.content else { return false };
        if slot.kind != Kind::Id || self.effects.reads_only() {
            return false;
        }
        let before = self.context.before(mention.span.start);
        let mut before = before.iter().skip_while(|word| is_listed(&word.lower, "id no nr number"));
        let noun = before.next().filter(|word| !is_function_word(&word.lower));
        // The first word that is none of prose is what to do, if it has no article.
        let has_article = before.clone().next().is_some_and(|word| is_article(&word.lower));
        let begins = !has_article
            && before.all(|word| {
                is_function_word(&word.lower) || is_listed(&word.lower, "kindly then want")
            });
        let is_other_slot = |word: &str| {
            let has = |other: &&Slot| other.nouns().any(|noun| stem(noun) == stem(word));
            !slot.is_about(word) && self.slots.iter().any(|other| has(&other))
        };
        let is_verb = |word: &str| begins || self.tool_words.contains(&stem(word));
        // "The spam ticket WEB-7" for an issue.
        let is_same = |word: &str| same_things(word).any(|name| slot.is_about(name));
        match noun.map(|word| word.lower.as_str()) {
            Some(word) if is_other_slot(word) => true,
            Some(word) if !is_verb(word) && !slot.is_about(word) => !is_same(word),
            _ => {
                let is_said = self.unsaid.is_empty()
                    || is_abbreviation(id, self.unsaid.iter().map(String::as_str));
                // "Cancel V-1" is no order for `cancel_booking`.
                let is_shown = slot.shows(id) || slot.resembles(id);
                let is_strange = is_lettered(id) && !is_shown && !slot.abbreviates(id);
                let is_unknown = self.effects.destroys() && !is_shown;
                (is_unknown || (self.ends && is_strange)) && !is_said
            }
        }
    }

    /// Whether an id, by the form of those that the schema shows, is that of another kind of thing than the one
    /// that the tool ends or destroys: "cancel reservation L-2091" where reservations are shown as `RS-10`.
    fn is_of_another_kind(&self, id: &str, slot: &Slot) -> bool {
        let is_final = self.effects.destroys() || self.ends;
        is_final && slot.kind == Kind::Id && slot.shows_another_kind(id)
    }

    /// Whether an amount is a difference or a rate and not a value: "by 2 degrees", "5 more", "at
    /// 80 EUR each".
    fn is_relative(&self, span: &Range<usize>, amount: &Amount, slot: &Slot) -> bool {
        const COMPARATIVES: &str = "warmer colder cooler hotter higher lower more less fewer later \
     earlier longer shorter faster slower older younger bigger larger smaller cheaper";
        let before = self.context.before(span.start);
        let after = self.context.after(span.end);
        let is_price = amount.units.iter().any(|unit| unit.dimension() == Dimension::Money);
        let is_at = before.first().is_some_and(|word| word.lower == "at");
        // "Add 20 to the stock" is not what a tool does that sets it.
        let is_added =
            before.first().is_some_and(|word| is_listed(&word.lower, "add deduct subtract"))
                && after.iter().take(2).any(|word| is_listed(&word.lower, "from to"))
                && !self.tool_words.contains(&stem(&before[0].lower));
        let is_rate = is_at && !slot.has_word("price fare fee")
            || after
                .first()
                .is_some_and(|word| is_listed(&word.lower, "per each apiece an a every"));
        // "1,200 euros a month" for a monthly rent.
        let is_of_slot = || after.get(1).is_some_and(|unit| slot.is_for_each(&unit.lower));
        is_added
            || (is_price && is_rate && !is_of_slot())
            || before.first().is_some_and(|word| word.lower == "by")
            || after.first().is_some_and(|word| is_listed(&word.lower, COMPARATIVES))
    }

    /// Whether an amount is the time until something: "in 5 minutes".
    fn is_ahead(&self, span: &Range<usize>, amount: &Amount) -> bool {
        let is_time = |unit: &Unit| matches!(unit.dimension(), Dimension::Time | Dimension::Months);
        let before = self.context.before(span.start);
        amount.units.iter().any(is_time) && before.first().is_some_and(|word| word.lower == "in")
    }

    /// Whether a slot, or the tool, is about a later time: a delay, a reminder. "Start the mixer in 5
    /// minutes" does not say how long it runs.
    fn is_of_later(&self, slot: &Slot) -> bool {
        const LATER: &str =
            "after alarm countdown delay due expir later remind schedul snooz timer ttl until wait";
        let about = slot.description.as_deref().unwrap_or_default().to_lowercase();
        let mut words = about
            .split(|c: char| !c.is_alphanumeric())
            .chain(slot.words.iter().chain(self.tool_words).map(String::as_str));
        words.any(|word| word == "in" || LATER.split(' ').any(|begin| word.starts_with(begin)))
    }

    pub fn ask_about(&mut self, slot: usize, why: &str, candidates: Vec<String>) {
        self.assignments[slot].clear();
        let question = self.slots[slot].question(why);
        self.open_questions[slot] = Some(Question { candidates, ..question });
    }

    /// Notes a doubt between several mentions for one slot.
    fn doubt_between(&mut self, slot: usize, claims: &[Claim]) {
        let mut candidates = Vec::new();
        for claim in claims {
            self.taken[claim.mention] = true;
            let span = self.mention(claim.mention).span.clone();
            self.spend(&span, &claim.cue);
            candidates.push(self.text_of(&span));
        }
        self.ask_about(slot, "several values are said", candidates);
    }

    /// Returns the slot that the words beside a mention name most strongly, unless there is a tie.
    fn wanted(&self, at: usize) -> Option<SlotMatch> {
        let mention = self.mention(at);
        let mut best: Option<SlotMatch> = None;
        let mut is_tie = false;
        for (slot, parameter) in self.slots.iter().enumerate() {
            let cue = self.cue(mention, parameter);
            if cue.strength == 0 || cue.conflicts {
                continue;
            }
            // A preposition alone does not determine the kind of value.
            let is_named = cue.strength > PREPOSITION || parameter.kind == Kind::Place;
            let reading = self.reader.read(mention, parameter, is_named);
            if reading == Interpretation::NotApplicable {
                continue;
            }
            let strength = cue.strength;
            match best.as_ref().map_or(0, |best| best.strength).cmp(&strength) {
                std::cmp::Ordering::Less => {
                    is_tie = false;
                    best = Some(SlotMatch {
                        slot,
                        strength,
                        claim: Claim { mention: at, cue, reading },
                    });
                }
                std::cmp::Ordering::Equal => is_tie = true,
                std::cmp::Ordering::Greater => {}
            }
        }
        best.filter(|_| !is_tie)
    }

    /// Like `wanted`, but a value in a list that no word names follows the first value of the list.
    fn claim_in_list(&self, at: usize) -> Option<SlotMatch> {
        let head = self.chains[at];
        self.wanted(at).or_else(|| {
            let of_head = self.wanted(head).filter(|_| head != at)?;
            let reading = self.reader.read(self.mention(at), &self.slots[of_head.slot], true);
            let claim = Claim { mention: at, cue: Cue::default(), reading };
            (claim.reading != Interpretation::NotApplicable)
                .then_some(SlotMatch { claim, ..of_head })
        })
    }

    /// Assigns the mentions whose cues have the given strength.
    fn give_named(&mut self, strength: u8, wanted: &[Option<SlotMatch>]) {
        let mut claims: Vec<Vec<Claim>> = self.slots.iter().map(|_| Vec::new()).collect();
        let free = wanted.iter().enumerate().filter(|(at, _)| !self.taken[*at]);
        for wanted in free.filter_map(|(_, wanted)| wanted.as_ref()) {
            if wanted.strength == strength {
                claims[wanted.slot].push(wanted.claim.clone());
            }
        }
        for (slot, mut claims) in claims.into_iter().enumerate() {
            if claims.is_empty() || !self.is_open(slot) {
                continue;
            }
            if claims.len() == 1 || self.slots[slot].is_list {
                claims.into_iter().for_each(|claim| self.give(slot, claim));
            } else {
                claims.sort_by_key(|claim| claim.mention);
                self.doubt_between(slot, &claims);
            }
        }
    }
}

/// Returns for each mention the first mention of its list, as in "1, 2 and 3".
fn chains(context: &PromptContext<'_>) -> Vec<usize> {
    let mentions = context.mentions;
    let mut chains: Vec<usize> = (0..mentions.len()).collect();
    for at in 1..mentions.len() {
        let same = |before: &usize| mentions[*before].content.kind() == mentions[at].content.kind();
        let Some(before) = (0..at).rev().find(same) else { continue };
        let (end, start) = (mentions[before].span.end, mentions[at].span.start);
        if end > start {
            continue;
        }
        if joins_list(&context.text[end..start]) {
            chains[at] = chains[before];
        }
    }
    chains
}
