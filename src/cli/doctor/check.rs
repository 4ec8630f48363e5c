//! The arguments of `doctor`, and the result of a check.

use std::fmt;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::cli::args::{CatalogArgs, EngineArgs, UsageArgs};

#[derive(Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    /// The log of executions [default: in the user's data folder] [env: TOOLROUTE_FEEDBACK]
    #[arg(long, value_name = "FILE")]
    pub feedback: Option<PathBuf>,
    #[command(flatten)]
    pub usage: UsageArgs,
    /// The conductor's ledger [default: in the user's data folder] [env: TOOLROUTE_LEDGER]
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
    /// Seconds to wait for a server to start; a program that is downloaded first, as by npx, may
    /// take minutes
    #[arg(long, default_value_t = 180, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=600))]
    pub wait: u64,
    /// Do not start servers
    #[arg(long)]
    pub no_start: bool,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Ok,
    Warning,
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

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
