//! `toolroute call` calls a tool; `toolroute output` prints the rest of a truncated answer.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use super::args::{
    CatalogArgs, EngineArgs, ExecutionArgs, Global, LimitArgs, RightsArgs, SourceArgs,
};
use super::arguments;
use super::exit;
use super::session::KeptSession;
use super::setup::{self, EngineRequirements};
use super::tools::find;
use super::{paths, render, servers};
use toolroute_catalog::{Catalog, Tool};
use toolroute_rank::engine::{Engine, HeldTool};
use toolroute_rank::feedback::StoreOptions;
use toolroute_run::execution::{
    Answer, AnswerStore, Arguments, Candidate, Event, Executor, ExecutorOptions,
    Failure as RawError, Fallbacks, LoopGuard, Outcome, Patterns, Permissions, PreparedArguments,
    Report, Request, ServersFile, Timing, candidates, read_arguments,
};
use toolroute_session::{Session, join, name_others, neighbors};
use toolroute_vectors::durable;

#[derive(Args)]
pub struct CallArgs {
    /// The tool's id, `server:tool`, or a name that only one tool has
    pub tool: String,
    /// A prompt from which arguments are extracted that `--args` does not give
    #[arg(long)]
    pub prompt: Option<String>,
    #[command(flatten)]
    pub sources: SourceArgs,
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub execution: ExecutionArgs,
}

#[derive(Args)]
pub struct OutputArgs {
    /// The handle that the truncated answer names
    pub handle: String,
    /// First character to print, counted from 0
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub offset: usize,
    /// Maximum number of characters
    #[arg(long, default_value_t = 40_000, value_name = "N")]
    pub chars: usize,
}

/// Maximum total size of full answers on disk.
const KEPT_BYTES: usize = 256 << 20;

/// The log of raw errors, in the user's state folder.
const LOG_FOLDER: &str = "toolroute";
const LOG_NAME: &str = "errors.jsonl";

/// Maximum size of the log of raw errors. A full log is renamed and a new one is started.
const LOG_BYTES: u64 = 4 << 20;

pub fn run(args: &CallArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let (catalog, held) = setup::catalog_and_held(&args.catalog, global)?;
    let given = arguments(&args.execution.args)?;
    let tool = find(&catalog, &args.tool).map_err(|error| match reason_held(held, &args.tool) {
        Some(said) => exit::bad_data(said),
        None => error,
    })?;
    let kept = KeptSession::open(&args.execution.session, global)?;
    let prepared = prepared(args, &tool, (&given, &kept.session))?;
    if let Some(prepared) = &prepared
        && let Some(end) = arguments::show((&tool, &catalog), prepared, &args.sources, global)?
    {
        return Ok(end);
    }
    let engine = engine(args, &tool, catalog, global)?;
    let candidates = chain(&args.execution, &engine, &tool)?;
    let arguments = prepared.as_ref().map_or(given, |prepared| prepared.arguments.clone());
    let asked = PreparedCall {
        candidates,
        arguments,
        prepared: prepared.as_ref(),
        question: args.prompt.as_deref().unwrap_or_default(),
        engine: &engine,
        kept,
    };
    perform(&args.execution, &args.catalog, asked, global)
}

/// Completes the arguments from `--prompt`, if it is given.
fn prepared(
    args: &CallArgs,
    tool: &Tool,
    known: (&Arguments, &Session),
) -> anyhow::Result<Option<PreparedArguments>> {
    let sources = &args.sources;
    let has_sources = !sources.earlier.is_empty() || sources.last_result.is_some();
    match &args.prompt {
        Some(prompt) => arguments::read(tool, prompt, sources, known).map(Some),
        None if has_sources || sources.dry_run || sources.now.is_some() => {
            Err(exit::bad_arguments(
                "expected --prompt beside --earlier, --last-result, --now or --dry-run",
            ))
        }
        None => Ok(None),
    }
}

