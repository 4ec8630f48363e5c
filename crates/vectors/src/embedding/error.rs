//! The errors of loading models and embedding texts.

use std::path::PathBuf;

use thiserror::Error as ThisError;

use super::Device;

/// Why a model cannot be loaded, or gives no vectors.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The model is known but not installed.
    #[error(
        "model `{name}` is not on this machine: expected its files in {}, found none; \
         get it with `{command}` (or `scripts/fetch_model.sh`), or take a built-in one, which \
         `toolroute model list` shows",
        .path.display()
    )]
    ModelMissing { name: String, path: PathBuf, command: String },

    /// No model has the name.
    #[error(
        "no model `{name}` here; known are {known}; give one of them, the folder of a sentence-transformer (with a `/` in it), or pull `owner/name` from the hub"
    )]
    UnknownModel { name: String, known: String },

    /// A file is not the one of the manifest.
    #[error(
        "model `{name}` is refused: {file} should have {what} {expected}, has {found}; \
         fetch it again with `toolroute model pull {name} --force`"
    )]
    Tampered { name: String, file: String, what: &'static str, expected: String, found: String },

    /// The name is one of a built-in model.
    #[error("model `{name}` is part of the program; expected another name for what is installed")]
    BuiltIn { name: String },

    /// A static model was asked to run in a backend.
    #[error(
        "model `{name}` is a table of token vectors, which no encoder runs; leave out the backend, or \
         take another model"
    )]
    NoEncoder { name: String },

    /// The device is unusable.
    #[error(
        "the device {device} cannot be used: {problem}; expected cpu, or a program built with \
         `--features {feature}` on a machine that has one"
    )]
    NoDevice { device: Device, feature: &'static str, problem: String },

    /// The model needs candle, which is not compiled in.
    #[error(
        "model `{name}` cannot be run as asked: that takes candle, which this program was built without; expected \
         a program built with `--features candle`, or the native backend and a BERT model with GELU whose widths \
         are multiples of 32"
    )]
    NoCandle { name: String },

    /// The model does not say how its vectors are pooled.
    #[error(
        "{} says neither how token vectors are pooled nor how it is read; expected modules.json \
         and 1_Pooling/config.json, or --pooling mean or cls",
        .path.display()
    )]
    NoPooling { path: PathBuf },

    /// A file of the model is missing.
    #[error("model file {} is missing; expected {expected}", .path.display())]
    FileMissing { path: PathBuf, expected: &'static str },

    /// A file of the model is invalid.
    #[error("{}: {problem}; expected {expected}", .path.display())]
    BadFile { path: PathBuf, expected: &'static str, problem: String },

    /// The model is of a kind that is not supported.
    #[error(
        "{}: {what} `{found}` is not supported; supported: {supported}", .path.display()
    )]
    Unsupported { path: PathBuf, what: &'static str, found: String, supported: &'static str },

    /// The name is none of a model.
    #[error(
        "`{name}` cannot name a model: expected letters, digits, `.`, `_` and `-`, at most 100 of them"
    )]
    BadName { name: String },

    /// A file cannot be read or written.
    #[error("cannot {action} {}", .path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },

    /// A text cannot be tokenised.
    #[error("the tokenizer failed on a text of {chars} characters: {message}")]
    Tokenize { chars: usize, message: String },

    /// A token is not in the vocabulary.
    #[error(
        "token {id} at place {at} is beyond the model, which knows {known} tokens and {positions} \
         places; its tokenizer.json belongs to another model"
    )]
    BadToken { id: u32, known: usize, at: usize, positions: usize },

    /// A text has no tokens.
    #[error("text {row} of the batch has no tokens; expected at least the special ones")]
    NoTokens { row: usize },

    /// The computation failed.
    #[error("inference failed: {message}; the model's files may not fit each other")]
    Inference { message: String },

    /// A vector is zero or not finite.
    #[error(
        "the model gave a vector of length {norm} for text {row} of the batch; expected a finite, \
         non-zero one; its weights are damaged or not those of a sentence-transformer"
    )]
    BadVector { row: usize, norm: f32 },

    /// An embedder gave another number of vectors, or longer ones, than expected.
    #[error(
        "`{name}` gave {rows} vectors of {columns} numbers for {texts} texts; expected one for each text, of \
         {dimension} numbers as its identity says"
    )]
    BadShape { name: String, rows: usize, columns: usize, texts: usize, dimension: usize },

    /// The rows for a matrix of vectors are of different lengths.
    #[error("row {row} has {found} numbers, expected {expected} as in the first row")]
    UnequalRows { row: usize, expected: usize, found: usize },

    /// An embedder gave a vector that is not a unit vector.
    #[error(
        "`{name}` gave a vector of length {length} for text {row} of the batch; expected length 1: divide each \
         vector by its length, and give none without a direction"
    )]
    NotUnit { name: String, row: usize, length: f32 },

    /// An [`Embedder`](super::Embedder) of another program failed, for the reason that it gives.
    #[error("the embedder failed: {because}")]
    Other { because: Box<dyn std::error::Error + Send + Sync> },

    /// The hub does not give a file.
    #[error(
        "cannot fetch {file} of {repo} from the hub: {message}; without a network use `toolroute model pull NAME --from DIR`"
    )]
    Hub { repo: String, file: String, message: String },
}

/// Converts to text, so that no vendor type is part of this crate's public API.
#[cfg(feature = "candle")]
impl From<candle_core::Error> for Error {
    fn from(error: candle_core::Error) -> Self {
        Self::Inference { message: error.to_string() }
    }
}

impl Error {
    /// The error of an [`Embedder`](super::Embedder) of your own: any error, or a text.
    pub fn other(because: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Other { because: because.into() }
    }

    pub(super) fn bad_weights(path: PathBuf, problem: String) -> Self {
        let expected = "the weights of a BERT model as config.json describes it";
        Self::BadFile { path, expected, problem }
    }

    pub(super) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
