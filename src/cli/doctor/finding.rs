//! One thing that was checked, and how bad it is.

use std::fmt;

use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Ok,
    Warning,
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
pub struct Finding {
    pub check: &'static str,
    pub severity: Severity,
    pub found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cure: Option<String>,
}

impl Finding {
    pub fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, severity: Severity::Ok, found: found.into(), cure: None }
    }

    pub fn warning(check: &'static str, found: impl Into<String>, cure: impl Into<String>) -> Self {
        let (found, cure) = (found.into(), Some(cure.into()));
        Self { check, severity: Severity::Warning, found, cure }
    }

    pub fn error(check: &'static str, found: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { severity: Severity::Error, ..Self::warning(check, found, cure) }
    }
}
