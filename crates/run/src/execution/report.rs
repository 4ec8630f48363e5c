//! The result of a request: one answer or one message, and every attempt.

use serde::Serialize;
use serde_json::Value;

use super::fallback::Origin;
use super::invoker::{FaultKind, Output};
use super::loop_guard::Exceeded;
use super::output::{Estimate, Truncation};
use super::params::{Change, Clarification};
use super::permission::Verdict;
use toolroute_catalog::{Need, Tool, ToolId};

/// Everything about one request.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The answer, or the message instead of one.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The attempts, in the order in which they were made.
    pub attempts: Vec<Attempt>,
    /// The duration of the whole request in milliseconds, with all attempts and pauses.
    pub took_ms: f64,
    /// Tools similar to the requested one, if it was unavailable. None of them was called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<ToolId>,
    /// What servers asked the user in vain, because the request had nobody to ask. Each got the answer `cancel`, so that
    /// the tool may not have done what was ordered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unasked: Vec<String>,
}

impl Report {
    /// A report that asks the caller whether the tool is meant. Nothing was called.
    #[doc(hidden)] // For our own crates.
    pub fn asking(tool: &Tool, message: String) -> Self {
        let clarification =
            Clarification { missing: Vec::new(), unfit: Vec::new(), example: Value::Null };
        let (tool, clarification) = (tool.id.clone(), Box::new(clarification));
        Self::without_call(Outcome::Clarify { tool, clarification, message })
    }

    /// A report that no tool was called, and why.
    #[doc(hidden)] // For our own crates.
    pub fn failed(message: String) -> Self {
        Self::without_call(Outcome::Failed { message })
    }

    pub(super) fn without_call(outcome: Outcome) -> Self {
        let (attempts, nearest, unasked) = (Vec::new(), Vec::new(), Vec::new());
        Self { outcome, attempts, took_ms: 0.0, nearest, unasked }
    }

    /// The message if there is no answer, and below it what the tools and their servers said
    /// themselves, for an agent that corrects its call. Only attempts for which `is_shown` holds are
    /// quoted.
    #[doc(hidden)] // For our own crates.
    pub fn message_and_errors(&self, is_shown: impl Fn(&Attempt) -> bool) -> String {
        let mut said = self.outcome.message().unwrap_or("No answer.").to_owned();
        for attempt in self.attempts.iter().filter(|attempt| is_shown(attempt)) {
            let Some(words) = attempt.error_text.as_deref() else { continue };
            // The message quotes a short line itself.
            if !said.contains(&format!("\"{}\"", words.trim_end_matches('.'))) {
                said.push_str(&format!("\n{} said: {words}", attempt.tool));
            }
        }
        said
    }

    /// Whether any tool may have received a call.
    pub fn reached(&self) -> bool {
        self.attempts.iter().any(|attempt| attempt.reached)
    }

    /// Whether the request failed because tools or servers were unavailable, so that another tool
    /// may help.
    #[doc(hidden)] // For our own crates.
    pub fn is_out_of_reach(&self) -> bool {
        let is_out_of_reach = |attempt: &Attempt| match &attempt.ending {
            Ending::Failed { fault } => *fault != FaultKind::Refused,
            Ending::Skipped { because } => {
                matches!(because, Skip::BreakerOpen { .. } | Skip::NoServer)
            }
            _ => false,
        };
        matches!(self.outcome, Outcome::Failed { .. }) && self.attempts.iter().any(is_out_of_reach)
    }

    /// Adds the tools that give the ids that are missing. The message names them too.
    #[doc(hidden)] // For our own crates.
    pub fn name_suppliers(&mut self, needs: &[Need]) {
        let Outcome::Clarify { clarification, message, .. } = &mut self.outcome else { return };
        let before = clarification.to_string();
        for missing in &mut clarification.missing {
            if let Some(need) = needs.iter().find(|need| need.parameter == missing.name) {
                missing.from.clone_from(&need.from);
            }
        }
        *message = message.replace(&before, &clarification.to_string());
    }

