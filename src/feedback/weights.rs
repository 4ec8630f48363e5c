//! Moves the weights of a selection's signals towards what the outcomes say.
//!
//! The source document correlates each signal with success and leaves the correlation at 0.5. Here
//! it is a fit: logistic regression of the outcome on what each signal said of the tool that ran,
//! regularised towards the weights that hold, without negative weights, and a small step at a time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::evidence;
use super::logistic::{self, Sample};
use super::store::ExecutionStore;
use super::{Execution, StoreError};

/// Executions that a change takes at least; the number is the source document's.
pub const LEAST_EXECUTIONS: usize = 10;

/// The latest executions that are looked at. The source document takes 100; more are steadier.
pub const MOST_EXECUTIONS: usize = 1_000;

/// No weight moves further at once.
pub const MOST_STEP: f64 = 0.05;

/// Log-loss by which new weights must be better, a run: less is chance.
const LEAST_GAIN: f64 = 1e-4;

/// The weight of each signal by name: none negative, together 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SignalWeights(BTreeMap<String, f64>);

impl SignalWeights {
    /// Brought to a sum of 1; what is negative or no number is 0. Where all are, all weigh the same.
    pub fn new(weights: impl IntoIterator<Item = (impl Into<String>, f64)>) -> Self {
        let clean = |weight: f64| if weight.is_finite() { weight.max(0.0) } else { 0.0 };
        let mut weights: BTreeMap<String, f64> =
            weights.into_iter().map(|(name, weight)| (name.into(), clean(weight))).collect();
        let (sum, count) = (weights.values().sum::<f64>(), weights.len() as f64);
        for weight in weights.values_mut() {
            *weight = if sum > 0.0 { *weight / sum } else { 1.0 / count };
        }
        Self(weights)
    }

    /// 0 for a signal that has none.
    pub fn get(&self, signal: &str) -> f64 {
        self.0.get(signal).copied().unwrap_or(0.0)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, weight)| (name.as_str(), *weight))
    }
}

/// Why weights stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unchanged {
    /// Fewer executions say what the signals were than are needed.
    TooFew,
    /// All runs succeeded, or all failed: nothing to tell apart.
    OneOutcome,
    /// The step would not make the outcomes likelier.
    NoGain,
}

/// What the outcomes say of the weights: a dry run, until it is applied.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WeightUpdate {
    pub old: SignalWeights,
    pub new: SignalWeights,
    /// Where the evidence alone would put them; `new` is a step towards it.
    pub fitted: SignalWeights,
    /// Executions that say what the signals were.
    pub executions: usize,
    /// Of the logged outcomes under the old and the new weights, a run: ln 2 is a coin.
    pub loss_before: f64,
    pub loss_after: f64,
    /// `None` where `new` is worth applying.
    pub unchanged: Option<Unchanged>,
}

impl WeightUpdate {
    /// What a log, in order of time, says of the weights that hold now. Signals that are logged and
    /// have no weight may get one. Equal logs give equal updates, bit by bit.
    pub fn propose(log: &[Execution], old: &SignalWeights) -> Self {
        let rows: Vec<&Execution> = log.iter().filter(|run| !run.choice.parts.is_empty()).collect();
        let rows = &rows[rows.len().saturating_sub(MOST_EXECUTIONS)..];
        let logged = rows.iter().flat_map(|run| run.choice.parts.keys());
        let names = logged.map(|name| (name.clone(), old.get(name)));
        let names: BTreeMap<String, f64> =
            names.chain(old.iter().map(|(name, weight)| (name.to_owned(), weight))).collect();
        let old = SignalWeights::new(names);
        let mut update = Self {
            new: old.clone(),
            fitted: old.clone(),
            old,
            executions: rows.len(),
            loss_before: 0.0,
            loss_after: 0.0,
            unchanged: None,
        };
        update.unchanged = update.fit(rows).err();
        update
    }

    fn fit(&mut self, rows: &[&Execution]) -> Result<(), Unchanged> {
        if rows.len() < LEAST_EXECUTIONS {
            return Err(Unchanged::TooFew);
        }
        if rows.iter().all(|run| run.success == rows[0].success) {
            return Err(Unchanged::OneOutcome);
        }
        let samples = samples(rows, &self.old);
        let old: Vec<f64> = self.old.iter().map(|(_, weight)| weight).collect();
        let slope = logistic::slope(&samples, &old);
        self.loss_before = slope.loss;
        self.loss_after = slope.loss;
        let prior: Vec<f64> = old.iter().map(|weight| weight * slope.value).collect();
        let fitted = logistic::fit(&samples, &prior);
        if fitted.iter().sum::<f64>() <= 0.0 {
            return Err(Unchanged::NoGain);
        }
        self.fitted = self.named(&fitted);
        let furthest = self.old.iter().map(|(name, weight)| (self.fitted.get(name) - weight).abs());
        let step = MOST_STEP / furthest.fold(MOST_STEP, f64::max);
        // Between two points whose weights sum to 1 they do everywhere.
        let towards = |(name, old): (&str, f64)| old + step * (self.fitted.get(name) - old);
        let new: Vec<f64> = self.old.iter().map(towards).collect();
        let loss = logistic::slope(&samples, &new).loss;
        if loss > self.loss_before - LEAST_GAIN {
            return Err(Unchanged::NoGain);
        }
        (self.new, self.loss_after) = (self.named(&new), loss);
        Ok(())
    }

    fn named(&self, weights: &[f64]) -> SignalWeights {
        let names = self.old.iter().map(|(name, _)| name.to_owned());
        SignalWeights::new(names.zip(weights.iter().copied()))
    }

