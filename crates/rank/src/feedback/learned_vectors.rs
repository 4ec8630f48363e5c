//! The vector of a tool after learning from past prompts.
//!
//! For a tool with its own vector `d` and `n` past prompts with the mean `m`, the vector becomes
//! `p = (1 − s)·(d + f·g) + s·m`, with the share `s = f·0.9·n/(n + 1)`, the gap `g` (the mean
//! difference between prompts and descriptions over all learned tools) and the strength `f`. A
//! prompt `q` scores `cos(q, p)·reach − handicap`. `calibration.rs` fits strength and handicap, and
//! `docs/benchmarks.md` measures each part.

use std::sync::Arc;

use serde::Serialize;
use toolroute_catalog::Tool;

use super::usage_vectors::{History, UsageVectors};
use crate::index::{Vectors, dot};

/// The maximum share of past prompts in a tool's vector: a tenth of the description always remains.
const MOST_SHARE: f32 = 0.9;

/// The weight, in tools, of the prior that the gap is zero: a few tools say little about all.
const GAP_PRIOR: f32 = 10.0;

/// The mean of different prompts is a short vector, but the cosine ignores its length. The reach is
/// the length to the power of −0.4. Exponents of 0.3 to 0.5 measured best; with 1, tools with one
/// narrow use would lose.
const REACH_EXPONENT: f32 = 0.4;

/// The minimum length: a shorter vector counts as this long, so that the reach is at most 1.74.
const LEAST_LENGTH: f32 = 0.25;

/// What was learned about one tool, for its explanation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RowUsage {
    /// The number of past prompts that the tool served.
    pub prompts: u64,
    /// Their share in the tool's vector, 0 to 0.9.
    pub share: f32,
    /// The distance that the vector moved: 1 minus the cosine between the old and the new one.
    pub moved: f32,
    /// The factor on the cosine: above 1 for a tool with many different uses.
    pub reach: f32,
}

impl RowUsage {
    pub(super) fn score(&self, cosine: f32, handicap: f32) -> f32 {
        cosine * self.reach - handicap
    }
}

/// A tool's new vector.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnedVector {
    pub row: u32,
    /// A unit vector.
    pub vector: Vec<f32>,
    pub usage: RowUsage,
}

/// What was learned about the tools of a catalog, by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsageRows {
    rows: Vec<Option<RowUsage>>,
    handicap: f32,
}

impl UsageRows {
    /// Creates the rows for a catalog of `rows` tools.
    pub fn new(rows: usize, moved: &[LearnedVector], handicap: f32) -> Self {
        let mut all = vec![None; rows];
        for moved in moved {
            all[moved.row as usize] = Some(moved.usage);
        }
        Self { rows: all, handicap }
    }

    /// Returns what was learned about the tool at a row.
    pub fn get(&self, row: u32) -> Option<&RowUsage> {
        self.rows.get(row as usize)?.as_ref()
    }

    pub fn score(&self, row: u32, cosine: f32) -> f32 {
        self.get(row).map_or(cosine, |usage| usage.score(cosine, self.handicap))
    }

    /// Returns the share of past prompts in a row's vector; 0 for a tool without history.
    pub fn share(&self, row: u32) -> f32 {
        self.get(row).map_or(0.0, |usage| usage.share)
    }
}

impl UsageVectors {
    /// Returns the new vectors of the tools with history, by row. `own` has the tools' vectors without
    /// history.
    #[doc(hidden)] // For our own crates.
    pub fn learned_vectors(&self, tools: &[Arc<Tool>], own: &Vectors) -> Vec<LearnedVector> {
        CatalogHistory::new(self, tools, own).moves(self.strength)
    }
}

fn share(prompts: u64) -> f32 {
    let n = prompts as f32;
    MOST_SHARE * n / (n + 1.0)
}

/// The history of a catalog's tools, and the gap between their prompts and their descriptions.
pub(super) struct CatalogHistory<'a> {
    rows: Vec<(u32, &'a History)>,
    gap: Vec<f32>,
    /// The tools' vectors without history.
    own: &'a Vectors,
}

impl<'a> CatalogHistory<'a> {
    pub fn new(usage: &'a UsageVectors, tools: &[Arc<Tool>], own: &'a Vectors) -> Self {
        let rows: Vec<(u32, &History)> = (0u32..)
            .zip(tools)
            .filter_map(|(row, tool)| Some((row, usage.tools.get(&tool.id)?)))
            .collect();
        let mut gap = vec![0.0; usage.model.dimension];
        for (row, history) in &rows {
            for ((gap, mean), own) in gap.iter_mut().zip(history.mean()).zip(own_vector(own, *row))
            {
                *gap += (mean - own) / (rows.len() as f32 + GAP_PRIOR);
            }
        }
        Self { rows, gap, own }
    }

    /// Returns the vector of a row without history.
    pub fn own(&self, row: u32) -> &'a [f32] {
        own_vector(self.own, row)
    }

    /// Returns the tools' new vectors at a strength, 0 to 1; none at 0.
    pub fn moves(&self, strength: f32) -> Vec<LearnedVector> {
        self.rows.iter().filter_map(|(row, history)| self.with(*row, history, strength)).collect()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn history(&self, row: u32) -> Option<&History> {
        let at = self.rows.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        Some(self.rows[at].1)
    }

    /// Returns the new vector of a tool with this history. `None` at strength 0, or if the parts cancel
    /// out so that no direction is left.
    pub fn with(&self, row: u32, history: &History, strength: f32) -> Option<LearnedVector> {
        let share = strength * share(history.prompts);
        let own = self.own(row);
        let blend = own.iter().zip(&self.gap).zip(history.mean());
        let mut vector: Vec<f32> = blend
            .map(|((own, gap), mean)| (1.0 - share) * (own + strength * gap) + share * mean)
            .collect();
        let length = dot(&vector, &vector).sqrt();
        if strength == 0.0 || !(length.is_finite() && length > f32::EPSILON) {
            return None;
        }
        vector.iter_mut().for_each(|x| *x /= length);
        let usage = RowUsage {
            prompts: history.prompts,
            share,
            moved: (1.0 - dot(&vector, own)).clamp(0.0, 2.0),
            reach: libm::powf(length.clamp(LEAST_LENGTH, 1.0), -REACH_EXPONENT),
        };
        Some(LearnedVector { row, vector, usage })
    }
}

fn own_vector(own: &Vectors, row: u32) -> &[f32] {
    own.get(row).expect("every tool has a vector. This is a bug.")
}
