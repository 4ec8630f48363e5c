//! Booleans that the order itself sets: "turn the light off" for `on`, "unlock the door" for `locked`,
//! "make it private" for `public`.

use std::ops::Range;

use super::cue::PromptContext;
use super::flag::{BEFORE_ORDERS, ORDERS};
use super::mention::Content;
use super::slot::{Kind, Slot};
use super::text::{Word, is_article, is_function_word, is_listed, overlap, stem};

/// Words of one sense, and their opposites.
const SENSES: [(&str, &str); 6] = [
    (
        "activate activated active enable enabled on start started",
        "deactivate deactivated disable disabled inactive off stop stopped",
    ),
    ("open opened reopen reopened", "close closed shut"),
    (
        "complete completed done finished resolved",
        "incomplete open pending reopen reopened undone unfinished",
    ),
    ("public publish published", "private"),
    ("show shown visible", "hidden hide invisible"),
    ("allow allowed permit permitted", "deny denied forbid forbidden"),
];

/// Words of these that say nothing of a boolean but where they order something.
const COMMON: &str =
    "close closed hide off on open opened show shown shut start started stop stopped";

/// Names of booleans that say nothing but that something is on or off.
const SWITCHES: &str = "flag power setting state status switch toggle value";

/// Beginnings of words that say the opposite of the rest.
const OPPOSING: [&str; 2] = ["un", "non"];

/// Beginnings that say so before a state alone: "disconnect" for `connected`, but not "discharge" for `charge`.
const OPPOSING_STATES: [&str; 3] = ["de", "dis", "in"];

/// Verbs whose particle, "on" or "off", says what is to be done.
const SWITCHING: &str = "flick flip keep leave put set switch turn";

/// Verbs that give a thing the state that stands behind it: "make the project private".
const SETTING: &str = "change keep leave make mark put render set switch turn update";

/// What the words of a prompt say of a boolean.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sense {
    /// They say it once, or several times the same.
    Said(Range<usize>, bool),
    /// They say both, or deny it: "do not turn it off".
    Unclear(Vec<Range<usize>>),
}

impl Sense {
    /// Returns the words that say it.
    pub fn spans(&self) -> &[Range<usize>] {
        match self {
            Self::Said(span, _) => std::slice::from_ref(span),
            Self::Unclear(spans) => spans,
        }
    }
}

