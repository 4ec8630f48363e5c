//! Cues: the words beside a value that indicate which parameter it is for.

use std::ops::Range;

use toolroute_catalog::{same_things, writes};

use super::mention::{Content, Mention};
use super::slot::{Kind, Role, Slot};
use super::text::{Word, is_function_word, is_listed, singular, stem};
use super::unit::Dimension;

/// The cue that the words beside a value give for a parameter. A strength of zero is no cue.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cue {
    pub strength: u8,
    /// The range of the value with the words that belong to it: name, prepositions, the noun that
    /// is counted.
    pub span: Option<Range<usize>>,
    /// Whether the words exclude this parameter.
    pub conflicts: bool,
}

/// Strengths of cues: the whole name, a noun of the name, a preposition alone. A preposition that
/// fits the end of the range that the parameter is adds [`PREPOSITION`].
pub(super) const WHOLE_NAME: u8 = 6;
pub(super) const NOUN: u8 = 3;
pub(super) const PREPOSITION: u8 = 1;

/// Words that may stand between a name and its value.
const CONNECTORS: &str = "a an are as at be equal equals exactly is number no of on the to was";

/// Words for people who are counted.
pub(super) const PEOPLE: &str = "adult attendee cover diner guest head participant passenger people person player rider \
     seat traveler traveller visitor";

/// The most words before a value that are read.
const REACH: usize = 7;

/// A prompt, its words and its values.
pub(super) struct PromptContext<'a> {
    pub text: &'a str,
    pub words: &'a [Word],
    pub mentions: &'a [Mention],
    /// Nouns for the tool's results, from its description.
    pub tool_nouns: &'a [String],
    /// Whether the tool only reads, so that "under 500" may be its largest value 500.
    pub reads_only: bool,
}

/// A preposition before a value that marks it as the start or the end of a range.
pub(super) struct Preposition {
    pub role: Role,
    /// The number of its words.
    pub length: usize,
    /// Whether it excludes the value itself, as "under 5" does.
    pub is_strict: bool,
}

/// Prepositions by their role and whether they are strict, separated by bars.
const PREPOSITIONS: [(Role, bool, &str); 4] = [
    (
        Role::Start,
        false,
        "at least|no less than|starting from|starting on|starting|from|since|after|between|minimum",
    ),
    (Role::Start, true, "more than|greater than|above|over"),
    (
        Role::End,
        false,
        "at most|up to|no more than|to|into|until|till|through|before|by|maximum|within",
    ),
    (Role::End, true, "less than|fewer than|below|under"),
];

/// Whether a mention is a word or a name such as "GitHub", and no value that words stand beside.
fn is_word(mention: &Mention) -> bool {
    mention
        .content
        .token()
        .is_some_and(|token| !token.contains(|c: char| c.is_ascii_digit() || c == '_' || c == '#'))
}

