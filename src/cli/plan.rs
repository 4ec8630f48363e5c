//! `toolroute run --plan`: a tool found and called for each thing that a prompt asks for.

use std::process::ExitCode;
use std::sync::Arc;

use super::args::{Global, RunArgs};
use super::call;
use super::exit::{self, Failure};
use super::limit::Limit;
use super::session::KeptSession;
use super::setup::{self, Wanted};
use super::{render, servers};
use crate::engine::{Engine, Plan, PlanReport, PlannedCall, Step, StepState};
use crate::execution::{Executor, LocalTime, Outcome, Report, Request};

pub fn run(args: &RunArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let Some(path) = args.catalog.live.servers() else {
        let said =
            "no servers are named; expected --servers FILE or the variable TOOLROUTE_SERVERS";
        return Err(Failure { code: exit::BAD_ARGUMENTS, said: said.to_owned() }.into());
    };
    if args.prompt.trim().is_empty() {
        let said = "expected a prompt with at least one word, found none".to_owned();
        return Err(Failure { code: exit::BAD_ARGUMENTS, said }.into());
    }
    let feedback = args.execution.log.feedback.clone();
    let wanted = Wanted { feedback, ..Wanted::new(&args.select, Limit::of(1))? };
    let engine = setup::engine(&args.catalog, &args.engine, wanted, global)?;
    let limits = args.execution.limits.rights.session.limits();
    let kept = KeptSession::open(&args.execution.session, global)?.with_limits(limits);
    let now = args.sources.now.clone().unwrap_or_else(LocalTime::of_this_machine);
    let plan = Plan::new(engine.needs(&args.prompt), &kept.session, &now);
    let plan = if args.sources.dry_run { plan.draft() } else { plan };
    let executor = Arc::new(call::executor(path, &args.execution.limits)?);
    engine.join(&executor);
    let runner = Runner { args, global, engine: &engine, executor: &executor, kept: &kept };
    let done = servers::runtime()?.block_on(async {
        let done = runner.steps(plan).await;
        executor.close().await;
        done
    });
    kept.save()?;
    engine.close();
    let report = done?;
    if global.json {
        render::json(&report)?;
    } else {
        show(&report, global)?;
    }
    Ok(end(&report))
}

struct Runner<'a> {
    args: &'a RunArgs,
    global: &'a Global,
    engine: &'a Engine,
    executor: &'a Executor,
    kept: &'a KeptSession,
}

impl Runner<'_> {
    async fn steps(&self, mut plan: Plan<'_>) -> anyhow::Result<PlanReport> {
        while let Some(request) = plan.next_request() {
            let selection = self.engine.select(&request)?;
            self.kept.session.note_selection(&request.prompt, &selection);
            if let Some(planned) = plan.prepare(&selection) {
                match self.call(&planned).await {
                    Ok(report) => plan.note(report),
                    Err(error) => plan.fail(format!("{error:#}")),
                }
            }
        }
        Ok(plan.finish())
    }

    async fn call(&self, planned: &PlannedCall) -> anyhow::Result<Report> {
        let (args, session) = (&self.args.execution, &self.kept.session);
        let said = format!("{}: {}", planned.need, planned.tool.id);
        render::warn(self.global, &render::plain(&said));
        let candidates = call::chain(args, self.engine, &planned.tool)?;
        let request = Request {
            candidates: &candidates,
            arguments: &planned.arguments,
            guard: session.guard(),
            confirmed: args.limits.yes,
            question: &planned.need,
            budget_tokens: None,
            on_event: &|event| render::warn(self.global, &call::told(&event)),
        };
        let mut report = self.executor.call(&request).await;
        if report.is_out_of_reach() {
            report.name_nearest(self.engine.nearest(&planned.tool.id));
        }
        self.engine.record_report(&report, session, &planned.need);
        Ok(report)
    }
}

fn show(report: &PlanReport, global: &Global) -> anyhow::Result<()> {
    for (number, step) in (1..).zip(&report.steps) {
        let tool = step.tool.as_ref().map_or("no tool", |tool| tool.as_str());
        let said = format!("{number}. {} → {tool}: {}", step.need, word(step.state));
        render::line(&render::plain(&said))?;
        for line in of(step, global) {
            render::line(&format!("   {}", render::plain(&line)))?;
        }
    }
    Ok(())
}

/// What is to be seen of a step: its answer or its question, and before a call its arguments.
fn of(step: &Step, global: &Global) -> Vec<String> {
    let arguments = step.arguments.iter();
    if step.state == StepState::Ready {
        return arguments.flat_map(|prepared| &prepared.sources).map(ToString::to_string).collect();
    }
    for taken in arguments.flat_map(|prepared| &prepared.sources) {
        render::warn(global, &render::plain(&format!("{}: {taken}", step.need)));
    }
    let said = step.report.as_ref().map(|report| match &report.outcome {
        Outcome::Answered(answer) => answer.output.text.as_str(),
        outcome => outcome.message().unwrap_or_default(),
    });
    said.unwrap_or(&step.why).lines().map(str::to_owned).collect()
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

/// As of one call: the first step that was not answered decides.
fn end(report: &PlanReport) -> ExitCode {
    let is_done = |step: &&Step| !matches!(step.state, StepState::Answered | StepState::Ready);
    match report.steps.iter().find(is_done).map(|step| step.state) {
        None => ExitCode::SUCCESS,
        Some(StepState::Clarify | StepState::Confirm) => ExitCode::from(exit::BAD_ARGUMENTS),
        Some(_) => ExitCode::from(exit::FAILED),
    }
}
