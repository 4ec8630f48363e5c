//! Errors of the engine; those of the rooms below come through as they are.

use thiserror::Error as ThisError;

use crate::selection::Strategy;
use crate::{embedding, index, selection};

#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    #[error("the prompt is empty; expected some words that say what is wanted")]
    EmptyPrompt,

    #[error("none of the {count} candidates is in the catalog; the first is `{first}`{}", suggestion(.near))]
    UnknownCandidates { count: usize, first: String, near: Vec<String> },

    #[error(
        "the {strategy} strategy needs a model and this engine has none; give it an embedder or use the keyword strategy"
    )]
    NoModel { strategy: Strategy },

    #[error("semantic weight {found} is out of range; expected 0 to 1")]
    BadWeight { found: f32 },

    #[error(transparent)]
    Embedding(#[from] embedding::Error),

    #[error(transparent)]
    Index(#[from] index::Error),

    #[error(transparent)]
    Snapshot(#[from] index::SnapshotError),

    #[error(transparent)]
    Selection(#[from] selection::Error),
}

fn suggestion(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) }
}
