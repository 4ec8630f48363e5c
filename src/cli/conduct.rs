//! `toolroute conduct`: discharges the obligations of a request.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;
use serde_json::json;

use super::args::{ConductArgs, Global};
#[cfg(feature = "mcp")]
use super::conduct_servers::with_runner;
use super::limit::Limit;
use super::setup::{self, STREAM, Wanted};
use super::{paths, render};
use crate::conductor::{
    Answer, Begin, Builtins, Conductor, Ledger, OBLIGATIONS_SCHEMA, Runner, default_tools,
};
use crate::engine::DEFAULT_LIMIT;
#[cfg(not(feature = "mcp"))]
use crate::engine::Engine;

/// Stands for the ledger's latest request.
const LATEST: &str = "{}";

#[derive(Serialize)]
struct Told<'a> {
    /// Whether every obligation is resolved, and without a doubt.
    complete: bool,
    #[serde(flatten)]
    answer: &'a Answer,
}

pub fn run(args: &ConductArgs, global: &Global) -> anyhow::Result<ExitCode> {
    if args.schema {
        render::line(OBLIGATIONS_SCHEMA.trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    let document = args.request.as_deref().map_or_else(|| Ok(LATEST.to_owned()), document)?;
    let wanted = Wanted::new(&args.select, Limit::of(DEFAULT_LIMIT))?;
    #[cfg(feature = "mcp")]
    let wanted = Wanted { feedback: args.log.feedback.clone(), ..wanted };
    let (wanted, builtins) = match (setup::names_sources(&args.catalog), &args.runners) {
        (false, None) => {
            let (catalog, builtins) = default_tools();
            (Wanted { catalog: Some(catalog), ..wanted }, builtins)
        }
        (_, runners) => (wanted, self::builtins(runners.as_deref())?),
    };
    let engine = setup::engine(&args.catalog, &args.engine, wanted, global)?;
    let mut ledger = Ledger::open(&paths::ledger(args.ledger.ledger.as_deref())?)?;
    let begin = if args.resume { Begin::Resume } else { Begin::Anew };
    let work = |runner: &dyn Runner| {
        let conductor = Conductor::new(&engine, runner, &mut ledger);
        let mut conductor = conductor.scope(args.scope).replies(args.answer.iter().cloned());
        conductor.conduct(&document, begin)
    };
    let answer = with_runner(args, global, (&engine, builtins), work)??;
    engine.close();
    if global.json {
        render::json(&Told { complete: answer.is_complete(), answer: &answer })?;
    } else {
        render::line(&render::plain_lines(&answer.text))?;
    }
    if answer.asks() {
        render::warn(
            global,
            "answer with: toolroute conduct --resume --answer ID=VALUE, with the same tools and ledger",
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// A file that is there, stdin, or words, which have a space between them.
fn document(request: &str) -> anyhow::Result<String> {
    let path = Path::new(request);
    if request == STREAM {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        read.context("cannot read the request from stdin; expected JSON in UTF-8")?;
        return Ok(text);
    }
    if request.trim().contains(char::is_whitespace) && !path.exists() {
        return Ok(json!({ "utterance": request }).to_string());
    }
    let read = std::fs::read_to_string(path);
    read.with_context(|| {
        format!("cannot read the request {request}; expected a file, or several words")
    })
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
