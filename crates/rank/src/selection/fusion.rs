//! Fuses semantic and keyword scores, which have different scales.

use serde::{Deserialize, Serialize};

use super::retriever::{Score, Strategy};

/// How the raw scores of a part are normalised to a common scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Normalization {
    /// The same scale for every prompt: the unmodified cosine, and BM25 divided by
    /// [`Fusion::KEYWORD_SCALE`]. A part with little evidence adds little, so the part with more
    /// evidence decides.
    #[default]
    Absolute,
    /// The lowest score of the prompt's candidates becomes 0, the highest 1.
    MinMax,
    /// The mean score of the prompt's candidates becomes 0, one standard deviation above it 1.
    ZScore,
}

/// How the semantic and the keyword score become one score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum Fusion {
    /// `semantic_weight · semantic + (1 − semantic_weight) · keyword`, both normalised to one
    /// scale.
    Weighted { semantic_weight: f32, normalization: Normalization },
    /// Reciprocal rank fusion: the sum of `1 / (k + rank)` over both parts. A part that did not
    /// find a row adds nothing.
    Rrf { k: f32 },
    /// `0.7 · semantic + 0.3 · keyword`, both min-max normalised, with unmodified BM25. Nothing
    /// else changes the score: no lead of the nearest tool, no bonus, no clauses, no corrections of
    /// the prompt and no signals. There is no confidence.
    Plain,
}

impl Default for Fusion {
    fn default() -> Self {
        Self::Weighted {
            semantic_weight: Self::SEMANTIC_WEIGHT,
            normalization: Normalization::Absolute,
        }
    }
}

impl Fusion {
    /// The default semantic weight: the 70/30 split of the source document. `toolroute eval`
    /// measures other weights.
    pub const SEMANTIC_WEIGHT: f32 = 0.7;

    /// The constant `k` of reciprocal rank fusion, from Cormack, Clarke and Büttcher (SIGIR 2009).
    pub const RRF_K: f32 = 60.0;

    /// The rarity-weighted BM25 score that counts as much as a cosine of 1. It was chosen together
    /// with [`Fusion::RARITY`] and the lead of the nearest tool, on the sets of `docs/quality.md`.
    pub const KEYWORD_SCALE: f32 = 27.0;

    /// The unmodified BM25 score that counts as much as a cosine of 1, in the keyword strategy.
    pub const PLAIN_KEYWORD_SCALE: f32 = 21.0;

    /// The exponent of a word's rarity (its inverse document frequency), by which the fusion
    /// multiplies the word's BM25 score. BM25 alone ranks better without it. Next to the semantic
    /// score, which covers common words, rare words contribute most.
    pub const RARITY: f32 = 0.2;

    /// The lead: the amount that is added to the best cosine. A tool that is by far the nearest is
    /// more likely right than its cosine suggests, and many common words of the prompt must not
    /// outvote it.
    const LEAD: f32 = 0.12;

    /// The distance below the best cosine at which the lead falls to 1/e.
    const NEAR: f32 = 0.15;

    /// The factor on the semantic weight if the encoder cannot read the prompt. It is large enough
    /// to order tools with equal keyword scores.
    const UNREAD: f32 = 0.05 / 0.7;

    /// Whether this is [`Fusion::Plain`], in which only the two parts count.
    pub fn is_plain(self) -> bool {
        self == Self::Plain
    }

    /// Returns the exponent of a word's rarity in this fusion.
    pub fn rarity(self) -> f32 {
        if self.is_plain() { 0.0 } else { Self::RARITY }
    }

    /// Returns the score that corresponds to a cosine of 1 in a strategy. The width of the policy's
    /// band is relative to it.
    pub fn unit(self, strategy: Strategy) -> f32 {
        match (strategy, self) {
            (Strategy::Keyword, _) => Self::PLAIN_KEYWORD_SCALE,
            (Strategy::Hybrid | Strategy::Auto, Self::Rrf { k }) => 2.0 / (k + 1.0),
            _ => 1.0,
        }
    }

    /// Returns this fusion with another semantic weight, if one is given. Only [`Fusion::Weighted`]
    /// has such a weight.
    pub(super) fn sharing(self, semantic_share: Option<f32>) -> Self {
        match (self, semantic_share) {
            (Self::Weighted { normalization, .. }, Some(semantic_weight)) => {
                Self::Weighted { semantic_weight, normalization }
            }
            (own, _) => own,
        }
    }

