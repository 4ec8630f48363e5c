//! `toolroute feedback`: logs executions and analyses the log.

mod add;
mod args;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use serde::Serialize;
use serde_json::json;

pub use self::args::FeedbackArgs;
use self::args::{FeedbackCommand, ForgetArgs, RecommendArgs, WeightsArgs};
use super::args::{Global, HistoryArgs, weights as signal_weights};
use super::exit;
use super::setup::EngineRequirements;
use super::{paths, render, setup};
use toolroute_batch::Output;
use toolroute_catalog::ToolId;
use toolroute_rank::engine::{Engine, EngineConfig, Signal};
use toolroute_rank::feedback::{
    ExecutionStore, ForgetScope, NextTool, Observations, RunStats, ScoreWeights, StoreOptions,
    UnchangedReason, WeightUpdate, recommend,
};
use toolroute_vectors::durable::{self, Readers};

/// The option that names the log.
const FLAG: &str = "--feedback";

pub fn run(args: &FeedbackArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let path = paths::feedback(args.feedback.as_deref())?;
    match &args.command {
        FeedbackCommand::Add(add) => {
            let path = paths::with_default_folder(path, args.feedback.as_deref())?;
            return add::run(add, (&path, args.feedback.is_none()), global);
        }
        FeedbackCommand::Stats { tool } => stats(&open(&path, FLAG)?, tool.as_deref(), global)?,
        FeedbackCommand::Recommend(args) => recommendations(&open(&path, FLAG)?, args, global)?,
        FeedbackCommand::Weights(args) => weights(&mut open(&path, FLAG)?, args, global)?,
        FeedbackCommand::Export { output, overwrite } => {
            export(&open(&path, FLAG)?, (output.as_deref(), *overwrite), global)?;
        }
        FeedbackCommand::Forget(args) => forget(&mut open(&path, FLAG)?, args, global)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens an existing log. Reading must not create an empty one. `flag` is how the command names it.
pub fn open(path: &Path, flag: &str) -> anyhow::Result<ExecutionStore> {
    if !path.exists() {
        return Err(exit::io(format!(
            "there is no log of executions at {}; `toolroute feedback add` makes one, `{flag} FILE` names another",
            path.display()
        )));
    }
    Ok(ExecutionStore::open(path, StoreOptions::default())?)
}

/// Adds the observations of a log to the engine, if one is named. The log is not written to.
pub fn observe(engine: &Engine, args: &HistoryArgs, global: &Global) -> anyhow::Result<()> {
    match &args.feedback {
        Some(path) if path.exists() => engine.observe(Observations::load(&open(path, FLAG)?)?),
        Some(path) => {
            let said = format!("warning: there is no log of executions at {}", path.display());
            render::warn(global, &said);
        }
        None => {}
    }
    Ok(())
}

#[derive(Serialize)]
struct ToolStats<'a> {
    id: &'a ToolId,
    #[serde(flatten)]
    observed: &'a RunStats,
    /// Expected share of successes, including a prior common to all tools.
    rate: f64,
    next: &'a [NextTool],
}

fn stats(store: &ExecutionStore, only: Option<&str>, global: &Global) -> anyhow::Result<()> {
    let observations = Observations::load(store)?;
    let shown = observations.tools().filter(|(id, _)| only.is_none_or(|only| id.as_str() == only));
    let shown: Vec<ToolStats<'_>> = shown
        .map(|(id, observed)| {
            let next = observations.next_after(id.as_str());
            ToolStats { id, observed, rate: observed.rate(), next }
        })
        .collect();
    if let (Some(only), true) = (only, shown.is_empty()) {
        let id = render::shortened(only, render::MAX_ID_CHARS);
        return Err(exit::bad_data(format!(
            "no execution of `{id}` is logged; `feedback stats` shows what is"
        )));
    }
    if global.json {
        let executions = observations.executions();
        return render::json(
            &json!({"path": store.path(), "executions": executions, "tools": shown}),
        );
    }
    let header = ["tool", "runs", "succeeded", "at least", "ms", "last (UTC)", "next"];
    let mut table = render::table(&header, &[1, 2, 3, 4]);
    for tool in &shown {
        let RunStats { runs, successes, lower_bound, latency_ms, last, .. } = tool.observed;
        let latency = latency_ms.map_or("–".to_owned(), |ms| format!("{ms:.0}"));
        let bound = format!("{:.0} %", lower_bound * 100.0);
        let next = tool.next.first().map_or("–", |next| next.tool.as_str());
        let (id, next) = (render::plain(tool.id.as_str()), render::plain(next));
        let last = store.time(*last)?;
        table.add_row([id, runs.to_string(), successes.to_string(), bound, latency, last, next]);
    }
    render::print_sparing(table, &[6, 5])?;
    let executions = render::counted(observations.executions(), "execution");
    render::warn(global, &format!("{executions} in {}", store.path().display()));
    Ok(())
}

fn recommendations(
    store: &ExecutionStore,
    args: &RecommendArgs,
    global: &Global,
) -> anyhow::Result<()> {
    let near = match setup::names_sources(&args.catalog) {
        true => {
            let engine =
                setup::engine(&args.catalog, &args.engine, EngineRequirements::vectors(), global)?;
            engine.vectors()?.near_duplicates()
        }
        false => Vec::new(),
    };
    let all = recommend(&store.facts()?, &near);
    if global.json {
        return render::json(&all);
    }
    if all.is_empty() {
        return render::line("nothing to mend, as far as the log says");
    }
    let mut table = render::table(&["tool", "priority", "do", "because"], &[]);
    for told in &all {
        let (id, priority) = (render::plain(told.tool.as_str()), told.priority.to_string());
        let advice = render::plain(&told.recommendation);
        table.add_row([id, priority, advice, render::plain(&told.evidence)]);
    }
    render::print(table)
}

/// Prints the stored changes of the weights, one per line.
fn weight_history(store: &ExecutionStore, global: &Global) -> anyhow::Result<()> {
    let history = store.weight_history()?;
    if global.json {
        return render::json(&history);
    }
    if history.is_empty() {
        return render::line("no weights were learned yet");
    }
    let header = ["change", "at (UTC)", "what", "executions", "log-loss before", "after"];
    let mut table = render::table(&header, &[0, 3, 4, 5]);
    for record in history {
        let loss = |loss: Option<f64>| loss.map_or("–".to_owned(), |loss| format!("{loss:.4}"));
        table.add_row([
            record.id.to_string(),
            store.time(record.at)?,
            record.action,
            record.executions.to_string(),
            loss(record.loss_before),
            loss(record.loss_after),
        ]);
    }
    render::print(table)
}

fn weights(store: &mut ExecutionStore, args: &WeightsArgs, global: &Global) -> anyhow::Result<()> {
    if args.history {
        return weight_history(store, global);
    }
    if args.revert {
        let now = store.revert_weights()?;
        if global.json {
            return render::json(&json!({"reverted": true, "weights": now}));
        }
        return match now {
            Some(weights) => weight_table(&weights, None),
            None => render::line("back to the weights of the configuration"),
        };
    }
    let old = store.current_weights()?.unwrap_or_else(|| configured(args, global));
    let update = WeightUpdate::propose(&store.facts()?, &old);
    let applied = args.apply && update.unchanged.is_none();
    if applied {
        update.apply(store)?;
    }
    if global.json {
        let mut told = serde_json::to_value(&update)?;
        told["applied"] = applied.into();
        return render::json(&told);
    }
    weight_table(&update.old, Some(&update.new))?;
    let executions = update.executions;
    let (before, after) = (update.loss_before, update.loss_after);
    let said = match update.unchanged {
        Some(UnchangedReason::TooFew) => {
            format!("unchanged: {executions} executions say what the signals were, too few")
        }
        Some(UnchangedReason::OneOutcome) => {
            format!("unchanged: all of {executions} executions came out the same")
        }
        Some(UnchangedReason::NoGain) => {
            format!("unchanged: no step explains the {executions} executions better")
        }
        None => {
            let done = if applied { "applied" } else { "not applied; --apply keeps them" };
            format!(
                "log-loss of {executions} executions: {before:.4} before, {after:.4} after; {done}"
            )
        }
    };
    render::line(&said)
}

/// The weights of all signals if none were learned.
fn configured(args: &WeightsArgs, global: &Global) -> ScoreWeights {
    let mut config = EngineConfig::default();
    global.settings.apply(&mut config);
    let signals = signal_weights(config.signals, &args.signal);
    // Converted through decimal digits, so that 0.7 stays 0.7 and not the nearest 32-bit fraction.
    let exact = |weight: f32| weight.to_string().parse().unwrap_or_else(|_| f64::from(weight));
    let signals = Signal::ALL.map(|signal| (signal.as_str(), exact(signals.get(signal))));
    ScoreWeights::new(exact(args.semantic_weight), signals)
}

fn weight_table(old: &ScoreWeights, new: Option<&ScoreWeights>) -> anyhow::Result<()> {
    let header: &[&str] =
        if new.is_some() { &["signal", "weight", "new"] } else { &["signal", "weight"] };
    let mut table = render::table(header, &[1, 2]);
    for (name, weight) in old.iter() {
        let mut row = vec![render::plain(name), format!("{weight:.3}")];
        row.extend(new.map(|new| format!("{:.3}", new.get(name))));
        table.add_row(row);
    }
    render::print(table)
}

fn export(
    store: &ExecutionStore,
    (output, overwrite): (Option<&Path>, bool),
    global: &Global,
) -> anyhow::Result<()> {
    let Some(path) = output.filter(|path| *path != Path::new(setup::STREAM)) else {
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        let written = lines(store, &mut out)?;
        return written.and_then(|_| out.flush()).map_err(render::failed);
    };
    let failed = || format!("cannot write {}", path.display());
    let fill = |file: &mut File| {
        let mut out = std::io::BufWriter::new(file);
        let executions = lines(store, &mut out)??;
        out.flush()?;
        anyhow::Ok(executions)
    };
    let target = export_target(store.path(), path)?;
    if !overwrite {
        target.check_new()?;
    }
    let executions = match &target {
        Output::Special(path) => fill(&mut File::create(path).with_context(failed)?),
        Output::File(path) if overwrite => durable::replace_with(path, Readers::Owner, fill),
        Output::File(path) => durable::create_with(path, Readers::Owner, fill),
    };
    // Errors of the log are not errors of the output file.
    let executions = executions.map_err(|error| match error.is::<std::io::Error>() {
        true => error.context(failed()),
        false => error,
    })?;
    if global.json {
        return render::json(&json!({"executions": executions, "output": path}));
    }
    let executions = render::counted(executions, "execution");
    render::line(&format!("{executions}, {}", path.display()))
}

/// The place that an export is written to, which must be none of the log's own files.
fn export_target(log: &Path, output: &Path) -> anyhow::Result<Output> {
    let log = log.canonicalize().unwrap_or_else(|_| log.to_owned());
    Ok(Output::at(output, &files_of(&log).each_ref().map(PathBuf::as_path))?)
}

/// The files of a log: its database, and what SQLite writes beside it.
pub fn files_of(log: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|suffix| {
        let mut own = log.to_owned().into_os_string();
        own.push(suffix);
        PathBuf::from(own)
    })
}

