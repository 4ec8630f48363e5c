//! The result of a check: the tools that may be used, those held back, and notices.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::FieldChange;
use toolroute_catalog::{Tool, ToolId};

/// The decision on one tool.
pub(super) enum Verdict {
    Accepted,
    /// Only descriptions have changed.
    Reworded(Vec<FieldChange>),
    Held(Reason),
}

/// A server's tools after the check.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PinCheck {
    /// The tools that may be used.
    pub accepted: Vec<Tool>,
    /// The tools that are held back, with the reason.
    pub quarantined: Vec<QuarantinedTool>,
    /// The accepted tools whose descriptions have changed.
    pub reworded: Vec<Rewording>,
}

/// A tool that was accepted although its descriptions have changed, because nothing else has
/// changed and nothing in it is suspicious.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Rewording {
    /// The id of the tool.
    pub id: ToolId,
    /// The server of the tool.
    pub server: String,
    /// The descriptions that changed.
    pub changes: Vec<FieldChange>,
}

/// The most characters of a text in a message.
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

/// A tool that can be neither found nor called.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct QuarantinedTool {
    /// The id of the tool.
    pub id: ToolId,
    /// The server of the tool.
    pub server: String,
    /// Why it is held back.
    pub reason: Reason,
    /// The pin file, if commands must name it.
    #[serde(skip)]
    pub(super) pins: Option<PathBuf>,
    /// The tool as it is listed now.
    #[serde(skip)]
    pub tool: Tool,
}

/// Quotes an id for a shell, because a server chooses its tool names and the command may be copied.
pub fn shell_word(id: &str) -> Cow<'_, str> {
    // Only a NUL cannot be quoted.
    shlex::try_quote(id).unwrap_or(Cow::Borrowed("ID"))
}

/// Returns ` --pins FILE` if a command must name the pin file, otherwise an empty text.
pub fn pins_option(file: Option<&Path>) -> String {
    file.map(|file| format!(" --pins {}", shell_word(&file.to_string_lossy()))).unwrap_or_default()
}

/// Why a tool is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// The definition has changed.
    Changed,
    /// The tool is new.
    New,
    /// The server lists another tool of the same name before it.
    #[serde(rename = "twice")]
    Duplicate,
}

impl QuarantinedTool {
    /// Returns why the tool is held back, and how to approve it.
    pub fn because(&self) -> String {
        let id = shell_word(self.id.as_str());
        let pins = pins_option(self.pins.as_deref());
        let (why, what) = match self.reason {
            Reason::Changed => ("its definition has changed", "how"),
            Reason::New => ("it is new", "it"),
            Reason::Duplicate => return "its server lists two tools of this name".to_owned(),
        };
        format!(
            "{why}; `toolroute pins diff {id}{pins}` shows {what}, \
             `toolroute pins approve {id}{pins}` lets it in"
        )
    }
}

impl fmt::Display for QuarantinedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = if self.reason == Reason::Duplicate { "left out" } else { "held back" };
        write!(f, "`{}` is {done}: {}", self.id, self.because())
    }
}

impl PinCheck {
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
                self.quarantined.push(QuarantinedTool { id, server, reason, pins, tool });
                return;
            }
            Verdict::Reworded(changes) => self.reworded.push(Rewording { id, server, changes }),
            Verdict::Accepted => {}
        }
        self.accepted.push(tool);
    }
}
