//! Problems of a tool, a field or a file, each with its cure.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::tool::display_as;

/// How severe a [`Problem`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing was lost, but something is probably a mistake.
    Warning,
    /// The tool, entry or file was left out.
    Error,
}

display_as!(Severity { Warning => "warning", Error => "error" });

/// One problem in a source of tools. Its `Display` is a single line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// Whether the tool is left out because of it.
    pub severity: Severity,
    /// Absent for tools that did not come from a file.
    pub file: Option<PathBuf>,
    /// The line number, counted from 1; known for JSON and JSON lines, and for a file that cannot be
    /// parsed.
    pub line: Option<usize>,
    /// The column, counted from 1 in characters, at which the file cannot be parsed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The id of the tool.
    pub tool: Option<String>,
    /// The member that is wrong.
    pub field: Option<String>,
    /// What was expected.
    pub expected: String,
    /// What was found instead.
    pub found: String,
    /// What to do.
    pub cure: String,
}

impl Problem {
    pub fn new(
        severity: Severity,
        expected: impl Into<String>,
        found: impl Into<String>,
        cure: impl Into<String>,
    ) -> Self {
        Self {
            severity,
            file: None,
            line: None,
            column: None,
            tool: None,
            field: None,
            expected: expected.into(),
            found: found.into(),
            cure: cure.into(),
        }
    }

    /// Whether the tool is left out because of it.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    pub(super) fn field(mut self, field: &str) -> Self {
        self.field = Some(field.to_owned());
        self
    }

    pub(super) fn tool(mut self, tool: &str) -> Self {
        self.tool = Some(tool.to_owned());
        self
    }
}

/// `{:#}` leaves the severity out, for a problem in the midst of a message.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            write!(f, "{}: ", self.severity)?;
        }
        if let Some(file) = &self.file {
            write!(f, "{}", file.display())?;
            for number in [self.line, self.column].into_iter().flatten() {
                write!(f, ":{number}")?;
            }
            f.write_str(": ")?;
        }
        match (&self.tool, &self.field) {
            (Some(tool), Some(field)) => write!(f, "tool {tool:?}, field {field:?}: ")?,
            (Some(tool), None) => write!(f, "tool {tool:?}: ")?,
            (None, Some(field)) => write!(f, "field {field:?}: ")?,
            (None, None) => {}
        }
        write!(f, "expected {}, found {}; {}", self.expected, self.found, self.cure)
    }
}
