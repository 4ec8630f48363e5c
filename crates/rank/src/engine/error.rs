//! Errors of the engine. Errors of lower modules are passed on unchanged.

use thiserror::Error as ThisError;

use crate::catalog::{did_you_mean, shortened};
use crate::selection::Strategy;
use crate::{catalog, embedding, feedback, index, query, selection};

/// Why an engine cannot be built, or has no answer.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The prompt has no letter and no digit.
    #[error(
        "the prompt is empty, or has no letter and no digit; expected some words that say what is wanted"
    )]
    EmptyPrompt,

    /// None of the candidates is in the catalog.
    #[error("none of the {count} candidates is in the catalog; the first is `{}`{}", shortened(.first, SHOWN), did_you_mean(.near))]
    UnknownCandidates { count: usize, first: String, near: Vec<String> },

    /// The strategy needs a model, and there is none.
    /// `strategy` is the one that was asked for, if the request is a selection.
    #[error("{}", no_model(*.strategy))]
    NoModel { strategy: Option<Strategy> },

    /// The weight of the semantic score is out of range.
    #[error("semantic weight {found} is out of range; expected 0 to 1")]
    BadWeight { found: f32 },

    /// The least confidence is out of range.
    #[error("min_confidence {found} is out of range; expected 0 (always answer) to 1")]
    BadConfidence { found: f32 },

    /// The policy's band is out of range.
    #[error(
        "policy band {found} is out of range; expected 0 (the score alone decides) to 1, such as 0.02"
    )]
    BadPolicyBand { found: f32 },

    /// The least share of the best score is out of range.
    #[error(
        "share of the best score {found} is out of range; expected 0 (every tool may stand beside it) to \
         1, such as 0.9"
    )]
    BadNearBest { found: f32 },

    /// The engine has no log.
    #[error(
        "this engine has no log of executions; expected one: build it with a file for them (`feedback`)"
    )]
    NoFeedback,

    /// The log is unusable.
    #[error(transparent)]
    Log(#[from] feedback::StoreError),

    /// No profile has the name.
    #[error("unknown profile `{}`; expected one of the configuration{}", shortened(.name, SHOWN), listed(.known))]
    UnknownProfile { name: String, known: Vec<String> },

    /// The pattern of small models is invalid.
    #[error(
        "the rule `{found}` for small models is no regular expression; write one such as `mini|nano`"
    )]
    BadModelRule { found: String },

    /// A change of the catalog is invalid.
    #[error(transparent)]
    Catalog(#[from] catalog::Error),

    /// The model fails.
    #[error(transparent)]
    Embedding(#[from] embedding::Error),

    /// The context is invalid.
    #[error(transparent)]
    Query(query::Error),

    /// A vector is invalid.
    #[error(transparent)]
    Index(#[from] index::Error),

    /// The snapshot is unusable.
    #[error(transparent)]
    Snapshot(#[from] index::SnapshotError),

    /// The usage vectors are unusable.
    #[error(transparent)]
    Feedback(#[from] feedback::Error),

    /// A strategy, weight or pattern is invalid.
    #[error(transparent)]
    Selection(#[from] selection::Error),
}

impl From<query::Error> for Error {
    fn from(error: query::Error) -> Self {
        match error {
            query::Error::EmptyPrompt => Self::EmptyPrompt,
            error => Self::Query(error),
        }
    }
}

fn no_model(strategy: Option<Strategy>) -> String {
    match strategy {
        Some(strategy) => format!(
            "the {strategy} strategy needs a model and this engine has none; give it an embedder or use the \
             keyword strategy"
        ),
        None => "vectors need a model and this engine has none; give it an embedder".to_owned(),
    }
}

fn listed(profiles: &[String]) -> String {
    if profiles.is_empty() {
        ", which has none".to_owned()
    } else {
        format!(": {}", profiles.join(", "))
    }
}

/// The most characters of an id, which may be any text, in a message.
const SHOWN: usize = 80;
