//! Why a catalog could not be loaded at all.

use std::path::PathBuf;

use super::Problem;

/// A failure that leaves no catalog. What can be survived is a [`Problem`] instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("expected a readable file or directory of tools at {}, found: {source}; check the path and its permissions", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },

    /// A file that was named, rather than met in a directory, holds nothing that is a tool.
    #[error("no tools were understood: {problem}")]
    Unrecognised { problem: Box<Problem> },

    #[error("expected no errors in strict mode, found {} problem(s); cure them or load without strict:{}", problems.len(), listed(problems))]
    Strict { problems: Vec<Problem> },
}

fn listed(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("\n  {problem}")).collect()
}
