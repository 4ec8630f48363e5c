//! `toolroute conduct`: discharges the obligations of a request.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
#[cfg(feature = "mcp")]
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::args::{CatalogArgs, EngineArgs, Global, LedgerChoice, SelectArgs};
#[cfg(feature = "mcp")]
use super::args::{LimitArgs, LogChoice};
#[cfg(feature = "mcp")]
use super::call;
use super::limit::Limit;
use super::settings::{Configure, Settings};
use super::setup::{self, STREAM, Wanted};
use super::words::{joined, word};
use super::{paths, render};
#[cfg(feature = "mcp")]
use toolroute_conduct::ExecutionRunner;
#[cfg(feature = "mcp")]
use toolroute_conduct::session::{Session, join};
use toolroute_conduct::{
    Answer, Begin, Builtins, Conductor, Ledger, OBLIGATIONS_SCHEMA, Reply, Runner, Scope,
    default_tools,
};
use toolroute_rank::engine::{DEFAULT_LIMIT, Engine};
#[cfg(feature = "mcp")]
use toolroute_run::execution::{Blocking, Report};

#[derive(Args)]
pub struct ConductArgs {
    /// A file with a request: what was said and what it obliges to, as JSON; `-` is stdin. Or what
    /// was said itself, in several words: the tools that fit it say what it obliges to
    #[arg(value_name = "FILE|WORDS", required_unless_present_any = ["schema", "resume"])]
    pub request: Option<String>,
    /// Print the JSON Schema of a request and do nothing else
    #[arg(long)]
    pub schema: bool,
    /// Go on with this request where it stopped, or with the ledger's latest where none is named.
    /// One that is finished gives its answer again, unless it is answered what it asked, or a tool
    /// has come that it lacked
    #[arg(long)]
    pub resume: bool,
    /// Answer what the request asked; repeatable. ID is the name of a question or of an input that
    /// it asks for, as the question tells them
    #[arg(long, value_name = "ID=VALUE", requires = "resume")]
    pub answer: Vec<Reply>,
    /// How far back facts are looked for: in all requests of the ledger, or in this one alone
    #[arg(long, default_value = "ledger", value_name = joined::<Scope>(), value_parser = word::<Scope>())]
    pub scope: Scope,
    /// How tools are run: a table for each by its id, TOML, such as builtin = "math"
    #[arg(long, value_name = "FILE")]
    pub runners: Option<PathBuf>,
    #[cfg(feature = "mcp")]
    #[command(flatten)]
    pub limits: LimitArgs,
    #[cfg(feature = "mcp")]
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

impl Configure for ConductArgs {
    fn configure(&mut self, settings: &Settings) {
        #[cfg(feature = "mcp")]
        self.log.configure(settings);
        self.ledger.configure(settings);
        self.catalog.configure(settings);
        self.engine.configure(settings);
        self.select.configure(settings);
    }
}

/// The document that stands for the latest request of the ledger.
const LATEST: &str = "{}";

#[derive(Serialize)]
struct ConductAnswer<'a> {
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

/// Does the work with the built-in tools and those of the servers of `--servers`, which end with it.
#[cfg(feature = "mcp")]
fn with_runner<T>(
    args: &ConductArgs,
    global: &Global,
    (engine, builtins): (&Engine, Builtins),
    work: impl FnOnce(&dyn Runner) -> T,
) -> anyhow::Result<T> {
    let Some(path) = args.catalog.live.servers() else { return Ok(work(&builtins)) };
    let executor = Arc::new(call::executor(path, &args.limits)?);
    join(engine, &executor);
    let quiet = global.quiet;
    let calls = Blocking::with_threads(executor).context("cannot start threads")?;
    let calls = calls.limited(args.limits.rights.session.limits());
    let calls = calls.telling(Arc::new(move |event| {
        if !quiet {
            render::note(&call::told(&event));
        }
    }));
    let session = Session::default();
    let note = |report: &Report| session.record_report(engine, report, "");
    let runner = ExecutionRunner::new(builtins, calls.clone());
    let done = work(&runner.confirmed(args.limits.yes).on_report(&note));
    calls.close();
    Ok(done)
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
