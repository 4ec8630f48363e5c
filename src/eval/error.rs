//! What can stop a run over a file. A bad row never does.

use std::path::PathBuf;

use thiserror::Error as ThisError;

#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    #[error("cannot {action} {}: {source}", .path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },

    #[error("{} holds no rows; expected one JSON object a line, with \"id\" and \"query\"", .path.display())]
    NoRows { path: PathBuf },

    #[error(
        "no row of {} has a gold answer that is in the catalog; expected \"gold\":[tool ids], as `toolroute tools list` shows them",
        .path.display()
    )]
    NoGold { path: PathBuf },

    #[error(transparent)]
    Engine(#[from] crate::engine::Error),
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
