//! The inputs and the result of the extraction.

use std::ops::Range;

use serde::Serialize;
use serde_json::Value;

use super::super::invoker::Arguments;
use super::super::message;
use super::super::params::{Clarification, Parameters, about};
use super::super::report::{Outcome, Report};
use super::LocalTime;
use toolroute_catalog::Tool;

/// The sources of arguments.
#[derive(Clone, Copy, Debug)]
pub struct ArgumentSources<'a> {
    /// The prompt that the tool is called for.
    pub prompt: &'a str,
    /// Arguments that are known already, and are not read from the prompt.
    pub given: Option<&'a Arguments>,
    /// The user's earlier prompts, the latest last. Used if the prompt refers back.
    pub earlier: &'a [&'a str],
    /// How many of the earlier prompts, the latest ones, came after the last tool's answer. What they
    /// name is as new as what the answer has.
    pub newer: usize,
    /// The last tool's answer. Used if the prompt refers to it.
    pub last_result: Option<&'a Value>,
    /// The time to which "tomorrow" and "in 2 hours" are relative.
    pub now: &'a LocalTime,
}

impl<'a> ArgumentSources<'a> {
    /// A prompt alone.
    pub fn new(prompt: &'a str, now: &'a LocalTime) -> Self {
        Self { prompt, given: None, earlier: &[], newer: 0, last_result: None, now }
    }
}

/// The arguments from a prompt, and the questions that remain.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PreparedArguments {
    /// The arguments that were found.
    pub arguments: Arguments,
    /// The source of each value; items of a list have one each.
    pub sources: Vec<TakenValue>,
    /// Questions about missing or ambiguous values. The tool should not be called before they are
    /// answered.
    #[serde(rename = "questions", skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Question>,
    /// Values in the prompt that no parameter took.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unused: Vec<UnusedMention>,
    /// The prompt in English, if it is in another language and was translated. The places below are in this text then.
    #[serde(skip)]
    pub read_as: Option<String>,
    /// The first word of the prompt that no lexicon has and no parameter took, if the prompt was translated.
    #[serde(skip)]
    pub unread: Option<String>,
    /// The places of the values that parameters took, as byte ranges of the prompt.
    #[serde(skip)]
    pub taken: Vec<Range<usize>>,
    /// The places of values that no parameter took, and without which a tool that may change something
    /// would do something else: an amount, a day, an id. A number that counts things is none.
    #[serde(skip)]
    pub lost: Vec<Range<usize>>,
    /// The places of moments and durations that no parameter took: the prompt may put the call off.
    #[serde(skip)]
    pub moments: Vec<Range<usize>>,
}

/// The reason for a question about a parameter that the prompt does not mention.
pub(super) const NOT_IN_PROMPT: &str = "it is needed, and not said";

/// Returns the reason for a question about a part of the prompt that may be a parameter's value.
pub(super) fn may_be_meant(said: &str) -> String {
    format!("\"{said}\" may be meant for it")
}

/// How a listed value comes out of a prompt.
pub(super) const LISTED: &str = "one of its values";

#[doc(hidden)] // For our own crates.
impl TakenValue {
    /// Returns the place in the prompt that the value was taken from.
    pub fn place(&self) -> Option<Range<usize>> {
        match self.source {
            Source::Prompt { start, end, .. } => Some(start..end),
            _ => None,
        }
    }

    /// Whether it is one of the values that the schema lists.
    pub fn is_listed(&self) -> bool {
        self.how == LISTED
    }

    /// Whether it is a text of the prompt as it stands there.
    pub fn is_said_text(&self) -> bool {
        self.place().is_some() && self.value.is_string() && self.how.is_empty()
    }
}

impl PreparedArguments {
    /// Returns the report of a call that is not made because of questions; `None` without
    /// questions.
    pub fn clarify(&self, tool: &Tool) -> Option<Report> {
        if self.missing.is_empty() {
            return None;
        }
        let mut clarification = match Parameters::default().prepare(tool, &self.arguments) {
            Err(clarification) => *clarification,
            Ok(prepared) => {
                let is_empty = prepared.arguments.is_empty();
                let example = if is_empty { Value::Null } else { prepared.arguments.into() };
                Clarification { missing: Vec::new(), unfit: Vec::new(), example }
            }
        };
        let is_told = |name: &str| {
            let of = |question: &&Question| question.name == name && question.why != NOT_IN_PROMPT;
            self.missing.iter().any(|question| of(&question))
        };
        clarification.missing.retain(|missing| !is_told(&missing.name));
        let is_listed = |question: &&Question| {
            clarification.missing.iter().any(|missing| missing.name == question.name)
        };
        let told = self.missing.iter().filter(|question| !is_listed(question));
        clarification.unfit = told.map(Question::to_string).collect();
        let message = message::clarification(tool, &clarification);
        let clarification = Box::new(clarification);
        let tool = tool.id.clone();
        Some(Report::without_call(Outcome::Clarify { tool, clarification, message }))
    }
}

/// A value and its source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TakenValue {
    /// The parameter: `limit`, `location/latitude`, `to/0`.
    pub name: String,
    /// The value.
    pub value: Value,
    /// Where it was found.
    #[serde(flatten)]
    pub source: Source,
    /// How the value was derived, if it differs from the text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub how: String,
}

/// The source of a value. Places in prompts are byte offsets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Source {
    /// The caller gave it.
    Given,
    Prompt {
        start: usize,
        end: usize,
        text: String,
    },
    /// `prompt` is the index of the earlier prompt; the oldest is 0.
    Earlier {
        prompt: usize,
        start: usize,
        end: usize,
        text: String,
    },
    /// A JSON pointer into the last result.
    LastResult {
        pointer: String,
    },
    /// The schema allows no other value.
    Schema,
}

impl std::fmt::Display for TakenValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` is {}", self.name, self.value)?;
        match &self.source {
            Source::Given => write!(f, ", as given")?,
            Source::Prompt { text, .. } => write!(f, ", from \"{text}\"")?,
            Source::Earlier { text, .. } => write!(f, ", from \"{text}\" of an earlier prompt")?,
            Source::LastResult { pointer } if pointer.is_empty() => write!(f, ", the last result")?,
            Source::LastResult { pointer } => write!(f, ", from {pointer} of the last result")?,
            Source::Schema => write!(f, ", the only value that is allowed")?,
        }
        if self.how.is_empty() { Ok(()) } else { write!(f, " ({})", self.how) }
    }
}

/// A question to answer before the tool can be called.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Question {
    /// The parameter.
    pub name: String,
    /// The parameter's description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Value>,
    /// Why it is asked.
    pub why: String,
    /// Possible meanings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
}

impl std::fmt::Display for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`{}: {}", self.name, about(self.description.as_deref()), self.why)?;
        match &self.candidates[..] {
            [] => Ok(()),
            [one] => write!(f, ": {one}"),
            several => write!(f, "; which: {}?", several.join(" or ")),
        }
    }
}

/// A value in the prompt that no parameter took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnusedMention {
    /// The words of the prompt.
    pub text: String,
    /// `number`, `path`, `date or time` and so on.
    pub kind: &'static str,
}
