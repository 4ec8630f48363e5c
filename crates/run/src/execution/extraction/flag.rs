//! Booleans that an adjective or an adverb sets: "overdue loans", "list recursively".

use std::ops::Range;

use super::cue::PromptContext;
use super::slot::Slot;
use super::text::{Word, is_denial, is_function_word, is_listed, stem};

/// Words of a boolean's name that say nothing of what it is about: `only_unread`, `is_public`.
const EMPTY: &str = "are be include is only show";

/// Verbs that are names of booleans too. As the first word of a request they are what to do.
pub(super) const ORDERS: &str = "append archive cache check clean clear close compress confirm copy \
     create delete draft empty encrypt fix flag follow force format include lock merge mute \
     notify open overwrite pin publish read recurse remove repeat replace reverse save sort star \
     stream sync track validate wait watch";

/// Words after which a verb is an order.
pub(super) const BEFORE_ORDERS: &str =
    "also and but can could immediately just kindly now or please then to would you";

/// Whether the verb of an order may follow a word: "please", "I want to".
pub(super) fn leads_to_order(word: &str) -> bool {
    is_listed(word, BEFORE_ORDERS) || is_listed(word, "i i'd like mind need want")
}

/// Words after which a state is not said to be so.
const DOUBTS: &str = "if unless until when whether";

/// The most words between an adjective and its noun, and the noun.
const REACH: usize = 3;

