//! The errors that stop a run over a file. A bad row does not stop it.

use std::path::PathBuf;

use thiserror::Error as ThisError;

#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    #[error("cannot {action} {}", .path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },

    #[error("{} holds no rows; expected one JSON object a line, with \"id\" and \"query\"", .path.display())]
    NoRows { path: PathBuf },

    /// No row of a file could be read, because the file is in another format.
    #[error(
        "no row of {} could be read; expected one JSON object a line, such as {{\"id\": 1, \"query\": \"the weather in Paris\"}}; {cure} (line {line}: {found})",
        .path.display()
    )]
    NothingRead { path: PathBuf, cure: &'static str, line: usize, found: String },

    #[error(
        "no row of {} has a gold answer that is in the catalog; expected \"gold\":[tool ids], as `toolroute tools list` shows them, or [] if no tool serves the prompt",
        .path.display()
    )]
    NoGold { path: PathBuf },

    #[error(
        "{} holds no set; expected folders with tools.jsonl and queries.jsonl in it", .path.display()
    )]
    NoSets { path: PathBuf },

    #[error("{} has no set `{name}`; expected one of {}", .path.display(), .known.join(", "))]
    UnknownSet { path: PathBuf, name: String, known: Vec<String> },

    #[error(
        "{} has queries.jsonl and no tools; expected tools.jsonl or a folder tools beside it: put them there, or leave the set out with --sets",
        .path.display()
    )]
    NoTools { path: PathBuf },

    #[error(transparent)]
    Engine(#[from] toolroute_rank::engine::Error),
}

impl Error {
    pub(super) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
