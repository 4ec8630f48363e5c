//! Learns the weights of a selection's signals from outcomes.
//!
//! The source document correlates each signal with success. This module fits a logistic regression
//! of the outcome on the signals of the tool that ran. It is regularised towards the current
//! weights, allows no negative weights, and moves in small steps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::credibility;
use super::logistic::{self, Outcome};
use super::store::ExecutionStore;
use super::{Execution, StoreError};

/// The minimum number of executions for a change, as in the source document.
pub const LEAST_EXECUTIONS: usize = 10;

/// The maximum number of executions to learn from, the latest ones. The source document uses 100;
/// more give steadier weights.
pub const MOST_EXECUTIONS: usize = 1_000;

/// The largest change of a weight in one update.
pub const MOST_STEP: f64 = 0.05;

/// The largest change of a signal's weight, as a share of the weight.
const MOST_SHARE: f64 = 0.25;

/// The minimum gain of new weights, in log loss per run. A smaller one may be chance.
const LEAST_GAIN: f64 = 1e-4;

/// The names of the semantic and the keyword part.
const SEMANTIC: &str = "semantic";
const KEYWORD: &str = "keyword";

/// The weight of each part of a score, by name: `semantic` and `keyword`, which sum to 1, and each
/// signal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ScoreWeights(BTreeMap<String, f64>);

impl ScoreWeights {
    /// Creates weights from the semantic weight and the weights of the signals. The keyword weight
    /// is 1 minus the semantic weight. Weights are clamped to 0 to 1; NaN becomes 0.
    pub fn new(semantic: f64, signals: impl IntoIterator<Item = (impl Into<String>, f64)>) -> Self {
        let within = |weight: f64| if weight.is_nan() { 0.0 } else { weight.clamp(0.0, 1.0) };
        let signals = signals.into_iter().map(|(name, weight)| (name.into(), within(weight)));
        let mut weights: BTreeMap<String, f64> = signals.collect();
        weights.insert(SEMANTIC.to_owned(), within(semantic));
        weights.insert(KEYWORD.to_owned(), 1.0 - within(semantic));
        Self(weights)
    }

    /// Returns the weight of a part, or 0 if it has none.
    pub fn get(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(0.0)
    }

    /// Returns the semantic weight. The keyword weight is 1 minus this.
    pub fn semantic(&self) -> f64 {
        self.get(SEMANTIC)
    }

    /// Returns the weights of the signals, without `semantic` and `keyword`.
    pub fn signals(&self) -> impl Iterator<Item = (&str, f64)> {
        self.iter().filter(|(name, _)| ![SEMANTIC, KEYWORD].contains(name))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, weight)| (name.as_str(), *weight))
    }
}

/// Why an update leaves the weights unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnchangedReason {
    /// Too few executions have signals.
    TooFew,
    /// All runs succeeded, or all failed.
    OneOutcome,
    /// The step would not make the outcomes noticeably more likely.
    NoGain,
}

/// A proposed change of the weights.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WeightUpdate {
    pub old: ScoreWeights,
    pub new: ScoreWeights,
    /// The fitted weights; `new` is a step towards them.
    pub fitted: ScoreWeights,
    /// The number of executions with signals.
    pub executions: usize,
    /// The log loss per run with the old weights. Guessing with equal odds has ln 2.
    pub loss_before: f64,
    /// The log loss per run with the new weights.
    pub loss_after: f64,
    /// `None` if `new` is worth applying.
    pub unchanged: Option<UnchangedReason>,
}

impl WeightUpdate {
    /// Proposes new weights from a log in order of time and the current weights of all signals.
    /// Each weight changes at most by its bound. A weight with too few executions stays unchanged,
    /// and a signal that is off stays off. Equal logs give bit-identical updates.
    pub fn propose(log: &[Execution], old: &ScoreWeights) -> Self {
        let rows: Vec<&Execution> = log.iter().filter(|run| !run.choice.parts.is_empty()).collect();
        let rows = &rows[rows.len().saturating_sub(MOST_EXECUTIONS)..];
        let mut update = Self {
            new: old.clone(),
            fitted: old.clone(),
            old: old.clone(),
            executions: rows.len(),
            loss_before: 0.0,
            loss_after: 0.0,
            unchanged: None,
        };
        update.unchanged = update.fit(rows).err();
        update
    }

