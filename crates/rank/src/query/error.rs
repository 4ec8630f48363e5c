//! Why a context cannot be analysed.

use thiserror::Error as ThisError;

/// A context or a set of examples that cannot be used.
#[derive(Clone, Debug, PartialEq, ThisError)]
#[non_exhaustive]
pub enum Error {
    #[error("unknown stage `{name}`; expected {known}")]
    UnknownStage { name: String, known: String },

    #[error("two prompts: one is given and the context has another; leave one out")]
    TwoPrompts,

    #[error("the prompt is empty; expected some words that say what is wanted")]
    EmptyPrompt,

    #[error("{what} has {found} bytes, at most {most} are read; shorten it")]
    TooLong { what: String, found: usize, most: usize },

    #[error("the context has {found} {what}, at most {most} are read; leave some out")]
    TooMany { what: &'static str, found: usize, most: usize },

    #[error("file {at} of the context has no path; expected one such as src/main.rs")]
    NoPath { at: usize },

    #[error("the context's files name {path} twice; leave one out")]
    SamePath { path: String },

    #[error("the context asks for 0 tools at most; expected 1 or more, or no max_tools")]
    NoTools,

    #[error(
        "expected a context, a JSON object whose members docs/context.md lists; found: {because}"
    )]
    BadJson { because: String },

    #[error(
        "expected {expected} vectors of examples with {dimension} numbers each, found {found} numbers"
    )]
    BadExamples { expected: usize, dimension: usize, found: usize },
}
