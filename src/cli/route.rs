//! `toolroute route`: the tools for one prompt.

use std::io::Read;
use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;

use super::args::{Global, RouteArgs};
use super::render;
use super::setup::{self, Wanted};
use crate::engine::{SelectRequest, Selection};

#[derive(Serialize)]
struct Answer<'a> {
    prompt: &'a str,
    #[serde(flatten)]
    selection: &'a Selection,
    #[serde(skip_serializing_if = "Option::is_none")]
    timings_ms: Option<serde_json::Map<String, serde_json::Value>>,
}

pub fn run(args: &RouteArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let prompt = prompt(&args.prompt)?;
    let wanted = Wanted::new(&args.select, args.limit);
    let engine = setup::engine(&args.catalog, &args.engine, wanted, global)?;
    let candidates = args.candidates.clone();
    let request = SelectRequest { candidates, ..SelectRequest::new(&prompt) };
    let selection = engine.select(&request)?;
    let unknown = &selection.unknown_candidates;
    if !(unknown.is_empty() || global.quiet || global.json) {
        eprintln!("warning: not in the catalog: {}", unknown.join(", "));
    }
    if global.json {
        let timings_ms = args.timings.then(|| render::timings_json(&selection.timings));
        render::json(&Answer { prompt: &prompt, selection: &selection, timings_ms })?;
    } else {
        render::selection(&selection, args.explain)?;
        if args.timings {
            render::timings(&selection.timings)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The words of the command line, or all of stdin.
fn prompt(words: &[String]) -> anyhow::Result<String> {
    if !words.is_empty() && words != ["-"] {
        return Ok(words.join(" "));
    }
    let mut prompt = String::new();
    let read = std::io::stdin().read_to_string(&mut prompt);
    read.context("cannot read the prompt from stdin; give it as an argument, in quotes")?;
    Ok(prompt.trim().to_owned())
}