impl PromptContext<'_> {
    /// Whether the noun before an id says that it is one of something else than the slot: "appointment A-5512" for
    /// `patient_id`.
    pub fn is_of_other(&self, mention: &Mention, slot: &Slot) -> bool {
        let before = self.before(mention.span.start);
        let Some(noun) = before.first().map(|word| singular(&word.lower)) else { return false };
        let is_known = |known: &str| {
            slot.words.iter().any(|word| word == known || *word == stem(known))
                || self.tool_nouns.iter().any(|of_tool| of_tool == known)
        };
        let names_entity =
            slot.words.iter().any(|word| !matches!(word.as_str(), "id" | "ids" | "key"));
        let is_noun = noun.len() > 3 && noun.bytes().all(|byte| byte.is_ascii_lowercase());
        let is_verb = before.len() < 2 || writes(&noun) || is_function_word(&noun);
        slot.kind == Kind::Id
            && names_entity
            && is_noun
            && !is_verb
            && !is_known(&noun)
            && !same_things(&noun).any(is_known)
    }

    /// Returns some words before a byte offset, the nearest first, back to a comma, the beginning of the sentence or the
    /// previous value.
    pub fn before(&self, at: usize) -> Vec<&Word> {
        let mentions = self.mentions.iter().filter(|mention| !is_word(mention));
        let ends = mentions.map(|mention| mention.span.end).filter(|end| *end <= at);
        let barrier = ends.max().unwrap_or(0);
        let mut words: Vec<&Word> = Vec::new();
        let mut edge = at;
        let until = self.words.partition_point(|word| word.span.end <= at);
        for word in self.words[..until].iter().rev().take(REACH) {
            if word.span.start < barrier || self.breaks(word.span.end..edge) {
                break;
            }
            edge = word.span.start;
            words.push(word);
        }
        words
    }

    /// Returns up to three words after a byte offset, up to a comma, the end of the sentence or the
    /// next value.
    pub fn after(&self, at: usize) -> Vec<&Word> {
        let mentions = self.mentions.iter().filter(|mention| !is_word(mention));
        let next = mentions.map(|mention| mention.span.start).filter(|start| *start >= at).min();
        let mut words: Vec<&Word> = Vec::new();
        let mut edge = at;
        let from = self.words.partition_point(|word| word.span.start < at);
        for word in self.words[from..].iter().take(3) {
            let gap = &self.text[edge..word.span.start];
            if next.is_some_and(|next| word.span.end > next)
                || gap.contains([',', ':', '(', '='])
                || self.breaks(edge..word.span.start)
            {
                break;
            }
            edge = word.span.end;
            words.push(word);
        }
        words
    }

    fn breaks(&self, gap: Range<usize>) -> bool {
        let gap = &self.text[gap];
        let ends = |(at, c): (usize, char)| match c {
            ';' | '!' | '?' | '\n' => true,
            '.' => gap[at + 1..].starts_with(char::is_whitespace) || at + 1 == gap.len(),
            _ => false,
        };
        gap.char_indices().any(ends)
    }

    /// Returns the preposition right before a value.
    pub fn preposition(&self, before: &[&Word], mention: &Mention) -> Option<Preposition> {
        let is_spoken = |words: &&str| {
            let mut said = before.iter();
            words.rsplit(' ').all(|word| said.next().is_some_and(|said| said.lower == word))
        };
        let found = PREPOSITIONS.into_iter().flat_map(|(role, is_strict, all)| {
            let found = all.split('|').filter(is_spoken).map(|words| words.split(' ').count());
            found.map(move |length| Preposition { role, length, is_strict })
        });
        // "A loan over 48 months" lasts as long.
        let is_duration = mention
            .content
            .units()
            .iter()
            .any(|unit| matches!(unit.dimension(), Dimension::Time | Dimension::Months));
        let is_over = before.first().is_some_and(|word| word.lower == "over") && is_duration;
        // The longest match counts: "up to" is not "to".
        found
            .filter(|_| !is_over)
            .max_by_key(|found| found.length)
            .or_else(|| self.ends_a_pair(before, mention))
    }

    /// Returns the role of the "and" before B in "between A and B".
    fn ends_a_pair(&self, before: &[&Word], mention: &Mention) -> Option<Preposition> {
        let and = before.first().filter(|word| word.lower == "and")?;
        let partner = self.mentions.iter().rev().find(|other| other.span.end <= and.span.start)?;
        let gap = self.text[partner.span.end..and.span.start].trim().is_empty();
        let of_partner = self.before(partner.span.start);
        let is_pair = gap
            && partner.content.kind() == mention.content.kind()
            && of_partner.first().is_some_and(|word| word.lower == "between");
        is_pair.then_some(Preposition { role: Role::End, length: 1, is_strict: false })
    }

    /// Returns the cue that the words around a mention give for a slot. `others` are all slots of
    /// the tool.
    pub fn cue(&self, mention: &Mention, slot: &Slot, others: &[Slot]) -> Cue {
        let before = self.before(mention.span.start);
        let after = self.after(mention.span.end);
        let preposition = self.preposition(&before, mention);
        let is_number = matches!(mention.content, Content::Amount(_));
        // An amount with a unit does not count the noun after it: "20 EUR due".
        let is_bare_number = matches!(&mention.content, Content::Amount(a) if a.units.is_empty());
        // In "customer 17's limit" the number is not the limit.
        let has_possessive = self.text[mention.span.end..].starts_with(['\'', '’']);
        let mut best = Cue::default();
        let mut keep = |strength: u8, span: Range<usize>| {
            if strength > best.strength {
                best = Cue { strength, span: Some(span), conflicts: false };
            }
        };
        let counted = |slot: &Slot| {
            let found = named_after(&before, &after, slot, others);
            found.filter(|_| is_bare_number && !has_possessive)
        };
        if let Some((strength, start)) = self.named_before(&before, slot, others) {
            keep(strength, start..mention.span.end);
        }
        if let Some((strength, end)) = counted(slot) {
            keep(strength, mention.span.start..end);
        }
        if is_number
            && slot.is_limit()
            && let Some((strength, span)) = self.limits(&before, &after, mention)
        {
            keep(strength, span);
        }
        if let Content::Token(id) = &mention.content
            && slot.kind == Kind::Id
            && (slot.shows(id) || slot.abbreviates(id))
        {
            keep(NOUN - u8::from(!slot.shows(id)), mention.span.clone());
        }
        if let Content::Amount(amount) = &mention.content
            && slot.unit.is_some_and(|unit| amount.units.contains(&unit) && slot.counts(unit))
        {
            keep(NOUN, mention.span.clone());
        }
        if let Some(span) = self.people((&before, &after), mention, slot, others) {
            keep(NOUN, span);
        }
        if let Some(start) = year(&before, mention, slot) {
            keep(NOUN - 1, start..mention.span.end);
        }
        let mut preposition = self.of_way(slot, &before, mention).or(preposition);
        if let Some(said) =
            preposition.as_mut().filter(|_| self.is_moved_to(&before, mention, others))
        {
            said.role = Role::Start;
        }
        let counts_other = || after.first().is_some_and(|word| slot.counts_other(&word.lower));
        if is_number && best.strength == 0 && counts_other() {
            return best;
        }
        self.weigh(best, preposition.as_ref(), (&before, mention), slot)
    }

    /// Returns the place of a number of people and of what says so: "6 guests", "a table for four".
    fn people(
        &self,
        (before, after): (&[&Word], &[&Word]),
        mention: &Mention,
        slot: &Slot,
        others: &[Slot],
    ) -> Option<Range<usize>> {
        let Content::Amount(amount) = &mention.content else { return None };
        let is_only = || others.iter().filter(|other| other.counts_people()).count() == 1;
        if !slot.counts_people() || !amount.units.is_empty() || amount.is_part || !is_only() {
            return None;
        }
        let next = after.first().map_or("", |word| word.lower.as_str());
        let lead = before.first().map_or("", |word| word.lower.as_str());
        let is_us = is_listed(lead, "are be for is were with")
            && next == "of"
            && after.get(1).is_some_and(|word| is_listed(&word.lower, "them us you"));
        if is_us || !next.is_empty() && is_listed(&singular(next), PEOPLE) {
            return Some(mention.span.start..after[0].span.end);
        }
        let is_for = before.first().is_some_and(|word| word.lower == "for");
        let is_end = next.is_empty() || is_listed(next, "at by from in on this under please");
        (is_for && is_end).then(|| before[0].span.start..mention.span.end)
    }

    /// Returns the end of a route or conversion that a value is. In "100 EUR in USD" the currency
    /// of the amount is the start; in "14:30 Europe/Berlin in Asia/Tokyo" the zone after "in" is
    /// the end; a path after "as" is the end, as in "save as b.txt".
    fn of_way(&self, slot: &Slot, before: &[&Word], mention: &Mention) -> Option<Preposition> {
        let lead = before.first().map_or("", |word| word.lower.as_str());
        let end = Some(Preposition { role: Role::End, length: 1, is_strict: false });
        match slot.kind {
            Kind::Path => return end.filter(|_| lead == "as"),
            Kind::Id if slot.words.iter().any(|word| word == "zone") => {
                return end.filter(|_| lead == "in");
            }
            Kind::Currency => {}
            _ => return None,
        }
        let is_around = |other: &&Mention| {
            matches!(other.content, Content::Amount(_))
                && other.span.start <= mention.span.start
                && mention.span.end <= other.span.end
        };
        let is_within = self.mentions.iter().any(|other| is_around(&other));
        is_within.then_some(Preposition { role: Role::Start, length: 0, is_strict: false })
    }

    /// Whether a moment is the new one of something that is moved, and so its start: "move it to Friday at 11:00".
    fn is_moved_to(&self, before: &[&Word], mention: &Mention, others: &[Slot]) -> bool {
        const MOVING: &str = "bring change move postpone push reschedule shift switch transfer";
        let is_time = |mention: &Mention| matches!(mention.content, Content::When(_));
        let takes_days = |slot: &&Slot| matches!(slot.kind, Kind::Day | Kind::Moment);
        let mut days = others.iter().filter(takes_days);
        is_time(mention)
            && before.first().is_some_and(|word| word.lower == "to")
            && self.mentions.iter().filter(|other| is_time(other)).count() == 1
            && self.words.iter().take(4).any(|word| is_listed(&word.lower, MOVING))
            && days.clone().any(|slot| slot.role == Some(Role::Start))
            && days.all(|slot| slot.role.is_some())
    }

    /// Adjusts a cue by the preposition.
    fn weigh(
        &self,
        mut cue: Cue,
        preposition: Option<&Preposition>,
        (before, mention): (&[&Word], &Mention),
        slot: &Slot,
    ) -> Cue {
        let Some(said) = preposition else { return cue };
        let first = said.length.checked_sub(1).and_then(|at| before.get(at));
        let start = first.map_or(mention.span.start, |word| word.span.start);
        let is_inexact =
            said.is_strict && slot.kind == Kind::Integer && !slot.is_limit() && !self.reads_only;
        let named = cue.strength >= WHOLE_NAME;
        // "since 3 May" includes that day, but a parameter `after` may exclude it.
        let excludes = |word: &str| slot.has_word(word) && !named;
        let is_other_edge = excludes("after") || excludes("before");
        match slot.role {
            Some(role) if role == said.role && is_other_edge => {}
            Some(role) if role == said.role && !is_inexact => {
                cue.strength += PREPOSITION;
                let end = cue.span.as_ref().map_or(mention.span.end, |span| span.end);
                let from = cue.span.as_ref().map_or(start, |span| span.start.min(start));
                cue.span = Some(from..end);
            }
            Some(_) if !named || is_inexact => return Cue { conflicts: true, ..Cue::default() },
            None if slot.kind.is_number()
                && !slot.is_limit()
                && is_bound(before, said)
                && !before.first().is_some_and(|word| slot.has_word(&word.lower)) =>
            {
                return Cue { conflicts: true, ..Cue::default() };
            }
            _ => {}
        }
        cue
    }

    /// Finds the name of a slot right before a value, with only connectors and prepositions between
    /// them.
    fn named_before(&self, before: &[&Word], slot: &Slot, others: &[Slot]) -> Option<(u8, usize)> {
        for skipped in 0..before.len().min(4) {
            let rest = &before[skipped..];
            let found = named(slot, others, |words| {
                let spoken = |(said, word): (&&str, &&Word)| stem(said) == stem(&word.lower);
                words.len() <= rest.len() && words.iter().rev().zip(rest).all(spoken)
            });
            if let Some((strength, length)) = found {
                return Some((strength, rest[length - 1].span.start));
            }
            let word = before[skipped];
            let is_bound = PREPOSITIONS
                .iter()
                .any(|(.., words)| words.split(['|', ' ']).any(|bound| bound == word.lower));
            if !is_listed(&word.lower, CONNECTORS) && !is_bound {
                return None;
            }
        }
        None
    }

    /// Returns the cue for a limit of the results: "top 5", "at most 5", "5 results".
    fn limits(
        &self,
        before: &[&Word],
        after: &[&Word],
        mention: &Mention,
    ) -> Option<(u8, Range<usize>)> {
        const RESULTS: &str = "result item entry hit match row record answer";
        let is_word =
            |at: usize, list: &str| before.get(at).is_some_and(|word| is_listed(&word.lower, list));
        let is_adjective = |word: &&&Word| {
            word.lower.ends_with("est")
                || is_listed(&word.lower, "best last latest most next popular recent")
        };
        let skipped = after.iter().take_while(is_adjective).count();
        let counted = after.get(skipped).filter(|word| {
            let noun = singular(&word.lower);
            noun != word.lower
                && (is_listed(&noun, RESULTS)
                    || self.tool_nouns.iter().any(|of_tool| *of_tool == noun))
        });
        let end = counted.map_or(mention.span.end, |word| word.span.end);
        // "top 5 reasons" does not limit the results to five.
        if counted.is_none() && after.first().is_some_and(|word| !is_function_word(&word.lower)) {
            return None;
        }
        if is_word(0, "top first limit max maximum") {
            return Some((NOUN + 1, before[0].span.start..end));
        }
        if is_word(1, "at up") && is_word(0, "most to") {
            return Some((NOUN, before[1].span.start..end));
        }
        counted.map(|_| (NOUN, mention.span.start..end))
    }
}

