//! Fits the strength of usage vectors and the handicap of learned tools to a sample of past
//! prompts.
//!
//! Past prompts describe most tools better than their descriptions do, but worse if the model was
//! trained on the tools. So each prompt is held out of its tools' history and ranked with the rest,
//! once per strength.

use std::sync::Arc;

use rayon::prelude::*;
use toolroute_catalog::Tool;

use super::learned_vectors::{CatalogHistory, LearnedVector};
use super::usage_vectors::{MOST_HANDICAP, SampledPrompt, ServedScores, UsageVectors};
use crate::index::{Vectors, dot};

/// The strengths to try, the usual one first.
const STRENGTHS: [f32; 5] = [1.0, 0.75, 0.5, 0.25, 0.0];

/// The gain in the sum of nDCG over the usual strength that another strength must exceed, so that
/// no single prompt decides.
const SURE: f32 = 1.0;

/// The cut-off rank of nDCG.
const COUNTED: usize = 5;

/// The weight, in prompts, of the prior [`USUAL_HANDICAP`].
const HANDICAP_PRIOR: f32 = 10.0;

/// The prior of the handicap. Measured on two catalogs: 0.17 to 0.34 if each tool has five prompts
/// or more.
const USUAL_HANDICAP: f32 = 0.15;

/// A past prompt of the sample, compared with the tools of a catalog.
struct Probe<'a> {
    vector: &'a [f32],
    /// The rows of the tools that served it, ascending, and how many times.
    served: Vec<(u32, u64)>,
    /// Its cosine with each tool's own vector, by row.
    own: Vec<f32>,
    /// Whether one of its tools has other past prompts as well.
    has_more: bool,
}

/// What is fitted to the sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fitted {
    /// 0 to 1.
    pub strength: f32,
    pub handicap: f32,
    /// `None` without prompts.
    pub served: Option<ServedScores>,
}

impl UsageVectors {
    /// Fits strength and handicap to a catalog, and measures the scores of past prompts. Must be called after learning and forgetting.
    #[doc(hidden)] // For our own crates.
    pub fn calibrate(&mut self, tools: &[Arc<Tool>], own: &Vectors) {
        let fitted = fit(self, tools, own);
        (self.strength, self.handicap, self.served) =
            (fitted.strength, fitted.handicap, fitted.served);
    }
}

/// Fits strength and handicap to the sample, and measures the best scores with them.
fn fit(usage: &UsageVectors, tools: &[Arc<Tool>], own: &Vectors) -> Fitted {
    let learned = CatalogHistory::new(usage, tools, own);
    let probes = probes(usage, tools, &learned);
    let (more, lone): (Vec<&Probe<'_>>, _) =
        probes.iter().filter(|probe| !probe.served.is_empty()).partition(|probe| probe.has_more);
    // A prompt that is the only one of its tools represents prompts for tools without history. Such
    // prompts weigh no more than such tools do; otherwise a history of one prompt per tool could
    // only lose.
    let unlearned = (tools.len() - learned.len()) as f32;
    let most = unlearned * more.len() as f32 / learned.len().max(1) as f32;
    let weight = (most / lone.len().max(1) as f32).min(1.0);
    let tried = STRENGTHS.map(|strength| {
        let moved = learned.moves(strength);
        let handicap = handicap(&probes, &moved, strength);
        let held_out = HeldOut { learned: &learned, moved: &moved, strength, handicap };
        let worth = |probe: &&Probe<'_>| quality(&held_out.scores(probe), &probe.served);
        // Collect first, because the result of a floating-point sum depends on its order.
        let sum = |probes: &[&Probe<'_>]| {
            let worth: Vec<f32> = probes.par_iter().map(worth).collect();
            worth.iter().sum::<f32>()
        };
        (strength, handicap, sum(&more) + weight * sum(&lone))
    });
    let [usual, others @ ..] = tried;
    let better = others.into_iter().filter(|(_, _, worth)| *worth > usual.2 + SURE);
    // Of equally good strengths, the greatest wins.
    let (strength, handicap, _) = better.rev().max_by(|a, b| a.2.total_cmp(&b.2)).unwrap_or(usual);
    let moved = learned.moves(strength);
    let held_out = HeldOut { learned: &learned, moved: &moved, strength, handicap };
    let served: Vec<&Probe<'_>> = more.into_iter().chain(lone).collect();
    let best = |probe: &&Probe<'_>| held_out.scores(probe).into_iter().fold(f32::MIN, f32::max);
    let served = ServedScores::of(served.par_iter().map(best).collect());
    Fitted { strength, handicap, served }
}

impl ServedScores {
    fn of(mut best: Vec<f32>) -> Option<Self> {
        best.sort_unstable_by(f32::total_cmp);
        let reached = *best.get(best.len() / 10)?;
        Some(Self { reached, prompts: best.len() as u32 })
    }
}

/// The vectors learned from all past prompts, for scoring one prompt as if it were new.
struct HeldOut<'a> {
    learned: &'a CatalogHistory<'a>,
    moved: &'a [LearnedVector],
    strength: f32,
    handicap: f32,
}

