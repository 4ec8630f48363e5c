//! Runs several tools for one prompt: one step for each thing that the prompt asks for, in order.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::Session;
use super::back_reference::{StepBefore, refers_back};
use super::doubt::{does_another, doubt, is_form_of_any, only_reads, question, says};
use super::settle::{CONSIDERED, settle};
use toolroute_catalog::{Tool, ToolId, words_of};
use toolroute_rank::engine::{MAX_CLAUSES, SelectRequest, Selection, condition};
use toolroute_rank::query::{doubtful_parts, postponement};
use toolroute_run::execution::{
    ArgumentSources, Arguments, LocalTime, Outcome, PreparedArguments, Report,
};

/// Why a step is not run.
const TOO_MANY: &str = "a prompt has at most 8 steps; ask for the rest by itself";

/// Why a part of a step that may be a request of its own is not run.
const DOUBTFUL: &str =
    "it is not certain that this is a request of its own; if it is, ask for it by itself";

/// The steps of a prompt while they are run. The plan itself selects and calls nothing: the caller
/// passes [`Plan::drive`] what does.
pub struct Plan<'a> {
    pub(super) session: &'a Session,
    pub(super) now: &'a LocalTime,
    pub(super) waiting: VecDeque<Need>,
    /// What other needs of the current step's sentence say of it.
    beside: Beside,
    /// Needs beyond the maximum number of steps.
    beyond: Vec<String>,
    pub(super) steps: Vec<Step>,
    /// Whether the plan is only shown and not run. A step that cannot be run then does not end the
    /// plan.
    pub(super) is_draft: bool,
    /// The steps that a draft of the plan found impossible.
    pub(super) obstacles: Vec<Step>,
    /// The needs that a draft joined.
    pub(super) joined: Vec<JoinedNeed>,
    /// The tool of the draft's last step, if it can be run, and the selection that has it.
    pub(super) last_ready: Option<(Arc<Tool>, Selection)>,
}

impl fmt::Debug for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("waiting", &self.waiting.len())
            .field("steps", &self.steps.iter().map(|step| step.state).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// A part of the prompt that belongs to the need before it.
pub(super) struct JoinedNeed {
    pub first: String,
    pub second: String,
    pub whole: String,
}

/// The result of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct PlanReport {
    /// Whether every step was answered or, for a plan that is only shown, can be run.
    pub complete: bool,
    /// The steps in order. Steps after one that was not answered were not run.
    pub steps: Vec<Step>,
}

/// One thing that the prompt asks for.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// The words of the prompt that ask for it.
    pub need: String,
    /// What became of the step.
    pub state: StepState,
    /// The tool that was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolId>,
    /// Why the tool was chosen, or why none was.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The arguments, the source of each value, and what the user must be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<PreparedArguments>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
    /// Whether its tool may destroy something, so that a person must agree before it is called.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub needs_confirmation: bool,
    /// Whether its tool does something else than what is asked for.
    #[doc(hidden)] // For our own crates.
    #[serde(skip)]
    pub does_another: bool,
    /// Whether its tool may change something.
    #[serde(skip)]
    pub(super) may_change: bool,
    /// Whether what it asks for may come from the answer of a step before it.
    #[serde(skip)]
    pub(super) is_pending: bool,
}

/// The state of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// A tool answered.
    Answered,
    /// The step can be run, but the plan is only shown.
    Ready,
    /// The user must be asked something first.
    Clarify,
    /// A person must confirm the call first.
    Confirm,
    /// No tool answered.
    Failed,
    /// No tool fits.
    NoTool,
    /// An earlier step was not answered, a later one cannot be done, or the plan has too many steps.
    NotRun,
}

/// The next call of a plan.
#[derive(Clone, Debug)]
pub struct PlannedCall {
    pub need: String,
    /// The tool to call.
    pub tool: Arc<Tool>,
    /// The arguments, as far as the prompt and earlier results give them.
    pub arguments: Arguments,
}

/// Whether a time after a text belongs to its noun: "the report of 5 May", "a room from Friday".
fn is_of_a_noun(before: &str) -> bool {
    let last = before.split_whitespace().next_back().unwrap_or_default();
    matches!(last, "of" | "for" | "from" | "about" | "since" | "until" | "till" | "to")
}

