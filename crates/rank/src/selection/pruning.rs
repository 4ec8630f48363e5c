//! Drops the rows of a large catalog that cannot change the answer, before their scores are fused.

use super::clause_fusion::{COMPARED, Mixture, highest};
use super::fusion::Fusion;
use super::retriever::Score;

/// The number of rows from which those that score far below the answer are dropped early. Fewer
/// rows are ranked in less than 0.1 ms.
pub const TAIL_FROM: usize = 4_096;

/// The number of first ranks that are completed: a tool in them that requires an id gets a
/// supplier, a tool that provides it. Within these ranks, an answer does not depend on its limit.
pub const COMPLETED_RANKS: usize = 5;

/// The minimum score of a guessed supplier, as a share of the score of the tool that needs it. A
/// tool of the same server that is far from the prompt provides ids of something else. On four
/// tool-retrieval sets, shares of 0.3 to 0.7 change nDCG@5 by at most 0.003, and a lower share
/// finds more of what multi-step prompts need (`docs/routing.md`).
pub const LEAST_SUPPLY: f32 = 0.3;

/// The raw scores of both parts for the same rows.
pub(super) struct PartScores {
    pub cosines: Vec<f32>,
    pub keyword: Vec<f32>,
}

/// The raw scores for the whole prompt, and for each of its clauses.
pub(super) struct RawScores {
    pub whole: PartScores,
    pub clauses: Vec<PartScores>,
}

impl PartScores {
    /// Returns the weighted scores of both parts. `is_one` is true if they are for one request.
    pub fn fuse(&self, fusion: Fusion, readable_share: f32, is_one: bool) -> Vec<(Score, Score)> {
        let mut fused = fusion.apply(&self.cosines, &self.keyword, readable_share);
        if is_one {
            fusion.lift_nearest(&mut fused);
        }
        fused
    }

    fn only(&self, kept: &[usize]) -> Self {
        let of = |scores: &[f32]| kept.iter().map(|&at| scores[at]).collect();
        Self { cosines: of(&self.cosines), keyword: of(&self.keyword) }
    }
}

impl RawScores {
    /// Returns the scores at the given places.
    pub fn only(&self, kept: &[usize]) -> Self {
        let clauses = self.clauses.iter().map(|clause| clause.only(kept));
        Self { whole: self.whole.only(kept), clauses: clauses.collect() }
    }
}

/// What an answer depends on.
pub(super) struct Pruning {
    pub fusion: Fusion,
    /// The share of the prompt that the encoder can read, 0 to 1.
    pub readable_share: f32,
    pub limit: usize,
    /// The width of the policy's band, on the scale of the scores.
    pub band: f32,
}

/// Bounds and scores are added in different orders, so they differ by rounding.
const ROUNDING: f32 = 1e-5;

impl Pruning {
    /// Returns the places of the rows that may be in the answer, provide an id that a tool in the
    /// answer needs, change the score of another row, or decide about the confidence. Returns `None`
    /// if these may be all rows.
    pub fn kept(&self, raw: &RawScores) -> Option<Vec<usize>> {
        if raw.clauses.is_empty() { self.for_one(&raw.whole) } else { self.for_several(raw) }
    }

    fn for_one(&self, whole: &PartScores) -> Option<Vec<usize>> {
        let totals = self.least_totals(whole, true)?;
        let least = self.least(&totals, Fusion::FAR_LEAD)?;
        let nearest = highest(whole.cosines.iter().copied());
        let stays = |at: &usize| totals[*at] >= least || whole.cosines[*at] >= nearest;
        Some((0..totals.len()).filter(stays).collect())
    }

