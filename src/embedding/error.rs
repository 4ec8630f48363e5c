//! What can go wrong between a text and its vector.

use std::path::PathBuf;

use thiserror::Error as ThisError;

#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    #[error(
        "model `{name}` is not on this machine: expected its files in {}, found none; \
         get it with `{command}` (or `scripts/fetch_model.sh`)",
        .path.display()
    )]
    ModelMissing { name: String, path: PathBuf, command: String },

    #[error(
        "no manifest for model `{name}`: known are {known}; give a directory, or pull `owner/name` from the hub"
    )]
    UnknownModel { name: String, known: String },

    #[error(
        "model `{name}` is refused: {file} should have {what} {expected}, has {found}; \
         fetch it again with `toolroute model pull {name} --force`"
    )]
    Tampered { name: String, file: String, what: &'static str, expected: String, found: String },

    #[error("model file {} is missing; a sentence-transformer needs {expected}", .path.display())]
    FileMissing { path: PathBuf, expected: &'static str },

    #[error("{}: {problem}; expected {expected}", .path.display())]
    BadFile { path: PathBuf, expected: &'static str, problem: String },

    #[error(
        "{}: {what} `{found}` is not supported; supported: {supported}", .path.display()
    )]
    Unsupported { path: PathBuf, what: &'static str, found: String, supported: &'static str },

    #[error(
        "`{name}` cannot name a model: expected letters, digits, `.`, `_` and `-`, at most 100 of them"
    )]
    BadName { name: String },

    #[error("cannot {action} {}: {source}", .path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },

    #[error("the tokenizer failed on a text of {chars} characters: {message}")]
    Tokenize { chars: usize, message: String },

    #[error("inference failed: {source}; the model's files may not fit each other")]
    Inference {
        #[from]
        source: candle_core::Error,
    },

    #[error(
        "the model gave a vector of length {norm} for text {row} of the batch; expected a finite, \
         non-zero one; its weights are damaged or not those of a sentence-transformer"
    )]
    BadVector { row: usize, norm: f32 },

    #[error(
        "cannot fetch {file} of {repo} from the hub: {message}; without a network use `toolroute model pull NAME --from DIR`"
    )]
    Hub { repo: String, file: String, message: String },
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