/// Builds an engine with the log. The model is loaded only if a stand-in tool may be chosen by
/// meaning, or if an answer has to be summarised.
fn engine(
    args: &CallArgs,
    tool: &Tool,
    catalog: Catalog,
    global: &Global,
) -> anyhow::Result<Engine> {
    let file = args
        .catalog
        .live
        .servers()
        .map(|path| servers::read(path))
        .transpose()?
        .unwrap_or_default();
    let timing = Timing { hints: file.hints, ..Timing::default() };
    let is_asked = args.prompt.is_some() && timing.summarizes(tool);
    if args.execution.stand_ins.fallback_by_meaning || is_asked {
        let feedback = args.execution.log.feedback.clone();
        let wanted = EngineRequirements { feedback, ..EngineRequirements::vectors() };
        return setup::engine(&args.catalog, &args.engine, wanted, global);
    }
    let mut builder = Engine::builder(catalog);
    if let Some(log) = &args.execution.log.feedback {
        builder = builder.feedback(log, StoreOptions::default());
    }
    Ok(builder.build()?)
}

/// A call that is ready to be made.
pub struct PreparedCall<'a> {
    pub candidates: Vec<Candidate>,
    pub arguments: Arguments,
    /// The sources of the arguments, if they come from a prompt.
    pub prepared: Option<&'a PreparedArguments>,
    pub question: &'a str,
    /// Knows the catalog and writes the log, if there is one.
    pub engine: &'a Engine,
    pub kept: KeptSession,
}

/// Makes the call and prints the result.
pub fn perform(
    args: &ExecutionArgs,
    catalog: &CatalogArgs,
    asked: PreparedCall<'_>,
    global: &Global,
) -> anyhow::Result<ExitCode> {
    let executor = Arc::new(executor(Some(servers_file(catalog)?), &args.limits)?);
    let engine = asked.engine;
    warn_unmatched(&args.limits.rights, &engine.catalog(), global)?;
    join(engine, &executor);
    let kept = asked.kept.with_limits(args.limits.rights.session.limits());
    let (session, guard) = (&kept.session, kept.guard());
    let caller = Caller { args, engine, executor: &executor, session, guard, global };
    let report = servers::runtime()?.block_on(async {
        let report = caller.call(&asked.candidates, &asked.arguments, asked.question).await;
        executor.close().await;
        report
    });
    kept.save()?;
    engine.close();
    show(&report, asked.prepared, global)
}

/// Returns the servers file for calls.
pub fn servers_file(catalog: &CatalogArgs) -> anyhow::Result<&Path> {
    catalog.live.servers().map(AsRef::as_ref).ok_or_else(servers::none_named)
}

/// Calls tools for a command.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    pub args: &'a ExecutionArgs,
    pub engine: &'a Engine,
    pub executor: &'a Executor,
    pub session: &'a Session,
    pub guard: &'a LoopGuard,
    pub global: &'a Global,
}

impl Caller<'_> {
    /// Makes one call, reports its progress, and logs the outcome.
    pub async fn call(
        &self,
        candidates: &[Candidate],
        arguments: &Arguments,
        question: &str,
    ) -> Report {
        let request = Request {
            candidates,
            arguments,
            guard: self.guard,
            confirmed: self.args.limits.yes,
            question,
            budget_tokens: None,
            user: None,
            on_event: &|event| render::warn(self.global, &describe_event(&event)),
        };
        let mut report = self.executor.call(&request).await;
        if let Some(first) = candidates.first() {
            name_others(&mut report, (self.engine, self.executor), &first.tool, |_| true);
        }
        for said in &report.unasked {
            render::warn(self.global, &render::plain(&format!("warning: {said}")));
        }
        self.session.record_report(self.engine, &report, question);
        report
    }
}

fn permissions(args: &RightsArgs) -> anyhow::Result<Permissions> {
    Ok(Permissions {
        allow: Patterns::new(&args.allow)?,
        deny: Patterns::new(&args.deny)?,
        read_only: args.read_only,
        ..Permissions::default()
    })
}

