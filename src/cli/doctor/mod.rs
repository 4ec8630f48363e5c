//! `toolroute doctor`: what does not work, and how to mend it.

mod files;
mod model;
mod servers;

use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::args::{CatalogArgs, EngineArgs, Global};
use super::settings::{Configure, Settings, keys};
use super::{exit, paths, render};
use crate::pins::{Mode, Pins};

#[derive(Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    /// The log of executions [default: the user's data folder] [env: TOOLROUTE_FEEDBACK]
    #[arg(long, value_name = "FILE")]
    pub feedback: Option<PathBuf>,
    /// The conductor's ledger [default: the user's data folder] [env: TOOLROUTE_LEDGER]
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
    /// Seconds that a server may take to start, which for a program that is fetched first, as by npx,
    /// may be minutes
    #[arg(long, default_value_t = 180, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=600))]
    pub wait: u64,
    /// Start no server
    #[arg(long)]
    pub no_start: bool,
}

impl Configure for DoctorArgs {
    fn configure(&mut self, settings: &Settings) {
        self.catalog.configure(settings);
        self.catalog.live.or_imported();
        self.engine.configure(settings);
        settings.put_path(&keys::FEEDBACK, &mut self.feedback);
        settings.put_path(&keys::LEDGER, &mut self.ledger);
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Severity {
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
struct Finding {
    check: &'static str,
    severity: Severity,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cure: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, severity: Severity::Ok, found: found.into(), cure: None }
    }

    fn warning(check: &'static str, found: impl Into<String>, cure: impl Into<String>) -> Self {
        let (found, cure) = (found.into(), Some(cure.into()));
        Self { check, severity: Severity::Warning, found, cure }
    }

    fn error(check: &'static str, found: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { severity: Severity::Error, ..Self::warning(check, found, cure) }
    }
}

#[derive(Serialize)]
struct Report {
    errors: usize,
    warnings: usize,
    findings: Vec<Finding>,
}

pub fn run(args: &DoctorArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let mut findings = configuration(global);
    findings.extend(model::check(args));
    findings.extend(model::snapshot(args, global));
    let servers = args.catalog.live.servers().cloned();
    findings.extend(servers::check(servers.as_deref(), args));
    findings.extend(pins(args));
    findings.extend(files::permissions(servers.as_deref(), args, global));
    findings.extend(files::stores(args));
    let count = |severity| findings.iter().filter(|found| found.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let report = Report { errors, warnings, findings };
    if global.json {
        render::json(&report)?
    } else {
        tell(&report)?
    }
    Ok(ExitCode::from(if errors > 0 { exit::FAILED } else { 0 }))
}

fn tell(report: &Report) -> anyhow::Result<()> {
    for Finding { check, severity, found, cure } in &report.findings {
        render::line(&render::plain(&format!("{severity:<7}  {check:<13}  {found}")))?;
        if let Some(cure) = cure {
            render::line(&render::plain(&format!("{:24} → {cure}", "")))?;
        }
    }
    render::line(&format!("{} errors, {} warnings", report.errors, report.warnings))
}

fn configuration(global: &Global) -> Vec<Finding> {
    const CHECK: &str = "configuration";
    let settings = &global.settings;
    let cure = "correct the file; `toolroute config show` has every key and its value";
    let mut findings: Vec<Finding> =
        settings.errors.iter().map(|said| Finding::error(CHECK, said, cure)).collect();
    findings.extend(settings.warnings.iter().map(|said| Finding::warning(CHECK, said, cure)));
    if findings.is_empty() {
        let files: Vec<String> =
            settings.files.iter().map(|path| path.display().to_string()).collect();
        let found =
            if files.is_empty() { "no file; defaults".to_owned() } else { files.join(", ") };
        findings.push(Finding::ok(CHECK, found));
    }
    findings
}

fn pins(args: &DoctorArgs) -> Vec<Finding> {
    const CHECK: &str = "pins";
    let path = match paths::pins(args.catalog.live.pinning.pins.as_deref()) {
        Ok(path) => path,
        Err(error) => return vec![Finding::error(CHECK, format!("{error:#}"), "use --pins FILE")],
    };
    let listed = match Pins::new(&path, Mode::FirstUse).list() {
        Ok(listed) => listed,
        Err(error) => {
            let cure =
                "until it can be read, no tool of a server is used; restore it or move it away";
            return vec![Finding::error(CHECK, error.to_string(), cure)];
        }
    };
    let held: Vec<&str> =
        listed.iter().filter(|pin| pin.state.is_held()).map(|pin| pin.id.as_str()).collect();
    if held.is_empty() {
        return vec![Finding::ok(CHECK, format!("{} definitions, none held back", listed.len()))];
    }
    let cure =
        "`toolroute pins diff ID` shows what has changed, `toolroute pins approve ID` lets it in";
    vec![Finding::warning(CHECK, format!("held back: {}", held.join(", ")), cure)]
}
