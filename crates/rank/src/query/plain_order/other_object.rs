//! Finds another object of an order than the one whose value a tool takes: "close the duplicates of ticket 5",
//! "close the ticket that blocks ticket 5".

use std::ops::Range;

use toolroute_catalog::singular;

use super::super::function_words::begins_object;
use super::super::is_listed;
use super::super::mood::PARTICLES;
use super::super::negation::{is_form_of_verb, is_past};
use super::super::plain_text::{TAKEN, words};
use super::super::requests::is_content;

/// Words that end a noun, and may lead to the value that the tool takes.
const PREPOSITIONS: &str = "of in on from for to at with by under inside within about";

/// Words that place another thing beside the one that is named: "the session after S-3".
const BESIDE: &str = "after before above below beside following preceding replacing";

/// Words that begin a clause about a noun.
const RELATIVE: &str = "that which who whose where";

/// Verbs that give an attribute of a thing a value.
const SETTING: &str =
    "adjust bump change decrease increase lower move raise reduce set switch update";

/// Words for a thing that is found only when the order is carried out.
const ANY: &str = "whatever whichever whoever";

/// Words of such a clause that only say which value is meant: "the ticket that has the number 5".
const NAMING: &str =
    "called code id identifier is are was were has have name named no number numbered with";

/// Nouns that stand for any thing, and "rid" of "get rid of".
const ANYTHING: &str = "thing one item entry record object all everything rid";

/// Returns the word by which an order is about another object; `None` if it has none. `is_known` tells whether
/// a noun, in the singular, is one of the tool's; `is_new` whether the tool makes something, which may be
/// called by any noun ("add a note to ticket 5").
///
/// Only words up to a taken value count, and those of what belongs to it: the rest may be a reason.
pub(super) fn other_object(
    order: &str,
    is_new: bool,
    is_known: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let said = words(order);
    let end = said.iter().position(|word| *word == ",").unwrap_or(said.len());
    let said = &said[..end];
    let last = said.iter().rposition(|word| *word == TAKEN)?;
    let first = said.iter().position(|word| *word == TAKEN)?;
    if let Some(any) = said[..first].iter().find(|word| is_listed(ANY, word)) {
        return Some((*any).to_owned());
    }
    // "Set the mileage of car 5 to 120" says by its value which attribute is meant.
    let is_setting = said.first().is_some_and(|verb| is_listed(SETTING, verb));
    if is_setting && said.windows(3).any(|part| part == [TAKEN, "to", TAKEN]) {
        return None;
    }
    other_noun(&said[..=last], said.get(last + 1..).unwrap_or_default(), is_new, is_known)
}

/// Returns the noun of another object before the last taken value, with which `said` ends, or of what belongs to it in
/// `rest`.
fn other_noun(
    said: &[&str],
    rest: &[&str],
    is_new: bool,
    is_known: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let knows = |word: &str| {
        let noun = singular(word);
        is_known(&noun) || is_listed(ANYTHING, &noun) || !is_content(word) || begins_object(word)
    };
    let is_little = |word: &str| is_listed(NAMING, word) || is_listed(PREPOSITIONS, word);
    // The noun that was read last, whether it is the first, whether a clause about it has begun, and whether the
    // value was read that the order is about.
    let (mut noun, mut is_first, mut is_clause, mut is_done) = (None, true, false, false);
    for (at, word) in said.iter().enumerate().skip(1) {
        let after = said[at + 1..].iter().chain(rest);
        let next = after.clone().next().copied().unwrap_or_default();
        if *word == TAKEN {
            // "Invoice 5's attachments".
            if next == "s" {
                let owned = after.skip(1).take_while(|word| !is_little(word)).last();
                if let Some(owned) = owned.filter(|owned| !knows(owned)) {
                    return Some((*owned).to_owned());
                }
            }
            (noun, is_clause, is_done) = (None, false, true);
        } else if is_done {
            continue;
        } else if is_clause && !is_little(word) && !knows(word) {
            return Some((*word).to_owned());
        } else if let Some(named) = noun {
            let is_participle = (word.ends_with("ing") && is_form_of_verb(word) || is_past(word))
                && (next == TAKEN || is_listed(PREPOSITIONS, next))
                && !is_listed(NAMING, word);
            if is_listed(RELATIVE, word) {
                is_clause = true;
            } else if is_participle && knows(named) && !knows(word) {
                return Some((*word).to_owned());
            } else if is_listed(PREPOSITIONS, word) {
                if is_first && !knows(named) && (!is_new || *word == "of") {
                    return Some(named.to_owned());
                }
                (noun, is_first) = (None, false);
            } else if !is_listed(PARTICLES, word) {
                noun = Some(*word);
            }
        } else if !is_listed(PREPOSITIONS, word)
            && !is_listed(PARTICLES, word)
            && !begins_object(word)
        {
            noun = Some(*word);
        }
    }
    None
}

/// Returns the word that places what a prompt is about beside a value that a tool takes, where that looks
/// like an id: "the session after S-3".
pub(super) fn beside(prompt: &str, taken: &[Range<usize>]) -> Option<String> {
    taken.iter().find_map(|place| {
        let value = prompt.get(place.clone())?;
        let has = |is: fn(&char) -> bool| value.chars().any(|c| is(&c));
        let is_id = has(|c| c.is_ascii_digit())
            && has(|c| c.is_ascii_uppercase())
            && !value.contains([' ', ':']);
        let mut before = prompt[..place.start].split_whitespace().rev().map(str::to_lowercase);
        let (last, earlier) = (before.next()?, before.next().unwrap_or_default());
        // "I would like S-3" is a wish.
        let is_like = last == "like" && earlier != "would" && !earlier.ends_with("'d");
        (is_id && (is_like || is_listed(BESIDE, &last))).then_some(last)
    })
}
