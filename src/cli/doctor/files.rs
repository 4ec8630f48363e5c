//! Checks the permissions of secret files, and opens the stores.

use std::path::Path;

use super::check::{DoctorArgs, Finding};
use crate::cli::args::Global;
use crate::cli::paths;
use crate::cli::render::counted;
use toolroute_conduct::Ledger;
use toolroute_rank::feedback::{ExecutionStore, StoreOptions, UsageVectors};

const PERMISSIONS: &str = "permissions";

/// Checks that files with secrets are readable by their owner only, and that files that define what
/// is trusted are writable by nobody else.
pub fn permissions(servers: Option<&Path>, args: &DoctorArgs, global: &Global) -> Vec<Finding> {
    let pins = paths::pins(args.catalog.live.pinning.pins.as_deref()).ok();
    let mut findings: Vec<Finding> = servers.into_iter().filter_map(readable_by_others).collect();
    let decide = servers.into_iter().chain(pins.as_deref());
    let settings = global.settings.files.iter().map(|path| path.as_path());
    findings.extend(decide.chain(settings).filter_map(writable_by_others));
    if findings.is_empty() {
        findings
            .push(Finding::ok(PERMISSIONS, "nobody else reads secrets or decides what is trusted"));
    }
    findings
}

#[cfg(unix)]
fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;

    Some(std::fs::metadata(path).ok()?.permissions().mode())
}

/// On other systems, user folders are private by default.
#[cfg(not(unix))]
fn mode(_path: &Path) -> Option<u32> {
    None
}

fn readable_by_others(path: &Path) -> Option<Finding> {
    let text = std::fs::read_to_string(path).ok()?;
    let has_secrets = text.contains("\"env\"") || text.contains("\"headers\"");
    (has_secrets && mode(path)? & 0o044 != 0).then(|| {
        let found =
            format!("{} holds variables or headers, and others may read it", path.display());
        Finding::warning(PERMISSIONS, found, format!("chmod 600 {}", path.display()))
    })
}

fn writable_by_others(path: &Path) -> Option<Finding> {
    (mode(path)? & 0o022 != 0).then(|| {
        let found = format!("others may write {}, and so decide what is run", path.display());
        Finding::error(PERMISSIONS, found, format!("chmod go-w {}", path.display()))
    })
}

/// Opens the existing stores.
pub fn stores(args: &DoctorArgs) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(path) = paths::feedback(args.feedback.as_deref()).ok().filter(|path| path.exists())
    {
        let cure = "end the program that holds it, or move it away to begin a new one";
        let mut executions = 0;
        let read = ExecutionStore::open(&path, StoreOptions::default())
            .and_then(|store| store.for_each(|_| executions += 1));
        findings.push(match read {
            Ok(()) => {
                let executions = counted(executions, "execution");
                Finding::ok("feedback", format!("{}: {executions}", path.display()))
            }
            Err(error) => Finding::error("feedback", error.to_string(), cure),
        });
    } else if let Some(path) = &args.feedback {
        let found = format!("there is no log of executions at {}", path.display());
        let cure = "correct the path; the first call of a tool makes the log";
        findings.push(Finding::warning("feedback", found, cure));
    }
    if let Some(path) = args.usage.usage.as_ref().filter(|_| !args.usage.no_usage) {
        let cure = "correct the path, or `toolroute learn` writes it anew";
        findings.push(match UsageVectors::load(path) {
            Ok(usage) => {
                let tools = counted(usage.len(), "tool");
                Finding::ok("usage", format!("{}: past prompts of {tools}", path.display()))
            }
            Err(error) => Finding::error("usage", error.to_string(), cure),
        });
    }
    let ledger = paths::ledger_file(args.ledger.as_deref());
    if let Some(path) = ledger.ok().filter(|path| path.exists()) {
        let cure = "end the conductor that works in it, or move it away to begin a new one";
        findings.push(match Ledger::open_read_only(&path) {
            Ok(_) => Finding::ok("ledger", format!("{} opens", path.display())),
            Err(error) => Finding::error("ledger", error.to_string(), cure),
        });
    }
    findings
}