    fn fit(&mut self, rows: &[&Execution]) -> Result<(), UnchangedReason> {
        if rows.len() < LEAST_EXECUTIONS {
            return Err(UnchangedReason::TooFew);
        }
        if rows.iter().all(|run| run.success == rows[0].success) {
            return Err(UnchangedReason::OneOutcome);
        }
        let told: Vec<(String, f64)> = self
            .old
            .iter()
            .filter(|(name, weight)| *weight > 0.0 && is_informative(rows, name))
            .map(owned)
            .collect();
        let samples = samples(rows, &told);
        let old: Vec<f64> = told.iter().map(|(_, weight)| *weight).collect();
        let slope = logistic::slope(&samples, &old);
        (self.loss_before, self.loss_after) = (slope.loss, slope.loss);
        let prior: Vec<f64> = old.iter().map(|weight| weight * slope.value).collect();
        let fitted = logistic::fit(&samples, &prior);
        let fitted: BTreeMap<&str, f64> =
            told.iter().map(|(name, _)| name.as_str()).zip(fitted).collect();
        // Scale the weights so that the semantic and the keyword weight sum to 1.
        let unit = match fitted.get(SEMANTIC).zip(fitted.get(KEYWORD)) {
            Some((semantic, keyword)) => semantic + keyword,
            None => slope.value,
        };
        if unit <= 0.0 {
            return Err(UnchangedReason::NoGain);
        }
        let wanted = |name: &str| fitted.get(name).map_or(self.old.get(name), |found| found / unit);
        let semantic = match fitted.contains_key(KEYWORD) {
            true => wanted(SEMANTIC),
            false => self.old.semantic(),
        };
        self.fitted =
            ScoreWeights::new(semantic, self.old.signals().map(|(name, _)| (name, wanted(name))));
        let step = |old: f64, wanted: f64, most: f64| old + (wanted - old).clamp(-most, most);
        let semantic = step(self.old.semantic(), semantic, MOST_STEP);
        let signals = self.old.signals().map(|(name, old)| {
            (name, step(old, self.fitted.get(name), MOST_STEP.min(MOST_SHARE * old)))
        });
        let new = ScoreWeights::new(semantic, signals);
        let moved: Vec<f64> = told.iter().map(|(name, _)| new.get(name)).collect();
        let loss = logistic::slope(&samples, &moved).loss;
        if loss > self.loss_before - LEAST_GAIN {
            return Err(UnchangedReason::NoGain);
        }
        (self.new, self.loss_after) = (new, loss);
        Ok(())
    }

    /// Writes the new weights to the log. Does nothing for an [unchanged](WeightUpdate::unchanged)
    /// update.
    pub fn apply(&self, store: &mut ExecutionStore) -> Result<(), StoreError> {
        if self.unchanged.is_some() {
            return Ok(());
        }
        store.apply_weights(&self.new, (self.executions, self.loss_before, self.loss_after))
    }
}

fn owned((name, weight): (&str, f64)) -> (String, f64) {
    (name.to_owned(), weight)
}

/// Whether enough executions have the signal, with different values.
fn is_informative(rows: &[&Execution], name: &str) -> bool {
    let said: Vec<f32> =
        rows.iter().filter_map(|run| run.choice.parts.get(name).copied()).collect();
    let all = said.iter().copied().chain((said.len() < rows.len()).then_some(0.0));
    said.len() >= LEAST_EXECUTIONS
        && all.clone().any(|value| all.clone().any(|other| value != other))
}

