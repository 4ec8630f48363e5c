//! The errors that stop the conductor. A tool that fails does not stop it.

use std::path::PathBuf;

use thiserror::Error as ThisError;

#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    #[error(
        "the request is no JSON: {said}; expected an object with `utterance` and `obligations`"
    )]
    NotJson { said: String },

    #[error(
        "the request at {place} is wrong: {said}; expected what the schema of obligations says"
    )]
    Schema { place: String, said: String },

    #[error("the request names `{id}` twice; expected a name of its own for each obligation")]
    SameId { id: String },

    #[error(
        "`{id}` takes a value from `{from}`, which does not come before it; expected the id of an earlier obligation"
    )]
    NotBefore { id: String, from: String },

    #[error(
        "this request is begun in {} and not finished; expected a new one: resume it, or name another ledger",
        .path.display()
    )]
    Unfinished { path: PathBuf },

    #[error("nothing in {} can be resumed; expected a request that was made before: make one", .path.display())]
    NothingToResume { path: PathBuf },

    #[error(
        "answers go with a request that asked for something; expected it to be resumed with them"
    )]
    RepliesAnew,

    #[error(
        "no question is open for `{id}`; expected {}", if .open.is_empty() { "none: nothing is asked".to_owned() } else { format!("one of {}", .open) }
    )]
    NoSuchQuestion { id: String, open: String },

    #[error(
        "`{id}` asks for several inputs; expected an answer for each of `{inputs}`, or a JSON object of them"
    )]
    SeveralInputs { id: String, inputs: String },

    #[error("another conductor is at work in {}; wait for its end, or name another ledger", .path.display())]
    Busy { path: PathBuf },

    #[error("{} is not a ledger of toolroute; expected none or one of ours: name another file", .path.display())]
    Foreign { path: PathBuf },

    #[error("{} is a ledger of version {found}; expected {expected}: use the toolroute that wrote it, or name another file", .path.display())]
    Version { path: PathBuf, found: i64, expected: i64 },

    #[error("the ledger {} is damaged: {said}; restore it from a copy, or move it away and begin another", .path.display())]
    Damaged { path: PathBuf, said: String },

    #[error("there is no ledger at {}; expected one that a conductor made", .path.display())]
    Missing { path: PathBuf },

    #[error("cannot {action} {}", .path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },

    #[error(
        "the ledger does not {action}: {said}; check the disk's space and that nobody else changed the file"
    )]
    Ledger { action: &'static str, said: String },

    #[error("{said}")]
    Builtin { said: String },

    #[error(transparent)]
    Engine(#[from] toolroute_rank::engine::Error),
}
