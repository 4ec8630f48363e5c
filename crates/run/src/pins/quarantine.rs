//! A server's tools after the check: what may be used, what is held back, and what is to be told.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::FieldChange;
use toolroute_catalog::{Tool, ToolId};

/// What is done with one tool.
pub(super) enum Verdict {
    Taken,
    /// Words alone have changed.
    Reworded(Vec<FieldChange>),
    /// It has members that pins of an older version did not look at.
    Repinned,
    Held(Reason),
}

/// A server's tools after the check.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PinCheck {
    pub accepted: Vec<Tool>,
    pub quarantined: Vec<QuarantinedTool>,
    /// Of those accepted, the ones whose words have changed since.
    pub reworded: Vec<Rewording>,
    /// Of those accepted, the ones of which members are pinned that pins of an older version left out.
    pub repinned: Vec<ToolId>,
}

/// A tool that was taken in although its words are other ones: nothing else of it has changed, and
/// nothing in it is suspicious.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Rewording {
    pub id: ToolId,
    pub server: String,
    pub changes: Vec<FieldChange>,
}

/// Characters of a text in a message.
const SHOWN: usize = 200;

impl fmt::Display for Rewording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` describes itself in other words and is taken in", self.id)?;
        let shown = |value: &Option<Value>| match value.as_ref().and_then(Value::as_str) {
            Some(text) => format!("{:?}", text.chars().take(SHOWN).collect::<String>()),
            None => "nothing".to_owned(),
        };
        for FieldChange { path, before, after } in &self.changes {
            write!(f, "; {path} was {} and is {}", shown(before), shown(after))?;
        }
        Ok(())
    }
}

/// A tool that is neither to be found nor to be called.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct QuarantinedTool {
    pub id: ToolId,
    pub server: String,
    pub reason: Reason,
    /// As it is listed now.
    #[serde(skip)]
    pub tool: Tool,
}

/// An id as one word of a command line. A server chooses the name of its tool, and an agent or a person
/// may run the command that they are told.
pub fn shell_word(id: &str) -> Cow<'_, str> {
    // Only a NUL cannot be quoted.
    shlex::try_quote(id).unwrap_or(Cow::Borrowed("ID"))
}

/// Why a tool is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    Changed,
    New,
    /// The server lists another tool of the same name before it.
    Twice,
}

impl QuarantinedTool {
    /// Why it is held back, and what lets it in.
    pub fn because(&self) -> String {
        let id = shell_word(self.id.as_str());
        match self.reason {
            Reason::Changed => format!(
                "its definition has changed; `toolroute pins diff {id}` shows how, \
                 `toolroute pins approve {id}` lets it in"
            ),
            Reason::New => format!(
                "it is new; `toolroute pins diff {id}` shows it, \
                 `toolroute pins approve {id}` lets it in"
            ),
            Reason::Twice => "its server lists two tools of this name".to_owned(),
        }
    }
}

impl fmt::Display for QuarantinedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = if self.reason == Reason::Twice { "left out" } else { "held back" };
        write!(f, "`{}` is {done}: {}", self.id, self.because())
    }
}

impl PinCheck {
    pub(super) fn add(&mut self, server: &str, tool: Tool, verdict: Verdict) {
        let (id, server) = (tool.id.clone(), server.to_owned());
        match verdict {
            Verdict::Held(reason) => {
                self.quarantined.push(QuarantinedTool { id, server, reason, tool });
                return;
            }
            Verdict::Reworded(changes) => self.reworded.push(Rewording { id, server, changes }),
            Verdict::Repinned => self.repinned.push(id),
            Verdict::Taken => {}
        }
        self.accepted.push(tool);
    }
}
