//! What can be wrong with what was learned.

use std::io;
use std::path::PathBuf;

use thiserror::Error as ThisError;

/// Why usage was not learned, written, read or used.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    #[error("there is no usage file at {path}, expected one: `toolroute learn` writes it")]
    Missing { path: PathBuf },

    #[error(
        "{path} cannot be used for what is learned: {source}: check that it is a file, its permissions and the space on disk"
    )]
    Io { path: PathBuf, source: io::Error },

    #[error(
        "{path} is not a usage file, it does not begin like one: name a file that `toolroute learn` wrote, or another to write"
    )]
    Foreign { path: PathBuf },

    #[error(
        "{path} has format {found}, expected {expected}: learn again (`toolroute learn --fresh`) with this version"
    )]
    Version { path: PathBuf, found: u32, expected: u32 },

    #[error(
        "{path} ends after {got} bytes, expected {expected}: learn again (`toolroute learn --fresh`), or remove it"
    )]
    Truncated { path: PathBuf, expected: u64, got: u64 },

    #[error(
        "{path} was changed after it was written, its SHA-256 is not the one it ends in: learn again (`toolroute learn --fresh`), or remove it"
    )]
    Checksum { path: PathBuf },

    #[error(
        "{path} contradicts itself: {what}: learn again (`toolroute learn --fresh`), or remove it"
    )]
    Malformed { path: PathBuf, what: String },

    #[error(
        "what was learned is of the model {found} ({found_fingerprint}), expected {expected} ({expected_fingerprint}): learn again with this model from the past prompts (`toolroute learn --fresh`), or go without --usage"
    )]
    OtherModel {
        found: String,
        found_fingerprint: String,
        expected: String,
        expected_fingerprint: String,
    },

    #[error(
        "the vector of a past prompt is no unit vector of {expected} numbers (found {found} of length {length}): embed it with the model of the usage"
    )]
    NotUnit { expected: usize, found: usize, length: f64 },
}
