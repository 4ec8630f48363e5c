//! Several tools for one prompt: a step for each thing that it asks for, in order.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;

use super::Session;
use toolroute_catalog::{Tool, ToolId};
use toolroute_rank::engine::{FitReason, MAX_CLAUSES, SelectRequest, Selection, caveat};
use toolroute_run::execution::{
    ArgumentSources, Arguments, LocalTime, Outcome, PreparedArguments, Report,
};

/// Why a step is left out.
const TOO_MANY: &str = "a prompt has at most 8 steps; ask for the rest by itself";

/// The steps of a prompt while they are run. The plan selects and calls nothing by itself: the caller
/// takes [`Plan::next_request`], has the engine select for it, passes the answer to [`Plan::prepare`],
/// makes the call that this returns and passes its report to [`Plan::note`].
pub struct Plan<'a> {
    session: &'a Session,
    now: &'a LocalTime,
    waiting: VecDeque<String>,
    /// Needs beyond the most steps of a plan.
    beyond: Vec<String>,
    steps: Vec<Step>,
    /// Whether the plan is shown and not run: then a step that cannot be run does not end it.
    is_draft: bool,
}

/// The result of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct PlanReport {
    /// Whether every step was answered; for a plan that is only shown, whether each could be run.
    pub complete: bool,
    /// In order; those after one that was not answered were not run.
    pub steps: Vec<Step>,
}

/// One thing that the prompt asks for.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// The words of the prompt.
    pub need: String,
    pub state: StepState,
    /// The tool that was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolId>,
    /// Why it was chosen, or why none was.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The arguments, where each value comes from, and what the user must be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<PreparedArguments>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
}

/// The state of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// A tool answered.
    Answered,
    /// It can be run; the plan is only shown.
    Ready,
    /// The user must be asked something first.
    Clarify,
    /// A person must confirm the call first.
    Confirm,
    /// No tool answered.
    Failed,
    /// No tool fits.
    NoTool,
    /// A step before it was not answered.
    NotRun,
}

/// A call to make.
#[derive(Clone, Debug)]
pub struct PlannedCall {
    pub need: String,
    pub tool: Arc<Tool>,
    pub arguments: Arguments,
}

/// The question to ask before a tool that may change something is run for a prompt that forbids it, makes
/// it conditional, postpones it, only asks about it or orders what no tool does. `None` for a plain order,
/// and for a tool that only reads.
pub fn doubt(tool: &Tool, selection: &Selection, words: &str) -> Option<String> {
    if tool.effects().reads_only() {
        return None;
    }
    let id = &tool.id;
    match (&selection.fit_reason, caveat(words)) {
        (Some(reason @ FitReason::MissingAction { .. }), _)
        | (Some(reason @ FitReason::Forbids), None) => Some(format!(
            "{reason}, and {id} may change something: say in other words what is to be done, or call the \
             tool by its name"
        )),
        (_, Some(word)) => Some(format!(
            "the prompt says \"{word}\", and {id} may change something: say plainly what is to be done \
             now, or call the tool by its name"
        )),
        _ => None,
    }
}

impl Step {
    fn not_run(need: String, why: &str) -> Self {
        let (tool, arguments, report) = (None, None, None);
        Self { need, state: StepState::NotRun, tool, why: why.to_owned(), arguments, report }
    }
}

impl<'a> Plan<'a> {
    /// A plan for the needs of a prompt ([`Engine::needs`](toolroute_rank::engine::Engine::needs)). Words such as
    /// "tomorrow" are relative to `now`.
    pub fn new(mut needs: Vec<String>, session: &'a Session, now: &'a LocalTime) -> Self {
        let beyond = needs.split_off(needs.len().min(MAX_CLAUSES));
        Self { session, now, waiting: needs.into(), beyond, steps: Vec::new(), is_draft: false }
    }

    /// The plan is shown only: no step is run.
    #[must_use]
    pub fn draft(self) -> Self {
        Self { is_draft: true, ..self }
    }

    /// The request for the next step's tool; `None` at the end. Its context has the last tool, but its
    /// words are not read together with those of the step before, which has its own tool.
    pub fn next_request(&mut self) -> Option<SelectRequest> {
        let need = self.waiting.pop_front()?;
        let mut request = self.session.request(SelectRequest::new(need.as_str()).limit(1));
        if let Some(context) = &mut request.context {
            context.depth = 0;
        }
        let (tool, arguments, report) = (None, None, None);
        let (state, why) = (StepState::NoTool, String::new());
        self.steps.push(Step { need, state, tool, why, arguments, report });
        Some(request)
    }

    /// The call of the present step; `None` where there is none to make.
    pub fn prepare(&mut self, selection: &Selection) -> Option<PlannedCall> {
        let step = self.steps.last_mut()?;
        let Some(first) = selection.tools.first() else {
            step.why = "no tool fits; say it in other words".to_owned();
            self.stop();
            return None;
        };
        let tool = Arc::clone(&first.tool);
        step.tool = Some(tool.id.clone());
        step.why = first.explanation.why.clone();
        if let Some(said) = doubt(&tool, selection, &step.need) {
            step.state = StepState::Clarify;
            step.why = said;
            self.stop();
            return None;
        }
        let sources = ArgumentSources::new(&step.need, self.now);
        let prepared = self.session.prepare_arguments(&tool, &sources);
        let arguments = prepared.arguments.clone();
        let asked = prepared.clarify(&tool);
        step.arguments = Some(prepared);
        if let Some(report) = asked {
            step.state = StepState::Clarify;
            step.report = Some(report);
            self.stop();
            return None;
        }
        step.state = StepState::Ready;
        let call = PlannedCall { need: step.need.clone(), tool, arguments };
        (!self.is_draft).then_some(call)
    }

    /// Notes the report on the call. The session gets it by [`Session::record_report`].
    pub fn note(&mut self, report: Report) {
        let Some(step) = self.steps.last_mut() else { return };
        step.state = match &report.outcome {
            Outcome::Answered(_) => StepState::Answered,
            Outcome::Clarify { .. } => StepState::Clarify,
            Outcome::Confirm { .. } => StepState::Confirm,
            _ => StepState::Failed,
        };
        step.report = Some(report);
        if step.state != StepState::Answered {
            self.stop();
        }
    }

    /// Skips the other steps: they may need what this one did not return.
    fn stop(&mut self) {
        if self.is_draft {
            return;
        }
        self.steps.extend(self.waiting.drain(..).map(|need| Step::not_run(need, "")));
    }

    /// Notes why the step's tool could not be selected or called. The steps before it stay in the report.
    pub fn fail(&mut self, because: String) {
        let Some(step) = self.steps.last_mut() else { return };
        step.state = StepState::Failed;
        step.why = because;
        self.stop();
    }

    /// The report on all steps, run and not run.
    pub fn finish(mut self) -> PlanReport {
        let beyond = self.beyond.drain(..).map(|need| Step::not_run(need, TOO_MANY));
        self.steps.extend(beyond);
        let wanted = if self.is_draft { StepState::Ready } else { StepState::Answered };
        let complete = !self.steps.is_empty() && self.steps.iter().all(|step| step.state == wanted);
        PlanReport { complete, steps: self.steps }
    }
}
