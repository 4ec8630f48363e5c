//! `toolroute conduct`: discharges the obligations of a request.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;

use super::args::{ConductArgs, Global};
#[cfg(feature = "mcp")]
use super::conduct_servers::with_runner;
use super::limit::Limit;
use super::setup::{self, STREAM, Wanted};
use super::{paths, render};
use crate::conductor::{Answer, Begin, Builtins, Conductor, Ledger, OBLIGATIONS_SCHEMA, Runner};
use crate::engine::DEFAULT_LIMIT;
#[cfg(not(feature = "mcp"))]
use crate::engine::Engine;

#[derive(Serialize)]
struct Told<'a> {
    /// Whether every obligation is resolved, and without a doubt.
    complete: bool,
    #[serde(flatten)]
    answer: &'a Answer,
}

pub fn run(args: &ConductArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let Some(file) = args.file.as_ref().filter(|_| !args.schema) else {
        render::line(OBLIGATIONS_SCHEMA.trim_end())?;
        return Ok(ExitCode::SUCCESS);
    };
    let document = document(file)?;
    let builtins = builtins(args.runners.as_deref())?;
    let wanted = Wanted::new(&args.select, Limit::of(DEFAULT_LIMIT))?;
    #[cfg(feature = "mcp")]
    let wanted = Wanted { feedback: args.log.feedback.clone(), ..wanted };
    let engine = setup::engine(&args.catalog, &args.engine, wanted, global)?;
    let mut ledger = Ledger::open(&paths::ledger(args.ledger.ledger.as_deref())?)?;
    let begin = if args.resume { Begin::Resume } else { Begin::Anew };
    let work = |runner: &dyn Runner| {
        Conductor::new(&engine, runner, &mut ledger).conduct(&document, begin)
    };
    let answer = with_runner(args, global, (&engine, builtins), work)??;
    engine.close();
    if global.json {
        render::json(&Told { complete: answer.is_complete(), answer: &answer })?;
    } else {
        render::line(&render::plain_lines(&answer.text))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn document(file: &Path) -> anyhow::Result<String> {
    if file != Path::new(STREAM) {
        let read = std::fs::read_to_string(file);
        return read.with_context(|| format!("cannot read the request {}", file.display()));
    }
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.context("cannot read the request from stdin; expected JSON in UTF-8")?;
    Ok(text)
}

#[cfg(not(feature = "mcp"))]
fn with_runner<T>(
    _args: &ConductArgs,
    _global: &Global,
    (_engine, builtins): (&Engine, Builtins),
    work: impl FnOnce(&dyn Runner) -> T,
) -> anyhow::Result<T> {
    Ok(work(&builtins))
}

/// Relative paths in the file begin at the folder that it lies in.
pub fn builtins(file: Option<&Path>) -> anyhow::Result<Builtins> {
    let Some(file) = file else { return Ok(Builtins::default()) };
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the runners {}", file.display()))?;
    let folder = file.parent().unwrap_or(Path::new(""));
    Builtins::from_toml(&text, folder).with_context(|| format!("{} is wrong", file.display()))
}
