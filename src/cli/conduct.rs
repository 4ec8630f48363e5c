//! `toolroute conduct`: discharges the obligations of a request with tools.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::args::{CatalogArgs, EngineArgs, Global, LedgerChoice, SelectArgs};
use super::args::{LimitArgs, LogChoice};
use super::call;
use super::limit::Limit;
use super::setup::{self, EngineRequirements, STREAM};
use super::words::{joined, word};
use super::{paths, render};
use toolroute_catalog::Change;
use toolroute_conduct::ExecutionRunner;
use toolroute_conduct::{
    Answer, Begin, Builtins, Conductor, Ledger, OBLIGATIONS_SCHEMA, Reply, Runner, Scope,
    default_tools,
};
use toolroute_rank::engine::{DEFAULT_LIMIT, Engine};
use toolroute_run::execution::{Blocking, Report};
use toolroute_session::{Session, join};

#[derive(Args)]
pub struct ConductArgs {
    /// A JSON file with a request: what was said and the obligations that follow; `-` is stdin. Or
    /// the words themselves; then the obligations are derived from the tools that fit
    #[arg(value_name = "FILE|WORDS", required_unless_present_any = ["schema", "resume"])]
    pub request: Option<String>,
    /// Print the JSON Schema of a request and exit
    #[arg(long)]
    pub schema: bool,
    /// Continue this request, or the latest of the ledger if none is named. A finished request
    /// returns its answer again, unless new answers are given or a missing tool is available now
    #[arg(long)]
    pub resume: bool,
    /// Answer a question of the request; repeatable. ID is the question's name or the input that it
    /// asks for
    #[arg(long, value_name = "ID=VALUE", requires = "resume")]
    pub answer: Vec<Reply>,
    /// Where facts are looked up: in all requests of the ledger, or only in this one
    #[arg(long, default_value = "ledger", value_name = joined::<Scope>(), value_parser = word::<Scope>())]
    pub scope: Scope,
    /// A TOML file that says how tools are run, with a table per tool id, such as builtin = "math"
    #[arg(long, value_name = "FILE")]
    pub runners: Option<PathBuf>,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub log: LogChoice,
    #[command(flatten)]
    pub ledger: LedgerChoice,
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub select: SelectArgs,
}

/// The document that means the latest request of the ledger.
const LATEST: &str = "{}";

#[derive(Serialize)]
struct ConductAnswer<'a> {
    /// Whether every obligation is resolved with certainty.
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
    let wanted = EngineRequirements::new(&args.select, Limit::of(DEFAULT_LIMIT))?;
    let wanted = EngineRequirements { feedback: args.log.feedback.clone(), ..wanted };
    let (engine, builtins) = tools(args, wanted, global)?;
    let mut ledger = Ledger::open(paths::ledger(args.ledger.ledger.as_deref())?)?;
    let begin = if args.resume { Begin::Resume } else { Begin::Anew };
    let work = |runner: &dyn Runner| {
        let conductor = Conductor::new(&engine, runner, &mut ledger);
        let mut conductor = conductor.scope(args.scope).replies(args.answer.iter().cloned());
        conductor.conduct(&document, begin)
    };
    let answer = with_runner(args, global, (&engine, builtins), work)??;
    engine.close();
    if global.json {
        render::json(&ConductAnswer { complete: answer.is_complete(), answer: &answer })?;
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

/// The engine with the tools, and what runs those that no server runs. Without `--tools` and
/// `--runners` there is a tool for arithmetic, also beside those of servers.
fn tools(
    args: &ConductArgs,
    wanted: EngineRequirements,
    global: &Global,
) -> anyhow::Result<(Engine, Builtins)> {
    if !args.catalog.tools.is_empty() || args.runners.is_some() {
        let builtins = builtins(args.runners.as_deref())?;
        return Ok((setup::engine(&args.catalog, &args.engine, wanted, global)?, builtins));
    }
    let (catalog, builtins) = default_tools();
    if !setup::names_sources(&args.catalog) {
        let wanted = EngineRequirements { catalog: Some(catalog), ..wanted };
        return Ok((setup::engine(&args.catalog, &args.engine, wanted, global)?, builtins));
    }
    let engine = setup::engine(&args.catalog, &args.engine, wanted, global)?;
    engine.change(catalog.iter().cloned().map(Change::Register).collect())?;
    Ok((engine, builtins))
}

/// Reads an existing file or stdin. Anything with a space that is not a file is taken as words.
fn document(request: &str) -> anyhow::Result<String> {
    let path = Path::new(request);
    if request == STREAM {
        let read = std::io::read_to_string(std::io::stdin());
        return read.context("cannot read the request from stdin; expected JSON in UTF-8");
    }
    if request.trim().contains(char::is_whitespace) && !path.exists() {
        return Ok(json!({ "utterance": request }).to_string());
    }
    let read = std::fs::read_to_string(path);
    read.with_context(|| {
        format!("cannot read the request {request}; expected a file, or several words")
    })
}

/// Runs `work` with the built-in tools and those of the servers of `--servers`, and stops the
/// servers afterwards.
fn with_runner<T>(
    args: &ConductArgs,
    global: &Global,
    (engine, builtins): (&Engine, Builtins),
    work: impl FnOnce(&dyn Runner) -> T,
) -> anyhow::Result<T> {
    let Some(path) = args.catalog.live.servers() else { return Ok(work(&builtins)) };
    let executor = Arc::new(call::executor(Some(path), &args.limits)?);
    join(engine, &executor);
    let quiet = global.quiet;
    let calls = Blocking::with_threads(executor).context("cannot start threads")?;
    let calls = calls.with_limits(args.limits.rights.session.limits());
    let calls = calls.on_event(Arc::new(move |event| {
        if !quiet {
            render::note(&call::describe_event(&event));
        }
    }));
    let session = Session::default();
    let note = |report: &Report| session.record_report(engine, report, "");
    let runner = ExecutionRunner::new(builtins, calls.clone());
    let done = work(&runner.confirmed(args.limits.yes).on_report(&note));
    calls.close();
    Ok(done)
}

/// Reads the runners file. Relative paths in it start at its folder.
pub fn builtins(file: Option<&Path>) -> anyhow::Result<Builtins> {
    let Some(file) = file else { return Ok(Builtins::default()) };
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the runners {}", file.display()))?;
    let folder = file.parent().unwrap_or(Path::new(""));
    Builtins::from_toml(&text, folder).with_context(|| format!("{} is wrong", file.display()))
}
