//! Inputs of a selection that change while the engine runs: observations from the log, learned
//! weights, and blocked tools.

use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::Catalog;
use crate::feedback::{Observations, RunStats};
use crate::selection::{OpenBreakers, Signal, SignalWeights, Versions};

/// The inputs that change while the engine runs, for any catalog.
#[derive(Clone, Default)]
pub(super) struct LiveInputs {
    pub observations: Arc<Observations>,
    pub weights: SignalWeights,
    /// The weights without what was learned.
    configured: SignalWeights,
    /// The learned weight of the semantic part in the weighted blend, if the log has one.
    pub semantic_share: Option<f32>,
    /// The tools and servers that must not be called now.
    pub blocked: Arc<OpenBreakers>,
    /// Counts replacements of observations, usage, blocked tools and weights.
    usage_version: u64,
    weights_version: u64,
}

impl LiveInputs {
    /// The configured weights, without observations.
    pub fn new(weights: SignalWeights) -> Self {
        Self { weights, configured: weights, ..Self::default() }
    }

    /// These inputs with new observations, and the weights learned from them.
    pub fn with_observations(&self, observations: Arc<Observations>) -> Self {
        let (weights, semantic_share) = learned(self.configured, &observations);
        Self {
            observations,
            weights,
            semantic_share,
            usage_version: self.usage_version + 1,
            weights_version: self.weights_version + 1,
            ..self.clone()
        }
    }

    /// These inputs with other blocked tools. Invalidates cached answers, as new observations do.
    pub fn with_blocked(&self, blocked: OpenBreakers) -> Self {
        let usage_version = self.usage_version + 1;
        Self { blocked: Arc::new(blocked), usage_version, ..self.clone() }
    }

    /// Invalidates cached answers after a change of the usage.
    pub fn with_other_usage(&self) -> Self {
        Self { usage_version: self.usage_version + 1, ..self.clone() }
    }

    /// These inputs with other weights.
    pub fn with_weights(&self, weights: SignalWeights) -> Self {
        let weights_version = self.weights_version + 1;
        Self { weights, configured: weights, weights_version, ..self.clone() }
    }

    /// Returns a text that is equal for equal inputs.
    pub fn identity(&self) -> String {
        let Self { observations, weights, semantic_share, blocked, .. } = self;
        format!("{} {weights:?} {semantic_share:?} {blocked:?}", observations.fingerprint())
    }

    /// The versions of everything on which an answer depends.
    pub fn versions(&self, catalog: u64) -> Versions {
        Versions { catalog, weights: self.weights_version, usage: self.usage_version }
    }
}

/// Returns the weights, and the weight of the semantic part in the blend, that a log has learned;
/// `configured` for signals without a learned weight.
fn learned(configured: SignalWeights, observations: &Observations) -> (SignalWeights, Option<f32>) {
    let Some(found) = observations.weights() else { return (configured, None) };
    let signals = found.signals().filter_map(|(name, weight)| Some((name.parse().ok()?, weight)));
    let weights = signals.fold(configured, |weights, (signal, weight): (Signal, f64)| {
        weights.with(signal, weight as f32).unwrap_or(weights)
    });
    (weights, Some(found.semantic() as f32))
}

/// [`Observations`] by the rows of a catalog, without tools that are not in it.
#[derive(Default)]
pub(super) struct RowObservations {
    /// One per row, or empty if nothing was observed.
    pub observed: Vec<Option<RunStats>>,
    follows: HashMap<u32, Vec<(u32, f32)>>,
}

impl RowObservations {
    pub fn new(catalog: &Catalog, observations: &Observations) -> Self {
        let mut rows = Self::default();
        for (id, observed) in observations.tools() {
            let Some(row) = catalog.row(id.as_str()) else { continue };
            if rows.observed.is_empty() {
                rows.observed = vec![None; catalog.len()];
            }
            rows.observed[row as usize] = Some(*observed);
        }
        for (id, next) in observations.workflows() {
            let Some(row) = catalog.row(id.as_str()) else { continue };
            let share = |next: &crate::feedback::NextTool| {
                Some((catalog.row(next.tool.as_str())?, next.probability as f32))
            };
            let mut shares: Vec<(u32, f32)> = next.iter().filter_map(share).collect();
            shares.sort_by_key(|(row, _)| *row);
            rows.follows.insert(row, shares);
        }
        rows
    }

    /// The observed runs of a row's tool.
    pub fn of(&self, row: u32) -> Option<&RunStats> {
        self.observed.get(row as usize)?.as_ref()
    }

    /// The rows that often follow `row`, ascending, each with its probability.
    pub fn after(&self, row: Option<u32>) -> &[(u32, f32)] {
        row.and_then(|row| self.follows.get(&row)).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::{ExecutionStore, ScoreWeights, StoreOptions, WeightUpdate};

    fn observations(store: &ExecutionStore) -> Arc<Observations> {
        Arc::new(Observations::load(store).unwrap())
    }

    #[test]
    fn weights_of_a_log_hold_until_they_are_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        let mut store = ExecutionStore::open(&path, StoreOptions::default()).unwrap();
        let inputs = LiveInputs::new(SignalWeights::OFF);
        assert_eq!(inputs.with_observations(observations(&store)).semantic_share, None);

        let configured = ScoreWeights::new(0.7, [("phase", 0.0)]);
        let mut update = WeightUpdate::propose(&[], &configured);
        update.new = ScoreWeights::new(0.75, [("phase", 0.25)]);
        update.unchanged = None;
        update.apply(&mut store).unwrap();
        let learned = inputs.with_observations(observations(&store));
        assert_eq!(learned.semantic_share, Some(0.75));
        assert_eq!(learned.weights.get(Signal::Phase), 0.25);
        assert_eq!(learned.versions(0).weights, inputs.versions(0).weights + 1);

        store.revert_weights().unwrap();
        let reverted = learned.with_observations(observations(&store));
        assert_eq!((reverted.semantic_share, reverted.weights), (None, SignalWeights::OFF));
    }
}
