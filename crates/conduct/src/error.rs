//! The errors that stop the conductor. A tool that fails does not stop it.

use std::path::PathBuf;

use thiserror::Error as ThisError;

/// What stops the conductor. A tool that fails does not stop it.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The request is no JSON.
    #[error(
        "the request is no JSON: {said}; expected an object with `utterance` and `obligations`"
    )]
    NotJson { said: String },

    /// The request is not as the schema of obligations says.
    #[error(
        "the request at {place} is wrong: {said}; expected what the schema of obligations says"
    )]
    Schema { place: String, said: String },

    /// Two obligations have the same name.
    #[error("the request names `{id}` twice; expected a name of its own for each obligation")]
    SameId { id: String },

    /// An obligation takes a value of a later one.
    #[error(
        "`{id}` takes a value from `{from}`, which does not come before it; expected the id of an earlier obligation"
    )]
    NotBefore { id: String, from: String },

    /// The request was begun before.
    #[error(
        "this request is begun in {} and not finished; expected a new one: resume it, or name another ledger",
        .path.display()
    )]
    Unfinished { path: PathBuf },

    /// The ledger has no request to go on with.
    #[error("nothing in {} can be resumed; expected a request that was made before: make one", .path.display())]
    NothingToResume { path: PathBuf },

    /// There are answers, but a new request has asked nothing.
    #[error(
        "answers go with a request that asked for something; expected it to be resumed with them"
    )]
    RepliesAnew,

    /// Words are to be carried out, and no tool can be found by what it declares.
    #[error(
        "no tool of the catalog declares what it satisfies; expected `satisfies` in a tool's row or in an overlay"
    )]
    NothingDeclared,

    /// Nothing is asked under the name.
    #[error(
        "no question is open for `{id}`; expected {}", if .open.is_empty() { "none: nothing is asked".to_owned() } else { format!("one of {}", .open) }
    )]
    NoSuchQuestion { id: String, open: String },

    /// The question asks for several inputs.
    #[error(
        "`{id}` asks for several inputs; expected an answer for each of `{inputs}`, or a JSON object of them"
    )]
    SeveralInputs { id: String, inputs: String },

    /// Another program has the ledger.
    #[error("another conductor is at work in {}; wait for its end, or name another ledger", .path.display())]
    Busy { path: PathBuf },

    /// The file is no ledger.
    #[error("{} is not a ledger of toolroute; expected none or one of ours: name another file", .path.display())]
    Foreign { path: PathBuf },

    /// The ledger is of another version.
    #[error("{} is a ledger of version {found}; expected {expected}: use the toolroute that wrote it, or name another file", .path.display())]
    Version { path: PathBuf, found: i64, expected: i64 },

    /// The ledger is damaged.
    #[error("the ledger {} is damaged: {said}; restore it from a copy, or move it away and begin another", .path.display())]
    Damaged { path: PathBuf, said: String },

    /// There is no ledger.
    #[error("there is no ledger at {}; expected one that a conductor made", .path.display())]
    Missing { path: PathBuf },

    /// The ledger's file cannot be read or written.
    #[error("cannot {action} {}", .path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },

    /// The database refuses.
    #[error(
        "the ledger does not {action}: {said}; check the disk's space and that nobody else changed the file"
    )]
    Ledger { action: &'static str, said: String },

    /// The table of built-in tools is invalid.
    #[error("{said}")]
    Builtin { said: String },

    /// The engine has no answer.
    #[error(transparent)]
    Engine(#[from] toolroute_rank::engine::Error),
}
