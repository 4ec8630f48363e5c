//! What a plan finds out about all of its steps before it changes anything.
//!
//! A draft of the plan looks at every step. If a later step has no tool or needs an answer, the plan
//! calls nothing that may change something, because what is left of the prompt may never be done. A
//! part that cannot be a step, and whose values the step before takes, stays in that step.

use serde_json::Value;
use toolroute_rank::engine::{SelectedTool, Selection};
use toolroute_run::execution::{ArgumentSources, PreparedArguments, Question, Source};

use super::back_reference::refers_back;
use super::doubt::doubt;
use super::plan::{JoinedNeed, Plan, Step, StepState};

impl Step {
    /// Whether the step cannot be done, as far as is known before the plan runs.
    fn is_obstacle(&self) -> bool {
        let is_open =
            matches!(self.state, StepState::Clarify | StepState::NoTool | StepState::Failed);
        is_open && !self.is_pending
    }

    /// Leaves the step undone, because another one cannot be done.
    pub(super) fn hold_for(&mut self, obstacle: &str) {
        self.state = StepState::NotRun;
        self.why = format!(
            "it may change something, and is not called before \"{obstacle}\" can be done too"
        );
    }
}

impl Plan<'_> {
    /// Takes over what a finished draft of the same plan found out.
    #[must_use]
    pub fn after(mut self, draft: Plan<'_>) -> Self {
        for joined in draft.joined {
            self.join_waiting(&joined);
        }
        self.obstacles = draft.steps.into_iter().filter(Step::is_obstacle).collect();
        self
    }

    fn join_waiting(&mut self, joined: &JoinedNeed) {
        let is_pair = |at: &usize| {
            self.waiting[*at].text == joined.first && self.waiting[*at + 1].text == joined.second
        };
        let pairs = 0..self.waiting.len().saturating_sub(1);
        let Some(at) = pairs.into_iter().find(is_pair) else { return };
        self.waiting[at].text.clone_from(&joined.whole);
        self.waiting.remove(at + 1);
    }

    /// Leaves the current step undone, and those after it, if one of them is known to be impossible.
    /// Returns whether it did.
    pub(super) fn hold(&mut self) -> bool {
        let drafted = |text: &str| self.obstacles.iter().find(|step| step.need == text);
        let rest: Vec<Step> = self
            .waiting
            .iter()
            .map(|need| {
                let not_run = || Step::not_run(need.text.clone(), "");
                drafted(&need.text).cloned().unwrap_or_else(not_run)
            })
            .collect();
        let obstacle = rest.iter().find(|step| step.is_obstacle()).map(|step| step.need.clone());
        let (Some(obstacle), Some(step)) = (obstacle, self.steps.last_mut()) else { return false };
        step.hold_for(&obstacle);
        self.waiting.clear();
        self.steps.extend(rest);
        true
    }

    /// Does to the steps of a draft what [`Plan::hold`] does when the plan runs.
    pub(super) fn hold_drafted(&mut self) {
        let last = self.steps.iter().rposition(Step::is_obstacle);
        let Some(last) = last.filter(|_| self.is_draft) else { return };
        let obstacle = self.steps[last].need.clone();
        let before = self.steps[..last].iter_mut();
        for step in before.filter(|step| step.may_change && step.state == StepState::Ready) {
            step.hold_for(&obstacle);
        }
    }

    /// Whether what a step lacks may come from the answer of a step before it.
    pub(super) fn may_be_supplied(
        &self,
        first: &SelectedTool,
        prepared: &PreparedArguments,
    ) -> bool {
        let [before @ .., step] = &self.steps[..] else { return false };
        let supplies = |question: &Question| {
            let of = first.needs.iter().find(|need| need.parameter == question.name);
            let from = of.map_or(&[][..], |need| &need.from[..]);
            let is_earlier =
                |step: &Step| step.tool.as_ref().is_some_and(|tool| from.contains(tool));
            question.candidates.is_empty() && before.iter().any(is_earlier)
        };
        let refers = !before.is_empty() && refers_back(&step.need);
        let is_open = |question: &Question| {
            let is_choice = question.kind.as_ref().is_some_and(Value::is_array);
            question.candidates.is_empty() && !is_choice
        };
        let mut others = prepared.missing.iter().filter(|question| !supplies(question));
        // A reference stands for one value.
        match (others.next(), others.next()) {
            (None, _) => true,
            (Some(one), None) => refers && is_open(one),
            _ => false,
        }
    }

    /// Makes the current step of a draft, which cannot be run, a part of the one before, if that step's
    /// tool takes the values of both: "close account 5, pay out to DE89".
    pub(super) fn absorb(&mut self) {
        let [.., before, step] = &self.steps[..] else { return };
        let Some((tool, selection)) = &self.last_ready else { return };
        let known = before.arguments.as_ref().map(|prepared| &prepared.arguments);
        let (Some(known), true) = (known, step.is_obstacle()) else { return };
        let whole = format!("{}, {}", before.need, step.need);
        let prepared =
            self.session.prepare_arguments(tool, &ArgumentSources::new(&whole, self.now));
        let begins = before.need.len();
        // Only values such as an id: a text would swallow any wish.
        let is_value = |name: &String, value: &Value| {
            let is_said =
                |source: &Source| matches!(source, Source::Prompt { start, .. } if *start > begins);
            let mut sources = prepared.sources.iter().filter(|taken| taken.name == *name);
            let text = value.as_str().unwrap_or_default();
            let is_plain = value.is_number() || text.contains(|c: char| c.is_ascii_digit());
            is_plain && sources.any(|taken| is_said(&taken.source))
        };
        let added = prepared.arguments.iter().filter(|(name, _)| !known.contains_key(*name));
        let added: Vec<_> = added.collect();
        let is_taken = !added.is_empty()
            && added.into_iter().all(|(name, value)| is_value(name, value))
            && known.iter().all(|(name, value)| prepared.arguments.get(name) == Some(value))
            && prepared.missing.is_empty()
            && prepared.unused.is_empty()
            && doubt(tool, selection, &whole, &prepared).is_none();
        if !is_taken {
            return;
        }
        let Some(second) = self.steps.pop().map(|step| step.need) else { return };
        if let Some(before) = self.steps.last_mut() {
            let first = std::mem::replace(&mut before.need, whole.clone());
            before.arguments = Some(prepared);
            self.joined.push(JoinedNeed { first, second, whole });
        }
    }

    /// Remembers the tool of the current step if the step can be run.
    pub(super) fn note_ready(&mut self, selection: &Selection) {
        let is_ready = self.steps.last().is_some_and(|step| step.state == StepState::Ready);
        let first = selection.tools.first().filter(|_| is_ready);
        self.last_ready = first.map(|first| (first.tool.clone(), selection.clone()));
    }
}
