//! The trait that every way of running a tool implements.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use super::elicitation::User;
use toolroute_catalog::Tool;

/// The arguments of a call: the members of one JSON object.
pub type Arguments = Map<String, Value>;

/// A future in a box, so that [`Invoker`] can be a trait object.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A callback for a tool's progress messages.
pub type OnProgress<'a> = &'a (dyn Fn(Progress) + Send + Sync);

/// A change that a server announces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The server was connected, again or for the first time: its tools may have changed.
    Connected,
    Tools,
    /// Its prompts may have changed; also reported after `Connected` if it has prompts.
    Prompts,
    /// Its resources may have changed; also reported after `Connected` if it has resources.
    Resources,
    /// The content of one resource.
    Resource {
        uri: String,
    },
    /// The server was dropped, and calls to it fail for a while.
    Dropped {
        because: String,
    },
}

/// A callback for changes. It must not block.
pub type OnChange = Arc<dyn Fn(Changed) + Send + Sync>;

/// The progress that a running tool reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// Grows with each message, up to `total` if that is known.
    pub done: f64,
    /// The value of `done` at the end, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// What the tool is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// One run of one tool.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The tool to run.
    pub tool: &'a Tool,
    /// The arguments, which fit the tool's schema.
    pub arguments: &'a Arguments,
    /// An idempotency key: the same for each repetition of this call, and different for every other
    /// call.
    pub key: Option<&'a str>,
    /// Receives the progress of the run.
    pub on_progress: OnProgress<'a>,
    /// The user whom the server may ask while the call runs.
    pub user: Option<&'a User>,
}

/// Runs the tools of one server, program or library.
///
/// Dropping a returned future cancels its work, which is how callers enforce timeouts. All calls
/// share an invoker, so a call that hangs must not delay another.
pub trait Invoker: Send + Sync {
    /// Runs a tool once. An error that the tool itself reports is an [`Output`] with `is_error`.
    ///
    /// # Errors
    /// A [`Fault`] if the tool gave no answer.
    fn invoke<'a>(&'a self, call: Call<'a>) -> Pending<'a, Result<Output, Fault>>;

    /// Connects, starts or checks what the next call needs, without calling a tool.
    ///
    /// # Errors
    /// The server is unavailable.
    fn prepare(&self) -> Pending<'_, Result<(), Fault>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Lists the tools of the server.
    ///
    /// # Errors
    /// The server did not list its tools.
    fn tools(&self) -> Pending<'_, Result<Vec<Tool>, Fault>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Whether the server can list its tools; otherwise they come from a catalog and are fixed.
    fn lists_tools(&self) -> bool {
        true
    }

    /// Sends an MCP request that is not a tool call, such as `resources/read`. The server may ask
    /// the user meanwhile.
    ///
    /// # Errors
    /// [`FaultKind::Missing`] if the server does not support the method; otherwise the reason why
    /// there is no answer.
    fn ask<'a>(
        &'a self,
        method: &'a str,
        _params: Value,
        _user: Option<&'a User>,
    ) -> Pending<'a, Result<Value, Fault>> {
        let said = format!("no {method} here");
        Box::pin(std::future::ready(Err(Fault::before(FaultKind::Missing, said))))
    }

    /// Whether the server declares that it has prompts (`prompts/list`) or resources
    /// (`resources/list`), as far as it is known. `false` before it was ever connected.
    fn offers(&self, _method: &str) -> bool {
        false
    }

    /// Sets the callback for changes that the server announces; it replaces an earlier one. After
    /// most changes the server is asked for its [`tools`](Self::tools), which replace the known ones.
    fn watch(&self, _told: OnChange) {}

    /// Stops everything that the invoker started. A later call starts it again.
    fn close(&self) -> Pending<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// What a tool answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Output {
    /// The answer as text.
    pub text: String,
    /// The answer as a value, if the tool gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Images, audio and files, as the tool sent them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Whether the tool reports that it failed.
    pub is_error: bool,
    /// The MCP content blocks of the answer, if they contain more than text and attachments.
    /// Callers that pass an answer on need them. Empty if the answer was truncated.
    #[serde(skip)]
    pub blocks: Vec<Value>,
}

/// A part of an answer that is not text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attachment {
    /// `image`, `audio` or `resource`.
    pub kind: &'static str,
    /// The media type of the content.
    pub mime_type: String,
    /// The content in Base64.
    pub data: String,
}

