//! What past prompts teach, tool by tool.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::execution::PromptHash;
use super::moves::{Learned, Moved};
use super::sample::Sample;
use super::{Error, calibration, layout};
use crate::catalog::{Tool, ToolId};
use crate::durable::{self, Readers};

/// Which model made the prompts' vectors: those of another cannot be compared with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageModel {
    /// For people.
    pub name: String,
    /// Of everything that shapes a vector.
    pub fingerprint: String,
    /// Numbers per vector.
    pub dimension: usize,
}

/// One of these is 1.0. Sums are whole numbers, so that no order of adding changes a bit of them;
/// 2^31 prompts fit.
pub(super) const ONE: f64 = (1u64 << 32) as f64;

/// A unit vector may be off by what rounding leaves.
const UNIT_TOLERANCE: f64 = 1e-3;

/// The sum of the vectors of the prompts that a tool has served.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct History {
    pub prompts: u64,
    /// In parts of [`ONE`].
    pub sum: Vec<i64>,
}

impl History {
    /// The mean of the prompts' vectors: the shorter, the more they differ.
    pub fn mean(&self) -> Vec<f32> {
        let scale = 1.0 / (ONE * self.prompts as f64);
        self.sum.iter().map(|&sum| (sum as f64 * scale) as f32).collect()
    }

    pub fn add(&mut self, prompt: &[f32]) {
        self.prompts += 1;
        self.sum.iter_mut().zip(prompt).for_each(|(sum, &x)| *sum += parts(x));
    }

    /// This without a prompt that was learned so many times; `None` where it has no other.
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

/// What was learned from past prompts. The order in which they came makes no difference.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageVectors {
    pub(super) model: UsageModel,
    pub(super) tools: BTreeMap<ToolId, History>,
    pub(super) sample: Sample,
    /// How far history is followed, 0 to 1.
    pub(super) strength: f32,
    /// What learned tools are set back by, so that those without history keep their place.
    pub(super) handicap: f32,
}

impl UsageVectors {
    pub fn new(model: UsageModel) -> Self {
        let (tools, sample) = (BTreeMap::new(), Sample::default());
        Self { model, tools, sample, strength: 1.0, handicap: 0.0 }
    }

    pub fn model(&self) -> &UsageModel {
        &self.model
    }

    /// The tools that have history, by id, with the number of prompts that each has served.
    pub fn tools(&self) -> impl Iterator<Item = (&ToolId, u64)> {
        self.tools.iter().map(|(id, history)| (id, history.prompts))
    }

    /// Number of tools that have history.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// How far history is followed, 0 to 1: less than 1 where prompts that were held out of it are
    /// clearly ranked better so; [`UsageVectors::calibrate`] finds it.
    pub fn strength(&self) -> f32 {
        self.strength
    }

    /// What learned tools are set back by; [`UsageVectors::calibrate`] finds it.
    pub fn handicap(&self) -> f32 {
        self.handicap
    }

    /// Whether `model` may use what was learned.
    ///
    /// # Errors
    /// [`Error::OtherModel`] where it may not.
    pub fn matches(&self, model: &UsageModel) -> Result<(), Error> {
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

    /// Adds a prompt that these tools have served; one named twice counts once.
    ///
    /// # Errors
    /// [`Error::NotUnit`] where the vector is not one of the model's.
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
        if !tools.is_empty() {
            self.sample.add(prompt, vector, &tools);
        }
        Ok(())
    }

    /// Takes back all that was learned of a tool; whether there was anything.
    pub fn forget(&mut self, id: &ToolId) -> bool {
        self.sample.forget(id);
        self.tools.remove(id).is_some()
    }

    /// Where the tools of a catalog that have history move to, by row. `own` gives the vector that
    /// a row's tool has without it.
    pub fn moves<'v>(&self, tools: &[Arc<Tool>], own: impl Fn(u32) -> &'v [f32]) -> Vec<Moved> {
        Learned::new(self, tools, &own).moves(own, self.strength)
    }

    /// Finds how far history is to be followed in this catalog, and by how much learned tools are to
    /// be set back. To be called after learning and forgetting.
    pub fn calibrate<'v>(&mut self, tools: &[Arc<Tool>], own: impl Fn(u32) -> &'v [f32] + Sync) {
        (self.strength, self.handicap) = calibration::fit(self, tools, own);
    }

    /// Tells what was learned apart: SHA-256 over all of it, in hex.
    pub fn fingerprint(&self) -> String {
        let bytes = layout::encode(self);
        let seal = &bytes[bytes.len() - durable::HASH..];
        durable::hex(seal)
    }

    /// Writes the file, whole or not at all, readable by its owner only.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let written = durable::replace(path, Readers::Owner, &layout::encode(self));
        written.map_err(|source| Error::Io { path: path.to_owned(), source })
    }

    /// Reads and verifies a file.
    ///
    /// # Errors
    /// Where there is none, it cannot be read, or is not what was written.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => Error::Missing { path: path.to_owned() },
            _ => Error::Io { path: path.to_owned(), source },
        })?;
        layout::decode(&bytes, path)
    }
}