    /// First finds how the clauses are mixed, which their best rows decide, and then the rows whose
    /// mixed score may be high enough.
    fn for_several(&self, raw: &RawScores) -> Option<Vec<usize>> {
        let whole = self.least_totals(&raw.whole, false)?;
        let clauses: Option<Vec<Vec<f32>>> =
            raw.clauses.iter().map(|clause| self.least_totals(clause, true)).collect();
        let clauses = clauses?;
        let deciding = deciding(raw, &whole, &clauses);
        let few = raw.only(&deciding);
        let fuse =
            |scores: &PartScores, is_one| scores.fuse(self.fusion, self.readable_share, is_one);
        let mut scores = fuse(&few.whole, false);
        let few: Vec<_> = few.clauses.iter().map(|clause| fuse(clause, true)).collect();
        let mixture = Mixture::new(&scores, &few, whole.len());
        let (share, stretch) = match &mixture {
            Some(mixture) => {
                mixture.mix(&mut scores, &few);
                (mixture.share, mixture.stretch.as_slice())
            }
            None => (0.0, [].as_slice()),
        };
        let mixed = |at: usize| {
            let clause = clauses.iter().zip(stretch).map(|(totals, stretch)| totals[at] * stretch);
            (1.0 - share) * whole[at] + share * clause.fold(f32::MIN, f32::max)
        };
        let totals: Vec<f32> = (0..whole.len()).map(mixed).collect();
        let most = stretch.iter().copied().fold(1.0, f32::max);
        let least = self.least(&totals, Fusion::FAR_LEAD * most + ROUNDING)?;
        // The confidence depends on the best mixed cosine.
        let nearest = highest(scores.iter().map(|(semantic, _)| semantic.raw));
        let cosine = |at: usize| {
            let clause = highest(raw.clauses.iter().map(|clause| clause.cosines[at]));
            (1.0 - share) * raw.whole.cosines[at] + share * clause
        };
        let stays = |at: &usize| totals[*at] >= least || cosine(*at) >= nearest - ROUNDING;
        let mut kept: Vec<usize> = (0..totals.len()).filter(stays).collect();
        kept.extend(deciding);
        Some(kept)
    }

    fn least_totals(&self, scores: &PartScores, is_lifted: bool) -> Option<Vec<f32>> {
        self.fusion.least_totals(&scores.cosines, &scores.keyword, (self.readable_share, is_lifted))
    }

    /// Returns the score below which a row can neither be in the answer nor supply a tool in it.
    /// `error` is the maximum amount by which a total is too low.
    fn least(&self, totals: &[f32], error: f32) -> Option<f32> {
        let mut sorted = totals.to_vec();
        let [completed, last] =
            [COMPLETED_RANKS, self.limit].map(|rank| nth_best(&mut sorted, rank));
        let least = (LEAST_SUPPLY * completed?).min(last? - self.band) - error;
        (least > 0.0).then_some(least)
    }
}

/// Returns the places of the rows that decide how clauses are mixed: the best and the nearest ones
/// of the whole prompt and of each clause.
fn deciding(raw: &RawScores, whole: &[f32], clauses: &[Vec<f32>]) -> Vec<usize> {
    let best = |totals: &[f32], rank: usize| {
        let least = nth_best(&mut totals.to_vec(), rank).unwrap_or(f32::MIN);
        let least = least - Fusion::FAR_LEAD - ROUNDING;
        (0..totals.len()).filter(move |&at| totals[at] >= least).collect::<Vec<_>>()
    };
    let mut places = best(whole, 1);
    places.extend(clauses.iter().flat_map(|totals| best(totals, COMPARED)));
    for scores in raw.clauses.iter().chain([&raw.whole]) {
        let nearest = highest(scores.cosines.iter().copied());
        places.extend((0..scores.cosines.len()).filter(|&at| scores.cosines[at] >= nearest));
    }
    places.sort_unstable();
    places.dedup();
    places
}

/// Returns the score at a rank, counted from 1, or `None` if there are fewer scores. Reorders the
/// scores.
fn nth_best(scores: &mut [f32], rank: usize) -> Option<f32> {
    if rank == 0 || rank > scores.len() {
        return None;
    }
    let (_, score, _) = scores.select_nth_unstable_by(rank - 1, |a, b| b.total_cmp(a));
    Some(*score)
}
