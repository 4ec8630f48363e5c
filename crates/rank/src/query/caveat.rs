//! Finds words with which a prompt forbids, postpones or restricts an action.

use std::ops::Range;

use super::content::own_words;
use super::is_listed;
use super::mood::{begins_clause, wants_to_see, without_reports, without_statements};
use super::negation::is_past;
use super::plain_text::{MOMENT, Places, TAKEN, unquoted, without_asides, words};
use super::requests::is_verb;
use toolroute_translation::restriction;

/// Words that forbid or restrict, wherever they are.
const FORBIDDING: &str = "neither nor except without avoid refrain forbid forbidden prohibited";

/// Subjects that forbid: "nobody should stop it", "make sure nobody stops it".
const NOBODY: &str = "nobody nothing noone none";

/// Words after which a reason begins.
const JOINING: &str = "because as since though and so but";

/// Verbs after which such a subject at the beginning forbids: "nobody wants it" is a reason.
const MODALS: &str = "should must shall may ought is are";

/// Words that make an order doubtful.
const DOUBTING: &str = "maybe perhaps possibly might presumably imagine suppose";

/// Phrases that forbid, restrict or doubt, wherever they are.
const PHRASES: &str =
    "no one, no need, no reason, no more, no circumstances, hold off, but keep, i guess, i suppose";

/// Words after which a "not" tells how things are: "it does not work". The last three are those of
/// "can't", "won't" and "ain't".
const STATING: &str = "is are was were am does did has have had can could will ca wo ai";

/// Words that begin a condition.
const CONDITIONS: &str =
    "if whether unless once when whenever while until till upon providing assuming supposing";

/// Those of them that a report may have: "she is on leave until Monday".
const ENDS: &str = "until till";

/// Phrases that begin a condition.
const CONDITION_PHRASES: &str = "in case, as soon as, as long as, on condition, in the event, depending on, subject to, by the time, every time, each time, any time";

/// Words after an "only" that restricts an order to a time or a case.
const RESTRICTED: &str = "with on at in during between within after before";

/// Words for somebody's agreement, which is a condition: "with Dana's consent".
const AGREEMENT: &str =
    "consent approval permission agreement authorization authorisation blessing ok okay";

/// Words that begin such a condition, and words that may follow it.
const AGREED: &str = "with after upon on under pending subject";
const AGREED_BY: &str = "of from by only first";

/// Words of a later time, beside those that the arguments of a tool may take.
const LATER: &str =
    "later tonight tomorrow noon midnight soon eventually afterwards someday sometime shortly";

/// Phrases of a later time.
const LATER_PHRASES: &str = "in a bit, in a while, in a moment, in a sec, first thing, next time, another time, at some point, one day, one of these days, some day";

/// Parts of the day or the week, which are a later time after "this", "in the" and the like.
const PARTS: &str = "morning afternoon evening night weekend";

/// Units of a future time: "in one hour".
const UNITS: &str =
    "second seconds minute minutes hour hours day days week weeks month months year years";

/// Words between "in" and such a unit.
const COUNTS: &str = "a an the next one two three four five six seven eight nine ten couple of few some several half another";

/// With more moments than these, a prompt is not read again for each.
const MOST_MOMENTS: usize = 16;

/// Returns the word or phrase with which a prompt forbids, restricts, postpones or doubts an action;
/// `None` if there is none. Quoted text is ignored.
///
/// Reads English, and the words of other languages that forbid or restrict. A tool that changes
/// something must not run on such a prompt without asking.
pub fn caveat(prompt: &str, places: Places<'_>) -> Option<String> {
    let plain = unquoted(prompt, places);
    let plain = without_asides(&plain);
    let ordered = without_reports(&plain);
    let ordered = words(&ordered);
    let words = words(&plain);
    let words = words.as_slice();
    let moment = || {
        let is_one_of_few = places.moments.len() <= MOST_MOMENTS;
        let is_late = |at: &&Range<usize>| !(is_one_of_few && is_reported(prompt, at));
        places.moments.iter().find(is_late).map(|moment| prompt[moment.clone()].to_owned())
    };
    // "It never arrived" and "nobody uses it" forbid nothing.
    (0..words.len())
        .find_map(|at| forbids(words, at).filter(|_| !is_told(words, at)))
        .or_else(|| condition_in(words).filter(|word| !is_listed(ENDS, word)))
        .or_else(|| condition_in(&ordered))
        .or_else(|| (0..words.len()).find_map(|at| restricts(words, at)))
        .or_else(|| (0..ordered.len()).find_map(|at| postpones(&ordered, at)))
        .or_else(moment)
        .or_else(|| restriction(&plain))
}

