//! Fuses the scores of two parts, meaning and words, which have different scales.

use serde::{Deserialize, Serialize};

use super::retriever::{Score, Strategy};

/// How the scores of a part are brought to a common scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Normalization {
    /// The same scale for every prompt: the cosine as it is, BM25 over [`Fusion::KEYWORD_SCALE`].
    /// A part counts as much as its evidence, so that the blend follows the better informed part.
    #[default]
    Absolute,
    /// The lowest of the prompt's candidates becomes 0, the highest 1.
    MinMax,
    /// The mean of the prompt's candidates becomes 0, one standard deviation above it 1.
    ZScore,
}

/// How the two parts become one score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum Fusion {
    /// `semantic_weight · semantic + (1 − semantic_weight) · keyword`, both brought to one scale.
    Weighted { semantic_weight: f32, normalization: Normalization },
    /// `1 / (k + rank)` in each part, summed; a part that did not find a row adds nothing.
    Rrf { k: f32 },
    /// `0.7 · semantic + 0.3 · keyword`, both from 0 (the lowest of the candidates) to 1 (the highest), by
    /// unmodified BM25, and nothing else: no lead, no bonus, no clauses, no corrections of the prompt, no
    /// signals, no confidence.
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
    /// The share of the semantic part in the default blend: the 70/30 of the source document.
    /// `toolroute eval` measures others.
    pub const SEMANTIC_WEIGHT: f32 = 0.7;

    /// The k of reciprocal rank fusion, from Cormack, Clarke and Büttcher (SIGIR 2009).
    pub const RRF_K: f32 = 60.0;

    /// The BM25 score by rarity that counts as much as a cosine of 1. Chosen together with
    /// [`Fusion::RARITY`] and the lead of the nearest on the sets of `docs/quality.md`.
    pub const KEYWORD_SCALE: f32 = 27.0;

    /// The same for unmodified BM25, in the keyword strategy.
    pub const PLAIN_KEYWORD_SCALE: f32 = 21.0;

    /// The exponent of a word's rarity, by which the blend multiplies its BM25. Alone, BM25 ranks better
    /// without it; beside meaning, which covers common words, rare words add the most.
    pub const RARITY: f32 = 0.2;

    /// What is added to the best cosine. A tool that is the nearest by far is more likely right than its
    /// cosine says: many common words of the prompt must not outvote it.
    const LEAD: f32 = 0.12;

    /// How far below the best cosine the lead falls to 1/e.
    const NEAR: f32 = 0.15;

    /// The factor on the semantic weight for a prompt that the encoder cannot read: enough to order tools
    /// with the same words.
    const UNREAD: f32 = 0.05 / 0.7;

    /// Whether this is the plain blend, in which only the two parts count.
    pub fn is_plain(self) -> bool {
        self == Self::Plain
    }

    /// The exponent of a word's rarity in this blend.
    pub fn rarity(self) -> f32 {
        if self.is_plain() { 0.0 } else { Self::RARITY }
    }

    /// The score that corresponds to a cosine of 1 in a strategy. The policy's band is relative to it.
    pub fn unit(self, strategy: Strategy) -> f32 {
        match (strategy, self) {
            (Strategy::Keyword, _) => Self::PLAIN_KEYWORD_SCALE,
            (Strategy::Hybrid | Strategy::Auto, Self::Rrf { k }) => 2.0 / (k + 1.0),
            _ => 1.0,
        }
    }

    /// This blend with another share of meaning; only the weighted blend has one.
    pub(super) fn sharing(self, semantic_share: Option<f32>) -> Self {
        match (self, semantic_share) {
            (Self::Weighted { normalization, .. }, Some(semantic_weight)) => {
                Self::Weighted { semantic_weight, normalization }
            }
            (own, _) => own,
        }
    }

    /// The weighted scores of both parts for each candidate. Both slices hold one raw score per candidate.
    /// `trust` is how much of the prompt the encoder can read, 0 to 1; the plain blend ignores it.
    pub fn apply(self, semantic: &[f32], keyword: &[f32], trust: f32) -> Vec<(Score, Score)> {
        let trust = Self::UNREAD + (1.0 - Self::UNREAD) * trust.clamp(0.0, 1.0);
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

    /// Lifts the candidates near the best cosine, where scores are [absolute](Normalization::Absolute).
    /// Normalised scores set the best far apart already, and ranks have no distance.
    ///
    /// For a prompt with one request, or one clause: with several requests there is no single best tool.
    pub fn lift_nearest(self, scores: &mut [(Score, Score)]) {
        if let Self::Weighted { normalization: Normalization::Absolute, .. } = self {
            let best = scores.iter().map(|(semantic, _)| semantic.raw).fold(f32::MIN, f32::max);
            for (semantic, _) in scores {
                semantic.normalized += Self::lead(semantic.raw, best);
            }
        }
    }

    /// The most that [`Fusion::least_totals`] may be below the total of a row.
    pub(super) const FAR_LEAD: f32 = 0.0025;

    /// The total of each row, without the lead of rows far from the nearest: at most [`Fusion::FAR_LEAD`] less than
    /// it is. `None` where scores depend on those of the other rows.
    pub(super) fn least_totals(
        self,
        cosines: &[f32],
        keyword: &[f32],
        trust: f32,
    ) -> Option<Vec<f32>> {
        let Self::Weighted { semantic_weight, normalization: Normalization::Absolute } = self
        else {
            return None;
        };
        let weight =
            semantic_weight * (Self::UNREAD + (1.0 - Self::UNREAD) * trust.clamp(0.0, 1.0));
        let best = cosines.iter().copied().fold(f32::MIN, f32::max);
        // Four times NEAR below the best the lead is LEAD / e⁴, which is 0.0022.
        let far = best - 4.0 * Self::NEAR;
        let total = |(&cosine, &keyword): (&f32, &f32)| {
            let lead = if cosine > far { Self::lead(cosine, best) } else { 0.0 };
            weight * (cosine + lead) + (1.0 - weight) * keyword / Self::KEYWORD_SCALE
        };
        Some(cosines.iter().zip(keyword).map(total).collect())
    }

    /// What is added to a cosine where the prompt's best is `best`.
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

/// Below this spread all candidates are equal for a part, and it does not decide.
const NO_SPREAD: f32 = 1e-6;

fn min_max(raw: &[f32]) -> (f32, f32) {
    let low = raw.iter().copied().fold(f32::INFINITY, f32::min);
    let high = raw.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if high - low < NO_SPREAD {
        // All equal: 1 where the part found them, 0 where it found none.
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
