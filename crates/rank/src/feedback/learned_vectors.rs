//! How far past prompts move a tool's vector.
//!
//! For a tool with own vector `d` and `n` past prompts of mean `m`, the vector becomes
//! `p = (1 − s)·(d + f·g) + s·m`, with the share `s = f·0.9·n/(n + 1)`, the gap `g`, by which prompts
//! differ from descriptions over all learned tools, and the strength `f` with which history is followed. A
//! prompt `q` scores `cos(q, p)·reach − handicap`; `calibration.rs` finds strength and handicap.
//! `docs/benchmarks.md` has what each part is worth.

use std::sync::Arc;

use serde::Serialize;
use toolroute_catalog::Tool;

use super::usage_vectors::{History, UsageVectors};

/// The share of a tool's prompts in its vector, at most: a tenth of the description stays whatever
/// was learned.
const MOST_SHARE: f32 = 0.9;

/// The gap is as if so many more tools had shown none: a few tools say little of all.
const GAP_PRIOR: f32 = 10.0;

/// A mean of prompts that differ is short, and a cosine takes no notice. To divide by the length
/// once more would punish tools of one narrow use; measured best between 0.3 and 0.5.
const REACH_EXPONENT: f32 = 0.4;

/// The length that counts at least, so that the reach is 1.74 at most.
const LEAST_LENGTH: f32 = 0.25;

/// What was learned of one tool, for its explanation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RowUsage {
    /// Past prompts that the tool has served.
    pub prompts: u64,
    /// Their share in the tool's vector, 0 to 0.9.
    pub share: f32,
    /// How far the vector was moved: 1 − the cosine between what it was and what it is.
    pub moved: f32,
    /// What the cosine is multiplied by: more than 1 for a tool of many different uses.
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
    /// Of length one.
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

/// The tools of a catalog that have history, and what their prompts have in common.
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

    /// Where the tools move to, where history is followed so far, 0 to 1. At 0 none is moved.
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

    /// Where a tool moves to that has a history of its own in the place of the one that was learned.
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

/// None where history is not followed at all, and where the parts cancel out and no direction is left.
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