impl PromptContext<'_> {
    /// Returns what the prompt orders of a boolean: by its verb, by "on" or "off", or by the state that
    /// something is to have. `others` are all slots of the tool. `None` if it says nothing of it.
    pub fn sense(&self, slot: &Slot, others: &[Slot], tool_words: &[String]) -> Option<Sense> {
        let name = name(slot, tool_words)?;
        let mut said: Vec<(Range<usize>, Option<bool>)> = Vec::new();
        // What stands behind a colon is no order: "comment on V-3: still open".
        let end = self.text.find(": ").unwrap_or(self.text.len());
        for (at, word) in self.words.iter().take_while(|word| word.span.end <= end).enumerate() {
            let Some(truth) = truth(name, &stem(&word.lower)) else { continue };
            // "Copy the mail" is an order for another tool than `send_mail`, which has `copy`.
            let is_other =
                is_listed(&word.lower, ORDERS) && !tool_words.contains(&stem(&word.lower));
            // A tool that only reads has no order of its own.
            let is_none = self.reads_only || (is_other && truth && self.begins(word));
            // "Create a public repository" for `private`.
            let is_order = (!is_none && self.is_ordered(at))
                || (!truth && self.is_attribute(at, others, tool_words));
            // The opposite that is said elsewhere may be meant.
            let is_doubt = !self.reads_only && !truth && !is_listed(&word.lower, COMMON);
            if self.is_in_a_value(&word.span) || !(is_order || is_doubt) {
                continue;
            }
            let is_so = self.truth_of(at).filter(|_| is_order);
            said.push((word.span.clone(), is_so.map(|is_so| is_so == truth)));
        }
        let (span, first) = said.first()?.clone();
        Some(match first.filter(|_| said.iter().all(|(_, other)| *other == first)) {
            Some(truth) => Sense::Said(span, truth),
            None => Sense::Unclear(said.into_iter().map(|(span, _)| span).collect()),
        })
    }

    /// Returns what the prompt orders of the thing that a boolean is named after: "turn off auto renew", "turn
    /// auto renew off", "set auto renew of S-1 to false".
    pub fn switched(&self, slot: &Slot) -> Option<Sense> {
        let named = |at| Some((at, self.spoken_stems(at, &slot.words)?));
        let (begin, name) = (0..self.words.len()).find_map(named)?;
        let is_between = |word: &Range<usize>, other: &Word| {
            let (first, last) = (word.end.min(name.end), word.start.max(name.start));
            first <= other.span.start && other.span.end <= last
        };
        let is_beside = |word: &Range<usize>| {
            let mut between = self.words.iter().filter(|other| is_between(word, other));
            between.all(|other| is_article(&other.lower))
        };
        let others = self.words.iter().enumerate().filter(|(_, word)| !overlap(&word.span, &name));
        let mut said = others.filter_map(|(at, word)| {
            let is_set = at > 0 && self.words[at - 1].lower == "to" && name.end <= word.span.start;
            let truth = match word.lower.as_str() {
                "true" => Some(true).filter(|_| is_set),
                "false" => Some(false).filter(|_| is_set),
                _ => truth("on", &stem(&word.lower))
                    .filter(|_| self.is_ordered(at) && (is_set || is_beside(&word.span))),
            };
            truth.map(|truth| (at, word.span.clone(), truth))
        });
        let (at, span, truth) = said.next().filter(|_| said.next().is_none())?;
        let is_denied = self.truth_of(at.min(begin)) != Some(true);
        Some(if is_denied { Sense::Unclear(vec![span]) } else { Sense::Said(span, truth) })
    }

    /// Whether a word is the verb of an order, its particle, or the state that it is to bring about.
    pub(super) fn is_ordered(&self, at: usize) -> bool {
        let word = &self.words[at];
        let before = at.checked_sub(1).map(|before| &self.words[before]);
        let is_next =
            |word: &&Word| self.text[word.span.end..self.words[at].span.start].trim().is_empty();
        let before = before.filter(is_next);
        let follows = |list: &str| before.is_some_and(|word| is_listed(&word.lower, list));
        let verb = self.words[..at].iter().rfind(|word| self.begins(word));
        let has_verb = |list: &str| verb.is_some_and(|verb| is_listed(&verb.lower, list));
        match word.lower.as_str() {
            "on" => (follows(SWITCHING) || has_verb(SWITCHING)) && !self.leads(at),
            "off" => follows(SWITCHING) || self.ends(at),
            _ if self.begins(word) => true,
            _ => self.ends(at) && (has_verb(SETTING) || follows("are as be is on to with")),
        }
    }

    /// Whether an order may begin with a word.
    fn begins(&self, word: &Word) -> bool {
        let before = self.words.iter().rfind(|other| other.span.end <= word.span.start);
        before.is_none_or(|before| {
            let gap = &self.text[before.span.end..word.span.start];
            is_listed(&before.lower, BEFORE_ORDERS) || gap.contains([',', '.', ';', ':', '!', '?'])
        })
    }

    /// Whether a clause ends with a word, or goes on with a word of prose.
    fn ends(&self, at: usize) -> bool {
        let after = self.after(self.words[at].span.end);
        after.first().is_none_or(|word| {
            is_function_word(&word.lower) || is_listed(&word.lower, "again please")
        })
    }

    /// Whether "on" leads to what follows it: "on Monday", "on the kitchen wall".
    fn leads(&self, at: usize) -> bool {
        let is_verb = at > 0 && is_listed(&self.words[at - 1].lower, SWITCHING);
        let next = self.words.get(at + 1).map(|next| next.span.start);
        let is_day = |content: &Content| {
            matches!(content, Content::When(_) | Content::Period(_) | Content::Unclear)
        };
        let is_at = |start: usize| {
            self.mentions.iter().any(|m| m.span.start == start && is_day(&m.content))
        };
        let after = self.after(self.words[at].span.end);
        let is_article = after.first().is_some_and(|word| is_article(&word.lower));
        next.is_some_and(is_at) || (!is_verb && (is_article || !self.ends(at)))
    }
}