impl HeldOut<'_> {
    /// Returns the score of each tool by meaning, by row, without the prompt's own part in it.
    fn scores(&self, probe: &Probe<'_>) -> Vec<f32> {
        let score = |moved: &LearnedVector| {
            moved.usage.score(dot(probe.vector, &moved.vector), self.handicap)
        };
        let mut scores = probe.own.clone();
        for moved in self.moved {
            scores[moved.row as usize] = score(moved);
        }
        for &(row, times) in &probe.served {
            let history = self.learned.history(row);
            let left = history.and_then(|history| history.without(probe.vector, times));
            let left = left.and_then(|left| self.learned.with(row, &left, self.strength));
            scores[row as usize] = left.as_ref().map_or(probe.own[row as usize], score);
        }
        scores
    }
}

fn probes<'a>(
    usage: &'a UsageVectors,
    tools: &[Arc<Tool>],
    learned: &CatalogHistory<'_>,
) -> Vec<Probe<'a>> {
    let sampled: Vec<_> = usage.sample.values().collect();
    let probe = |sampled: &&'a SampledPrompt| {
        let served: Vec<(u32, u64)> = (0u32..)
            .zip(tools)
            .filter_map(|(row, tool)| Some((row, *sampled.tools.get(&tool.id)?)))
            .collect();
        let has_more = served.iter().any(|&(row, times)| {
            learned.history(row).is_some_and(|history| history.prompts > times)
        });
        let own =
            (0..tools.len() as u32).map(|row| dot(&sampled.vector, learned.own(row))).collect();
        Probe { vector: &sampled.vector, served, own, has_more }
    };
    sampled.par_iter().map(probe).collect()
}

/// Returns the mean rise, over the sample, of the best score among the learned tools that did *not*
/// serve a prompt. A prompt is nearer to other prompts than to any description. The handicap
/// compensates for this, so that learned tools do not gain on prompts for other tools.
fn handicap(probes: &[Probe<'_>], moved: &[LearnedVector], strength: f32) -> f32 {
    let rise = |probe: &Probe<'_>| {
        let has_served =
            |row: u32| probe.served.binary_search_by_key(&row, |(row, _)| *row).is_ok();
        let others = moved.iter().filter(|moved| !has_served(moved.row));
        let best = others.fold(None, |best: Option<(f32, f32)>, moved| {
            let before = probe.own[moved.row as usize];
            let after = dot(probe.vector, &moved.vector) * moved.usage.reach;
            let (most_before, most_after) = best.unwrap_or((before, after));
            Some((most_before.max(before), most_after.max(after)))
        });
        best.map(|(before, after)| after - before)
    };
    let rises: Vec<Option<f32>> = probes.par_iter().map(rise).collect();
    let (mut sum, mut count) = (HANDICAP_PRIOR * strength * USUAL_HANDICAP, HANDICAP_PRIOR);
    for rise in rises.into_iter().flatten() {
        sum += rise;
        count += 1.0;
    }
    if moved.is_empty() { 0.0 } else { (sum / count).clamp(0.0, MOST_HANDICAP) }
}

/// Returns the normalised discounted cumulative gain of a ranking, 0 to 1 (Järvelin and Kekäläinen
/// 2002), with binary relevance and a log2 discount.
///
/// `ranks` yields the ranks of the relevant results, counted from 0; ranks from `depth` on are
/// ignored. `right` is the number of relevant results, all of which the ideal ranking puts first.
pub fn ndcg(ranks: impl Iterator<Item = usize>, right: usize, depth: usize) -> f64 {
    let discount = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
    // `Iterator::sum` returns -0.0 for an empty iterator, which would be printed as such.
    let sum = |sum: f64, rank: usize| sum + discount(rank);
    let gain = ranks.filter(|rank| *rank < depth).fold(0.0, sum);
    gain / (0..right.min(depth)).fold(0.0, sum)
}

/// Returns how well the scores rank the tools that served a prompt, 0 to 1.
fn quality(scores: &[f32], served: &[(u32, u64)]) -> f32 {
    let rank = |&(row, _): &(u32, u64)| {
        let score = scores[row as usize];
        let is_before =
            |(other, found): (u32, &f32)| *found > score || (*found == score && other < row);
        (0u32..).zip(scores).filter(|&other| is_before(other)).count()
    };
    ndcg(served.iter().map(rank), served.len(), COUNTED) as f32
}