impl Step {
    fn new(need: String, state: StepState, why: &str) -> Self {
        let (tool, arguments, report) = (None, None, None);
        let (why, may_change, is_pending) = (why.to_owned(), false, false);
        let (needs_confirmation, does_another) = (false, false);
        Self {
            need,
            state,
            tool,
            why,
            arguments,
            report,
            needs_confirmation,
            does_another,
            may_change,
            is_pending,
        }
    }

    pub(super) fn not_run(need: String, why: &str) -> Self {
        Self::new(need, StepState::NotRun, why)
    }

    fn is_done(&self) -> bool {
        matches!(self.state, StepState::Answered | StepState::Ready)
    }
}

/// A need that waits for its step.
pub(super) struct Need {
    pub(super) text: String,
    beside: Beside,
}

/// What other needs of a need's sentence say. It may be meant for the whole sentence: "stop the mixer and
/// cancel the order if it is too warm".
#[derive(Default)]
pub(super) struct Beside {
    /// A condition, or a word that puts something off.
    condition: Option<String>,
    /// The last need of the sentence, which may end with a time.
    last: Option<String>,
}

/// Words of a need that is about a time itself: "cancel the order and remind me tomorrow".
const TIMED: &str = "remind reminder alarm schedule reschedule rebook reserve reservation plan arrange arrangement \
    appoint appointment meet meeting event calendar postpone postponement shift timer deadline due planner scheduler";

/// Forms of a verb that is often a noun: "return the books tomorrow" is not about a time.
const BOOKING: &str = "book booked booking bookings";

fn is_about_a_time(need: &str) -> bool {
    let is_timed = |word: &String| {
        is_form_of_any(TIMED, word) || BOOKING.split_whitespace().any(|form| form == word)
    };
    words_of(need).iter().any(is_timed)
}

/// Finds the conditions beside each of the needs, which `beyond` continues.
fn with_conditions(needs: Vec<String>, beyond: &[String]) -> VecDeque<Need> {
    let all: Vec<&String> = needs.iter().chain(beyond).collect();
    let later = |need: &String| postponement(need).filter(|_| !is_about_a_time(need));
    let conditions: Vec<_> =
        all.iter().map(|need| condition(need).or_else(|| later(need))).collect();
    let ends: Vec<bool> = all.iter().map(|need| need.ends_with(['.', '!', '?', ';'])).collect();
    let beside = |at: usize| {
        let before = (0..at).rev().take_while(|other| !ends[*other]);
        let after = (at + 1..ends.len()).take_while(|other| !ends[*other - 1]);
        let last = after.clone().last().map(|last| all[last].clone());
        let condition = before.chain(after).find_map(|other| conditions[other].clone());
        Beside { condition, last: last.filter(|last| !is_about_a_time(last)) }
    };
    let beside: Vec<Beside> = (0..needs.len()).map(beside).collect();
    needs.into_iter().zip(beside).map(|(text, beside)| Need { text, beside }).collect()
}

impl<'a> Plan<'a> {
    /// Creates a plan for the needs of a prompt
    /// ([`Engine::needs`](toolroute_rank::engine::Engine::needs)). Words such as "tomorrow" are
    /// relative to `now`.
    pub fn new(mut needs: Vec<String>, session: &'a Session, now: &'a LocalTime) -> Self {
        let beyond = needs.split_off(needs.len().min(MAX_CLAUSES));
        Self {
            session,
            now,
            waiting: with_conditions(needs, &beyond),
            beside: Beside::default(),
            beyond,
            steps: Vec::new(),
            is_draft: false,
            obstacles: Vec::new(),
            joined: Vec::new(),
            last_ready: None,
        }
    }

    /// Makes the plan one that is only shown: no step is run.
    #[must_use]
    pub fn draft(self) -> Self {
        Self { is_draft: true, ..self }
    }

    /// Selects a tool for each need and makes its call, until a step cannot be run.
    ///
    /// # Errors
    /// The error of the first selection. Later ones, and those of calls, are part of the steps.
    pub async fn drive<E, S, C>(
        mut self,
        mut select: impl FnMut(SelectRequest) -> S,
        mut call: impl FnMut(PlannedCall) -> C,
    ) -> Result<Self, E>
    where
        E: fmt::Display,
        S: Future<Output = Result<Selection, E>>,
        C: Future<Output = Result<Report, E>>,
    {
        while let Some(request) = self.next_request() {
            let selection = match select(request).await {
                Ok(selection) => selection,
                Err(error) if self.steps.len() == 1 => return Err(error),
                // The completed steps stay in the report.
                Err(error) => {
                    self.fail(format!("{error:#}"));
                    continue;
                }
            };
            if let Some(planned) = self.prepare(selection) {
                match call(planned).await {
                    Ok(report) => self.note(report),
                    Err(error) => self.fail(format!("{error:#}")),
                }
            }
        }
        Ok(self)
    }