/// Warns of each pattern of `--allow` and `--deny` that matches no tool: what it should forbid is not forbidden.
pub fn warn_unmatched(args: &RightsArgs, catalog: &Catalog, global: &Global) -> anyhow::Result<()> {
    for pattern in permissions(args)?.unmatched(catalog.tools()) {
        let pattern = render::shortened(pattern, render::MAX_ID_CHARS);
        let tools = catalog.len();
        let said = format!(
            "warning: `{pattern}` of --allow or --deny matches none of the {tools} tools; `toolroute tools list` shows their ids"
        );
        render::warn(global, &render::plain(&said));
    }
    Ok(())
}

/// Creates an executor for a servers file whose catalog was loaded before. No server is started
/// yet.
pub fn executor(path: Option<&Path>, limits: &LimitArgs) -> anyhow::Result<Executor> {
    let file = path.map(servers::read).transpose()?.unwrap_or_default();
    // The whole path only here: a client of a server could not open the file, and need not know
    // where it is.
    let failure_log = Some(log_path());
    let options = ExecutorOptions { failure_log, ..options(&limits.rights, &file)? };
    Ok(Executor::new(servers::open_again(&file), options))
}

/// Builds the executor's options from the arguments and the servers file.
pub fn options(args: &RightsArgs, file: &ServersFile) -> anyhow::Result<ExecutorOptions> {
    Ok(ExecutorOptions {
        permissions: Permissions { offers: file.offers.clone(), ..permissions(args)? },
        timing: Timing {
            timeout: args.timeout.map(|s| Duration::from_millis(s.saturating_mul(1_000))),
            longest_request: Duration::from_secs(args.longest_request),
            hints: file.hints.clone(),
            ..Timing::default()
        },
        max_chars: args.max_chars,
        kept: kept(),
        redactor: file.redactor.clone(),
        on_failure: Some(Arc::new(append_to_log)),
        failure_log: Some(Path::new(LOG_FOLDER).join(LOG_NAME)),
        ..ExecutorOptions::default()
    })
}

/// Opens the store of full answers for `toolroute output`. If the folder cannot be used, answers
/// are stored in memory and are only available to this process.
fn kept() -> Arc<AnswerStore> {
    let kept =
        AnswerStore::in_folder(&paths::cache("outputs"), KEPT_BYTES).unwrap_or_else(|error| {
            tracing::warn!(
                "whole answers are kept in memory alone: {:#}",
                anyhow::Error::from(error)
            );
            AnswerStore::in_memory(KEPT_BYTES)
        });
    Arc::new(kept)
}

/// Returns the tools to try, in order.
pub fn chain(
    args: &ExecutionArgs,
    engine: &Engine,
    tool: &Arc<Tool>,
) -> anyhow::Result<Vec<Candidate>> {
    if args.stand_ins.no_fallback {
        return Ok(vec![Candidate::asked(Arc::clone(tool))]);
    }
    let catalog = engine.catalog();
    let named: anyhow::Result<Vec<Arc<Tool>>> =
        args.fallback.iter().map(|id| find(&catalog, id)).collect();
    let near = match args.stand_ins.fallback_by_meaning {
        true => neighbors(engine, &tool.id),
        false => Vec::new(),
    };
    Ok(candidates(tool, &catalog, Fallbacks { named: &named?, by_meaning: &near }))
}

/// Returns why pins hold a tool back, and how to approve it, if they do.
fn reason_held(held: Vec<HeldTool>, id: &str) -> Option<String> {
    let tools = held.iter().map(|held| Tool::clone(&held.tool)).collect();
    let row = Catalog::from_tools(tools).catalog.row(id)?;
    let held = held.into_iter().nth(row as usize)?;
    Some(format!("{} is held back: {}", held.tool.id, held.because))
}

/// Parses the typed arguments, or those from stdin.
pub fn arguments(typed: &str) -> anyhow::Result<Arguments> {
    let text = match typed {
        setup::STREAM => std::io::read_to_string(std::io::stdin())?,
        typed => typed.to_owned(),
    };
    read_arguments(Value::String(text), "--args").map_err(exit::bad_arguments)
}

