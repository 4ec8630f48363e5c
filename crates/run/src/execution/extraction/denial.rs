//! Values that a prompt excludes, or that another one replaces: "all but B-1", "from 140 to 155".

use super::cue::PromptContext;
use super::mention::Content;
use super::slot::{Role, Slot};
use super::text::{Word, is_denial, is_function_word, is_listed};

/// Words between a value and a word that excludes it.
const SKIPPED: &str = "a an as at by for from in into on the to with";

impl PromptContext<'_> {
    /// Whether the words before a byte offset exclude what follows: "not on 5 May", "except
    /// Berlin", "instead of room 5".
    pub fn denies(&self, at: usize) -> bool {
        let before = self.before(at);
        let mut words = before.iter().map(|word| word.lower.as_str());
        let word = words.find(|word| !is_listed(word, SKIPPED)).unwrap_or_default();
        if is_denial(word) || is_listed(word, "apart aside besides except excluding no non without")
        {
            return true;
        }
        match (word, words.next()) {
            ("of", Some("instead")) | ("than", Some("rather" | "other")) => true,
            ("longer", Some("no")) => true,
            // "All bookings but B-1"; "not 140 but 155" says the opposite.
            ("but", next) => next.into_iter().chain(words).any(|word| {
                is_listed(word, "all any anyone anything each every everyone everything")
            }),
            _ => false,
        }
    }

    /// Whether a mention is the old value of "change the guests from 140 to 155", which a tool without a
    /// parameter for the start of a range does not need.
    pub fn is_old(&self, at: usize, slots: &[Slot]) -> bool {
        const CHANGING: &str = "change correct decrease increase lower raise reduce update";
        let mention = &self.mentions[at];
        let Some(next) = self.mentions.get(at + 1) else { return false };
        let before = self.before(mention.span.start);
        let is_from = before.first().is_some_and(|word| word.lower == "from");
        let gap = self.text.get(mention.span.end..next.span.start).unwrap_or_default();
        let mut verbs = self.words.iter().filter(|word| !is_function_word(&word.lower));
        let is_same_kind = mention.content.kind() == next.content.kind();
        let is_number = matches!(mention.content, Content::Amount(_));
        // A ticket for some days is raised too.
        let changes =
            |verb: &Word| is_listed(&verb.lower, CHANGING) && (is_number || verb.lower != "raise");
        let is_changed = verbs.next().is_some_and(changes);
        let is_start = |slot: &Slot| {
            slot.role == Some(Role::Start) && !slot.has_word("least lower lowest min minimum")
        };
        let has_start =
            slots.iter().any(|slot| slot.kind.is_number() == is_number && is_start(slot));
        is_from && gap.trim() == "to" && is_same_kind && is_changed && !has_start
    }
}