impl Output {
    /// Creates an answer of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Creates an answer from a value. The text is the string itself, or the JSON of any other
    /// value.
    pub fn data(data: Value) -> Self {
        let text = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
        Self { text, data: Some(data), ..Self::default() }
    }

    /// Whether the answer is empty: no text, or an empty list or object.
    pub fn is_empty(&self) -> bool {
        let hollow = |value: &Value| match value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            Value::String(text) => text.trim().is_empty(),
            _ => false,
        };
        let text = matches!(self.text.trim(), "" | "[]" | "{}" | "null" | "\"\"");
        self.attachments.is_empty() && text && self.data.as_ref().is_none_or(hollow)
    }
}

/// Why a call has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FaultKind {
    /// The server could not be started or connected to.
    Unreachable,
    /// The connection broke, or a message over it was invalid.
    Broken,
    /// The server did not answer in time.
    Timeout,
    /// The server asks the client to try again later.
    Busy,
    /// The server understood the call and refused it.
    Refused,
    /// The server has no such tool.
    Missing,
    /// The server sent too many unsolicited messages and was dropped.
    Flooding,
    /// The server answered with something that is no JSON, or no message of the protocol.
    Unreadable,
    /// The server answered with a message of the protocol that is no result of a tool.
    NoResult,
    /// The answer is longer than what is read.
    TooLong,
    /// The server answered HTTP 401 or 403.
    Denied,
    /// The server answered with an HTTP status of 500 to 599.
    ServerError,
}

impl FaultKind {
    /// Whether the fault concerns the connection to the server, which is what a circuit breaker
    /// counts. A server that refuses a call is healthy.
    pub fn is_transport(self) -> bool {
        matches!(
            self,
            Self::Unreachable
                | Self::Broken
                | Self::Timeout
                | Self::Busy
                | Self::Flooding
                | Self::ServerError
        )
    }
}

/// A description without details: `the server` + these words.
impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "cannot be reached",
            Self::Broken => "stopped in the middle of its work",
            Self::Timeout => "did not answer in time",
            Self::Busy => "is busy",
            Self::Refused => "refused the call",
            Self::Missing => "is no longer there",
            Self::Flooding => "was dropped: it sends more messages than are taken",
            Self::Unreadable => "answered with something that is no valid JSON or no MCP message",
            Self::NoResult => "answered with something that is no tool result",
            Self::TooLong => "gave an answer that is longer than what is read",
            Self::Denied => "refuses our credentials (HTTP 401 or 403)",
            Self::ServerError => "failed inside (HTTP 500 or above)",
        })
    }
}

/// A call without an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What went wrong.
    pub kind: FaultKind,
    /// Whether the call may have reached the tool. A write that may have reached it is never
    /// repeated.
    pub reached: bool,
    /// The details, in the words of the component that failed. They are for the log, never for an
    /// answer.
    pub detail: String,
    /// A description that an answer may contain. Without one, the description of `kind` is used.
    pub public_message: Option<String>,
    /// The JSON-RPC code of a server that refused the request.
    pub code: Option<i32>,
}

impl Fault {
    /// A failure before anything was sent.
    pub fn before(kind: FaultKind, detail: impl fmt::Display) -> Self {
        Self { kind, reached: false, detail: detail.to_string(), public_message: None, code: None }
    }

    /// A failure after the call was sent, or may have been.
    pub fn after(kind: FaultKind, detail: impl fmt::Display) -> Self {
        Self { kind, reached: true, detail: detail.to_string(), public_message: None, code: None }
    }

    /// Sets a description that is safe to show.
    #[must_use]
    pub fn with_public_message(mut self, public_message: impl Into<String>) -> Self {
        self.public_message = Some(public_message.into());
        self
    }

    /// A description that is safe to show: it contains nothing that the server said.
    pub fn public_message(&self) -> String {
        self.public_message.clone().unwrap_or_else(|| self.kind.to_string())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.detail)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_of_nothing_is_empty_and_zero_is_not() {
        for hollow in [json!([]), json!({}), json!(null), json!("")] {
            assert!(Output::data(hollow.clone()).is_empty(), "{hollow}");
        }
        assert!(!Output::data(json!(0)).is_empty());
        assert!(!Output::data(json!(false)).is_empty());
        assert!(Output::text("  \n").is_empty());
    }
}
