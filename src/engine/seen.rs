//! What was seen of tools' runs, by row, for the signals. Whoever keeps the log hands it in.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::feedback;
use crate::selection::{Blocked, Observed, Signal, SignalWeights, Versions};

/// What was seen, by tool id: a whole picture, which replaces the one before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Observations {
    pub tools: BTreeMap<String, Observed>,
    /// Of runs after a tool's, the share (0 to 1) that went to another: `follows[after][then]`.
    pub follows: BTreeMap<String, BTreeMap<String, f32>>,
}

impl Observations {
    /// What a log of executions says, in the signals' terms: its evidence is bounded by source and
    /// day there, and so it is here.
    pub fn of_log(log: &feedback::Observations) -> Self {
        let tools = log.tools().map(|(id, seen)| {
            let rate = if seen.weight > 0.0 { seen.good / seen.weight } else { 0.0 };
            let observed = Observed {
                runs: seen.weight.round() as u32,
                rate: rate as f32,
                lower_bound: seen.lower_bound,
                latency_ms: seen.latency_ms.map(|ms| ms as f32),
            };
            (id.to_string(), observed)
        });
        let follows = log.tools().map(|(id, _)| {
            let next = log.next_after(id.as_str()).iter();
            let next = next.map(|next| (next.tool.to_string(), next.probability as f32));
            (id.to_string(), next.collect())
        });
        let follows = follows.filter(|(_, next): &(_, BTreeMap<String, f32>)| !next.is_empty());
        Self { tools: tools.collect(), follows: follows.collect() }
    }
}

/// Weights that a log's outcomes have moved, and the share of the meaning beside the words.
struct Learned {
    weights: SignalWeights,
    semantic_share: Option<f32>,
}

impl Learned {
    /// `base` is what holds for what the log says nothing of. Signals count beside meaning and words
    /// as one.
    fn of(base: SignalWeights, log: &feedback::Observations) -> Self {
        let Some(found) = log.weights() else {
            return Self { weights: base, semantic_share: None };
        };
        let blend = found.get("semantic") + found.get("keyword");
        let share = |weight: f64| if blend > 0.0 { (weight / blend).min(1.0) as f32 } else { 0.0 };
        let named =
            found.iter().filter_map(|(name, weight)| Some((name.parse().ok()?, share(weight))));
        let weights = named.fold(base, |weights, (signal, weight): (Signal, f32)| {
            weights.with(signal, weight).unwrap_or(weights)
        });
        let semantic_share = (blend > 0.0).then(|| share(found.get("semantic")));
        Self { weights, semantic_share }
    }
}

/// What was told of runs and weights, whatever the catalog.
#[derive(Clone, Default)]
pub(super) struct Told {
    pub observations: Arc<Observations>,
    pub weights: SignalWeights,
    /// The weights without what a log says.
    base: SignalWeights,
    /// What meaning counts for in the weighted blend, where a log's outcomes have moved it.
    pub semantic_share: Option<f32>,
    /// What is not to be called now.
    pub blocked: Arc<Blocked>,
    /// How often the observations and the weights were replaced.
    usage_version: u64,
    weights_version: u64,
}

impl Told {
    /// These weights, and nothing seen yet.
    pub fn of(weights: SignalWeights) -> Self {
        Self { weights, base: weights, ..Self::default() }
    }

    /// This with other observations.
    pub fn observing(&self, observations: Observations) -> Self {
        let usage_version = self.usage_version + 1;
        Self { observations: Arc::new(observations), usage_version, ..self.clone() }
    }

    /// This with other tools left alone. Answers of before hold no longer, as with observations.
    pub fn blocking(&self, blocked: Blocked) -> Self {
        let usage_version = self.usage_version + 1;
        Self { blocked: Arc::new(blocked), usage_version, ..self.clone() }
    }

    /// This with other weights.
    pub fn weighing(&self, weights: SignalWeights) -> Self {
        let weights_version = self.weights_version + 1;
        Self { weights, base: weights, weights_version, ..self.clone() }
    }

    /// This with what a log's outcomes say of the weights.
    pub fn learning(&self, log: &feedback::Observations) -> Self {
        let Learned { weights, semantic_share } = Learned::of(self.base, log);
        let weights_version = self.weights_version + 1;
        Self { weights, semantic_share, weights_version, ..self.clone() }
    }

    /// What answers depend on, with the version of the catalog.
    pub fn versions(&self, catalog: u64) -> Versions {
        Versions { catalog, weights: self.weights_version, usage: self.usage_version }
    }
}

/// [`Observations`] over the rows of a catalog. Ids that the catalog lacks are left out.
pub(super) struct Seen {
    pub observed: Vec<Option<Observed>>,
    follows: HashMap<u32, Vec<(u32, f32)>>,
}

impl Seen {
    pub fn new(catalog: &Catalog, seen: &Observations) -> Self {
        let mut observed = vec![None; if seen.tools.is_empty() { 0 } else { catalog.len() }];
        for (id, found) in &seen.tools {
            if let Some(row) = catalog.row(id) {
                observed[row as usize] = Some(*found);
            }
        }
        let shares = |then: &BTreeMap<String, f32>| {
            let share = |(id, share): (&String, &f32)| Some((catalog.row(id)?, *share));
            let mut shares: Vec<(u32, f32)> = then.iter().filter_map(share).collect();
            shares.sort_by_key(|(row, _)| *row);
            shares.dedup_by_key(|(row, _)| *row);
            shares
        };
        let follows = seen.follows.iter();
        let follows = follows.filter_map(|(after, then)| Some((catalog.row(after)?, shares(then))));
        Self { observed, follows: follows.collect() }
    }

    /// What tends to follow a tool, by row, ascending.
    pub fn after(&self, row: Option<u32>) -> &[(u32, f32)] {
        row.and_then(|row| self.follows.get(&row)).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::{ExecutionStore, StoreOptions, WeightUpdate};

    fn said(store: &ExecutionStore) -> feedback::Observations {
        feedback::Observations::load(store).unwrap()
    }

    #[test]
    fn weights_of_a_log_hold_until_they_are_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        let mut store = ExecutionStore::open(&path, StoreOptions::default()).unwrap();
        let told = Told::of(SignalWeights::OFF);
        assert_eq!(told.learning(&said(&store)).semantic_share, None);

        let weights = |all: &[(&str, f64)]| feedback::SignalWeights::new(all.iter().copied());
        let mut update =
            WeightUpdate::propose(&[], &weights(&[("semantic", 0.7), ("keyword", 0.3)]));
        update.new = weights(&[("semantic", 0.6), ("keyword", 0.2), ("phase", 0.2)]);
        update.unchanged = None;
        update.apply(&mut store).unwrap();
        let learned = told.learning(&said(&store));
        assert_eq!(learned.semantic_share, Some(0.75));
        assert_eq!(learned.weights.get(Signal::Phase), 0.25);
        assert_eq!(learned.versions(0).weights, told.versions(0).weights + 1);

        store.revert_weights().unwrap();
        let reverted = learned.learning(&said(&store));
        assert_eq!((reverted.semantic_share, reverted.weights), (None, SignalWeights::OFF));
    }
}
