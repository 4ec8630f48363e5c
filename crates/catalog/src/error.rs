//! Errors of loading and changing a catalog.

use std::path::PathBuf;

use crate::excerpt::did_you_mean;
use crate::{Problem, ToolId};

/// An error because of which there is no catalog. Lesser faults are reported as a [`Problem`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    #[error("expected a readable file or directory of tools at {}; check the path and its permissions", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },

    /// The file is too large.
    #[error("expected a file of at most {} MiB at {}, found a larger one; check that it is a catalog, or split it", limit >> 20, path.display())]
    TooLarge { path: PathBuf, limit: u64 },

    /// A file that the user named, and that was not only found in a directory, contains no tool; or
    /// a text does not.
    #[error("{} not understood: {problem:#}", if problem.file.is_some() { "the file was" } else { "the tools were" })]
    Unrecognised { problem: Box<Problem> },

    /// One of several tools that can only be used together is not usable.
    #[error("{problem:#}")]
    Refused { problem: Box<Problem> },

    /// The sources contain no tool.
    #[error("expected a tool or a list of tools, found none")]
    NoTools,

    /// All problems, including warnings; at least one is an error.
    #[error(
        "expected no errors in strict mode, found {}; cure them or load without strict:{}",
        error_count(problems),
        lines(problems)
    )]
    Strict { problems: Vec<Problem> },

    /// At least one of the problems is an error.
    #[error("the tool `{id}` cannot be used:{}", lines(problems))]
    Unusable { id: ToolId, problems: Vec<Problem> },

    /// Another tool has the id.
    #[error(
        "expected an id that is not taken, found `{id}`; update that tool, or register this one under another id"
    )]
    Taken { id: ToolId },

    /// No tool has the id.
    #[error("expected the id of a tool in the catalog, found `{id}`{}", suggestion(near))]
    UnknownTool { id: String, near: Vec<ToolId> },
}

fn suggestion(near: &[ToolId]) -> String {
    if near.is_empty() { "; register it first".to_owned() } else { did_you_mean(near) }
}

fn error_count(problems: &[Problem]) -> String {
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    format!("{errors} error{}", if errors == 1 { "" } else { "s" })
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("\n  {problem}")).collect()
}
