//! The retriever trait, its input and its output.

use std::str::FromStr;
use std::time::Duration;

use thiserror::Error as ThisError;
use toolroute_catalog::Catalog;
use toolroute_vectors::index::{self, Rows};

use super::candidate::Candidate;
use super::signals::Signal;
use crate::query::{Reading, words};

words! {
    /// The retrieval strategy, as a user names it.
    #[derive(Default)]
    Strategy {
        /// Hybrid if a model is available, otherwise keyword.
        #[default]
        Auto => "auto",
        /// BM25 over names, descriptions and parameters.
        Keyword => "keyword",
        /// Cosine between the prompt's vector and each tool's vector.
        Semantic => "semantic",
        /// Semantic and keyword scores, fused.
        Hybrid => "hybrid",
    }
}

impl Strategy {
    /// Whether retrieval needs the prompt's vector. False for `Auto`, which must be resolved first.
    #[doc(hidden)] // For our own crates.
    pub fn needs_vector(self) -> bool {
        matches!(self, Self::Semantic | Self::Hybrid)
    }

    /// Resolves `auto`: hybrid with a model, keyword without.
    pub(crate) fn resolved(self, has_model: bool) -> Self {
        match (self, has_model) {
            (Self::Auto, true) => Self::Hybrid,
            (Self::Auto, false) => Self::Keyword,
            (asked, _) => asked,
        }
    }
}

impl FromStr for Strategy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::from_word(name).ok_or_else(|| Error::UnknownStrategy { name: name.to_owned() })
    }
}

/// Why a strategy, its weights or its patterns cannot be used.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// No strategy has the name.
    #[error("unknown strategy `{name}`; expected auto, keyword, semantic or hybrid")]
    UnknownStrategy { name: String },

    /// The strategy needs the vector of the prompt.
    #[error(
        "the {strategy} strategy needs the prompt's vector, and none came; embed the prompt first or use the keyword strategy"
    )]
    NoVector { strategy: Strategy },

    /// A pattern of ids is invalid.
    #[error("the tool pattern `{pattern}` cannot be read: {because}; write one such as `git__*`")]
    BadToolPattern { pattern: String, because: String },

    /// No signal has the name.
    #[error("unknown signal `{name}`; expected one of {known}")]
    UnknownSignal { name: String, known: String },

    /// The weight is out of range.
    #[error("the weight of the signal {signal} is {found}; expected 0 (off) to 1")]
    BadSignalWeight { signal: Signal, found: f32 },

    /// A vector is invalid.
    #[error(transparent)]
    Index(#[from] index::Error),
}

/// The input of a retriever.
#[derive(Clone, Copy)]
pub struct Prompt<'a> {
    pub reading: &'a Reading,
    /// The vector of the prompt's text. The keyword strategy does not need it.
    pub vector: Option<QueryVector<'a>>,
    /// The requests of a prompt that contains several; empty if it contains one.
    pub clauses: &'a [Clause<'a>],
    /// The share of the prompt that the encoder can read, 0 to 1.
    pub readable_share: f32,
    /// The learned semantic weight of the weighted fusion, 0 to 1. `None` uses the fusion's own.
    pub semantic_share: Option<f32>,
    /// The catalog rows to choose from.
    pub rows: Rows<'a>,
    /// The number of candidates that the caller keeps. A retriever returns at least this many if it
    /// has them, and may return all.
    pub limit: usize,
    /// What else an answer depends on, if only scores decide which candidates are in it. A
    /// retriever may then omit candidates that score too far below the best `limit`. `None` keeps
    /// them all.
    pub cut: Option<Cut<'a>>,
    /// Rows that an approximate search also considers, ascending: a tool may be in the answer because
    /// another one needs it.
    pub suppliers: &'a [u32],
}

/// What an answer depends on beside the best scores.
#[derive(Clone, Copy)]
pub struct Cut<'a> {
    /// The width of the policy's band, on the scale of the scores.
    pub band_width: f32,
    /// Tells which tools provide the ids that others require.
    pub catalog: &'a Catalog,
}

/// One of several requests in a prompt.
#[derive(Clone, Copy)]
pub struct Clause<'a> {
    pub text: &'a str,
    /// The vector of `text`.
    pub vector: QueryVector<'a>,
}

/// The vector of a prompt or of a clause.
#[derive(Clone, Copy)]
pub struct QueryVector<'a> {
    /// A unit vector.
    pub numbers: &'a [f32],
    /// Its cosines with all rows, if a batch of prompts has already computed them.
    pub cosines: Option<&'a [f32]>,
}

impl<'a> From<&'a [f32]> for QueryVector<'a> {
    fn from(numbers: &'a [f32]) -> Self {
        Self { numbers, cosines: None }
    }
}

impl<'a> Prompt<'a> {
    /// Creates a prompt with one request, over all rows, that the encoder can read completely.
    pub fn new(reading: &'a Reading, vector: Option<&'a [f32]>, limit: usize) -> Self {
        Self {
            reading,
            vector: vector.map(QueryVector::from),
            clauses: &[],
            readable_share: 1.0,
            semantic_share: None,
            rows: Rows::All,
            limit,
            suppliers: &[],
            cut: None,
        }
    }

    pub fn text(&self) -> &'a str {
        &self.reading.text
    }

    pub(super) fn vector_for(&self, strategy: Strategy) -> Result<QueryVector<'a>, Error> {
        self.vector.ok_or(Error::NoVector { strategy })
    }
}

/// The duration of each stage of a retrieval.
#[derive(Clone, Copy, Debug, Default)]
pub struct StageTimes {
    pub search: Duration,
    pub keyword: Duration,
    pub fuse: Duration,
}

/// The output of a retriever: candidates in no particular order.
#[derive(Debug, Default)]
pub struct Retrieval {
    pub candidates: Vec<Candidate>,
    pub times: StageTimes,
}

/// Finds the rows of a catalog that may fit a prompt.
///
/// Implementations are deterministic: equal prompts give bit-identical candidates.
pub trait Retriever: Send + Sync {
    fn strategy(&self) -> Strategy;

    /// Returns the rows that may fit the prompt, with their scores.
    ///
    /// # Errors
    /// [`Error::NoVector`] if the strategy needs the prompt's vector and the prompt has none;
    /// [`Error::Index`] if the index rejects the vector or a row.
    fn retrieve(&self, prompt: &Prompt<'_>) -> Result<Retrieval, Error>;

    /// Returns the words of `text` that each row matches, for its explanation. Empty if the strategy
    /// does not compare words.
    fn matched_terms(&self, text: &str, rows: &[u32]) -> Vec<Vec<String>>;
}
