//! The trait of retrievers, its input and its output.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error as ThisError;
use toolroute_vectors::index::{self, Rows};

use super::order::Preference;
use super::signals::Signal;
use crate::query::Reading;

/// How tools are found, as a user names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// Hybrid where a model is at hand, keyword where not.
    #[default]
    Auto,
    /// BM25 over names, descriptions and parameters.
    Keyword,
    /// Cosine between the prompt's vector and each tool's.
    Semantic,
    /// Both, fused.
    Hybrid,
}

impl Strategy {
    /// Whether prompts must be embedded for it.
    pub fn needs_vector(self) -> bool {
        matches!(self, Self::Semantic | Self::Hybrid)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Keyword => "keyword",
            Self::Semantic => "semantic",
            Self::Hybrid => "hybrid",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Strategy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        [Self::Auto, Self::Keyword, Self::Semantic, Self::Hybrid]
            .into_iter()
            .find(|strategy| strategy.as_str() == name)
            .ok_or_else(|| Error::UnknownStrategy { name: name.to_owned() })
    }
}

#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    #[error("unknown strategy `{name}`; expected auto, keyword, semantic or hybrid")]
    UnknownStrategy { name: String },

    #[error(
        "the {strategy} strategy needs the prompt's vector, and none came; embed the prompt first or use the keyword strategy"
    )]
    NoVector { strategy: Strategy },

    #[error("the tool pattern `{pattern}` cannot be read: {because}; write one such as `git__*`")]
    BadToolPattern { pattern: String, because: String },

    #[error("unknown signal `{name}`; expected one of {known}")]
    UnknownSignal { name: String, known: String },

    #[error("the weight of the signal {signal} is {found}; expected 0 (off) to 1")]
    BadSignalWeight { signal: Signal, found: f32 },

    #[error(transparent)]
    Index(#[from] index::Error),
}

/// The input of a retriever.
#[derive(Clone, Copy)]
pub struct Prompt<'a> {
    pub reading: &'a Reading,
    /// The vector of its text; the keyword strategy needs none.
    pub vector: Option<QueryVector<'a>>,
    /// The requests of a prompt with several; empty for a prompt with one.
    pub clauses: &'a [Clause<'a>],
    /// How much of the prompt's script the encoder can read, 0 to 1.
    pub trust: f32,
    /// The learned share of meaning in the weighted blend; `None` uses the blend's own.
    pub semantic_share: Option<f32>,
    /// The rows of the catalog to choose among.
    pub rows: Rows<'a>,
    /// How many of them the caller keeps. A retriever returns at least so many where it has them, and may
    /// return all.
    pub limit: usize,
    /// The width of the policy's band, if scores alone decide about the answer: candidates that are too far from the
    /// best `limit` to be in it may then be left out.
    pub tail: Option<f32>,
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
    /// Of length one.
    pub numbers: &'a [f32],
    /// Its cosines with all rows, where a batch of prompts has them already.
    pub cosines: Option<&'a [f32]>,
}

impl<'a> From<&'a [f32]> for QueryVector<'a> {
    fn from(numbers: &'a [f32]) -> Self {
        Self { numbers, cosines: None }
    }
}

impl<'a> Prompt<'a> {
    /// A prompt with one request, over all rows, in a script that the encoder can read.
    pub fn new(reading: &'a Reading, vector: Option<&'a [f32]>, limit: usize) -> Self {
        Self {
            reading,
            vector: vector.map(QueryVector::from),
            clauses: &[],
            trust: 1.0,
            semantic_share: None,
            rows: Rows::All,
            limit,
            tail: None,
        }
    }

    pub fn text(&self) -> &'a str {
        &self.reading.text
    }

    pub(super) fn vector_for(&self, strategy: Strategy) -> Result<QueryVector<'a>, Error> {
        self.vector.ok_or(Error::NoVector { strategy })
    }
}

/// One part of a score before it is weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// Cosine or BM25, as the scorer gave it.
    pub raw: f32,
    /// After normalisation over the candidates, or the reciprocal rank.
    pub normalized: f32,
    /// The factor on `normalized`.
    pub weight: f32,
}

impl Score {
    /// What it adds to the candidate's score.
    pub fn contribution(self) -> f32 {
        self.weight * self.normalized
    }
}

/// A row of the catalog with its score, which is the sum of its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Candidate {
    pub row: u32,
    pub score: f32,
    pub semantic: Option<Score>,
    pub keyword: Option<Score>,
    /// What an exact mention of the tool's name adds; 0 without one.
    pub exact_name: f32,
    /// What is added to the neighbour of the best tool that fits the prompt's wording better; else 0.
    pub wording: f32,
    /// Why it ranks before a tool that scores more.
    pub preferred: Option<Preference>,
}

impl Candidate {
    /// Its score by meaning and words.
    pub fn blend(&self) -> f32 {
        let part = |score: Option<Score>| score.map_or(0.0, Score::contribution);
        part(self.semantic) + part(self.keyword)
    }

    /// What the signals added to its score.
    pub fn signals(&self) -> f32 {
        self.score - self.blend() - self.exact_name - self.wording
    }
}

/// How long each stage took.
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
    /// The mean cosine of all requested rows, candidates or not: how near the prompt is to the catalog as a
    /// whole. 0 without vectors.
    pub typical: f32,
    pub times: StageTimes,
}

/// Finds the rows of a catalog that may fit a prompt.
///
/// Implementations are deterministic: equal prompts give equal candidates, to the bit.
pub trait Retriever: Send + Sync {
    fn strategy(&self) -> Strategy;

    /// Scores the rows that may fit.
    ///
    /// # Errors
    /// Where the prompt lacks the vector that the strategy needs, or the vector cannot be used.
    fn retrieve(&self, prompt: &Prompt<'_>) -> Result<Retrieval, Error>;

    /// The words of the prompt by which the row was found, for its explanation.
    fn matched_terms(&self, text: &str, row: u32) -> Vec<String>;
}
