//! Blends two scorers that do not share a scale.

use serde::{Deserialize, Serialize};

use super::retriever::Score;

/// How the scores of a part are brought to a common scale, over the candidates of one prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Normalization {
    /// The lowest to 0, the highest to 1.
    #[default]
    MinMax,
    /// The mean to 0, one standard deviation to 1.
    ZScore,
}

/// How the two parts become one score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum Fusion {
    /// `semantic_weight · semantic + (1 − semantic_weight) · keyword`, both normalised.
    Weighted { semantic_weight: f32, normalization: Normalization },
    /// `1 / (k + rank)` in each part, summed; a part that did not find a row adds nothing.
    Rrf { k: f32 },
}

impl Default for Fusion {
    fn default() -> Self {
        Self::Weighted {
            semantic_weight: Self::SEMANTIC_WEIGHT,
            normalization: Normalization::MinMax,
        }
    }
}

impl Fusion {
    /// The share of the semantic part in the default blend: the design's own 70/30, as Victor has
    /// it. `toolroute eval` measures any other.
    pub const SEMANTIC_WEIGHT: f32 = 0.7;

    /// The k of reciprocal rank fusion, from Cormack, Clarke and Büttcher (SIGIR 2009).
    pub const RRF_K: f32 = 60.0;

    /// The parts' scores at each position; both slices hold one raw score a candidate.
    pub(super) fn apply(self, semantic: &[f32], keyword: &[f32]) -> Vec<(Score, Score)> {
        let (semantic, keyword) = match self {
            Self::Weighted { semantic_weight: w, normalization } => {
                (weighted(semantic, normalization, w), weighted(keyword, normalization, 1.0 - w))
            }
            Self::Rrf { k } => (
                reciprocal_ranks(semantic, k, f32::NEG_INFINITY),
                reciprocal_ranks(keyword, k, 0.0),
            ),
        };
        semantic.into_iter().zip(keyword).collect()
    }

    /// What an exact name adds: a little more than the highest score that a candidate can reach,
    /// so that not even a perfect one comes level with a named tool that has nothing else.
    pub(super) fn exact_name_bonus(self) -> f32 {
        const MORE: f32 = 1.01;
        MORE * self.ceiling()
    }

    fn ceiling(self) -> f32 {
        match self {
            Self::Weighted { normalization: Normalization::MinMax, .. } => 1.0,
            // No bound in theory; a z-score of 100 needs 10,000 candidates and one outlier.
            Self::Weighted { normalization: Normalization::ZScore, .. } => 100.0,
            Self::Rrf { k } => 2.0 / (k + 1.0),
        }
    }
}

fn weighted(raw: &[f32], normalization: Normalization, weight: f32) -> Vec<Score> {
    let (shift, spread) = match normalization {
        Normalization::MinMax => min_max(raw),
        Normalization::ZScore => z_score(raw),
    };
    let score = |&raw: &f32| {
        let normalized = (raw - shift) / spread;
        Score { raw, normalized, weight }
    };
    raw.iter().map(score).collect()
}

/// Below this spread all candidates are equal for that part, and it should not decide.
const NO_SPREAD: f32 = 1e-6;

fn min_max(raw: &[f32]) -> (f32, f32) {
    let low = raw.iter().copied().fold(f32::INFINITY, f32::min);
    let high = raw.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if high - low < NO_SPREAD {
        // All alike: 1 where the part found them, 0 where it found none.
        return if high > 0.0 { (high - 1.0, 1.0) } else { (low, 1.0) };
    }
    (low, high - low)
}

fn z_score(raw: &[f32]) -> (f32, f32) {
    let count = raw.len().max(1) as f64;
    let mean = raw.iter().map(|&x| f64::from(x)).sum::<f64>() / count;
    let variance = raw.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / count;
    let deviation = variance.sqrt() as f32;
    (mean as f32, if deviation < NO_SPREAD { f32::INFINITY } else { deviation })
}

/// Equal scores share the better rank, so that the order of the catalog does not decide.
fn reciprocal_ranks(raw: &[f32], k: f32, floor: f32) -> Vec<Score> {
    let mut order: Vec<usize> = (0..raw.len()).filter(|&at| raw[at] > floor).collect();
    order.sort_by(|&a, &b| raw[b].total_cmp(&raw[a]));
    let mut scores: Vec<Score> =
        raw.iter().map(|&raw| Score { raw, normalized: 0.0, weight: 1.0 }).collect();
    let mut rank = 0;
    for (position, &at) in order.iter().enumerate() {
        if position == 0 || raw[at] < raw[order[position - 1]] {
            rank = position + 1;
        }
        scores[at].normalized = 1.0 / (k + rank as f32);
    }
    scores
}
