//! Finds listed values and booleans by their words.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;

use super::cue::PromptContext;
use super::mention::Content;
use super::slot::{Kind, Role, Slot, takes_languages};
use super::text::{
    TITLES, Word, is_article, is_function_word, is_listed, joins_list, overlap, singular, stem,
};
use super::unit::Unit;

/// A listed value in a prompt.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    pub span: Range<usize>,
    /// The span with the parameter's name and the preposition that belong to it.
    pub whole: Range<usize>,
    pub value: Value,
    pub strength: u8,
}

/// Values that are common words: without a cue they are not chosen.
const COMMON: &str = "active all any asc auto closed created custom daily date day default desc down email \
     false fast file first full good high hour image large last left link list low medium \
     minute month name new none normal off old on open other page place private public right \
     short slow small standard text time title top true type up updated user week year";

/// Values that, before a noun of the tool, count or order its results instead of choosing.
const ORDINALS: &str = "any first last more most new next none other same second third top";

/// Strengths of a choice: it is introduced by a preposition or the tool's noun, or has several
/// words; it stands beside its parameter's name; it stands alone.
pub(super) const INTRODUCED: u8 = 2;
pub(super) const NAMED: u8 = 4;
const BARE: u8 = 1;

impl PromptContext<'_> {
    /// Finds the listed values of a slot in the prompt, outside quotes, addresses, dates and
    /// numbers.
    pub fn choices(&self, slot: &Slot) -> Vec<Choice> {
        let mut found: Vec<Choice> = Vec::new();
        let mut values: Vec<&(Vec<String>, Value)> = slot.choices.iter().collect();
        // "premium economy" comes before "economy".
        values.sort_by_key(|(words, _)| std::cmp::Reverse(words.len()));
        for (words, value) in values {
            for at in 0..self.words.len() {
                let Some(span) = self.spoken(at, words) else { continue };
                let is_taken = found.iter().any(|other| overlap(&other.span, &span));
                let is_year = slot.has_word("year") && words.len() == 1 && words[0].len() == 4;
                // "Tier 3".
                let is_numbered = matches!(&words[..], [_, number]
                    if number.bytes().all(|byte| byte.is_ascii_digit()));
                if is_taken || (self.is_in_a_value(&span) && !is_year && !is_numbered) {
                    continue;
                }
                let strength = self.strength_of_choice(slot, &span, words.len());
                let strength = self.way(slot, &span, strength).unwrap_or(0);
                if strength > 0 {
                    let whole = self.with_name(slot, &span, strength);
                    found.push(Choice { span, whole, value: value.clone(), strength });
                }
            }
        }
        self.add_currencies(slot, &mut found);
        self.add_particle(slot, &mut found);
        found.sort_by_key(|choice| choice.span.start);
        for at in 1..found.len() {
            let (before, after) = found.split_at_mut(at);
            let gap = &self.text[before[at - 1].span.end..after[0].span.start];
            // In "in Spanish and French", the preposition introduces both values, and "on kitchen and in bedroom" are two.
            let mut between = gap.split_whitespace();
            let is_joined = between.next().is_some_and(|word| is_listed(word, "and or"))
                && between.all(|word| is_listed(word, "at in of on the"));
            if joins_list(gap) || is_joined {
                let both = after[0].strength.max(before[at - 1].strength);
                after[0].strength = both;
                if is_joined {
                    before[at - 1].strength = both;
                }
            }
        }
        found
    }

    /// Adds the particle of the verb for a parameter that is on or off: "turn the coffee machine on".
    fn add_particle(&self, slot: &Slot, found: &mut Vec<Choice>) {
        let value = |word: &str| {
            let mut values = slot.choices.iter();
            values.find(|(words, _)| words[..] == [word]).map(|(_, value)| value)
        };
        let (Some(on), Some(off)) = (value("on"), value("off")) else { return };
        for (at, word) in self.words.iter().enumerate() {
            let value = if word.lower == "on" { on } else { off };
            let is_particle = is_listed(&word.lower, "on off") && self.is_ordered(at);
            if is_particle && !found.iter().any(|choice| overlap(&choice.span, &word.span)) {
                let (span, value) = (word.span.clone(), value.clone());
                found.push(Choice { whole: span.clone(), span, value, strength: INTRODUCED });
            }
        }
    }

    /// Adds the values that a currency chooses: "€20" chooses `eur`, and "20 dollars" the only currency with
    /// that name.
    fn add_currencies(&self, slot: &Slot, found: &mut Vec<Choice>) {
        for mention in self.mentions {
            let shared = || mention.content.units().iter().find_map(Unit::codes);
            let codes = match &mention.content {
                Content::Currency(code) => Some(&code[..]),
                _ => shared(),
            };
            let Some(codes) = codes else { continue };
            let is_code = |value: &&(Vec<String>, Value)| {
                let text = value.1.as_str().unwrap_or_default();
                codes.split(' ').any(|code| code.eq_ignore_ascii_case(text))
            };
            let is_known = found.iter().any(|choice| choice.span == mention.span);
            let mut fitting = slot.choices.iter().filter(is_code);
            if let (Some((_, value)), None, false) = (fitting.next(), fitting.next(), is_known)
                && let Some(strength) = self.way(slot, &mention.span, INTRODUCED)
            {
                let (span, value) = (mention.span.clone(), value.clone());
                found.push(Choice { whole: span.clone(), span, value, strength });
            }
        }
    }

    /// Returns the strength of a choice with its preposition or amount: "5 km to miles" converts
    /// from kilometres. Returns `None` if the choice is for the other end of a range.
    fn way(&self, slot: &Slot, span: &Range<usize>, strength: u8) -> Option<u8> {
        let is_of_amount = self.mentions.iter().any(|mention| {
            matches!(mention.content, Content::Amount(_)) && mention.span.end == span.end
        });
        let before = self.before(span.start);
        let role = match before.first().map_or("", |word| word.lower.as_str()) {
            _ if is_of_amount => Role::Start,
            "from" => Role::Start,
            "to" | "into" | "in" => Role::End,
            _ => return Some(strength),
        };
        match slot.role {
            None if is_of_amount => Some(strength.max(INTRODUCED)),
            None => Some(strength),
            Some(own) if own == role => Some(NAMED + 1),
            Some(_) => None,
        }
    }

    /// Returns the range of a value's words if they begin at word `at`, in any case, singular or
    /// plural.
    fn spoken(&self, at: usize, words: &[String]) -> Option<Range<usize>> {
        let said = self.words.get(at..at + words.len())?;
        let same = said.iter().zip(words).all(|(said, word)| {
            let is_doctor = word == "dr" && said.lower == "doctor";
            let is_word = said.lower == *word || singular(&said.lower) == *word;
            is_word || said.lower == singular(word) || is_doctor
        });
        let span = said[0].span.start..said[said.len() - 1].span.end;
        // "Dr. Weber".
        let begins_title = said.len() > 1 && is_listed(&said[0].lower, TITLES);
        let from = if begins_title { said[1].span.start } else { span.start };
        // "shipment.delivered" is one value, "shipment. Delivered" and "news,sports" are none.
        let phrase = &self.text[from..span.end];
        let mut signs = phrase.match_indices(['.', ':']);
        let ends = |(at, _): (usize, &str)| phrase[at + 1..].starts_with(char::is_whitespace);
        let is_one_phrase = !phrase.contains([',', ';']) && !signs.any(ends);
        (same && is_one_phrase).then_some(span)
    }

    pub(super) fn is_in_a_value(&self, span: &Range<usize>) -> bool {
        self.mentions.iter().any(|mention| {
            // The unit of an amount may be a choice, its digits may not.
            let is_unit = matches!(mention.content, Content::Amount(_))
                && mention.span.end == span.end
                && mention.span.start < span.start;
            let is_word = matches!(
                mention.content,
                Content::Place(_) | Content::Token(_) | Content::Currency(_)
            );
            overlap(&mention.span, span) && !is_unit && !is_word
        })
    }

    fn strength_of_choice(&self, slot: &Slot, span: &Range<usize>, length: usize) -> u8 {
        let (before, after) = (self.before(span.start), self.after(span.end));
        let word = |at: usize| before.get(at).map_or("", |word| word.lower.as_str());
        if self.denies(span.start) || (word(0) == "from" && slot.role != Some(Role::Start)) {
            return 0;
        }
        if is_named_beside(slot, &before, &after) {
            return NAMED;
        }
        let is_last = after.first().is_none_or(|word| {
            is_listed(
                &word.lower,
                "and as at because but by for from in on or please since so to with",
            )
        });
        // "Make the event private", "keep it private".
        let is_of_tool = self.tool_nouns.iter().any(|noun| *noun == singular(word(0)));
        let is_said_of = is_of_tool || is_listed(word(0), "it them");
        let article = usize::from(is_article(word(0)));
        let is_introduced =
            is_listed(word(article), "in as to into with by using via is was are were be");
        // The language of a translation is the one that is said, unless it is that of the text: "from French".
        let is_language = takes_languages(slot);
        let is_source = || {
            let is_text = |word: &&Word| is_listed(&word.lower, "phrase sentence text word");
            word(0) == "of" || after.first().is_some_and(is_text)
        };
        if is_language && (slot.role == Some(Role::Start)) != (word(0) == "from" || is_source()) {
            return 0;
        }
        if (is_last && (is_introduced || is_said_of)) || length > 1 || is_language {
            return INTRODUCED;
        }
        let counted = after.first().map_or("".into(), |word| singular(&word.lower));
        let said = self.text[span.clone()].to_lowercase();
        // "Open a new tab" for an action.
        let is_action = slot.has_word("action operation");
        let is_counted = self.tool_nouns.iter().any(|noun| *noun == counted);
        if is_counted && (is_action || !is_listed(&said, ORDINALS)) {
            return INTRODUCED;
        }
        let around =
            [self.text[..span.start].chars().next_back(), self.text[span.end..].chars().next()];
        // "Email the bill" for a channel.
        // "Daily" for a repetition.
        let is_common = is_listed(&said, COMMON)
            && !slot.has_word("channel frequency medium recurrence repeat");
        // "country-like" is no country.
        if is_common || around.contains(&Some('-')) { 0 } else { BARE }
    }

    /// Returns the range of a choice with the words that introduce it.
    fn with_name(&self, slot: &Slot, span: &Range<usize>, strength: u8) -> Range<usize> {
        const LEADS: &str = "in as to into with by using via a an";
        let is_own = |word: &Word| {
            strength == NAMED && slot.nouns().any(|noun| stem(noun) == stem(&word.lower))
        };
        let before = self.before(span.start);
        let belongs = |word: &&&Word| is_own(word) || is_listed(&word.lower, LEADS);
        let first = before.iter().take_while(belongs).last();
        let last =
            self.after(span.end).first().filter(|word| is_own(word)).map(|word| word.span.end);
        first.map_or(span.start, |word| word.span.start)..last.unwrap_or(span.end)
    }

    /// Returns the boolean that the prompt states with the parameter's name, and its range.
    pub fn stated_boolean(&self, slot: &Slot) -> Option<(Range<usize>, bool)> {
        debug_assert!(slot.kind == Kind::Boolean);
        let mut found: BTreeMap<usize, (Range<usize>, bool)> = BTreeMap::new();
        let name = &slot.words;
        for at in 0..self.words.len() {
            if let Some(span) = self.spoken_stems(at, name)
                && let Some((end, truth)) = self.boolean_after(at + name.len(), &span)
            {
                found.insert(span.start, (span.start..end, truth));
            }
        }
        // For `include_comments`: "with comments", "without comments".
        let sense = |word: &str, with: &str, without: &str| {
            (is_listed(word, with) || is_listed(word, without)).then(|| is_listed(word, with))
        };
        if let [first, rest @ ..] = &name[..]
            && !rest.is_empty()
            && let Some(wants) = sense(first, "include with show has", "exclude without skip")
        {
            const WITH: &str = "with including include includes";
            for (before, at) in self.words.iter().zip(1..) {
                let is_article = self.words.get(at).is_some_and(|word| is_article(&word.lower));
                if let Some(span) = self.spoken_stems(at + usize::from(is_article), rest)
                    && let Some(has) = sense(&before.lower, WITH, "without excluding exclude no")
                {
                    found.insert(span.start, (before.span.start..span.end, has == wants));
                }
            }
        }
        let mut found = found.into_values();
        let one = found.next()?;
        found.all(|(_, truth)| truth == one.1).then_some(one)
    }

    pub(super) fn spoken_stems(&self, at: usize, words: &[String]) -> Option<Range<usize>> {
        let said = self.words.get(at..at + words.len())?;
        let same = said.iter().zip(words).all(|(said, word)| stem(&said.lower) == stem(word));
        let span = said[0].span.start..said[said.len() - 1].span.end;
        (same && !self.is_in_a_value(&span)).then_some(span)
    }

    /// Returns the boolean after a name, and its end: "raw: true", "raw = no".
    fn boolean_after(&self, at: usize, name: &Range<usize>) -> Option<(usize, bool)> {
        let next = self.words.get(at)?;
        let gap = self.text[name.end..next.span.start].trim();
        let truth = match next.lower.as_str() {
            "true" => true,
            "false" => false,
            "yes" | "on" if matches!(gap, ":" | "=") => true,
            "no" | "off" if matches!(gap, ":" | "=") => false,
            _ => return None,
        };
        matches!(gap, "" | ":" | "=").then_some((next.span.end, truth))
    }
}

/// Whether a word beside a choice belongs to the name of its parameter.
fn is_named_beside(slot: &Slot, before: &[&Word], after: &[&Word]) -> bool {
    let is_name = |word: &&&Word| slot.nouns().any(|noun| stem(noun) == stem(&word.lower));
    let is_skipped = |word: &&&Word| is_listed(&word.lower, "is of as to a the by be");
    // "The priority of the urgent ticket" says of which ticket, and not which priority.
    let is_of_thing = after.first().is_some_and(|word| !is_function_word(&word.lower))
        && before.iter().take_while(is_skipped).any(|word| word.lower == "of");
    let lead = before.iter().find(|word| !is_skipped(word)).filter(|_| !is_of_thing);
    lead.into_iter().chain(after.first()).any(|word| is_name(&word))
}
