//! The vector of a tool after learning from past prompts.
//!
//! For a tool with own vector `d` and `n` past prompts of mean `m`, the vector becomes
//! `p = (1 − s)·(d + f·g) + s·m`, with the share `s = f·0.9·n/(n + 1)`, the gap `g` (the mean
//! difference between prompts and descriptions over all learned tools) and the strength `f`. A prompt `q`
//! scores `cos(q, p)·reach − handicap`; `calibration.rs` fits strength and handicap. `docs/benchmarks.md`
//! measures each part.

use std::sync::Arc;

use serde::Serialize;
use toolroute_catalog::Tool;

use super::usage_vectors::{History, UsageVectors};

/// The largest share of past prompts in a tool's vector: a tenth of the description always stays.
const MOST_SHARE: f32 = 0.9;

/// The prior of the gap counts as so many tools without one: a few tools say little about all.
const GAP_PRIOR: f32 = 10.0;

/// The mean of different prompts is short, which the cosine ignores; the reach is the length to the
/// power −0.4. Measured best between 0.3 and 0.5: with 1, tools of one narrow use would lose.
const REACH_EXPONENT: f32 = 0.4;

/// Shorter means count as this long, so that the reach is at most 1.74.
const LEAST_LENGTH: f32 = 0.25;

/// What was learned of one tool, for its explanation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RowUsage {
    /// Past prompts that the tool served.
    pub prompts: u64,
    /// Their share in the tool's vector, 0 to 0.9.
    pub share: f32,
    /// How far the vector moved: 1 − the cosine between the old and the new one.
    pub moved: f32,
    /// The factor on the cosine: above 1 for a tool of many different uses.
    pub reach: f32,
}

impl RowUsage {
    /// The score of the tool, from the cosine with its new vector.
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

/// What was learned, by row of a catalog.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsageRows {
    rows: Vec<Option<RowUsage>>,
    handicap: f32,
}

impl UsageRows {
    /// For a catalog of `rows` tools.
    pub fn new(rows: usize, moved: &[LearnedVector], handicap: f32) -> Self {
        let mut all = vec![None; rows];
        for moved in moved {
            all[moved.row as usize] = Some(moved.usage);
        }
        Self { rows: all, handicap }
    }

    /// What was learned of the tool at a row.
    pub fn get(&self, row: u32) -> Option<&RowUsage> {
        self.rows.get(row as usize)?.as_ref()
    }

    /// The score of a row, from the cosine with its vector.
    pub fn score(&self, row: u32, cosine: f32) -> f32 {
        self.get(row).map_or(cosine, |usage| usage.score(cosine, self.handicap))
    }

    /// The share of past prompts in a row's vector; 0 for a tool without history.
    pub fn share(&self, row: u32) -> f32 {
        self.get(row).map_or(0.0, |usage| usage.share)
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
}

impl<'a> CatalogHistory<'a> {
    pub fn new<'v>(
        usage: &'a UsageVectors,
        tools: &[Arc<Tool>],
        own: impl Fn(u32) -> &'v [f32],
    ) -> Self {
        let rows: Vec<(u32, &History)> = (0u32..)
            .zip(tools)
            .filter_map(|(row, tool)| Some((row, usage.tools.get(&tool.id)?)))
            .collect();
        let mut gap = vec![0.0; usage.model.dimension];
        for (row, history) in &rows {
            for ((gap, mean), own) in gap.iter_mut().zip(history.mean()).zip(own(*row)) {
                *gap += (mean - own) / (rows.len() as f32 + GAP_PRIOR);
            }
        }
        Self { rows, gap }
    }

    /// The tools' new vectors at a strength of 0 to 1; none at 0.
    pub fn moves<'v>(&self, own: impl Fn(u32) -> &'v [f32], strength: f32) -> Vec<LearnedVector> {
        let moved =
            |(row, history): &(u32, &History)| moved(*row, history, own(*row), &self.gap, strength);
        self.rows.iter().filter_map(moved).collect()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn history(&self, row: u32) -> Option<&History> {
        let at = self.rows.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        Some(self.rows[at].1)
    }

    /// The new vector of a tool with another history than the learned one.
    pub fn with(
        &self,
        row: u32,
        history: &History,
        own: &[f32],
        strength: f32,
    ) -> Option<LearnedVector> {
        moved(row, history, own, &self.gap, strength)
    }
}

/// `None` at strength 0, and where the parts cancel out so that no direction is left.
fn moved(
    row: u32,
    history: &History,
    own: &[f32],
    gap: &[f32],
    strength: f32,
) -> Option<LearnedVector> {
    let share = strength * share(history.prompts);
    let blend = own.iter().zip(gap).zip(history.mean());
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
        reach: length.clamp(LEAST_LENGTH, 1.0).powf(-REACH_EXPONENT),
    };
    Some(LearnedVector { row, vector, usage })
}

pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
