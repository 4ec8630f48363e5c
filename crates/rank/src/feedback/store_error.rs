//! What can be wrong with a log of executions.

use std::path::PathBuf;

use thiserror::Error as ThisError;

/// Why an execution was not logged, or a log not opened, read or changed.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum StoreError {
    #[error(
        "{path} is not a log of executions: {what}; it was left as it is: name another file, or move it away"
    )]
    Foreign { path: PathBuf, what: String },

    #[error(
        "{path} has format {found}, expected at most {expected}: use the newer version of toolroute that wrote it, or name another file"
    )]
    Newer { path: PathBuf, found: i64, expected: i64 },

    #[error(
        "{path} is damaged: {what}: restore it from a copy, or move it away to begin a new log"
    )]
    Damaged { path: PathBuf, what: String },

    #[error("{path} cannot be used for a log of executions: {what}: {cure}")]
    Io { path: PathBuf, what: String, cure: &'static str },

    #[error("{path} was busy for {waited_ms} ms, expected a free moment: try again")]
    Busy { path: PathBuf, waited_ms: u64 },

    #[error("`{field}` of an execution is {found}; expected {expected}")]
    Invalid { field: &'static str, found: String, expected: String },

    #[error("`{found}` is no date; expected one such as 2026-01-31")]
    BadDate { found: String },

    #[error("the log's writer has ended; make a new recorder")]
    Closed,

    #[error("{lost} executions could not be written, the last because: {because}")]
    Lost { lost: u64, because: String },

    #[error("there are no older weights to go back to: none were applied, or all are taken back")]
    NothingToRevert,
}
