//! The errors of usage files and execution logs.

use std::io;
use std::path::PathBuf;

use thiserror::Error as ThisError;

/// An error of learning, writing, reading or applying usage.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The file is missing.
    #[error(
        "there is no usage file at {path}; expected one with what was learned from past prompts"
    )]
    Missing { path: PathBuf },

    /// The file cannot be read or written.
    #[error(
        "{path} cannot be used for what is learned: {source}: check that it is a file, its permissions and the space on disk"
    )]
    Io { path: PathBuf, source: io::Error },

    /// The file has no usage vectors.
    #[error(
        "{path} is not a usage file, it does not begin like one: name one, or another file to write"
    )]
    Foreign { path: PathBuf },

    /// The file is of another version.
    #[error(
        "{path} has format {found}, expected {expected}: learn again from the past prompts with this version"
    )]
    Version { path: PathBuf, found: u32, expected: u32 },

    /// The file is incomplete.
    #[error(
        "{path} ends after {got} bytes, expected {expected}: learn again from the past prompts, or remove it"
    )]
    Truncated { path: PathBuf, expected: u64, got: u64 },

    /// The file is damaged.
    #[error(
        "{path} was changed after it was written, its SHA-256 is not the one it ends in: learn again from the past prompts, or remove it"
    )]
    Checksum { path: PathBuf },

    /// The file is invalid.
    #[error("{path} contradicts itself: {what}: learn again from the past prompts, or remove it")]
    Malformed { path: PathBuf, what: String },

    /// The usage belongs to another model.
    #[error(
        "what was learned is of the model {found} ({found_fingerprint}), expected {expected} ({expected_fingerprint}): learn again with this model from the past prompts, or go without usage"
    )]
    OtherModel {
        found: String,
        found_fingerprint: String,
        expected: String,
        expected_fingerprint: String,
    },

    /// A vector has the wrong length.
    #[error(
        "the vector of a past prompt is no unit vector of {expected} numbers (found {found} of length {length}): embed it with the model of the usage"
    )]
    NotUnit { expected: usize, found: usize, length: f64 },
}

/// An error of logging executions, or of opening, reading or changing a log.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum StoreError {
    /// The file is no log.
    #[error(
        "{path} is not a log of executions: {what}; it was left as it is: name another file, or move it away"
    )]
    Foreign { path: PathBuf, what: String },

    /// The log is of another version.
    #[error(
        "{path} has format {found}, expected {expected}: use the version of toolroute that wrote it, or name another file"
    )]
    Version { path: PathBuf, found: i64, expected: i64 },

    /// The log is damaged.
    #[error(
        "{path} is damaged: {what}: restore it from a copy, or move it away to begin a new log"
    )]
    Damaged { path: PathBuf, what: String },

    /// The log cannot be read or written.
    #[error("{path} cannot be used for a log of executions: {what}: {cure}")]
    Io { path: PathBuf, what: String, cure: &'static str },

    /// Another program writes the log.
    #[error("{path} was busy for {waited_ms} ms, expected a free moment: try again")]
    Busy { path: PathBuf, waited_ms: u64 },

    /// A member of an execution is invalid.
    #[error("`{field}` of an execution is {found}; expected {expected}")]
    Invalid { field: &'static str, found: String, expected: String },

    /// The text is no date.
    #[error("`{found}` is no date; expected one such as 2026-01-31")]
    BadDate { found: String },

    /// The engine has closed its log.
    #[error("the log's writer has ended; make a new recorder")]
    Closed,

    /// Executions were not written.
    #[error("{lost} executions could not be written, the last because: {because}")]
    Lost { lost: u64, because: String },

    /// No weights were learned.
    #[error("there are no older weights to go back to: none were applied, or all are taken back")]
    NothingToRevert,
}
