//! `toolroute doctor`: finds what does not work, and says how to fix it.

mod check;
mod duplicates;
mod files;
mod model;
mod servers;

use std::process::ExitCode;

use serde::Serialize;

pub use self::check::DoctorArgs;
use self::check::{Finding, Severity};
use super::global::Global;
use super::render::counted;
use super::{exit, paths, render};
use toolroute_run::pins::{Mode, Pins, pins_option, shell_word};
use toolroute_vectors::durable;

#[derive(Serialize)]
struct DoctorReport {
    errors: usize,
    warnings: usize,
    findings: Vec<Finding>,
}

pub fn run(args: &DoctorArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let servers = args.catalog.live.servers().cloned();
    // What takes seconds comes last: each check is told when it is done.
    let checks: [&dyn Fn() -> Vec<Finding>; 8] = [
        &|| configuration(global),
        &|| files::permissions(servers.as_deref(), args, global),
        &|| files::stores(args),
        &|| model::check(args),
        &|| model::snapshot(args, global),
        &|| servers::check(servers.as_deref(), args, global),
        &|| duplicates::check(args),
        &|| pins(args),
    ];
    let mut findings = Vec::new();
    for check in checks {
        let found = check();
        if !global.json {
            tell(&found)?;
        }
        findings.extend(found);
    }
    let count = |severity| findings.iter().filter(|found| found.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if global.json {
        render::json(&DoctorReport { errors, warnings, findings })?;
    } else {
        let said = [counted(errors, "error"), counted(warnings, "warning")].join(", ");
        render::line(&said)?;
    }
    Ok(ExitCode::from(if errors > 0 { exit::FAILED } else { 0 }))
}

fn tell(findings: &[Finding]) -> anyhow::Result<()> {
    for Finding { check, severity, found, cure } in findings {
        render::line(&render::plain(&format!("{severity:<7}  {check:<13}  {found}")))?;
        if let Some(cure) = cure {
            render::line(&render::plain(&format!("{:24} → {cure}", "")))?;
        }
    }
    render::flush()
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
    if let (Some(_), Err(error)) = (args.catalog.live.servers(), durable::lock(&path)) {
        let found = format!("cannot write {}: {error}", path.display());
        let cure = "let this user write it and its folder, or use --pins FILE; until then no new \
                    tool of a server is used";
        return vec![Finding::error(CHECK, found, cure)];
    }
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
    let pins = pins_option(args.catalog.live.pinning.pins.as_deref());
    let first = shell_word(held[0]);
    let cure = format!(
        "`toolroute pins diff {first}{pins}` shows what has changed, `toolroute pins approve {first}{pins}` lets it in"
    );
    vec![Finding::warning(CHECK, format!("held back: {}", held.join(", ")), cure)]
}
