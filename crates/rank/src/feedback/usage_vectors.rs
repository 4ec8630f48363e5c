//! Usage vectors: for each tool, the sum of the vectors of the prompts that it served.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use toolroute_catalog::ToolId;
use toolroute_vectors::durable::ModelIdentity;

use super::Error;
use super::execution::PromptHash;

/// The fixed-point value of 1.0. Sums are integers, so that they do not depend on the order of
/// addition. There is room for 2^31 prompts.
pub(super) const ONE: f64 = (1u64 << 32) as f64;

/// The tolerance on the length of a unit vector.
const UNIT_TOLERANCE: f64 = 1e-3;

/// The sum of the vectors of the prompts that a tool has served.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct History {
    pub prompts: u64,
    /// In fixed point, see [`ONE`].
    pub sum: Vec<i64>,
}

impl History {
    /// Returns the mean of the prompts' vectors. The more they differ, the shorter it is.
    pub fn mean(&self) -> Vec<f32> {
        let scale = 1.0 / (ONE * self.prompts as f64);
        self.sum.iter().map(|&sum| (sum as f64 * scale) as f32).collect()
    }

    pub fn add(&mut self, prompt: &[f32]) {
        self.prompts += 1;
        self.sum.iter_mut().zip(prompt).for_each(|(sum, &x)| *sum += parts(x));
    }

    /// Returns the history without a prompt that was learned `times` times, or `None` if it was the
    /// only one.
    pub fn without(&self, prompt: &[f32], times: u64) -> Option<Self> {
        let prompts = self.prompts.checked_sub(times).filter(|&prompts| prompts > 0)?;
        let taken = |x: f32| parts(x).saturating_mul(times as i64);
        let sum = self.sum.iter().zip(prompt).map(|(sum, &x)| sum.saturating_sub(taken(x)));
        let sum = sum.collect();
        Some(Self { prompts, sum })
    }
}

fn parts(number: f32) -> i64 {
    (f64::from(number) * ONE).round() as i64
}

/// The maximum number of prompts in the sample. With it, their mean varies by less than 0.01
/// between samples, ranking them five times takes a second, and they take 400 KB.
const SAMPLE_SIZE: usize = 256;

/// A sample of past prompts for the calibration. It contains the prompts with the lowest hashes,
/// which is as good as a random sample and does not depend on the order in which they came.
pub(super) type PromptSample = BTreeMap<PromptHash, SampledPrompt>;

/// One past prompt and the tools that served it, each with how often this was learned.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SampledPrompt {
    pub vector: Vec<f32>,
    pub tools: BTreeMap<ToolId, u64>,
}

/// The maximum handicap.
pub(super) const MOST_HANDICAP: f32 = 1.0;

/// The best score by meaning that past prompts reach, each held out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServedScores {
    /// The score that 90 % of them reach.
    pub reached: f32,
    /// The number of prompts, at most that of the sample.
    pub prompts: u32,
}

/// What was learned from past prompts, independent of their order.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageVectors {
    pub(super) model: ModelIdentity,
    pub(super) tools: BTreeMap<ToolId, History>,
    pub(super) sample: PromptSample,
    /// See [`UsageVectors::strength`].
    pub(super) strength: f32,
    /// See [`UsageVectors::handicap`].
    pub(super) handicap: f32,
    /// See [`UsageVectors::served`].
    pub(super) served: Option<ServedScores>,
}

impl UsageVectors {
    #[doc(hidden)] // For our own crates.
    pub fn new(model: ModelIdentity) -> Self {
        let (tools, sample) = (BTreeMap::new(), BTreeMap::new());
        Self { model, tools, sample, strength: 1.0, handicap: 0.0, served: None }
    }

    #[doc(hidden)] // For our own crates.
    pub fn model(&self) -> &ModelIdentity {
        &self.model
    }

    /// Returns the tools with history, ordered by id, each with the number of prompts that it
    /// served.
    pub fn tools(&self) -> impl Iterator<Item = (&ToolId, u64)> {
        self.tools.iter().map(|(id, history)| (id, history.prompts))
    }

    /// Returns the number of tools with usage.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether no tool has usage.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns the strength of past prompts in the tools' vectors, 0 to 1. It is below 1 if
    /// held-out prompts then rank clearly better. [`UsageVectors::calibrate`] fits it.
    #[doc(hidden)] // For our own crates.
    pub fn strength(&self) -> f32 {
        self.strength
    }

    /// Returns what is subtracted from the scores of learned tools, so that tools without history
    /// keep their ranks. [`UsageVectors::calibrate`] fits it.
    #[doc(hidden)] // For our own crates.
    pub fn handicap(&self) -> f32 {
        self.handicap
    }

    /// Returns the best scores of past prompts, each held out of the history of its tools.
    /// [`UsageVectors::calibrate`] measures them.
    #[doc(hidden)] // For our own crates.
    pub fn served(&self) -> Option<ServedScores> {
        self.served
    }

    /// Checks that this model made the usage vectors.
    ///
    /// # Errors
    /// [`Error::OtherModel`] if another model made them.
    #[doc(hidden)] // For our own crates.
    pub fn matches(&self, model: &ModelIdentity) -> Result<(), Error> {
        if self.model == *model {
            return Ok(());
        }
        Err(Error::OtherModel {
            found: self.model.name.clone(),
            found_fingerprint: self.model.fingerprint.clone(),
            expected: model.name.clone(),
            expected_fingerprint: model.fingerprint.clone(),
        })
    }

    /// Learns a prompt that these tools served. A tool that occurs twice counts once.
    ///
    /// # Errors
    /// [`Error::NotUnit`] if the vector is not a unit vector of the model's length.
    #[doc(hidden)] // For our own crates.
    pub fn learn(
        &mut self,
        prompt: PromptHash,
        vector: &[f32],
        tools: &[ToolId],
    ) -> Result<(), Error> {
        let length = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
        let (expected, found) = (self.model.dimension, vector.len());
        let near_one = 1.0 - UNIT_TOLERANCE..=1.0 + UNIT_TOLERANCE;
        if found != expected || !near_one.contains(&length) {
            return Err(Error::NotUnit { expected, found, length });
        }
        let tools: BTreeSet<ToolId> = tools.iter().cloned().collect();
        for id in &tools {
            let empty = || History { prompts: 0, sum: vec![0; expected] };
            let history = self.tools.entry(id.clone()).or_insert_with(empty);
            history.add(vector);
        }
        if tools.is_empty() {
            return Ok(());
        }
        let new = || SampledPrompt { vector: vector.to_vec(), tools: BTreeMap::new() };
        let sampled = self.sample.entry(prompt).or_insert_with(new);
        for id in tools {
            *sampled.tools.entry(id).or_default() += 1;
        }
        if self.sample.len() > SAMPLE_SIZE {
            self.sample.pop_last();
        }
        Ok(())
    }

    /// Forgets everything that was learned about a tool. Returns false if there was nothing.
    #[doc(hidden)] // For our own crates.
    pub fn forget(&mut self, id: &ToolId) -> bool {
        // Prompts that only this tool served are removed.
        self.sample
            .retain(|_, prompt| !(prompt.tools.remove(id).is_some() && prompt.tools.is_empty()));
        self.tools.remove(id).is_some()
    }
}
