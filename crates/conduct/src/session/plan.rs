//! Several tools for one prompt: a step for each thing that it asks for, one after the other.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;

use super::Session;
use crate::catalog::{Tool, ToolId};
use crate::engine::{MAX_CLAUSES, SelectRequest, Selection, reservation};
use crate::execution::{ArgumentSources, Arguments, LocalTime, Outcome, PreparedArguments, Report};

/// Why a need is left out.
const TOO_MANY: &str = "a prompt has at most 8 steps; ask for the rest by itself";

/// The steps that a prompt comes to, while they are made. It chooses and calls nothing by itself:
/// whoever runs it asks for [`Plan::next_request`], selects for it, hands the answer to [`Plan::prepare`],
/// makes the call that comes back and tells of it by [`Plan::note`].
pub struct Plan<'a> {
    session: &'a Session,
    now: &'a LocalTime,
    waiting: VecDeque<String>,
    /// Needs that are too many.
    beyond: Vec<String>,
    steps: Vec<Step>,
    /// Shown, not run: a step that cannot be made does not end it.
    is_draft: bool,
}

/// What came of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct PlanReport {
    /// Whether every step was answered; of a plan that was only shown, whether each could be made.
    pub complete: bool,
    /// In order; those behind one that was not answered were not made.
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
    /// What it was called with and where each value comes from, and what has to be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<PreparedArguments>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
}

/// How far a step came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// A tool answered.
    Answered,
    /// It could be called; only shown.
    Ready,
    /// Something has to be asked first.
    Clarify,
    /// A person must agree first.
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

/// What has to be asked before a tool that may change something is run on these words: where they forbid
/// it, make a condition of it, put it off or only ask about it. `None` for a plain order, and for a tool
/// that only reads.
pub fn doubt(tool: &Tool, words: &str) -> Option<String> {
    let word = reservation(words).filter(|_| !tool.effects().reads_only())?;
    Some(format!(
        "the prompt says \"{word}\", and {} may change something: say plainly what is to be done now, or \
         call the tool by its name",
        tool.id
    ))
}

impl Step {
    fn not_run(need: String, why: &str) -> Self {
        let (tool, arguments, report) = (None, None, None);
        Self { need, state: StepState::NotRun, tool, why: why.to_owned(), arguments, report }
    }
}

impl<'a> Plan<'a> {
    /// A plan for the needs of a prompt ([`Engine::needs`](crate::engine::Engine::needs)). `now` is what "tomorrow" is relative to.
    pub fn new(mut needs: Vec<String>, session: &'a Session, now: &'a LocalTime) -> Self {
        let beyond = needs.split_off(needs.len().min(MAX_CLAUSES));
        Self { session, now, waiting: needs.into(), beyond, steps: Vec::new(), is_draft: false }
    }

    /// Has it shown only.
    #[must_use]
    pub fn draft(self) -> Self {
        Self { is_draft: true, ..self }
    }

    /// The request for the next step's tool; `None` at the end. It knows the last tool, but is not read
    /// with the step before: that one has its own tool.
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

    /// The call of the step that [`Plan::next_request`] asked for; `None` where there is none to make.
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
        if let Some(said) = doubt(&tool, &step.need) {
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

    /// Takes in what the call came to. The session knows it from [`Session::record_report`].
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

    /// What a step behind this one needs may be what it did not give.
    fn stop(&mut self) {
        if self.is_draft {
            return;
        }
        self.steps.extend(self.waiting.drain(..).map(|need| Step::not_run(need, "")));
    }

    /// Takes in why the step's tool could not be found or called at all: what was done before stays told.
    pub fn fail(&mut self, because: String) {
        let Some(step) = self.steps.last_mut() else { return };
        step.state = StepState::Failed;
        step.why = because;
        self.stop();
    }

    /// The steps, made and not made.
    pub fn finish(mut self) -> PlanReport {
        let beyond = self.beyond.drain(..).map(|need| Step::not_run(need, TOO_MANY));
        self.steps.extend(beyond);
        let wanted = if self.is_draft { StepState::Ready } else { StepState::Answered };
        let complete = !self.steps.is_empty() && self.steps.iter().all(|step| step.state == wanted);
        PlanReport { complete, steps: self.steps }
    }
}
