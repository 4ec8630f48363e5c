//! Reads what a prompt, the conversation before it and the files around it say, before any tool is
//! considered.
//!
//! This module must never know a tool's score, an index or a model. It reads texts as words,
//! compares vectors that the caller made ([`Classifier`]), and returns plain values, with which
//! `selection` decides. [`Reading`] contains what a prompt says; [`analyze`] finds the features of
//! a whole context.
//!
//! ```
//! use toolroute_rank::query::clauses;
//!
//! let prompt = "I'm off to Oslo on Friday. Check the weather there, then book me a hotel.";
//! assert_eq!(
//!     clauses(prompt),
//!     ["I'm off to Oslo on Friday. Check the weather there", "book me a hotel."],
//! );
//! assert_eq!(clauses("Find bread and butter recipes"), ["Find bread and butter recipes"]);
//! ```

mod abbreviations;
mod actions;
mod analysis;
mod categories;
mod caveat;
mod classifier;
mod clauses;
mod complexity;
mod content;
mod context;
mod depth;
mod error;
mod features;
mod focus;
mod follow_up;
mod function_words;
mod ids;
mod keywords;
mod line_kinds;
mod long_prompt;
mod mails;
mod message;
mod mood;
mod named_action;
mod natural_language;
mod negation;
mod noise;
mod phase;
mod plain_order;
mod plain_text;
mod plural;
mod reading;
mod reference;
mod requests;
mod source_language;
mod spelling;
mod structure;
mod synonyms;
mod task;
mod testing_status;
mod verbs;
mod wishes;

use std::ops::Deref;
use std::sync::OnceLock;

use regex::Regex;

pub use analysis::{Analysis, Evidence, FeatureEvidence, Guesses, analyze};
pub use categories::CategoryWords;
pub use caveat::{caveat, condition, is_reported, is_told_beside, only_looks, postponement};
pub use classifier::{Classifier, Guess};
pub use clauses::{MAX_CLAUSES, clauses};
pub(crate) use context::check;
pub use context::{Context, SourceFile, Speaker, Stage, Turn, says_nothing};
pub use depth::Depth;
pub use error::Error;
pub use features::{
    CodeStructure, ContextFeatures, Grade, Phase, Structure, TaskType, TestingStatus,
};
pub use focus::Omission;
pub use follow_up::{acts_on_it, is_follow_up, routing_text};
pub use line_kinds::NoiseKind;
pub use message::SmallModels;
pub use mood::{Doer, no_order};
pub use named_action::{has_order_form, names_action};
pub use phase::{phase_by_keywords, phase_examples};
pub use plain_order::{
    VerbMismatch, means_same, ordered_change, told, unknown_object, verb_mismatch,
};
pub use plain_text::Places;
pub use reading::Reading;
pub use source_language::language_name;
pub use task::{task_by_keywords, task_examples};
pub use wishes::doubtful_parts;

pub(crate) use actions::{Order, first_words, order};
pub(crate) use categories::Categories;
pub(crate) use features::words;
pub(crate) use function_words::begins_object;
pub(crate) use ids::PromptIds;
pub(crate) use long_prompt::without_middle;
pub(crate) use natural_language::latin_share;
pub(crate) use plural::{LISTS, asks_for_several};
pub(crate) use reading::ReadingWords;
pub(crate) use requests::is_verb;
pub(crate) use spelling::Lexicon;
pub(crate) use synonyms::{are_opposites, verbs_agree, verbs_oppose};
pub(crate) use verbs::{Actions, action_of, actions_in, third_person, undone};
pub(crate) use wishes::wishes;

/// A constant regular expression of this crate, compiled when it is first used.
pub(crate) struct Pattern {
    text: &'static str,
    regex: OnceLock<Regex>,
}

impl Pattern {
    pub(crate) const fn new(text: &'static str) -> Self {
        Self { text, regex: OnceLock::new() }
    }
}

impl Deref for Pattern {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        self.regex.get_or_init(|| pattern(self.text))
    }
}

/// Compiles a constant regular expression of this crate.
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant that the tests compile. This is a bug.")
}

/// Whether a space-separated list contains a word, ignoring case.
fn is_listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|listed| listed.eq_ignore_ascii_case(word))
}