/// Whether a prompt says a value only where it tells how things are: "Tuesday" in "close it, the plumber was there on
/// Tuesday".
pub fn is_reported(prompt: &str, value: &Range<usize>) -> bool {
    is_only_in(prompt, value, without_reports)
}

/// Whether a prompt says a value only where it tells something beside an order: "Oslo" in "cancel session 5, the speaker is
/// stuck in Oslo".
pub fn is_told_beside(prompt: &str, value: &Range<usize>) -> bool {
    is_only_in(prompt, value, without_statements)
}

/// Whether a value stands only in the clauses of a prompt that `without` leaves out.
fn is_only_in(prompt: &str, value: &Range<usize>, without: fn(&str) -> String) -> bool {
    let places = Places { taken: &[], moments: std::slice::from_ref(value) };
    let plain = unquoted(prompt, places);
    plain.contains(MOMENT) && !without(&without_asides(&plain)).contains(MOMENT)
}

/// Returns the word with which a part of a prompt makes a condition of what is ordered beside it;
/// `None` if there is none.
pub fn condition(prompt: &str) -> Option<String> {
    let plain = unquoted(prompt, Places::default());
    let plain = without_asides(&plain);
    let words = words(&plain);
    condition_in(&words)
}

/// Whether a prompt wants nothing but to see: "show me the report", "what's the balance?", "fuel of May".
pub fn only_looks(prompt: &str) -> bool {
    let plain = unquoted(prompt, Places::default());
    let plain = without_asides(&plain);
    wants_to_see(&own_words(&plain))
}

/// Returns the words with which a part of a prompt puts off what is ordered beside it, or restricts it to
/// some time or case: "tomorrow", "only on"; `None` if there are none.
pub fn postponement(prompt: &str) -> Option<String> {
    let plain = unquoted(prompt, Places::default());
    let plain = without_asides(&plain);
    let words = words(&plain);
    let later = |at| restricts(&words, at).or_else(|| postpones(&words, at));
    (0..words.len()).find_map(later)
}

/// Whether the word at a place restricts the order to a time or a case that is no argument: "only on
/// Sundays".
fn restricts(words: &[&str], at: usize) -> Option<String> {
    let next = word(words, at, 1);
    let restricts =
        words[at] == "only" && is_listed(RESTRICTED, next) && word(words, at, 2) != TAKEN;
    restricts.then(|| format!("only {next}"))
}

/// The word `ahead` places after a word; empty at the end of a clause.
fn word<'a>(words: &[&'a str], at: usize, ahead: usize) -> &'a str {
    let between = words.get(at + 1..=at + ahead).unwrap_or_default();
    let is_within = between.iter().all(|word| *word != ",");
    between.last().copied().filter(|_| is_within).unwrap_or_default()
}

/// The word before a word; empty at the beginning of a clause.
fn before<'a>(words: &[&'a str], at: usize) -> &'a str {
    at.checked_sub(1).map_or("", |at| words[at]).trim_start_matches(',')
}

fn phrase(words: &[&str], at: usize, phrases: &str) -> Option<String> {
    let begins = |phrase: &&str| {
        let mut parts = phrase.split(' ').enumerate();
        parts.all(|(ahead, part)| words[at] == part && ahead == 0 || word(words, at, ahead) == part)
    };
    phrases.split(", ").find(begins).map(str::to_owned)
}

/// Words before a denial that is none of a thing or a person.
const NO_SUBJECTS: &str = "you is are be to must should";

/// Whether a denial only tells how things are: "the parcel never arrived", "we don't need it any more", "nobody uses
/// it".
fn is_told(words: &[&str], at: usize) -> bool {
    let (this, last, next) = (words[at], before(words, at), word(words, at, 1));
    let is_wish =
        words[..at].iter().rev().take(4).any(|word| is_listed("want wants wish sure", word));
    let is_subject = !last.is_empty() && !is_wish && !is_listed(NO_SUBJECTS, last);
    match this {
        "never" => {
            is_subject && (next.ends_with("ed") || is_past(next)) && word(words, at, 2) != "be"
        }
        _ if is_listed(NOBODY, this) => {
            is_listed("uses needs has wants", next)
                || next == "is" && is_listed("using there here", word(words, at, 2))
        }
        _ => this.ends_with("n't") && is_subject && is_listed("need use have hear work", next),
    }
}