/// Writes every execution. The outer error is the log's, the inner one the output's.
fn lines(store: &ExecutionStore, out: &mut impl Write) -> anyhow::Result<std::io::Result<u64>> {
    let mut written = Ok(0);
    store.for_each(|execution| {
        // After the first error, the remaining executions are skipped.
        if let Ok(lines) = &mut written {
            let line = serde_json::to_string(&execution);
            let line =
                line.expect("an execution is text and numbers, which are JSON. This is a bug.");
            match writeln!(out, "{line}") {
                Ok(()) => *lines += 1,
                Err(error) => written = Err(error),
            }
        }
    })?;
    Ok(written)
}

fn forget(store: &mut ExecutionStore, args: &ForgetArgs, global: &Global) -> anyhow::Result<()> {
    let what = match (&args.tool, &args.before) {
        (Some(id), _) => ForgetScope::Tool(id.as_str().into()),
        (None, Some(date)) => ForgetScope::Before(store.date(date)?),
        (None, None) => ForgetScope::All,
    };
    let forgotten = store.forget(&what)?;
    if !forgotten.scrubbed {
        let said = "warning: another program reads the log; what was forgotten stays in its files until it is written to again";
        render::warn(global, said);
    }
    let (executions, scrubbed) = (forgotten.executions, forgotten.scrubbed);
    if global.json {
        return render::json(&json!({"forgotten": executions, "scrubbed": scrubbed}));
    }
    render::line(&format!("{} forgotten", render::counted(executions, "execution")))
}