    /// Keeps the new weights in the log, beside the old ones. One that is
    /// [unchanged](WeightUpdate::unchanged) changes nothing.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn apply(&self, store: &mut ExecutionStore) -> Result<(), StoreError> {
        if self.unchanged.is_some() {
            return Ok(());
        }
        store.apply_weights(&self.new, (self.executions, self.loss_before, self.loss_after))
    }
}

/// Signals less their mean; one that a row does not say is at the mean, and tells nothing.
fn samples(rows: &[&Execution], signals: &SignalWeights) -> Vec<Sample> {
    let owned: Vec<Execution> = rows.iter().map(|run| (*run).clone()).collect();
    let weights = evidence::weights(&owned);
    let mut samples: Vec<Sample> = rows
        .iter()
        .zip(weights)
        .map(|(run, weight)| Sample { signals: Vec::new(), success: run.success, weight })
        .collect();
    for (name, _) in signals.iter() {
        let said = |run: &Execution| run.choice.parts.get(name).map(|value| f64::from(*value));
        let values: Vec<Option<f64>> = rows.iter().map(|run| said(run)).collect();
        let (sum, count) = values
            .iter()
            .flatten()
            .fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
        let mean = if count > 0.0 { sum / count } else { 0.0 };
        for (sample, value) in samples.iter_mut().zip(values) {
            sample.signals.push(value.map_or(0.0, |value| value - mean));
        }
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Executions of which `good` tells the outcome, with exceptions, and `noise` does not.
    fn log(runs: u32) -> Vec<Execution> {
        let run = |n: u32| {
            let good = f64::from(n % 10) / 10.0;
            let chance = f64::from(n * 7_919 % 100) / 100.0;
            let mut run = Execution::new("t".into(), format!("p{n}"), chance < 0.2 + 0.7 * good);
            run.session = Some(n.to_string());
            // A tool a day would be bounded: many tools.
            run.tool = format!("t{}", n % 50).as_str().into();
            run.choice.parts.insert("good".into(), good as f32);
            run.choice.parts.insert("noise".into(), (n * 31 % 97) as f32 / 97.0);
            run
        };
        (0..runs).map(run).collect()
    }

    fn half() -> SignalWeights {
        SignalWeights::new([("good", 0.5), ("noise", 0.5)])
    }

    #[test]
    fn weights_move_a_bounded_step_towards_what_tells_the_outcome() {
        let update = WeightUpdate::propose(&log(400), &half());
        assert_eq!(update.unchanged, None, "{update:?}");
        assert!(update.fitted.get("good") > 0.7, "{update:?}");
        let step = update.new.get("good") - 0.5;
        assert!((step - MOST_STEP).abs() < 1e-9, "{update:?}");
        assert!(update.loss_after < update.loss_before);
        assert!((update.new.iter().map(|(_, weight)| weight).sum::<f64>() - 1.0).abs() < 1e-12);
        // A second time from where the first led.
        let again = WeightUpdate::propose(&log(400), &update.new);
        assert!(again.new.get("good") > update.new.get("good"));
        assert_eq!(WeightUpdate::propose(&log(400), &half()), update, "the same, bit by bit");
    }

    #[test]
    fn a_signal_without_weight_can_get_one() {
        let update = WeightUpdate::propose(&log(400), &SignalWeights::new([("noise", 1.0)]));
        assert!((update.new.get("good") - MOST_STEP).abs() < 1e-9, "{update:?}");
        assert_eq!(update.old.get("good"), 0.0);
    }

    #[test]
    fn without_evidence_weights_stay() {
        let unchanged = |log: &[Execution]| {
            let update = WeightUpdate::propose(log, &half());
            assert_eq!(update.new, update.old);
            update.unchanged
        };
        assert_eq!(unchanged(&log(9)), Some(Unchanged::TooFew));
        let mut all_good = log(50);
        all_good.iter_mut().for_each(|run| run.success = true);
        assert_eq!(unchanged(&all_good), Some(Unchanged::OneOutcome));
        let mut silent = log(400);
        silent.iter_mut().for_each(|run| run.choice.parts.clear());
        assert_eq!(unchanged(&silent), Some(Unchanged::TooFew));
        let mut constant = log(400);
        constant.iter_mut().flat_map(|run| run.choice.parts.values_mut()).for_each(|x| *x = 0.5);
        assert_eq!(unchanged(&constant), Some(Unchanged::NoGain));
    }

    #[test]
    fn one_session_cannot_turn_the_weights() {
        let honest = log(400);
        let told = WeightUpdate::propose(&honest, &half());
        let mut log = honest;
        for n in 0..100 {
            let mut lie = Execution::new("t1".into(), format!("lie {n}"), true);
            lie.session = Some("adversary".into());
            lie.choice.parts.extend([("good".to_owned(), 0.0), ("noise".to_owned(), 1.0)]);
            log.push(lie);
        }
        let misled = WeightUpdate::propose(&log, &half());
        assert!((misled.fitted.get("good") - told.fitted.get("good")).abs() < 0.1, "{misled:?}");
        assert!(misled.new.get("good") > 0.5, "{misled:?}");
    }

    #[test]
    fn weights_are_brought_to_one_and_never_negative() {
        let weights = SignalWeights::new([("a", 3.0), ("b", -1.0), ("c", f64::NAN), ("d", 1.0)]);
        let all: Vec<_> = weights.iter().collect();
        assert_eq!(all, [("a", 0.75), ("b", 0.0), ("c", 0.0), ("d", 0.25)]);
        assert_eq!(SignalWeights::new([("a", 0.0), ("b", 0.0)]).get("a"), 0.5);
    }
}