/// Returns the outcomes with their centred signals. A signal that an execution lacks is 0, because
/// a selection logs only signals that have a value.
fn samples(rows: &[&Execution], signals: &[(String, f64)]) -> Vec<Outcome> {
    let owned: Vec<Execution> = rows.iter().map(|run| (*run).clone()).collect();
    let weights = credibility::weights(&owned);
    let mut samples: Vec<Outcome> = rows
        .iter()
        .zip(weights)
        .map(|(run, weight)| Outcome { signals: Vec::new(), success: run.success, weight })
        .collect();
    for (name, _) in signals {
        let said = |run: &&Execution| f64::from(run.choice.parts.get(name).copied().unwrap_or(0.0));
        let values: Vec<f64> = rows.iter().map(said).collect();
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        for (sample, value) in samples.iter_mut().zip(values) {
            sample.signals.push(value - mean);
        }
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates executions whose outcome follows `semantic`, with exceptions, and `phase` with the
    /// opposite sign, but not `keyword`.
    fn log(runs: u32) -> Vec<Execution> {
        let run = |n: u32| {
            let good = f64::from(n % 10) / 10.0;
            let chance = f64::from(n * 7_919 % 100) / 100.0;
            let mut run = Execution::new("t".into(), format!("p{n}"), chance < 0.2 + 0.7 * good);
            run.session = Some(n.to_string());
            // The runs are of many tools, because the weight of one tool on one day is bounded.
            run.tool = format!("t{}", n % 50).as_str().into();
            let parts = [("semantic", good), ("keyword", f64::from(n * 31 % 97) / 97.0)];
            let parts = parts.into_iter().chain([("phase", 1.0 - 2.0 * good), ("intent", 0.2)]);
            // Most prompts match no pattern.
            let parts = parts.filter(|(name, _)| *name != "intent" || n.is_multiple_of(5));
            run.choice.parts = parts.map(|(name, value)| (name.to_owned(), value as f32)).collect();
            run
        };
        (0..runs).map(run).collect()
    }

    /// Returns the weights of all signals, as in a configuration.
    fn configured() -> ScoreWeights {
        let signals = [("phase", 0.1), ("history", 0.1), ("intent", 0.7), ("web", 0.0)];
        ScoreWeights::new(0.5, signals.into_iter().chain([("exclusive", 1.0)]))
    }

    #[test]
    fn each_weight_moves_within_its_bound_towards_what_tells_the_outcome() {
        let update = WeightUpdate::propose(&log(400), &configured());
        assert_eq!(update.unchanged, None, "{update:?}");
        assert!(update.fitted.semantic() > 0.6, "{update:?}");
        assert!((update.new.semantic() - 0.55).abs() < 1e-9, "{update:?}");
        assert!((update.new.get("keyword") - 0.45).abs() < 1e-9, "{update:?}");
        assert!((update.new.get("phase") - 0.075).abs() < 1e-9, "a quarter of itself: {update:?}");
        assert!(update.loss_after < update.loss_before);
        let again = WeightUpdate::propose(&log(400), &update.new);
        assert!(again.new.semantic() > update.new.semantic(), "a second step goes on");
        assert_eq!(WeightUpdate::propose(&log(400), &configured()), update, "the same, bit by bit");
    }

    #[test]
    fn what_nothing_is_said_of_stays() {
        let update = WeightUpdate::propose(&log(400), &configured());
        let moved = |name: &str| (update.new.get(name) - update.old.get(name)).abs();
        assert_eq!((moved("history"), moved("exclusive"), moved("web")), (0.0, 0.0, 0.0));
        assert!(
            moved("intent") <= MOST_STEP + 1e-12 && update.new.get("intent") > 0.6,
            "{update:?}"
        );
        assert_eq!(update.new.iter().count(), update.old.iter().count(), "no weight is lost");
        let off = ScoreWeights::new(0.5, [("phase", 0.0)]);
        assert_eq!(WeightUpdate::propose(&log(400), &off).new.get("phase"), 0.0, "off stays off");
    }

    #[test]
    fn without_evidence_weights_stay() {
        let unchanged = |log: &[Execution]| {
            let update = WeightUpdate::propose(log, &configured());
            assert_eq!(update.new, update.old);
            update.unchanged
        };
        assert_eq!(unchanged(&log(9)), Some(UnchangedReason::TooFew));
        let mut all_good = log(50);
        all_good.iter_mut().for_each(|run| run.success = true);
        assert_eq!(unchanged(&all_good), Some(UnchangedReason::OneOutcome));
        let mut silent = log(400);
        silent.iter_mut().for_each(|run| run.choice.parts.clear());
        assert_eq!(unchanged(&silent), Some(UnchangedReason::TooFew));
        let mut constant = log(400);
        constant.iter_mut().flat_map(|run| run.choice.parts.values_mut()).for_each(|x| *x = 0.5);
        for run in &mut constant {
            run.choice.parts.remove("intent");
        }
        assert_eq!(unchanged(&constant), Some(UnchangedReason::NoGain));
    }

    #[test]
    fn one_session_cannot_turn_the_weights() {
        let honest = log(400);
        let told = WeightUpdate::propose(&honest, &configured());
        let mut log = honest;
        for n in 0..100 {
            let mut lie = Execution::new("t1".into(), format!("lie {n}"), true);
            lie.session = Some("adversary".into());
            lie.choice.parts.extend([("semantic".to_owned(), 0.0), ("keyword".to_owned(), 1.0)]);
            log.push(lie);
        }
        let misled = WeightUpdate::propose(&log, &configured());
        assert!((misled.fitted.semantic() - told.fitted.semantic()).abs() < 0.1, "{misled:?}");
        assert!(misled.new.semantic() > 0.5, "{misled:?}");
    }

    #[test]
    fn weights_lie_within_0_and_1_and_meaning_and_words_sum_to_1() {
        let weights =
            ScoreWeights::new(1.5, [("a", 3.0), ("b", -1.0), ("c", f64::NAN), ("d", 0.4)]);
        let all: Vec<_> = weights.iter().collect();
        let signals = [("a", 1.0), ("b", 0.0), ("c", 0.0), ("d", 0.4)];
        assert_eq!(all[..4], signals);
        assert_eq!((weights.semantic(), weights.get("keyword")), (1.0, 0.0));
        assert_eq!(weights.signals().collect::<Vec<_>>(), signals);
    }
}
