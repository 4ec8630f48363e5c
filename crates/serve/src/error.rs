//! Errors of requests to the service.

use thiserror::Error as ThisError;
use toolroute_catalog::did_you_mean;
use toolroute_rank::{engine, feedback};
use toolroute_run::execution;

/// Why a service cannot be built, or does not do what a client asks.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// No tool has the id.
    #[error("no tool `{}` here{}", cut(.id), did_you_mean(.near))]
    UnknownTool { id: String, near: Vec<String> },

    /// Pins hide the tool from every client.
    #[error("`{}` is held back. Tell the user: {because}", cut(.id))]
    HeldBack { id: String, because: String },

    /// Permissions hide the tool from every client.
    #[error(
        "`{}` {because}; the user can allow it with the server's --read-only, --allow and --deny and its entry \
         in the servers file", cut(.id)
    )]
    Forbidden { id: String, because: &'static str },

    /// The tool may belong to a server whose list is not known yet.
    #[error("no tool `{}` is known: the server `{server}` is not available: {because}", cut(.id))]
    NotListed { id: String, server: String, because: String },

    /// No profile has the name.
    #[error("no profile `{}`; {}", cut(.name), expected(.known))]
    UnknownProfile { name: String, known: Vec<String> },

    /// No server has the name.
    #[error("no server `{}`; {}", cut(.name), expected(.known))]
    UnknownServer { name: String, known: Vec<String> },

    /// There is no catalog.
    #[error(
        "this server has no catalog; expected one at its start, as with --tools PATH or --servers FILE, or \
         tools by POST /v1/tools; POST /v1/select also takes `tools` in its body"
    )]
    NoCatalog,

    /// The prompt has more requests than the session may make calls.
    #[error(
        "expected a prompt with at most {left} requests, the calls that the session's limit leaves, found \
         {found}; nothing was called: ask for less, or take another session"
    )]
    PlanTooLong { found: usize, left: u32 },

    /// Nothing runs tools.
    #[error("tools cannot be called here; expected a servers file, as with --servers FILE")]
    NoExecutor,

    /// The rest of the answer is no longer kept.
    #[error(
        "nothing is kept under the handle `{handle}`; expected one that a cut answer named, and not \
         long ago: call the tool again"
    )]
    UnknownHandle { handle: String },

    /// The server does not answer.
    #[error("the server `{server}` is not available: {because}")]
    Unavailable { server: String, because: String },

    /// An upstream server's own error for a request that is not a call.
    #[error("{message} ({code})")]
    Refused { code: i32, message: String },

    /// The name is none of a session.
    #[error(
        "expected the name of a session with 1 to {most} printable characters, found one of {chars}"
    )]
    BadSession { chars: usize, most: usize },

    /// A client of the gateway began no session.
    #[error("the client began no session: {because}")]
    NoSession { because: String },

    /// The listener is unusable.
    #[error("cannot listen: {source}; choose another address")]
    Listen {
        #[source]
        source: std::io::Error,
    },

    /// The text is no token that clients could send.
    #[error("{because}")]
    BadToken { because: String },

    /// The proxy cannot be created.
    #[error("{because}")]
    Proxy { because: String },

    /// The work panicked; the panic is on stderr.
    #[error("the request was not finished: toolroute has a fault; its standard error says which")]
    Unfinished,

    /// The file of usage vectors is unusable.
    #[error(transparent)]
    Usage(#[from] feedback::Error),

    /// The engine has no answer.
    #[error(transparent)]
    Engine(#[from] engine::Error),

    /// A call is impossible.
    #[error(transparent)]
    Execution(#[from] execution::Error),
}

fn expected(known: &[String]) -> String {
    match known {
        [] => "there is none".to_owned(),
        known => format!("expected one of {}", known.join(", ")),
    }
}

/// An id may be any text. In a message it must be short and on one line.
pub(crate) fn cut(id: &str) -> String {
    const MOST: usize = 80;
    id.chars().filter(|c| !c.is_control()).take(MOST).collect()
}

/// An error with its causes in one line, as anyhow writes `{:#}`.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        line.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    line
}
