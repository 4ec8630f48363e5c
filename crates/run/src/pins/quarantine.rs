//! A server's tools after the check: what may be used, what is held back, and what is to be told.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::FieldChange;
use crate::catalog::{Tool, ToolId};

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
pub struct Checked {
    pub accepted: Vec<Tool>,
    pub quarantined: Vec<Quarantined>,
    /// Of those accepted, the ones whose words have changed since.
    pub reworded: Vec<Reworded>,
    /// Of those accepted, the ones of which members are pinned that pins of an older version left out.
    pub repinned: Vec<ToolId>,
}

/// A tool that was taken in although its words are other ones: nothing else of it has changed, and
/// nothing in it is suspicious.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Reworded {
    pub id: ToolId,
    pub server: String,
    pub changes: Vec<FieldChange>,
}

/// Characters of a text in a message.
const SHOWN: usize = 200;

impl fmt::Display for Reworded {
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
pub struct Quarantined {
    pub id: ToolId,
    pub server: String,
    pub reason: Reason,
    /// The file of pins, where commands have to name it.
    #[serde(skip)]
    pub(super) pins: Option<PathBuf>,
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

/// ` --pins FILE` where a command has to name the file of pins, else nothing.
pub fn pins_option(file: Option<&Path>) -> String {
    file.map(|file| format!(" --pins {}", shell_word(&file.to_string_lossy()))).unwrap_or_default()
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

impl Quarantined {
    /// Why it is held back, and what lets it in.
    pub fn because(&self) -> String {
        let id = shell_word(self.id.as_str());
        let pins = pins_option(self.pins.as_deref());
        match self.reason {
            Reason::Changed => format!(
                "its definition has changed; `toolroute pins diff {id}{pins}` shows how, \
                 `toolroute pins approve {id}{pins}` lets it in"
            ),
            Reason::New => format!(
                "it is new; `toolroute pins diff {id}{pins}` shows it, \
                 `toolroute pins approve {id}{pins}` lets it in"
            ),
            Reason::Twice => "its server lists two tools of this name".to_owned(),
        }
    }
}

impl fmt::Display for Quarantined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = if self.reason == Reason::Twice { "left out" } else { "held back" };
        write!(f, "`{}` is {done}: {}", self.id, self.because())
    }
}

impl Checked {
    pub(super) fn add(
        &mut self,
        (server, pins): (&str, Option<&Path>),
        tool: Tool,
        verdict: Verdict,
    ) {
        let (id, server) = (tool.id.clone(), server.to_owned());
        match verdict {
            Verdict::Held(reason) => {
                let pins = pins.map(Path::to_owned);
                self.quarantined.push(Quarantined { id, server, reason, pins, tool });
                return;
            }
            Verdict::Reworded(changes) => self.reworded.push(Reworded { id, server, changes }),
            Verdict::Repinned => self.repinned.push(id),
            Verdict::Taken => {}
        }
        self.accepted.push(tool);
    }
}
