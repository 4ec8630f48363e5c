//! How far history is followed: as far as it helps with prompts that it does not have.
//!
//! Past prompts say more of most tools than descriptions do, and less where a model knows the tools by
//! heart. Each prompt of the sample is held out of the history of its tools and ranked with what is
//! left, once for each strength.

use std::sync::Arc;

use rayon::prelude::*;

use super::moves::{self, Learned, Moved, UsageRows, dot};
use super::usage_vectors::UsageVectors;
use crate::catalog::Tool;

/// What is tried, the usual first.
const STRENGTHS: [f32; 5] = [1.0, 0.75, 0.5, 0.25, 0.0];

/// Another strength than the usual must be better by more than one prompt whose tool comes first instead of
/// not at all, so that a prompt or two decide nothing.
const SURE: f32 = 1.0;

/// The best tools of a ranking count.
const COUNTED: usize = 5;

/// A held-out prompt.
struct HeldOut<'a> {
    vector: &'a [f32],
    /// The tools that served it, ascending.
    rows: Vec<u32>,
    /// Its cosine with each tool as it is without history.
    own: Vec<f32>,
}

/// How far history is to be followed in this catalog, 0 to 1, and what learned tools are set back by.
pub(super) fn fit<'v>(
    usage: &UsageVectors,
    tools: &[Arc<Tool>],
    own: impl Fn(u32) -> &'v [f32] + Sync,
) -> (f32, f32) {
    let learned = Learned::new(usage, tools, &own);
    let held_out: Vec<HeldOut<'_>> = usage
        .sample
        .prompts
        .values()
        .map(|prompt| HeldOut {
            vector: &prompt.vector,
            rows: (0u32..)
                .zip(tools)
                .filter_map(|(row, tool)| prompt.tools.contains(&tool.id).then_some(row))
                .collect(),
            own: (0..tools.len() as u32).map(|row| dot(&prompt.vector, own(row))).collect(),
        })
        .filter(|prompt| !prompt.rows.is_empty())
        .collect();
    let tried = STRENGTHS.map(|strength| {
        let moved = learned.moves(&own, strength);
        let handicap = moves::handicap(&usage.sample, tools, &moved, &own, strength);
        let rows = UsageRows::new(tools.len(), &moved, handicap);
        let gain = |prompt: &HeldOut<'_>| {
            let mut scores = prompt.own.clone();
            for Moved { row, vector, .. } in &moved {
                scores[*row as usize] = rows.score(*row, dot(prompt.vector, vector));
            }
            for &row in &prompt.rows {
                let left = learned.without(row, prompt.vector, own(row), strength);
                scores[row as usize] = left.map_or(prompt.own[row as usize], |left| {
                    dot(prompt.vector, &left.vector) * left.usage.reach - handicap
                });
            }
            ndcg(&scores, &prompt.rows)
        };
        // Collected first: the order of a sum is part of its result.
        let gains: Vec<f32> = held_out.par_iter().map(gain).collect();
        (strength, handicap, gains.iter().sum::<f32>())
    });
    let [usual, others @ ..] = tried;
    let better = others.into_iter().filter(|(_, _, gain)| *gain > usual.2 + SURE);
    // Of those that are as good the one that follows history further.
    let best = better.rev().max_by(|a, b| a.2.total_cmp(&b.2)).unwrap_or(usual);
    (best.0, best.1)
}

/// How well the scores rank the right rows, 0 to 1.
fn ndcg(scores: &[f32], right: &[u32]) -> f32 {
    let worth = |rank: usize| if rank < COUNTED { 1.0 / (rank as f32 + 2.0).log2() } else { 0.0 };
    let rank = |row: &u32| {
        let score = scores[*row as usize];
        let is_before =
            |(other, found): (u32, &f32)| *found > score || (*found == score && other < *row);
        (0u32..).zip(scores).filter(|&other| is_before(other)).count()
    };
    let found: f32 = right.iter().map(rank).map(worth).sum();
    let ideal: f32 = (0..right.len()).map(worth).sum();
    found / ideal
}