    /// Returns the request for the next step's tool; `None` at the end. Its context contains the
    /// last tool, but its words are not combined with those of the previous step, which has its own
    /// tool.
    fn next_request(&mut self) -> Option<SelectRequest> {
        let Need { text: need, beside } = self.waiting.pop_front()?;
        self.beside = beside;
        let mut request = self.session.request(SelectRequest::new(need.as_str()).limit(CONSIDERED));
        if let Some(context) = &mut request.context {
            context.depth = 0;
        }
        self.steps.push(Step::new(need, StepState::NoTool, ""));
        Some(request)
    }

    /// Returns the call of the current step; `None` if there is no call to make.
    fn prepare(&mut self, mut selection: Selection) -> Option<PlannedCall> {
        let count = self.steps.len();
        let need = self.steps.last().map(|step| step.need.clone()).unwrap_or_default();
        settle(&mut selection, &need, |tool| self.arguments(tool));
        let call = self.decide(&selection);
        if self.is_draft {
            self.absorb();
            // A step that was joined with the one before leaves that one the last.
            if self.steps.len() == count {
                self.note_ready(&selection);
            }
        }
        call
    }

    fn decide(&mut self, selection: &Selection) -> Option<PlannedCall> {
        let shared = selection.tools.first().and_then(|first| self.shared_condition(&first.tool));
        let step = self.steps.last_mut()?;
        let Some(first) = selection.tools.first() else {
            step.why = "no tool fits; say it in other words".to_owned();
            self.stop();
            return None;
        };
        let tool = Arc::clone(&first.tool);
        step.tool = Some(tool.id.clone());
        step.why = first.explanation.why.clone();
        step.may_change = !only_reads(&tool, &step.need);
        let prepared = self.arguments(&tool);
        let step = self.steps.last_mut()?;
        let shared = shared.map(|word| question(&says(&word), &tool));
        if let Some(question) = doubt(&tool, selection, &step.need, &prepared).or(shared) {
            step.state = StepState::Clarify;
            step.does_another = does_another(selection);
            step.why = question;
            self.stop();
            return None;
        }
        let arguments = prepared.arguments.clone();
        let asked = prepared.clarify(&tool);
        let is_pending = asked.is_some() && self.may_be_supplied(first, &prepared);
        let step = self.steps.last_mut()?;
        step.arguments = Some(prepared);
        step.is_pending = is_pending;
        if let Some(mut report) = asked {
            report.name_suppliers(&first.needs);
            step.state = StepState::Clarify;
            step.report = Some(report);
            self.stop();
            return None;
        }
        if self.joins_the_last(&tool, &arguments) {
            return None;
        }
        let may_change = self.steps.last().is_some_and(|step| step.may_change);
        if may_change && self.hold() {
            return None;
        }
        let step = self.steps.last_mut()?;
        step.state = StepState::Ready;
        step.needs_confirmation = tool.effects().destroys();
        let call = PlannedCall { need: step.need.clone(), tool, arguments };
        (!self.is_draft).then_some(call)
    }

    /// Reads the arguments of the current step. Where it refers to the step before, that one's values
    /// answer what is missing.
    fn arguments(&self, tool: &Tool) -> PreparedArguments {
        let [steps @ .., step] = &self.steps[..] else { return PreparedArguments::default() };
        let sources = ArgumentSources::new(&step.need, self.now);
        let prepared = self.session.prepare_arguments(tool, &sources);
        let before = steps.last().and_then(|before| Some((before, before.arguments.as_ref()?)));
        let Some((before, arguments)) = before.filter(|_| !prepared.missing.is_empty()) else {
            return prepared;
        };
        if !before.is_done() || !refers_back(&step.need) {
            return prepared;
        }
        let result = self.session.last_result();
        let result = result.as_ref().filter(|_| before.state == StepState::Answered);
        let before = StepBefore { need: &before.need, arguments, result };
        let (given, taken) = before.given(&prepared.missing, &self.session.prompts());
        if given.is_empty() {
            return prepared;
        }
        let sources = ArgumentSources { given: Some(&given), ..sources };
        let mut prepared = self.session.prepare_arguments(tool, &sources);
        prepared.sources.retain(|source| !given.contains_key(&source.name));
        prepared.sources.extend(taken);
        prepared
    }

