//! Why a context cannot be analysed.

use thiserror::Error as ThisError;

/// A context or a set of examples that cannot be used.
#[derive(Clone, Debug, PartialEq, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// No stage has the name.
    #[error("unknown stage `{name}`; expected {known}")]
    UnknownStage { name: String, known: String },

    /// The context has another prompt than the request.
    #[error("two prompts: one is given and the context has another; leave one out")]
    TwoPrompts,

    /// The prompt is empty.
    #[error("the prompt is empty; expected some words that say what is wanted")]
    EmptyPrompt,

    /// A text is too long.
    #[error("{what} has {found} bytes, at most {most} are read; shorten it")]
    TooLong { what: String, found: usize, most: usize },

    /// There are too many files, turns or tools.
    #[error("the context has {found} {what}, at most {most} are read; leave some out")]
    TooMany { what: &'static str, found: usize, most: usize },

    /// A file has no path.
    #[error("file {at} of the context has no path; expected one such as src/main.rs")]
    NoPath { at: usize },

    /// Two files have the same path.
    #[error("the context's files name {path} twice; leave one out")]
    SamePath { path: String },

    /// The limit of tools is 0.
    #[error("the context asks for 0 tools at most; expected 1 or more, or no max_tools")]
    NoTools,

    /// The text is no context in JSON.
    #[error(
        "expected a context, a JSON object whose members docs/context.md lists; found: {because}"
    )]
    BadJson { because: String },

    /// The examples are not of one model.
    #[error(
        "expected {expected} vectors of examples with {dimension} numbers each, found {found} numbers"
    )]
    BadExamples { expected: usize, dimension: usize, found: usize },
}
