//! Obligations: duties, their kinds and their states.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What the conductor must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Duty {
    /// Find something out and report it.
    Report,
    /// Check a statement.
    Verify,
    /// Ask the user.
    Clarify,
    /// List similar tools if none satisfies an obligation.
    DiscoverOp,
    /// Give the recorded reasons.
    Justify,
}

impl fmt::Display for Duty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A duty and its kind, written `REPORT(query.math)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObligationType {
    /// What it obliges to.
    pub duty: Duty,
    /// What it is about, such as `query.sum`.
    pub kind: Option<String>,
}

impl ObligationType {
    pub fn new(duty: Duty, kind: &str) -> Self {
        Self { duty, kind: Some(kind.to_owned()) }
    }
}

impl fmt::Display for ObligationType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Some(kind) => write!(f, "{}({kind})", self.duty),
            None => write!(f, "{}", self.duty),
        }
    }
}

impl FromStr for ObligationType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (duty, kind) = match text.split_once('(') {
            Some((duty, rest)) => (duty, rest.strip_suffix(')').filter(|kind| !kind.is_empty())),
            None => (text, None),
        };
        let named = serde_json::from_value(Value::String(duty.to_owned())).ok();
        match named {
            Some(duty) if kind.is_some() || !text.contains('(') => {
                Ok(Self { duty, kind: kind.map(str::to_owned) })
            }
            _ => Err(format!("`{text}` is no obligation; expected one such as REPORT(query.math)")),
        }
    }
}

/// Checks the type of an obligation as a tool declares it in `satisfies`, where a bare kind means a
/// report: `query.math` is `REPORT(query.math)`.
///
/// # Errors
/// What was expected, and what came.
pub fn check_type(text: &str) -> Result<(), String> {
    let text = text.trim();
    let is_kind = !text.is_empty() && !text.contains(['(', ')']);
    let inner = text.split_once('(').map_or("", |(_, rest)| rest.strip_suffix(')').unwrap_or("("));
    let duty = || text.split('(').next().unwrap_or_default().trim().to_ascii_uppercase();
    if is_kind || (!inner.contains(['(', ')']) && duty().parse::<ObligationType>().is_ok()) {
        return Ok(());
    }
    Err(format!(
        "`{text}` is no obligation; expected one such as REPORT(query.math), or its kind alone"
    ))
}

impl Serialize for ObligationType {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ObligationType {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The state of an obligation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Not settled yet.
    Active,
    /// Done.
    Resolved,
    /// Tried without success.
    Failed,
    /// Waiting for the user or for a new tool.
    Escalated,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A translated request: known facts and obligations.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Request {
    pub utterance: String,
    #[serde(default)]
    pub facts: Vec<Fact>,
    #[serde(default)]
    pub obligations: Vec<NewObligation>,
}

/// A fact that is known before any tool runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Fact {
    pub kind: String,
    #[serde(default)]
    pub subject: Map<String, Value>,
    pub value: Value,
}

/// An obligation that is not in the ledger yet.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct NewObligation {
    /// The name of the obligation in the request.
    #[serde(default)]
    pub id: String,
    #[serde(rename = "type")]
    pub what: ObligationType,
    #[serde(default)]
    pub payload: Map<String, Value>,
    #[serde(default)]
    pub say: Option<String>,
}

/// The key of a payload value that is taken from an earlier obligation.
const FROM: &str = "$from";

/// A payload value that refers to a part of another obligation's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
    pub id: &'a str,
    /// A JSON pointer; empty for the whole output.
    pub at: &'a str,
}

pub fn reference(value: &Value) -> Option<Reference<'_>> {
    let id = value.get(FROM)?.as_str()?;
    Some(Reference { id, at: value.get("at").and_then(Value::as_str).unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_read_as_it_is_written() {
        for text in ["REPORT(query.math)", "VERIFY", "DISCOVER_OP(op)", "JUSTIFY(failure)"] {
            assert_eq!(text.parse::<ObligationType>().unwrap().to_string(), text);
        }
        for text in ["report(x)", "REPORT(", "REPORT()", "REPORT(x", "DO(x)", ""] {
            assert!(text.parse::<ObligationType>().is_err(), "{text}");
        }
    }
}