    /// Whether the caller must supply something first.
    #[doc(hidden)] // For our own crates.
    pub fn is_question(&self) -> bool {
        matches!(self.outcome, Outcome::Clarify { .. })
    }

    /// Adds tools that the caller may call instead. They are also named in the message.
    #[doc(hidden)] // For our own crates.
    pub fn name_nearest(&mut self, nearest: Vec<ToolId>) {
        if let (Outcome::Failed { message }, false) = (&mut self.outcome, nearest.is_empty()) {
            let ids: Vec<&str> = nearest.iter().map(ToolId::as_str).collect();
            let ids = ids.join(", ");
            message.push_str(&format!(
                " Nothing else was called. Nearest: {ids}; call one of them if that is what you want."
            ));
        }
        self.nearest = nearest;
    }
}

/// The outcome for the caller.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// A tool answered.
    Answered(Box<Answer>),
    /// The caller must supply something first. Nothing was called.
    Clarify { tool: ToolId, clarification: Box<Clarification>, message: String },
    /// A person must agree first. Nothing was called.
    Confirm { tool: ToolId, message: String },
    /// No tool answered. The message states what was tried and what to do, in plain words.
    Failed { message: String },
}

impl Outcome {
    /// The message to the caller if there is no answer.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Answered(_) => None,
            Self::Clarify { message, .. }
            | Self::Confirm { message, .. }
            | Self::Failed { message } => Some(message),
        }
    }
}

/// A tool's answer, truncated to the limits.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// The tool that answered; not always the requested one.
    pub tool: ToolId,
    /// What it answered.
    #[serde(flatten)]
    pub output: Output,
    /// What was cut, if the answer was too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncation: Option<Truncation>,
    /// How the arguments were changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// The attempt to call one candidate, with all its tries.
#[derive(Clone, Debug, Serialize)]
pub struct Attempt {
    /// The tool.
    pub tool: ToolId,
    /// Why the tool was a candidate.
    #[serde(flatten)]
    pub origin: Origin,
    /// How the attempt ended.
    #[serde(flatten)]
    pub ending: Ending,
    /// How often the call was sent.
    pub tries: u32,
    /// Whether any of the tries may have reached the tool.
    pub reached: bool,
    /// The duration of the last try in milliseconds.
    pub took_ms: f64,
    /// The latency and length that were expected.
    pub estimate: Estimate,
    /// The length of the whole answer in characters.
    pub chars: usize,
    /// The error text of the tool or its server, truncated and without secrets, for an agent that
    /// corrects its call. The message quotes it only if it is one short line in plain words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_text: Option<String>,
    /// The whole error answer of the tool, without secrets, for the same purpose.
    #[serde(skip)]
    pub error_answer: Option<Box<Answer>>,
    /// The ids of the raw errors in the log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub error_ids: Vec<String>,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "ending", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ending {
    /// The tool answered.
    Answered,
    /// The answer was empty.
    Empty,
    /// The tool reports that it failed.
    ToolError { hint: Hint },
    /// There is no answer.
    Failed { fault: FaultKind },
    /// The tool was not called.
    Skipped { because: Skip },
}

/// Why a candidate was not called.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "skip", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Skip {
    /// Permissions forbid it, or need a person's agreement.
    Permission { verdict: Verdict },
    /// Its circuit breaker is open for `for_ms` more milliseconds.
    BreakerOpen { for_ms: u64 },
    /// The arguments cannot be adapted to the tool's schema.
    Parameters,
    /// The arguments cannot be checked in bounded time.
    Unchecked { because: String },
    /// toolroute did not send the call, because of its arguments or the tool's description.
    Refused { because: String },
    /// No server of that name is known.
    NoServer,
    /// The session has reached one of its limits.
    Limit { exceeded: Exceeded },
    /// An earlier candidate may have written something already.
    WriteElsewhere,
    /// It may do more harm than the requested tool, and nobody agreed to that.
    Worse,
}

/// The likely cause of a tool's own error, judged by its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Hint {
    NotFound,
    NotPermitted,
    BadInput,
    TooMuch,
    Other,
}
