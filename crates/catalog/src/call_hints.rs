//! Hints about the calls of a tool: their duration, the size of their answers, and retries.

use serde::{Deserialize, Serialize};

use crate::row::{Declared, Row};

const FIELDS: &str =
    "timeout_ms feedback_delay_ms research typical_tokens max_tokens retry summarize";

/// The duration of a call, the size of its answer, and when it is sent again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallHints {
    /// The maximum duration of a call, in milliseconds; at most an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The time after which progress is reported, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback_delay_ms: Option<u64>,
    /// Whether the tool does research, which takes minutes. If absent, its name and latency tier
    /// decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub research: Option<bool>,
    /// The number of tokens of a typical answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typical_tokens: Option<u32>,
    /// The maximum number of tokens of an answer that are passed on; the rest is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// When a failed call is sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Whether a long text is reduced to the sentences nearest to the question, instead of its
    /// beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summarize: Option<bool>,
}

impl CallHints {
    /// The longest timeout that a hint can ask for, in milliseconds.
    pub const MAX_TIMEOUT_MS: u64 = 3_600_000;

    /// Returns the first invalid member, if any, with what was expected and what was found.
    pub fn fault(&self) -> Option<(&'static str, String, String)> {
        let most = Self::MAX_TIMEOUT_MS;
        if let Some(found) = self.timeout_ms.filter(|ms| !(1..=most).contains(ms)) {
            return Some(("timeout_ms", format!("1 to {most} ms"), found.to_string()));
        }
        let found = self.retry.as_ref().map(|retry| retry.most).filter(|n| *n > Retry::MOST)?;
        Some(("retry", format!("`most` of 0 to {}", Retry::MOST), found.to_string()))
    }

    /// Whether there is no hint.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Reads the object `call_hints` of a tool's routing.
pub(super) fn read(routing: &mut Row<'_>, declared: &mut Declared) {
    let Some(mut child) = routing.child("call_hints") else { return };
    const TOKENS: &str = "a whole number of tokens";
    const RETRY: &str = "an object with `on`, a list of unreachable, broken, busy, timeout and error, \
        and `most`, a number of times";
    let retry = child.typed::<Retry>("retry", RETRY);
    declared.set(retry, |tool| &mut tool.routing.call_hints.retry);
    let mut tokens = |name| child.typed::<u32>(name, TOKENS);
    let (typical, most) = (tokens("typical_tokens"), tokens("max_tokens"));
    declared.set(typical, |tool| &mut tool.routing.call_hints.typical_tokens);
    declared.set(most, |tool| &mut tool.routing.call_hints.max_tokens);
    declared.set(child.millis("timeout_ms"), |tool| &mut tool.routing.call_hints.timeout_ms);
    let delay = child.millis("feedback_delay_ms");
    declared.set(delay, |tool| &mut tool.routing.call_hints.feedback_delay_ms);
    declared.set(child.flag("research"), |tool| &mut tool.routing.call_hints.research);
    declared.set(child.flag("summarize"), |tool| &mut tool.routing.call_hints.summarize);
    child.warn_unknown(FIELDS.split(' '));
    routing.absorb(child);
}

/// The failures after which a call is sent again, and how often; declared by a tool's author or
/// user.
///
/// A call that may have taken effect is sent again only if a repetition does no harm
/// ([`Effects`](crate::Effects)).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retry {
    /// The failures after which a call is repeated.
    pub on: Vec<RetryOn>,
    /// The maximum number of attempts after the first, from 0 (never) to 10.
    pub most: u32,
}

impl Retry {
    /// The most repetitions of one call.
    pub const MOST: u32 = 10;
}

impl Default for Retry {
    fn default() -> Self {
        Self { on: vec![RetryOn::Unreachable, RetryOn::Broken, RetryOn::Busy], most: 2 }
    }
}

/// A failure after which a call may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RetryOn {
    /// The server could not be started, or no connection could be made.
    Unreachable,
    /// The connection broke.
    Broken,
    /// The server asked to try again later.
    Busy,
    /// No answer arrived in time.
    Timeout,
    /// The tool itself reported that it failed.
    Error,
}