    /// Returns the weighted semantic and keyword scores of each candidate. Both slices contain one
    /// raw score per candidate. `readable_share` is the share of the prompt that the encoder can
    /// read, 0 to 1; [`Fusion::Plain`] ignores it.
    pub fn apply(
        self,
        semantic: &[f32],
        keyword: &[f32],
        readable_share: f32,
    ) -> Vec<(Score, Score)> {
        let trust = Self::UNREAD + (1.0 - Self::UNREAD) * readable_share.clamp(0.0, 1.0);
        let (semantic, keyword) = match self {
            Self::Plain => {
                let (w, scale) = (Self::SEMANTIC_WEIGHT, Normalization::MinMax);
                (weighted(semantic, scale, 1.0, w), weighted(keyword, scale, 1.0, 1.0 - w))
            }
            Self::Weighted { semantic_weight, normalization } => {
                let w = semantic_weight * trust;
                let semantic = weighted(semantic, normalization, 1.0, w);
                (semantic, weighted(keyword, normalization, Self::KEYWORD_SCALE, 1.0 - w))
            }
            Self::Rrf { k } => (
                reciprocal_ranks(semantic, k, f32::NEG_INFINITY, trust),
                reciprocal_ranks(keyword, k, 0.0, 1.0),
            ),
        };
        semantic.into_iter().zip(keyword).collect()
    }

    /// Adds the lead to the candidates near the best cosine, if scores are
    /// [absolute](Normalization::Absolute). The other normalisations already separate the best
    /// candidates, and ranks have no distance.
    ///
    /// Use it for a prompt with one request, or for one clause: a prompt with several requests has
    /// no single best tool.
    pub fn lift_nearest(self, scores: &mut [(Score, Score)]) {
        if let Self::Weighted { normalization: Normalization::Absolute, .. } = self {
            let best = scores.iter().map(|(semantic, _)| semantic.raw).fold(f32::MIN, f32::max);
            for (semantic, _) in scores {
                semantic.normalized += Self::lead(semantic.raw, best);
            }
        }
    }

    /// The maximum amount by which [`Fusion::least_totals`] may underestimate the total of a row.
    pub(super) const FAR_LEAD: f32 = 0.0025;

    /// Returns the total score of each row without the lead of rows far from the nearest one: a
    /// lower bound that is at most [`Fusion::FAR_LEAD`] too low. `is_lifted` tells whether
    /// [`Fusion::lift_nearest`] applies to the scores. Returns `None` if a row's score depends on
    /// those of the other rows.
    pub(super) fn least_totals(
        self,
        cosines: &[f32],
        keyword: &[f32],
        (readable_share, is_lifted): (f32, bool),
    ) -> Option<Vec<f32>> {
        let Self::Weighted { semantic_weight, normalization: Normalization::Absolute } = self
        else {
            return None;
        };
        let weight = semantic_weight
            * (Self::UNREAD + (1.0 - Self::UNREAD) * readable_share.clamp(0.0, 1.0));
        let best = cosines.iter().copied().fold(f32::MIN, f32::max);
        // At 4 · NEAR below the best cosine, the lead is LEAD / e⁴, which is 0.0022.
        let far = if is_lifted { best - 4.0 * Self::NEAR } else { f32::INFINITY };
        let total = |(&cosine, &keyword): (&f32, &f32)| {
            let lead = if cosine > far { Self::lead(cosine, best) } else { 0.0 };
            weight * (cosine + lead) + (1.0 - weight) * keyword / Self::KEYWORD_SCALE
        };
        Some(cosines.iter().zip(keyword).map(total).collect())
    }

    /// Returns the lead of a cosine if the prompt's best cosine is `best`.
    pub(super) fn lead(cosine: f32, best: f32) -> f32 {
        Self::LEAD * ((cosine - best) / Self::NEAR).exp()
    }
}

fn weighted(raw: &[f32], normalization: Normalization, scale: f32, weight: f32) -> Vec<Score> {
    let (shift, spread) = match normalization {
        Normalization::Absolute => (0.0, scale),
        Normalization::MinMax => min_max(raw),
        Normalization::ZScore => z_score(raw),
    };
    let score = |&raw: &f32| {
        let normalized = (raw - shift) / spread;
        Score { raw, normalized, weight }
    };
    raw.iter().map(score).collect()
}

/// Below this spread, a part considers all candidates equal and does not affect their order.
const NO_SPREAD: f32 = 1e-6;

fn min_max(raw: &[f32]) -> (f32, f32) {
    let low = raw.iter().copied().fold(f32::INFINITY, f32::min);
    let high = raw.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if high - low < NO_SPREAD {
        // All scores are equal: 1 if the part found the candidates, 0 if it did not.
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

/// Returns `1 / (k + rank)` for the scores above `floor`, and 0 for the others. Equal scores share
/// the better rank, so that the order of the catalog has no effect.
fn reciprocal_ranks(raw: &[f32], k: f32, floor: f32, weight: f32) -> Vec<Score> {
    let mut order: Vec<usize> = (0..raw.len()).filter(|&at| raw[at] > floor).collect();
    order.sort_by(|&a, &b| raw[b].total_cmp(&raw[a]));
    let mut scores: Vec<Score> =
        raw.iter().map(|&raw| Score { raw, normalized: 0.0, weight }).collect();
    let mut rank = 0;
    for (position, &at) in order.iter().enumerate() {
        if position == 0 || raw[at] < raw[order[position - 1]] {
            rank = position + 1;
        }
        scores[at].normalized = 1.0 / (k + rank as f32);
    }
    scores
}
