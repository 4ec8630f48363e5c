//! Why a catalog could not be loaded at all.

use std::path::PathBuf;

use super::Problem;

/// A failure that leaves no catalog. What can be survived is a [`Problem`] instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("expected a readable file or directory of tools at {}; check the path and its permissions", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },

    #[error("expected a file of at most {} MiB at {}, found a larger one; check that it is a catalog, or split it", limit >> 20, path.display())]
    TooLarge { path: PathBuf, limit: u64 },

    /// A file that was named, rather than met in a directory, holds nothing that is a tool.
    #[error("the file was not understood: {problem}")]
    Unrecognised { problem: Box<Problem> },

    /// Every problem, warnings too; at least one is an error.
    #[error(
        "expected no errors in strict mode, found {}; cure them or load without strict:{}",
        counted(problems),
        listed(problems)
    )]
    Strict { problems: Vec<Problem> },
}

fn counted(problems: &[Problem]) -> String {
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    format!("{errors} error{}", if errors == 1 { "" } else { "s" })
}

fn listed(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("\n  {problem}")).collect()
}
