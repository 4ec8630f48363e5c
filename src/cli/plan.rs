//! `toolroute run --plan`: calls a tool for each request in a prompt.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use super::args::{Global, LiveArgs};
use super::arguments;
use super::call::{self, Caller};
use super::exit;
use super::limit::Limit;
use super::run::{RunArgs, call_by_name};
use super::session::KeptSession;
use super::setup::{self, EngineRequirements};
use super::{render, servers};
use toolroute_rank::engine::{Error, SelectRequest, Selection};
use toolroute_rank::query::says_nothing;
use toolroute_run::execution::{Outcome, Report};
use toolroute_session::{Plan, PlanReport, PlannedCall, Session, Step, StepState, join};

/// Returns the servers file. A draft calls nothing, so that it needs none.
fn servers_file(args: &RunArgs) -> anyhow::Result<Option<&Path>> {
    match args.sources.dry_run {
        true => Ok(args.catalog.live.servers().map(AsRef::as_ref)),
        false => call::servers_file(&args.catalog).map(Some),
    }
}

pub fn run(args: &RunArgs, prompt: &str, global: &Global) -> anyhow::Result<ExitCode> {
    let path = servers_file(args)?;
    if says_nothing(prompt) {
        return Err(Error::EmptyPrompt.into());
    }
    let feedback = args.execution.log.feedback.clone();
    let wanted =
        EngineRequirements { feedback, ..EngineRequirements::new(&args.select, Limit::of(1))? };
    let engine = setup::engine(&args.catalog, &args.engine, wanted, global)?;
    let limits = args.execution.limits.rights.session.limits();
    let kept = KeptSession::open(&args.execution.session, global)?.with_limits(limits);
    // A draft does not change the session.
    let copy = Session::restore("", kept.session.to_record());
    let (needs, now) = (engine.needs(prompt), args.sources.moment());
    if let (false, Some(left)) = (args.sources.dry_run, kept.guard().calls_left())
        && needs.len() > left as usize
    {
        return Err(exit::bad_arguments(format!(
            "expected a prompt with at most {left} requests, the calls that --session-calls \
             leaves, found {}; nothing was called: raise it, or ask for less",
            needs.len()
        )));
    }
    let executor = Arc::new(call::executor(path, &args.execution.limits)?);
    call::warn_unmatched(&args.execution.limits.rights, &engine.catalog(), global)?;
    join(&engine, &executor);
    let (is_shown, live) = (args.sources.dry_run, &args.catalog.live);
    let (args, engine) = (&args.execution, &engine);
    let caller =
        |session, guard| Caller { args, engine, executor: &executor, session, guard, global };
    let done = servers::runtime()?.block_on(async {
        let done = async {
            // A single step has none behind it to look at first.
            let is_single = needs.len() < 2;
            let mut plan = Plan::new(needs.clone(), &kept.session, &now);
            if is_shown || !is_single {
                let draft = Plan::new(needs, &copy, &now).draft();
                let draft = steps(&caller(&copy, copy.guard()), draft).await?;
                if is_shown {
                    return Ok(draft);
                }
                plan = plan.after(draft);
            }
            steps(&caller(&kept.session, kept.guard()), plan).await
        };
        let done = done.await;
        executor.close().await;
        done.map(Plan::finish)
    });
    kept.save()?;
    engine.close();
    let report = done?;
    if global.json {
        render::json(&report)?;
    } else {
        show(&report, live, global)?;
    }
    Ok(end(&report))
}

async fn steps<'a>(caller: &Caller<'_>, plan: Plan<'a>) -> anyhow::Result<Plan<'a>> {
    let select = async |request: SelectRequest| -> anyhow::Result<Selection> {
        let selection = caller.engine.select(&request)?;
        caller.session.note_selection(&request.prompt, &selection);
        Ok(selection)
    };
    plan.drive(select, |planned| call(caller, planned)).await
}

async fn call(caller: &Caller<'_>, planned: PlannedCall) -> anyhow::Result<Report> {
    let said = format!("{}: {}", planned.need, planned.tool.id);
    render::warn(caller.global, &render::plain(&said));
    let candidates = call::chain(caller.args, caller.engine, &planned.tool)?;
    Ok(caller.call(&candidates, &planned.arguments, &planned.need).await)
}

fn show(report: &PlanReport, live: &LiveArgs, global: &Global) -> anyhow::Result<()> {
    for (number, step) in (1..).zip(&report.steps) {
        let tool = step.tool.as_ref().map(|tool| format!(" → {tool}")).unwrap_or_default();
        let said = format!("{number}. {}{tool}: {}", step.need, word(step.state));
        render::line(&render::plain(&said))?;
        for line in of(step, live, global) {
            render::line(&format!("   {}", render::plain(&line)))?;
        }
        if step.state == StepState::Ready && step.needs_confirmation {
            render::line("   may destroy something: it is called only with --yes")?;
        }
    }
    Ok(())
}

/// Returns the lines to print for a step: its arguments if it is ready to be called, otherwise its
/// answer, its question or the reason for its failure. Warns about the sources of the arguments, and
/// what no argument takes, in the latter cases.
fn of(step: &Step, live: &LiveArgs, global: &Global) -> Vec<String> {
    let arguments = step.arguments.iter().flat_map(arguments::notes);
    if step.state == StepState::Ready {
        return arguments.collect();
    }
    for said in arguments {
        render::warn(global, &render::plain(&format!("{}: {said}", step.need)));
    }
    if let (StepState::Clarify, None, Some(tool)) = (step.state, &step.report, &step.tool) {
        if step.does_another {
            return vec![step.why.clone()];
        }
        let read = step.arguments.as_ref().map(|read| read.arguments.clone());
        let call = call_by_name(tool, &read.unwrap_or_default(), live);
        return vec![format!("{}: {call}", step.why)];
    }
    let said = step.report.as_ref().map(|report| match &report.outcome {
        Outcome::Answered(answer) => answer.output.text.clone(),
        _ => report.message_and_errors(|_| true),
    });
    said.as_ref().unwrap_or(&step.why).lines().map(str::to_owned).collect()
}

fn word(state: StepState) -> &'static str {
    match state {
        StepState::Answered => "answered",
        StepState::Ready => "ready",
        StepState::Clarify => "something has to be asked",
        StepState::Confirm => "a person must agree",
        StepState::Failed => "failed",
        StepState::NoTool => "no tool fits",
        StepState::NotRun => "not run",
    }
}

/// Returns the exit code of the first step that has no answer, rather than of one that waits for another;
/// or success.
fn end(report: &PlanReport) -> ExitCode {
    let states = || report.steps.iter().map(|step| step.state);
    let is_open = |state: &StepState| !matches!(state, StepState::Answered | StepState::Ready);
    let is_cause = |state: &StepState| is_open(state) && *state != StepState::NotRun;
    match states().find(is_cause).or_else(|| states().find(is_open)) {
        None => ExitCode::SUCCESS,
        Some(StepState::Clarify | StepState::Confirm) => ExitCode::from(exit::BAD_ARGUMENTS),
        Some(_) => ExitCode::from(exit::FAILED),
    }
}
