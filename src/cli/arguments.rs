//! Shows arguments that were extracted from a prompt, and what must be asked.

use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use serde_json::{Value, json};

use super::args::{Global, SourceArgs};
use super::exit;
use super::render;
use super::servers::{self, Unanswered};
use toolroute_catalog::{Catalog, Tool};
use toolroute_run::execution::{ArgumentSources, Arguments, PreparedArguments, Report, Source};
use toolroute_session::Session;

/// A report with the arguments that were extracted from the prompt, if there was one.
#[derive(Serialize)]
struct WithArguments<'a> {
    #[serde(flatten)]
    report: &'a Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a PreparedArguments>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unanswered_servers: Vec<Unanswered>,
}

/// Prints a report as JSON.
pub fn print(report: &Report, arguments: Option<&PreparedArguments>) -> anyhow::Result<()> {
    let unanswered_servers = servers::unanswered();
    render::json(&WithArguments { report, arguments, unanswered_servers })
}

/// Completes the given arguments of a tool with those found in the prompt and the session.
pub fn read(
    tool: &Tool,
    prompt: &str,
    args: &SourceArgs,
    (given, session): (&Arguments, &Session),
) -> anyhow::Result<PreparedArguments> {
    let now = args.moment();
    let last_result = args.last_result.as_deref().map(result).transpose()?;
    let earlier: Vec<&str> = args.earlier.iter().map(String::as_str).collect();
    let sources = ArgumentSources {
        given: Some(given),
        earlier: &earlier,
        last_result: last_result.as_ref(),
        ..ArgumentSources::new(prompt, &now)
    };
    Ok(session.prepare_arguments(tool, &sources))
}

/// Parses JSON; other text becomes a string.
fn result(path: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        exit::io(format!("expected the last result in {}: {error}", path.display()))
    })?;
    Ok(serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.trim_end().to_owned())))
}

/// Says where each argument that was not given comes from, and which values no argument takes.
pub fn notes(prepared: &PreparedArguments) -> impl Iterator<Item = String> {
    let read = prepared.sources.iter().filter(|taken| taken.source != Source::Given);
    let unused = prepared.unused.iter();
    let unused = unused.map(|unused| format!("not used: {} ({})", unused.text, unused.kind));
    read.map(ToString::to_string).chain(unused)
}

/// Shows where the arguments come from. Used for dry runs and for missing arguments.
pub fn show(
    (tool, catalog): (&Tool, &Catalog),
    prepared: &PreparedArguments,
    args: &SourceArgs,
    global: &Global,
) -> anyhow::Result<Option<ExitCode>> {
    notes(prepared).for_each(|said| render::warn(global, &render::plain(&said)));
    if let Some(mut report) = prepared.clarify(tool) {
        report.name_suppliers(&catalog.needs(tool));
        match global.json {
            true => print(&report, Some(prepared))?,
            false => {
                render::note(&render::plain_lines(report.outcome.message().unwrap_or_default()))
            }
        }
        return Ok(Some(ExitCode::from(exit::BAD_ARGUMENTS)));
    }
    if !args.dry_run {
        return Ok(None);
    }
    let mut shown = match global.json {
        true => json!({"tool": tool.id, "arguments": prepared}),
        false => json!({"tool": tool.id, "arguments": prepared.arguments}),
    };
    if tool.effects().destroys() {
        let said = format!("{} may destroy something: it is called only with --yes", tool.id);
        render::warn(global, &render::plain(&said));
        shown["needs_confirmation"] = json!(true);
    }
    render::json(&shown)?;
    Ok(Some(ExitCode::SUCCESS))
}
