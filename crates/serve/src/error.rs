//! What can be wrong with a request to the service.

use thiserror::Error as ThisError;
use toolroute_run::pins::shell_word;

use crate::{engine, execution};

#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    #[error("no tool `{}` here{}", cut(.id), suggestion(.near))]
    UnknownTool { id: String, near: Vec<String> },

    #[error(
        "`{0}` is held back: nobody has agreed to its definition as it is now; the user can look at it \
         with `toolroute pins diff {0}` and let it in with `toolroute pins approve {0}`", shell_word(&cut(.id))
    )]
    HeldBack { id: String },

    /// A tool of a server that has not said yet which tools it has.
    #[error("no tool `{}` is known: the server `{server}` cannot be had: {because}", cut(.id))]
    NotListed { id: String, server: String, because: String },

    #[error("no profile `{}`; expected one of {}", cut(.name), listed(.known))]
    UnknownProfile { name: String, known: Vec<String> },

    #[error("no server `{}`; expected one of {}", cut(.name), listed(.known))]
    UnknownServer { name: String, known: Vec<String> },

    #[error("tools cannot be called here; expected a servers file, as with --servers FILE")]
    NoExecutor,

    #[error(
        "nothing is kept under the handle `{handle}`; expected one that a cut answer named, and not \
         long ago: call the tool again"
    )]
    UnknownHandle { handle: String },

    #[error("the server `{server}` cannot be had: {because}")]
    Unavailable { server: String, because: String },

    /// What a server of ours said to a request that is no call.
    #[error("{message} ({code})")]
    Refused { code: i32, message: String },

    #[error(
        "expected the name of a session with 1 to {most} printable characters, found one of {chars}"
    )]
    BadSession { chars: usize, most: usize },

    #[error("the client began no session: {because}")]
    NoSession { because: String },

    #[error("cannot listen: {source}; choose another address")]
    Listen {
        #[source]
        source: std::io::Error,
    },

    /// A panic below; it has said so in the log.
    #[error("the request was not finished; see the log")]
    Unfinished,

    #[error(transparent)]
    Engine(#[from] engine::Error),

    #[error(transparent)]
    Execution(#[from] execution::Error),
}

fn suggestion(near: &[String]) -> String {
    match near {
        [] => "; find_tools finds the ids of tools".to_owned(),
        near => format!("; did you mean {}?", near.join(" or ")),
    }
}

fn listed(known: &[String]) -> String {
    if known.is_empty() { "none: there is none".to_owned() } else { known.join(", ") }
}

/// An id may be any text, and what is told of it must stay a line.
fn cut(id: &str) -> String {
    const MOST: usize = 80;
    id.chars().filter(|c| !c.is_control()).take(MOST).collect()
}