/// Returns the word of a boolean's name that says what is so: `enabled` of `notifications_enabled`. A name
/// that says nothing, such as `power`, stands for `on`. `tool_words` are the stems of the tool's words.
fn name<'s>(slot: &'s Slot, tool_words: &[String]) -> Option<&'s str> {
    let (last, rest) = slot.words.split_last()?;
    let is_state = || {
        last.ends_with("ed") || SENSES.iter().any(|(a, b)| is_listed(last, a) || is_listed(last, b))
    };
    let mut things = rest.iter().filter(|word| !is_listed(word, "are be is")).peekable();
    // "Direct flights" are no state of a flight.
    if slot.kind != Kind::Boolean || (things.peek().is_some() && !is_state()) {
        return None;
    }
    // `include_inactive` says which things are meant, and not how they are.
    let is_of_tool = things.all(|word| {
        tool_words.contains(&stem(word))
            && !is_listed(word, "exclude hide include only show skip with without")
    });
    is_of_tool.then_some(if is_listed(last, SWITCHES) { "on" } else { last })
}

/// What a word says of a boolean with a name, by their stems; `None` if it says nothing of it.
fn truth(name: &str, word: &str) -> Option<bool> {
    let is_state = ["ed", "ive", "ble"].iter().any(|end| name.ends_with(end));
    let name = stem(name);
    let has = |list: &str, wanted: &str| list.split(' ').any(|one| stem(one) == wanted);
    for (sense, opposite) in SENSES {
        if has(sense, &name) || has(opposite, &name) {
            let is_own = |list: &str| has(list, &name) == has(list, word);
            if has(sense, word) || has(opposite, word) {
                return Some(is_own(sense));
            }
        }
    }
    let opposes = |a: &str, b: &str| {
        let begins = |begin: &&str| a.strip_prefix(begin).is_some_and(|rest| is_same(rest, b));
        OPPOSING.iter().any(begins) || (is_state && OPPOSING_STATES.iter().any(begins))
    };
    match is_same(word, &name) {
        true => Some(true),
        false => (opposes(word, &name) || opposes(&name, word)).then_some(false),
    }
}

/// Whether two stems are of one word: "pinn" of "pinned" and "pin".
fn is_same(a: &str, b: &str) -> bool {
    let doubles = |long: &str, short: &str| {
        long.strip_prefix(short).is_some_and(|rest| rest.len() == 1 && short.ends_with(rest))
    };
    a == b || doubles(a, b) || doubles(b, a)
}

/// Whether a tool does nothing but set a boolean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// Its name says so: `locked` of `lock_door`.
    OfName,
    /// Its description says so: `on` of "Switches the lamps on or off".
    OfDescription,
    No,
}

/// Whether a tool sets a boolean and nothing else. `tool_words` are the stems of the tool's words, of which
/// the first `named` are those of its name.
pub(super) fn subject(slot: &Slot, tool_words: &[String], named: usize) -> Subject {
    let Some(name) = name(slot, tool_words) else { return Subject::No };
    if tool_words.first().is_some_and(|verb| is_same(verb, &stem(name))) {
        return Subject::OfName;
    }
    let says = |wanted: bool| tool_words.iter().any(|word| truth(name, word) == Some(wanted));
    let sets = |word: &String| {
        SETTING.split(' ').any(|verb| stem(verb) == *word) || truth(name, word).is_some()
    };
    match tool_words.get(named).is_some_and(sets) && says(true) && says(false) {
        true => Subject::OfDescription,
        false => Subject::No,
    }
}
