//! `toolroute run`: finds the best tool for a prompt and calls it.

use std::process::ExitCode;

use clap::Args;

use super::args::{
    CatalogArgs, EngineArgs, ExecutionArgs, Global, LiveArgs, SelectArgs, SourceArgs,
};
use super::arguments;
use super::call::{self, PreparedCall};
use super::exit;
use super::limit::Limit;
use super::session::KeptSession;
use super::setup::{self, EngineRequirements};
use super::{plan, render, route};
use toolroute_catalog::{Tool, ToolId};
use toolroute_rank::engine::{Engine, SelectRequest, Selection};
use toolroute_run::execution::{Arguments, PreparedArguments, Report};
use toolroute_run::pins::shell_word;
use toolroute_session::{CONSIDERED, does_another, doubt, partial, settle};

#[derive(Args)]
pub struct RunArgs {
    /// The prompt; arguments that `--args` does not give are extracted from it
    #[arg(required = true)]
    pub prompt: Vec<String>,
    /// Find and call a tool for each request in the prompt, in order, until one fails; each answer
    /// is available to the next calls
    #[arg(long, conflicts_with_all = ["args", "earlier", "last_result", "fallback"])]
    pub plan: bool,
    #[command(flatten)]
    pub sources: SourceArgs,
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub select: SelectArgs,
    #[command(flatten)]
    pub execution: ExecutionArgs,
}

pub fn run(args: &RunArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let prompt = &route::prompt(&args.prompt)?;
    if args.plan {
        return plan::run(args, prompt, global);
    }
    tell_imported(&args.catalog.live, global);
    let given = call::arguments(&args.execution.args)?;
    let feedback = args.execution.log.feedback.clone();
    let wanted = EngineRequirements::new(&args.select, Limit::of(CONSIDERED))?;
    let wanted = EngineRequirements { feedback, ..wanted };
    let engine = setup::engine(&args.catalog, &args.engine, wanted, global)?;
    let kept = KeptSession::open(&args.execution.session, global)?;
    let request = kept.session.request(SelectRequest::new(prompt));
    let mut selection = engine.select(&request)?;
    let read = |tool: &Tool| arguments::read(tool, prompt, &args.sources, (&given, &kept.session));
    settle(&mut selection, prompt, |tool| read(tool).unwrap_or_default());
    kept.session.note_selection(prompt, &selection);
    for held in &selection.held_back {
        let said = format!("warning: {} fits and is held back: {}", held.id, held.because);
        render::warn(global, &render::plain(&said));
    }
    let Some(first) = selection.tools.first() else {
        let why = selection.fit_reason.map(|why| format!(": {why}")).unwrap_or_default();
        let said = format!("no tool fits this prompt{why}; `toolroute route` shows the nearest");
        if global.json {
            arguments::print(&Report::failed(said), None)?;
            return Ok(ExitCode::from(exit::FAILED));
        }
        return Err(exit::failure(exit::FAILED, said));
    };
    let why = render::plain(&first.explanation.why);
    render::warn(global, &format!("{}: {why}", first.tool.id));
    // The next command continues here if this one ends with a question.
    kept.save()?;
    let prepared = read(&first.tool)?;
    if let Some(said) = doubts(args, prompt, (&engine, &selection, &prepared), global) {
        if global.json {
            arguments::print(&Report::asking(&first.tool, said), Some(&prepared))?;
            return Ok(ExitCode::from(exit::BAD_ARGUMENTS));
        }
        return Err(exit::bad_arguments(said));
    }
    if let Some(end) =
        arguments::show((&first.tool, &engine.catalog()), &prepared, &args.sources, global)?
    {
        return Ok(end);
    }
    let candidates = call::chain(&args.execution, &engine, &first.tool)?;
    let arguments = prepared.arguments.clone();
    let asked = PreparedCall {
        candidates,
        arguments,
        prepared: Some(&prepared),
        question: prompt,
        engine: &engine,
        kept,
    };
    call::perform(&args.execution, &args.catalog, asked, global)
}

/// Says that the tools of imported servers are ranked beside those that are named.
fn tell_imported(live: &LiveArgs, global: &Global) {
    if let (Some(path), None, false) = (live.servers(), &live.typed, live.typed_tools.is_empty()) {
        let path = path.display();
        let said =
            format!("also ranked: the tools of the servers in {path}; --servers names others");
        render::warn(global, &render::plain(&said));
    }
}

/// Returns why the first tool is not called without a question. That a tool which only reads does a part of what the
/// prompt asks for is only a warning.
fn doubts(
    args: &RunArgs,
    prompt: &str,
    (engine, selection, prepared): (&Engine, &Selection, &PreparedArguments),
    global: &Global,
) -> Option<String> {
    let tool = &selection.tools.first()?.tool;
    if let Some(said) = doubt(tool, selection, prompt, prepared) {
        if does_another(selection) {
            return Some(said);
        }
        return Some(format!(
            "{said}: {}",
            call_by_name(&tool.id, &prepared.arguments, &args.catalog.live)
        ));
    }
    let partial = partial(prompt, &engine.needs(prompt), prepared).map(|why| {
        format!("{why}, and one call does one of them: `toolroute run --plan` does all")
    });
    if !tool.effects().reads_only() {
        return partial;
    }
    if let Some(why) = partial {
        render::warn(global, &render::plain(&format!("warning: {why}")));
    }
    None
}

/// Returns the command that calls a tool with what was read from the prompt, whether or not it fits. The arguments are
/// shown, so that nothing else is called than what the user reads.
pub fn call_by_name(id: &ToolId, arguments: &Arguments, live: &LiveArgs) -> String {
    let sources = live.typed_tools.iter().map(|path| ("--tools", path));
    let sources = sources.chain(live.typed.iter().map(|path| ("--servers", path)));
    let sources = sources.map(|(option, path)| {
        let path = path.to_string_lossy();
        format!(" {option} {}", shell_word(&path))
    });
    let arguments = serde_json::to_string(arguments).unwrap_or_default();
    format!("toolroute call {id} --args {}{}", shell_word(&arguments), sources.collect::<String>())
}
