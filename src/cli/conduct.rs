//! `toolroute conduct`: discharges the obligations of a request.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;

use super::args::{ConductArgs, Global};
use super::limit::Limit;
use super::setup::{self, STREAM, Wanted};
use super::{paths, render};
use crate::conductor::{Answer, Begin, Builtins, Conductor, Ledger, OBLIGATIONS_SCHEMA};
use crate::engine::DEFAULT_LIMIT;

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
    let runners = runners(args.runners.as_deref())?;
    let wanted = Wanted::new(&args.select, Limit::of(DEFAULT_LIMIT));
    let engine = setup::engine(&args.catalog, &args.engine, wanted, global)?;
    let mut ledger = Ledger::open(&paths::ledger(args.ledger.ledger.as_deref())?)?;
    let begin = if args.resume { Begin::Resume } else { Begin::Anew };
    let answer = Conductor::new(&engine, &runners, &mut ledger).conduct(&document, begin)?;
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

/// Relative paths in the file begin at the folder that it lies in.
pub fn runners(file: Option<&Path>) -> anyhow::Result<Builtins> {
    let Some(file) = file else { return Ok(Builtins::default()) };
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the runners {}", file.display()))?;
    let folder = file.parent().unwrap_or(Path::new(""));
    Builtins::from_toml(&text, folder).with_context(|| format!("{} is wrong", file.display()))
}
