//! The success of a tool in past contexts that are similar to the current one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use toolroute_catalog::ToolId;

use super::Execution;
use super::credibility::{PER_SESSION_AND_DAY, day};
use super::run_stats::RunStats;
use crate::index::dot;

/// The maximum number of executions to compare with: of all tools (`MOST`) and of one tool
/// (`MOST_OF_A_TOOL`). Comparing with ten takes 2 µs.
pub(super) const MOST: u32 = 10_000;
const MOST_OF_A_TOOL: usize = 64;

/// The weights of prompt vector, phase and task type in the similarity. Only the features that both
/// contexts have count.
const SHARES: [f32; 3] = [0.6, 0.2, 0.2];

/// The minimum similarity of similar contexts. Without vectors it requires an equal phase and an
/// equal task type, which is the rule of the source document.
const SIMILAR: f32 = 0.6;

/// The weight, in runs, of the tool's overall rate relative to the runs in similar contexts.
const OVERALL_RUNS: f64 = 10.0;

/// The context of the current prompt, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct CurrentContext<'a> {
    /// The model's fingerprint and the prompt's unit vector.
    pub vector: Option<(&'a str, &'a [f32])>,
    pub phase: Option<&'a str>,
    pub task_type: Option<&'a str>,
}

struct PastContext {
    /// The unit vector, with the fingerprint of its model.
    vector: Option<(Arc<str>, Box<[f32]>)>,
    phase: Option<Box<str>>,
    task_type: Option<Box<str>>,
    success: bool,
}

/// The latest contexts of each tool.
#[derive(Default)]
pub(super) struct PastContexts {
    tools: BTreeMap<ToolId, Vec<PastContext>>,
    models: BTreeMap<String, Arc<str>>,
    /// The number of contexts by tool, session and day: one source must not displace the others.
    sources: HashMap<(ToolId, Option<String>, i64), u32>,
}

impl PastContexts {
    /// Adds an execution. The newest execution must be added first.
    pub fn add(&mut self, execution: Execution) {
        let source = (execution.tool.clone(), execution.session.clone(), day(&execution));
        let of_source = self.sources.entry(source).or_default();
        let of_tool = self.tools.entry(execution.tool).or_default();
        let (phase, task_type) = (execution.context.phase, execution.context.task_type);
        let known = execution.vector.is_some() || phase.is_some() || task_type.is_some();
        let is_full = f64::from(*of_source) >= PER_SESSION_AND_DAY;
        if of_tool.len() >= MOST_OF_A_TOOL || is_full || !known {
            return;
        }
        *of_source += 1;
        let models = &mut self.models;
        let vector = execution.vector.and_then(|vector| {
            let name = vector.model.as_str().into();
            let model = models.entry(vector.model).or_insert(name).clone();
            Some((model, unit(vector.values)?))
        });
        let boxed = |text: Option<String>| text.map(String::into_boxed_str);
        let (phase, task_type) = (boxed(phase), boxed(task_type));
        of_tool.push(PastContext { vector, phase, task_type, success: execution.success });
    }

    /// Frees the data that only [`PastContexts::add`] needs.
    pub fn done(mut self) -> Self {
        self.sources = HashMap::new();
        self
    }

    pub fn add_to(&self, hash: &mut Sha256) {
        for (tool, contexts) in &self.tools {
            for PastContext { vector, phase, task_type, success } in contexts {
                let model = vector.as_ref().map(|(model, _)| model);
                hash.update(format!("{tool:?} {model:?} {phase:?} {task_type:?} {success}"));
                let values = vector.iter().flat_map(|(_, values)| values);
                values.for_each(|value| hash.update(value.to_le_bytes()));
            }
        }
    }

    /// Returns the expected share of successful runs of a tool, from those in similar contexts and
    /// its overall rate, or `None` if none of its past contexts is similar to `now`.
    pub fn rate(&self, tool: &ToolId, now: &CurrentContext<'_>, overall: &RunStats) -> Option<f64> {
        let (mut weight, mut good) = (0.0, 0.0);
        for past in self.tools.get(tool)? {
            let alike = past.likeness(now);
            if alike >= SIMILAR {
                weight += f64::from(alike);
                good += if past.success { f64::from(alike) } else { 0.0 };
            }
        }
        let rate = (good + OVERALL_RUNS * overall.rate()) / (weight + OVERALL_RUNS);
        (weight > 0.0).then_some(rate)
    }
}

