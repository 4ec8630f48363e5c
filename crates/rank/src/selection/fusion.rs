//! Fuses semantic and keyword scores, which have different scales.

use serde::{Deserialize, Serialize};

use super::candidate::Score;
use super::retriever::Strategy;

/// How the semantic and the keyword score become one score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum Fusion {
    /// `semantic_weight · semantic + (1 − semantic_weight) · keyword`, on the same scale for every
    /// prompt: the unmodified cosine, and BM25 divided by [`Fusion::KEYWORD_SCALE`]. A part with
    /// little evidence adds little, so the part with more evidence decides.
    Weighted { semantic_weight: f32 },
    /// `0.7 · semantic + 0.3 · keyword`, both min-max normalised, with unmodified BM25. Nothing
    /// else changes the score: no lead of the nearest tool, no bonus, no clauses, no corrections of
    /// the prompt and no signals. There is no confidence.
    Plain,
}

impl Default for Fusion {
    fn default() -> Self {
        Self::Weighted { semantic_weight: Self::SEMANTIC_WEIGHT }
    }
}

impl Fusion {
    /// The default semantic weight: the 70/30 split of the source document. `toolroute eval`
    /// measures other weights.
    pub const SEMANTIC_WEIGHT: f32 = 0.7;

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
    #[doc(hidden)] // For our own crates.
    pub fn is_plain(self) -> bool {
        self == Self::Plain
    }

    /// Returns the exponent of a word's rarity in this fusion.
    #[doc(hidden)] // For our own crates.
    pub fn rarity(self) -> f32 {
        if self.is_plain() { 0.0 } else { Self::RARITY }
    }

    /// Returns the score that corresponds to a cosine of 1 in a strategy. The width of the policy's
    /// band is relative to it.
    #[doc(hidden)] // For our own crates.
    pub fn unit(strategy: Strategy) -> f32 {
        match strategy {
            Strategy::Keyword => Self::PLAIN_KEYWORD_SCALE,
            _ => 1.0,
        }
    }

    /// Returns this fusion with another semantic weight, if one is given. Only [`Fusion::Weighted`]
    /// has such a weight.
    pub(super) fn sharing(self, semantic_share: Option<f32>) -> Self {
        match (self, semantic_share) {
            (Self::Weighted { .. }, Some(semantic_weight)) => Self::Weighted { semantic_weight },
            (own, _) => own,
        }
    }

    /// Returns the weighted semantic and keyword scores of each candidate. Both slices contain one
    /// raw score per candidate. `readable_share` is the share of the prompt that the encoder can
    /// read, 0 to 1; [`Fusion::Plain`] ignores it.
    #[doc(hidden)] // For our own crates.
    pub fn apply(
        self,
        semantic: &[f32],
        keyword: &[f32],
        readable_share: f32,
    ) -> Vec<(Score, Score)> {
        let (semantic, keyword) = match self {
            Self::Plain => {
                let w = Self::SEMANTIC_WEIGHT;
                (
                    weighted(semantic, min_max(semantic), w),
                    weighted(keyword, min_max(keyword), 1.0 - w),
                )
            }
            Self::Weighted { semantic_weight } => {
                let w = semantic_weight * Self::trust(readable_share);
                let keyword = weighted(keyword, (0.0, Self::KEYWORD_SCALE), 1.0 - w);
                (weighted(semantic, (0.0, 1.0), w), keyword)
            }
        };
        semantic.into_iter().zip(keyword).collect()
    }

    /// Adds the lead to the candidates near the best cosine. [`Fusion::Plain`] has none.
    ///
    /// Use it for a prompt with one request, or for one clause: a prompt with several requests has
    /// no single best tool.
    #[doc(hidden)] // For our own crates.
    pub fn lift_nearest(self, scores: &mut [(Score, Score)]) {
        if let Self::Weighted { .. } = self {
            let best = scores.iter().map(|(semantic, _)| semantic.raw).fold(f32::MIN, f32::max);
            for (semantic, _) in scores {
                semantic.normalized += Self::lead(semantic.raw, best);
            }
        }
    }

    /// The share of its weight that the semantic score keeps.
    fn trust(readable_share: f32) -> f32 {
        Self::UNREAD + (1.0 - Self::UNREAD) * readable_share.clamp(0.0, 1.0)
    }

    /// Returns the total score of each row without its lead: a lower bound, which rounding makes a
    /// little higher or lower, and the most that a lead adds to it. Returns `None` if a row's score
    /// depends on those of the other rows.
    ///
    /// The lead takes an exponential, so it is computed only for the rows that pass this bound.
    pub(super) fn totals_without_lead(
        self,
        cosines: &[f32],
        keyword: &[f32],
        readable_share: f32,
    ) -> Option<(Vec<f32>, f32)> {
        let Self::Weighted { semantic_weight } = self else { return None };
        let by_meaning = semantic_weight * Self::trust(readable_share);
        let by_words = (1.0 - by_meaning) / Self::KEYWORD_SCALE;
        let total = |(cosine, keyword): (&f32, &f32)| by_meaning * cosine + by_words * keyword;
        Some((cosines.iter().zip(keyword).map(total).collect(), by_meaning * Self::LEAD))
    }

    /// Returns the lead of a cosine if the prompt's best cosine is `best`.
    pub(super) fn lead(cosine: f32, best: f32) -> f32 {
        Self::LEAD * libm::expf((cosine - best) / Self::NEAR)
    }
}

/// Subtracts the shift of a scale from each score and divides by its spread.
fn weighted(raw: &[f32], (shift, spread): (f32, f32), weight: f32) -> Vec<Score> {
    let score = |&raw: &f32| Score { raw, normalized: (raw - shift) / spread, weight };
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