/// Whether the word at a place forbids something, or makes it doubtful.
fn forbids(words: &[&str], at: usize) -> Option<String> {
    let (this, last, next) = (words[at], before(words, at), word(words, at, 1));
    let is_number = next.starts_with(|c: char| c.is_numeric()) || next == TAKEN;
    let forbids = match this {
        "not" => !states(last) || next == "to",
        // "Order no 5" is a number.
        "no" => !is_number && (last.is_empty() || next.is_empty()),
        "don't" | "dont" => true,
        _ if this.ends_with("n't") => {
            !is_listed(STATING, this.trim_end_matches("n't")) || next == "to"
        }
        _ if is_listed(NOBODY, this) => {
            let is_subject = last.is_empty() || is_listed(JOINING, last);
            !is_subject || is_listed(MODALS, next)
        }
        // "Never mind the noise."
        "never" => next != "mind" || word(words, at, 2).is_empty(),
        "or" => chooses(words, at),
        "instead" | "rather" => {
            matches!(next, "of" | "than") && word(words, at, 2).ends_with("ing")
        }
        _ => is_listed(FORBIDDING, this) || is_listed(DOUBTING, this),
    };
    if forbids && this == "not" && matches!(last, "do" | "must" | "should") {
        return Some(format!("{last} not"));
    }
    forbids.then(|| this.to_owned()).or_else(|| phrase(words, at, PHRASES))
}

/// Whether a "not" after a word tells how things are: "it is not warm".
fn states(last: &str) -> bool {
    is_listed(STATING, last) || ["'s", "'m", "'re"].iter().any(|ending| last.ends_with(ending))
}

/// Whether an "or" is between two orders: "stop the mixer or start it".
fn chooses(words: &[&str], at: usize) -> bool {
    let has_object = begins_clause(word(words, at, 2));
    is_verb(word(words, at, 1)) && (is_verb(before(words, at)) || has_object)
}

fn condition_in(words: &[&str]) -> Option<String> {
    (0..words.len()).find_map(|at| {
        let (this, last, next) = (words[at], before(words, at), word(words, at, 1));
        let is_clause = |ahead| begins_clause(word(words, at, ahead));
        // "Until 5 May" may be an argument; as another time it counts as a moment.
        let is_time = matches!(this, "until" | "till") && matches!(next, TAKEN | MOMENT);
        // "It can be used once."
        let is_count = this == "once" && next.is_empty() && !last.is_empty();
        if is_listed(CONDITIONS, this) {
            return (!is_time && !is_count).then(|| this.to_owned());
        }
        let is_inverted = this == "should" && !last.is_empty() || this == "provided";
        let is_moment = this == "the"
            && !matches!(last, "at" | "of" | "for")
            && matches!(next, "moment" | "minute" | "second" | "instant" | "day")
            && is_clause(2);
        let agreement = || {
            let is_end = |at: usize| {
                let next = word(words, at, 1);
                next.is_empty() || is_listed(AGREED_BY, next)
            };
            let mut near =
                (at + 1..=at + 4).take_while(|near| !word(words, at, near - at).is_empty());
            near.find(|near| is_listed(AGREEMENT, words[*near]) && is_end(*near))
        };
        match this {
            _ if is_moment => Some(format!("the {next}")),
            _ if is_listed(AGREED, this) && agreement().is_some() => {
                agreement().map(|end| words[at..=end].join(" "))
            }
            _ if is_inverted && is_clause(1) => Some(this.to_owned()),
            _ => phrase(words, at, CONDITION_PHRASES),
        }
    })
}

/// Whether the word at a place puts the order off, or repeats it.
fn postpones(words: &[&str], at: usize) -> Option<String> {
    let (this, last, next) = (words[at], before(words, at), word(words, at, 1));
    let is_late = match this {
        "before" | "after" => !matches!(next, TAKEN | MOMENT | "all"),
        "in" | "within" => {
            let counted = (1..5).take_while(|ahead| is_listed(COUNTS, word(words, at, *ahead)));
            let end = counted.last().unwrap_or_default() + 1;
            let is_far = end > 1 && is_listed(UNITS, word(words, at, end));
            if is_far {
                return Some(words[at..=at + end].join(" "));
            }
            false
        }
        "every" | "each" => is_listed(UNITS, next) || next == MOMENT,
        "wait" => at == 0 || matches!(last, "please" | "first"),
        _ if is_listed(PARTS, this) => {
            let mut leads = words[at.saturating_sub(2)..at].iter();
            leads.any(|lead| is_listed("this in at on over next every", lead))
        }
        _ => is_listed(LATER, this),
    };
    is_late.then(|| this.to_owned()).or_else(|| phrase(words, at, LATER_PHRASES))
}

#[cfg(test)]
mod tests;