/// Describes an event of a running call on one line.
pub fn describe_event(event: &Event) -> String {
    let said = match event {
        Event::Working { said, .. } => said.clone(),
        Event::Progress { progress, .. } => {
            let total = progress.total.map_or(String::new(), |total| format!(" of {total}"));
            format!("{}{total} {}", progress.done, progress.message.as_deref().unwrap_or_default())
        }
        Event::FellBack { from, to } => format!("{from} gave no answer; trying {to}"),
    };
    render::plain(&said)
}

fn show(
    report: &Report,
    prepared: Option<&PreparedArguments>,
    global: &Global,
) -> anyhow::Result<ExitCode> {
    if global.json {
        arguments::print(report, prepared)?;
    } else {
        match &report.outcome {
            Outcome::Answered(answer) => show_answer(answer, report, global)?,
            outcome => {
                render::note(&render::plain_lines(&report.message_and_errors(|_| true)));
                if matches!(outcome, Outcome::Confirm { .. }) {
                    render::note("If that is meant, add --yes");
                }
            }
        }
    }
    Ok(match &report.outcome {
        Outcome::Answered(_) => ExitCode::SUCCESS,
        Outcome::Clarify { .. } | Outcome::Confirm { .. } => ExitCode::from(exit::BAD_ARGUMENTS),
        _ => ExitCode::from(exit::FAILED),
    })
}

fn show_answer(answer: &Answer, report: &Report, global: &Global) -> anyhow::Result<()> {
    for change in &answer.changes {
        render::warn(global, &render::plain(&change.to_string()));
    }
    render::line(&render::answered(&answer.output.text))?;
    for attachment in &answer.output.attachments {
        let (kind, mime) = (attachment.kind, render::plain(&attachment.mime_type));
        let bytes = attachment.data.len() / 4 * 3;
        render::warn(global, &format!("and {kind} {mime} of about {bytes} bytes; --json has it"));
    }
    render::warn(global, &format!("{} in {:.0} ms", answer.tool, report.took_ms));
    Ok(())
}

/// Appends a raw error to a log, so that it can be found by its id.
pub fn append_to_log(failure: &RawError) {
    if let Err(error) = append(&log_path(), failure) {
        tracing::debug!(%error, "no log of errors");
    }
}

fn log_path() -> PathBuf {
    let folder = dirs::state_dir().or_else(dirs::cache_dir).unwrap_or_else(std::env::temp_dir);
    folder.join(LOG_FOLDER).join(LOG_NAME)
}

fn append(path: &Path, failure: &RawError) -> std::io::Result<()> {
    durable::private_folder(path.parent().unwrap_or(Path::new(".")))?;
    if std::fs::metadata(path).is_ok_and(|about| about.len() > LOG_BYTES) {
        std::fs::rename(path, path.with_extension("old.jsonl"))?;
    }
    let mut line = serde_json::to_vec(failure)?;
    line.push(b'\n');
    let mut log = std::fs::OpenOptions::new();
    log.create(true).append(true);
    // Errors of tools quote arguments and data.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut log, 0o600);
    log.open(path)?.write_all(&line)
}

/// `toolroute output`: prints part of a stored answer.
pub fn output(args: &OutputArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let Some(page) = kept().get(&args.handle, args.offset, args.chars) else {
        let id = render::shortened(&args.handle, render::MAX_ID_CHARS);
        return Err(exit::bad_data(format!("nothing is kept under `{id}`; call the tool again")));
    };
    if global.json {
        render::json(&page)?;
    } else {
        render::line(&render::answered(&page.text))?;
        if let Some(next) = page.next_offset {
            let said =
                format!("{next} of {} characters; go on with --offset {next}", page.of_chars);
            render::warn(global, &said);
        }
    }
    Ok(ExitCode::SUCCESS)
}
