//! `toolroute route`: ranks tools for one prompt.

use std::io::{IsTerminal as _, Read as _};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use serde::Serialize;

use super::args::{
    CatalogArgs, ContextArgs, EngineArgs, Global, HistoryArgs, SelectArgs, SessionArgs,
};
use super::exit;
use super::limit::Limit;
use super::session::KeptSession;
use super::setup::{self, EngineRequirements};
use super::{analyze, feedback, render};
use toolroute_rank::engine::{Context, DEFAULT_LIMIT, SelectRequest, Selection};

#[derive(Args)]
pub struct RouteArgs {
    /// The prompt; with `-`, or without one if stdin is no terminal, it is read from stdin
    pub prompt: Vec<String>,
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub select: SelectArgs,
    /// Maximum number of tools; `auto` for as many as the prompt needs, up to 10 (`auto:N`: up to
    /// N)
    #[arg(short, long, default_value_t = Limit::of(DEFAULT_LIMIT), value_name = "N", allow_negative_numbers = true)]
    pub limit: Limit,
    /// Rank only this tool and others that are named; repeatable
    #[arg(long, value_name = "ID")]
    pub candidates: Option<Vec<String>>,
    #[command(flatten)]
    pub context: ContextArgs,
    #[command(flatten)]
    pub session: SessionArgs,
    #[command(flatten)]
    pub history: HistoryArgs,
    /// Show how each score was computed
    #[arg(long)]
    pub explain: bool,
    /// Show the time of each stage
    #[arg(long)]
    pub timings: bool,
}

#[derive(Serialize)]
struct RouteAnswer<'a> {
    prompt: &'a str,
    #[serde(flatten)]
    selection: &'a Selection,
    #[serde(skip_serializing_if = "Option::is_none")]
    timings_ms: Option<serde_json::Map<String, serde_json::Value>>,
    #[cfg(feature = "mcp")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unanswered_servers: Vec<super::servers::Unanswered>,
}

pub fn run(args: &RouteArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let context = args.context.context(global)?;
    let prompt = prompt_of(&args.prompt, context.as_ref())?;
    let kept = KeptSession::open(&args.session, global)?;
    let wanted = EngineRequirements::new(&args.select, args.limit)?;
    let engine = setup::engine(&args.catalog, &args.engine, wanted, global)?;
    let candidates = args.candidates.clone();
    let request = SelectRequest { candidates, context, ..SelectRequest::new(&prompt) };
    let request = kept.session.request(request);
    feedback::observe(&engine, &args.history, global)?;
    let selection = engine.select(&request)?;
    args.context.warn_unmatched(&engine, global)?;
    kept.session.note_selection(&prompt, &selection);
    kept.save()?;
    if global.json {
        let timings_ms = args.timings.then(|| render::stages_json(&selection.timings.stages()));
        render::json(&RouteAnswer {
            prompt: &prompt,
            selection: &selection,
            timings_ms,
            #[cfg(feature = "mcp")]
            unanswered_servers: super::servers::unanswered(),
        })?;
    } else {
        render::unknown_ids(global, &selection.unknown_candidates);
        if let Some(analysis) = &selection.analysis {
            analyze::render_analysis(analysis, false)?;
        }
        render::selection(&selection, args.limit.most, args.explain)?;
        if args.timings {
            render::stages(&selection.timings.stages())?;
        }
    }
    // With an empty catalog, an empty answer does not mean that no tool fits.
    Ok(exit::bad_data_if(engine.catalog().is_empty()))
}

/// The prompt: the words of the command line, else the context's prompt, else all of stdin.
pub fn prompt_of(words: &[String], context: Option<&Context>) -> anyhow::Result<String> {
    let told = context.and_then(|context| context.prompt.as_deref());
    match told {
        Some(told) if words.is_empty() => Ok(told.to_owned()),
        _ => prompt(words),
    }
}

/// The words of the command line, or all of stdin.
pub fn prompt(words: &[String]) -> anyhow::Result<String> {
    if !words.is_empty() && words != ["-"] {
        return Ok(words.join(" "));
    }
    let mut prompt = Vec::new();
    // Without `-`, somebody at a terminal has forgotten the prompt, and would wait for an answer.
    if !words.is_empty() || !std::io::stdin().is_terminal() {
        let read = std::io::stdin().read_to_end(&mut prompt);
        read.context("cannot read the prompt from stdin; give it as an argument, in quotes")?;
    }
    if words.is_empty() && prompt.is_empty() {
        return Err(exit::bad_arguments(
            "no prompt is given; expected one as an argument, in quotes, or on stdin",
        ));
    }
    let prompt = String::from_utf8(prompt).map_err(|error| {
        let at = error.utf8_error().valid_up_to() + 1;
        let said = format!("the prompt on stdin is not UTF-8 at byte {at}; expected text in UTF-8");
        exit::bad_data(said)
    })?;
    Ok(prompt.trim().to_owned())
}
