//! What a log says about tools. Observations are built once and immutable, so that selections read
//! them without a lock.

use std::collections::BTreeMap;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use toolroute_catalog::ToolId;
use toolroute_vectors::durable;

use super::StoreError;
use super::past_contexts::{self, CurrentContext, PastContexts};
use super::run_stats::{RunStats, history, rates};
use super::store::ExecutionStore;
use super::weights::ScoreWeights;
use super::workflow::{NextTool, Workflow};

/// Success, latency, past contexts, workflows and learned weights at one point in time.
#[derive(Default)]
pub struct Observations {
    executions: u64,
    tools: BTreeMap<ToolId, RunStats>,
    workflow: Workflow,
    nearby: PastContexts,
    weights: Option<ScoreWeights>,
    version: u64,
}

/// Counts of runs from another system, as JSON:
/// `{"tools": {"git__log": {"runs": 50, "successes": 45, "latency_ms": 120}}}`. `follows` contains
/// the share, 0 to 1, of a tool's runs that another tool followed:
/// `{"git__add": {"git__commit": 0.7}}`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunCounts {
    tools: BTreeMap<ToolId, Counts>,
    follows: BTreeMap<ToolId, BTreeMap<ToolId, f64>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counts {
    runs: u64,
    successes: u64,
    #[serde(default)]
    latency_ms: Option<f64>,
}

impl From<RunCounts> for Observations {
    fn from(counts: RunCounts) -> Self {
        let observed = |counted: Counts| {
            RunStats::from_counts(counted.successes, counted.runs, counted.latency_ms)
        };
        let tools = counts.tools.into_iter().map(|(id, counted)| (id, observed(counted)));
        let workflow = Workflow::of_shares(counts.follows);
        Self { tools: tools.collect(), workflow, ..Self::default() }
    }
}

impl Observations {
    /// Reads a log. 50,000 executions with vectors take 0.6 s of CPU time.
    #[doc(hidden)] // For our own crates.
    pub fn load(store: &ExecutionStore) -> Result<Self, StoreError> {
        let log = store.facts()?;
        let mut nearby = PastContexts::default();
        store.latest(past_contexts::MOST, |execution| nearby.add(execution))?;
        Ok(Self {
            executions: log.len() as u64,
            tools: rates(&log),
            workflow: Workflow::new(&log),
            nearby: nearby.done(),
            weights: store.current_weights()?,
            version: 0,
        })
    }

    #[cfg(test)]
    pub(super) fn of(tools: BTreeMap<ToolId, RunStats>, nearby: PastContexts) -> Self {
        Self { tools, nearby, ..Self::default() }
    }

    #[must_use]
    #[doc(hidden)] // For our own crates.
    pub fn numbered(mut self, version: u64) -> Self {
        self.version = version;
        self
    }

    /// Returns the version, which numbers the observations within one process. Results that were
    /// computed from another version are out of date.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns a hash of everything that ranking uses, in hexadecimal.
    pub(crate) fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(format!("{:?} {:?} {:?}", self.tools, self.workflow, self.weights));
        self.nearby.add_to(&mut hash);
        durable::hex(&hash.finalize())
    }

    /// Returns the number of executions in the log.
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// Returns the statistics of a tool, or `None` if it never ran.
    pub fn tool(&self, id: &str) -> Option<&RunStats> {
        self.tools.get(id)
    }

    /// Returns every tool that ran, ordered by id.
    pub fn tools(&self) -> impl Iterator<Item = (&ToolId, &RunStats)> {
        self.tools.iter()
    }

    /// Returns the tools that tend to follow a tool, most likely first.
    pub fn next_after(&self, id: &str) -> &[NextTool] {
        self.workflow.next_after(id)
    }

    /// Returns every tool that others tend to follow, with its followers.
    pub fn workflows(&self) -> impl Iterator<Item = (&ToolId, &[NextTool])> {
        self.workflow.iter()
    }

    /// Returns the history of a tool, 0 to 1: its success in similar contexts, or its overall
    /// success if there are none. 0.5 is neutral, and the value of an unknown tool.
    #[doc(hidden)] // For our own crates.
    pub fn history(&self, id: &ToolId, now: &CurrentContext<'_>) -> f32 {
        let Some(seen) = self.tools.get(id) else { return 0.5 };
        let similar = self.nearby.rate(id, now, seen);
        history(similar.unwrap_or_else(|| seen.rate()))
    }

    /// Returns the learned weights, or `None` if those of the configuration apply.
    #[doc(hidden)] // For our own crates.
    pub fn weights(&self) -> Option<&ScoreWeights> {
        self.weights.as_ref()
    }
}