/// Returns where the words of a year begin, "in 1983", for a parameter that takes one.
fn year(before: &[&Word], mention: &Mention, slot: &Slot) -> Option<usize> {
    let Content::Amount(amount) = &mention.content else { return None };
    let lead = before.first()?;
    let is_year = amount.digits.as_ref().is_some_and(|digits| digits.len() == 4);
    let is_led = is_listed(&lead.lower, "during from in of since year");
    (is_year && is_led && slot.has_word("year years season")).then_some(lead.span.start)
}

/// Whether a preposition sets a bound. "to" and "by" may stand before a value without setting one.
fn is_bound(before: &[&Word], said: &Preposition) -> bool {
    const BOUNDS: &str = "least most than between minimum maximum above over below under and";
    let nearest = before.first().map_or("", |word| word.lower.as_str());
    said.is_strict || is_listed(nearest, BOUNDS) || (said.length == 2 && nearest == "to")
}

/// Returns the strength and the number of words of the first name of the slot that `spoken` finds.
fn named(slot: &Slot, others: &[Slot], spoken: impl Fn(&[&str]) -> bool) -> Option<(u8, usize)> {
    let whole: Vec<&str> = slot.words.iter().map(String::as_str).collect();
    if spoken(&whole) {
        return Some((WHOLE_NAME, whole.len()));
    }
    let nouns: Vec<&str> = slot.nouns().collect();
    let is_shared = |nouns: &[&str]| {
        let has = |other: &&Slot| {
            other.name != slot.name
                && nouns.iter().all(|noun| other.nouns().any(|word| word == *noun))
        };
        others.iter().any(|other| has(&other))
    };
    if !nouns.is_empty() && spoken(&nouns) {
        return Some((NOUN, nouns.len()));
    }
    for noun in &nouns {
        let one = [*noun];
        if nouns.len() > 1 && spoken(&one) && !is_shared(&one) {
            return Some((NOUN - 1, 1));
        }
    }
    // "returning 19 May", "departing on 5 May": a word for an end that only this slot has.
    let ends = slot
        .ends()
        .filter(|end| !others.iter().any(|other| other.name != slot.name && other.has_word(end)));
    for end in ends {
        if spoken(&[end]) {
            return Some((NOUN, 1));
        }
    }
    if slot.of.as_deref().is_some_and(|thing| spoken(&[thing])) {
        return Some((NOUN - 1, 1));
    }
    let aliases: &[&str] = match slot.kind {
        Kind::Text if slot.has_word("title name label subject") => {
            &["called", "named", "titled", "entitled", "title", "name"]
        }
        Kind::Integer if slot.has_word("quantity qty count copies") && !slot.is_limit() => {
            &["pieces", "units", "copies", "items"]
        }
        Kind::Message => &["saying", "text", "message", "body", "content", "comment"],
        _ => &[],
    };
    let is_alone = others.iter().filter(|other| other.kind == slot.kind).count() == 1;
    let mut found = aliases.iter().filter(|alias| spoken(&[**alias]));
    found.next().filter(|alias| is_alone || whole.contains(alias)).map(|_| (NOUN - 1, 1))
}

/// Returns the cue of the noun that a number counts, and its end: "3 nights", "first 20 lines".
fn named_after(
    before: &[&Word],
    after: &[&Word],
    slot: &Slot,
    others: &[Slot],
) -> Option<(u8, usize)> {
    let counted = after.first()?;
    if let Some((left, right)) = &slot.template {
        let left = before.first().is_some_and(|word| word.lower == *left);
        return (left && singular(&counted.lower) == singular(right))
            .then_some((WHOLE_NAME, counted.span.end));
    }
    let found = named(slot, others, |words| {
        let spoken = |(said, word): (&&str, &&Word)| singular(said) == singular(&word.lower);
        words.len() <= after.len() && words.iter().zip(after).all(spoken)
    });
    let (strength, length) = found?;
    Some((strength, after[length - 1].span.end))
}