impl PastContext {
    /// Returns the similarity, 0 to 1, over the features that both contexts have; 0 if they have
    /// none in common.
    fn likeness(&self, now: &CurrentContext<'_>) -> f32 {
        let meaning = match (&self.vector, now.vector) {
            (Some((model, past)), Some((name, vector))) if **model == *name => {
                Some(dot(past, vector).clamp(0.0, 1.0))
            }
            _ => None,
        };
        let same = |past: &Option<Box<str>>, now: Option<&str>| {
            let equal = past.as_deref()? == now?;
            Some(f32::from(u8::from(equal)))
        };
        let parts = [meaning, same(&self.phase, now.phase), same(&self.task_type, now.task_type)];
        let (mut sum, mut shares) = (0.0, 0.0);
        for (part, share) in parts.into_iter().zip(SHARES) {
            if let Some(part) = part {
                sum += part * share;
                shares += share;
            }
        }
        if shares > 0.0 { sum / shares } else { 0.0 }
    }
}

fn unit(mut values: Vec<f32>) -> Option<Box<[f32]>> {
    let length = dot(&values, &values).sqrt();
    values.iter_mut().for_each(|value| *value /= length);
    (length.is_finite() && length > 0.0).then(|| values.into_boxed_slice())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::{LoggedContext, PromptVector};

    fn past(values: &[f32], phase: Option<&str>, success: bool) -> Execution {
        let mut past = Execution::new("t".into(), "p", success);
        past.vector = Some(PromptVector { model: "m".into(), values: values.to_vec() });
        past.context =
            LoggedContext { phase: phase.map(str::to_owned), ..LoggedContext::default() };
        past
    }

    #[test]
    fn a_tool_is_judged_by_what_is_alike() {
        let mut nearby = PastContexts::default();
        for n in 0..10 {
            let session = Some(n.to_string());
            let well = past(&[1.0, 0.0], None, true);
            nearby.add(Execution { session: session.clone(), ..well });
            nearby.add(Execution { session, ..past(&[0.0, 2.0], None, false) });
        }
        let overall = RunStats { runs: 20, weight: 20.0, good: 10.0, ..RunStats::default() };
        let rate = |vector: &[f32]| {
            let now = CurrentContext { vector: Some(("m", vector)), ..CurrentContext::default() };
            nearby.rate(&"t".into(), &now, &overall)
        };
        let (well, badly) = (rate(&[1.0, 0.0]).unwrap(), rate(&[0.0, 1.0]).unwrap());
        assert!(well > overall.rate() && badly < overall.rate(), "{well:?} {badly:?}");
        assert_eq!(rate(&[-1.0, 0.0]), None);
        let other =
            CurrentContext { vector: Some(("other", &[1.0, 0.0])), ..CurrentContext::default() };
        assert_eq!(nearby.rate(&"t".into(), &other, &overall), None, "another model's vector");
        assert_eq!(nearby.rate(&"unknown".into(), &other, &overall), None);
    }

    #[test]
    fn one_source_pushes_no_other_out() {
        let mut nearby = PastContexts::default();
        (0..100).for_each(|_| nearby.add(past(&[1.0, 0.0], None, true)));
        let honest = past(&[1.0, 0.0], None, false);
        nearby.add(Execution { session: Some("honest".into()), ..honest });
        assert_eq!(nearby.tools["t"].len(), 6);
    }

    #[test]
    fn without_vectors_equal_phase_and_task_type_are_similar() {
        let context = |phase: &str, task: &str| {
            let (phase, task_type) = (Some(phase.to_owned()), Some(task.to_owned()));
            let context = LoggedContext { phase, task_type, ..LoggedContext::default() };
            Execution { context, ..Execution::new("t".into(), "p", true) }
        };
        let mut nearby = PastContexts::default();
        nearby.add(context("completion", "deployment"));
        let similar = |phase, task_type| {
            let now =
                CurrentContext { vector: None, phase: Some(phase), task_type: Some(task_type) };
            nearby.rate(&"t".into(), &now, &RunStats::default()).is_some()
        };
        assert!(similar("completion", "deployment"));
        assert!(!similar("completion", "testing") && !similar("refinement", "deployment"));
    }
}