    /// Returns what the rest of the sentence makes a condition of the current step's call: a word, or a
    /// time at its end; `None` for a tool that only reads.
    fn shared_condition(&self, tool: &Tool) -> Option<String> {
        if tool.effects().reads_only() {
            return None;
        }
        let at_the_end = || {
            let last = self.beside.last.as_deref()?;
            let prepared =
                self.session.prepare_arguments(tool, &ArgumentSources::new(last, self.now));
            let last = prepared.read_as.as_deref().unwrap_or(last);
            let is_last = |at: &&std::ops::Range<usize>| {
                !last[at.end..].contains(char::is_alphanumeric) && !is_of_a_noun(&last[..at.start])
            };
            prepared.moments.iter().find(is_last).map(|at| last[at.clone()].to_owned())
        };
        self.beside.condition.clone().or_else(at_the_end)
    }

    /// Makes the current step a part of the one before if both call the same tool with the same
    /// arguments.
    fn joins_the_last(&mut self, tool: &Tool, arguments: &Arguments) -> bool {
        let [.., before, step] = &mut self.steps[..] else { return false };
        let same_call = before.tool.as_ref() == Some(&tool.id)
            && before.arguments.as_ref().is_some_and(|prepared| prepared.arguments == *arguments);
        let is_done = before.is_done();
        if same_call && is_done {
            before.need = format!("{}; {}", before.need, step.need);
            self.steps.pop();
        }
        same_call && is_done
    }

    /// Records the report of the call. The session receives it separately, from
    /// [`Session::record_report`].
    fn note(&mut self, report: Report) {
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

    /// Skips the remaining steps, because they may need a result that this step did not return.
    fn stop(&mut self) {
        if self.is_draft {
            return;
        }
        self.steps.extend(self.waiting.drain(..).map(|need| Step::not_run(need.text, "")));
    }

    /// Records why the step's tool could not be selected or called. The earlier steps stay in the
    /// report.
    fn fail(&mut self, because: String) {
        let Some(step) = self.steps.last_mut() else { return };
        step.state = StepState::Failed;
        step.why = because;
        self.stop();
    }

    /// Returns the report on all steps, including those that were not run.
    pub fn finish(mut self) -> PlanReport {
        self.hold_drafted();
        let parts = self.steps.iter().flat_map(|step| doubtful_parts(&step.need));
        let parts: Vec<Step> = parts.map(|part| Step::not_run(part, DOUBTFUL)).collect();
        self.steps.extend(parts);
        let beyond = self.beyond.drain(..).map(|need| Step::not_run(need, TOO_MANY));
        self.steps.extend(beyond);
        let wanted = if self.is_draft { StepState::Ready } else { StepState::Answered };
        let complete = !self.steps.is_empty() && self.steps.iter().all(|step| step.state == wanted);
        PlanReport { complete, steps: self.steps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(needs: &[&str]) -> Vec<Need> {
        with_conditions(needs.iter().map(|need| (*need).to_owned()).collect(), &[]).into()
    }

    #[test]
    fn only_whole_words_are_about_a_time() {
        for (need, is_timed) in [
            ("water the plants tomorrow", false),
            ("eventually tell Dana tomorrow", false),
            ("return the books tomorrow", false),
            ("board the planes tomorrow", false),
            ("remind me tomorrow", true),
            ("set two alarms for tomorrow", true),
            ("book a table for tomorrow", true),
            ("keep planning the trip tomorrow", true),
            ("move the rescheduled meetings to tomorrow", true),
            ("postponing it to tomorrow is fine", true),
            ("add the events of tomorrow", true),
        ] {
            assert_eq!(is_about_a_time(need), is_timed, "{need}");
        }
        let waits = |all: &[&str]| needs(all)[0].beside.condition.clone();
        let watered = waits(&["cancel order 12", "water the plants tomorrow"]);
        assert_eq!(watered.as_deref(), Some("tomorrow"));
        assert_eq!(waits(&["cancel order 12", "remind me tomorrow"]), None);
    }
}