impl PromptContext<'_> {
    /// Returns the boolean that the prompt sets by its name as an adjective or an adverb, and the
    /// range of that word. An adjective stands before a word of the tool's name or description
    /// (`tool_words`), or after "is", "are" or "as". `None` if the prompt denies it in any way but
    /// by a "not" right before it. `others` are all slots of the tool.
    pub fn flag(
        &self,
        slot: &Slot,
        others: &[Slot],
        tool_words: &[String],
    ) -> Option<(Range<usize>, bool)> {
        let Some(name) = adjective(slot) else { return self.compound_flag(slot, tool_words) };
        let mut found: Option<(Range<usize>, bool)> = None;
        for at in 0..self.words.len() {
            if !self.is_flag(at, name, others, tool_words) {
                continue;
            }
            let truth = self.truth_of(at)?;
            if found.as_ref().is_some_and(|(_, other)| *other != truth) {
                return None;
            }
            found.get_or_insert((self.words[at].span.clone(), truth));
        }
        found
    }

    /// Returns the boolean of several words that stands before one of the tool's words: "a full page screenshot" for
    /// `fullPage`.
    fn compound_flag(&self, slot: &Slot, tool_words: &[String]) -> Option<(Range<usize>, bool)> {
        let is_boolean = slot.kind == super::Kind::Boolean && slot.words.len() > 1;
        let at = (0..self.words.len().checked_sub(slot.words.len())?).filter(|_| is_boolean);
        let mut found = at.filter_map(|at| {
            let span = self.spoken_stems(at, &slot.words)?;
            let next = &self.words[at + slot.words.len()];
            let is_before = self.text[span.end..next.span.start].trim().is_empty();
            (is_before && tool_words.contains(&stem(&next.lower))).then_some((at, span))
        });
        let (at, span) = found.next().filter(|_| found.next().is_none())?;
        Some((span, self.truth_of(at)?))
    }

    /// Returns the verb of an order beside the one for the tool, if it is what a boolean says: "cancel it and notify
    /// everyone", "let the attendees know" for `notify_attendees`. `None` where the prompt denies it.
    pub fn ordered_flag(&self, slot: &Slot, tool_words: &[String]) -> Option<Range<usize>> {
        let [verb, nouns @ ..] = &slot.words[..] else { return None };
        if verb != "notify" || nouns.is_empty() || tool_words.first() == Some(&stem(verb)) {
            return None;
        }
        let is_object = |at: usize| {
            let object =
                self.words[at + 1..].iter().find(|word| !is_listed(&word.lower, "all the"));
            object.is_some_and(|word| {
                is_listed(&word.lower, "everybody everyone her him them")
                    || nouns.iter().any(|noun| stem(noun) == stem(&word.lower))
            })
        };
        let knows = |at: usize| self.words[at..].iter().take(6).any(|word| word.lower == "know");
        let is_verb = |at: &usize| match self.words[*at].lower.as_str() {
            "let" => is_object(*at) && knows(*at),
            said => is_listed(said, "alert inform notify tell") && is_object(*at),
        };
        let at = (1..self.words.len()).find(is_verb)?;
        let before = self.before(self.words[at].span.start);
        let begins = before.first().is_none_or(|word| is_listed(&word.lower, "and then please"));
        (begins && self.truth_of(at) == Some(true)).then(|| self.words[at].span.clone())
    }

    fn is_flag(&self, at: usize, name: &str, others: &[Slot], tool_words: &[String]) -> bool {
        let word = &self.words[at];
        if self.is_in_a_value(&word.span) {
            return false;
        }
        let is_adverb = ["ly", "ally"].iter().any(|ending| {
            word.lower.strip_suffix(ending).is_some_and(|base| stem(base) == stem(name))
        });
        let is_name = stem(&word.lower) == stem(name);
        is_adverb || (is_name && (self.is_state(at) || self.is_attribute(at, others, tool_words)))
    }

    /// Whether a word is said of something: "loans that are overdue", "mark it as done".
    fn is_state(&self, at: usize) -> bool {
        let before = self.before(self.words[at].span.start);
        let mut before = before.into_iter().skip_while(|word| word.lower == "not");
        // "It's urgent".
        let says = |word: &str| {
            is_listed(word, "is are was were be as in")
                || ["'s", "’s", "'re"].iter().any(|end| word.ends_with(end))
        };
        let is_said = before.next().is_some_and(|word| says(&word.lower));
        let is_doubtful = before.any(|word| is_listed(&word.lower, DOUBTS));
        let after = self.after(self.words[at].span.end);
        is_said && !is_doubtful && after.first().is_none_or(|word| is_function_word(&word.lower))
    }

    /// Whether a word is an adjective before one of the tool's words: "the unread messages".
    pub(super) fn is_attribute(&self, at: usize, others: &[Slot], tool_words: &[String]) -> bool {
        let is_other = |word: &Word| {
            let names = others.iter().filter_map(adjective);
            names.map(stem).any(|name| name == stem(&word.lower))
        };
        let word = &self.words[at];
        let before = self.before(word.span.start);
        let before: Vec<&Word> = before.into_iter().filter(|word| word.lower != "not").collect();
        let begins = before.first().is_none_or(|word| is_listed(&word.lower, BEFORE_ORDERS));
        if begins && is_listed(&word.lower, ORDERS) {
            return false;
        }
        // "read and unread messages" are all messages.
        let is_joined = before.first().is_some_and(|word| is_listed(&word.lower, "and or"));
        if is_joined && !before.get(1).is_some_and(|word| is_other(word)) {
            return false;
        }
        let after = self.after(word.span.end);
        for (next, word) in after.iter().take(REACH).enumerate() {
            let joins =
                word.lower == "and" && after.get(next + 1).is_some_and(|word| is_other(word));
            if !joins && is_function_word(&word.lower) {
                return false;
            }
            if tool_words.contains(&stem(&word.lower)) && !is_other(word) {
                return true;
            }
        }
        false
    }

    /// Returns the value that a word sets; `None` if it is denied otherwise than by "not" or "non"
    /// right before it.
    pub(super) fn truth_of(&self, at: usize) -> Option<bool> {
        let before = self.before(self.words[at].span.start);
        let denies = |word: &&&Word| {
            is_denial(&word.lower)
                || is_listed(&word.lower, "no non nor without except excluding instead than less")
        };
        match before.iter().filter(denies).count() {
            0 => Some(true),
            1 if before.first().is_some_and(|word| is_listed(&word.lower, "not non")) => {
                Some(false)
            }
            _ => None,
        }
    }
}

/// Returns the only word of a boolean's name that says what it is about.
fn adjective(slot: &Slot) -> Option<&str> {
    let is_boolean = slot.kind == super::Kind::Boolean;
    let mut words = slot.words.iter().map(String::as_str).filter(|word| !is_listed(word, EMPTY));
    words.next().filter(|_| is_boolean && words.next().is_none())
}
