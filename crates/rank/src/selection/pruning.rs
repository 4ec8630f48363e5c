//! Drops the rows of a large catalog that cannot change the answer, before their scores are fused.

use std::borrow::Cow;

use super::candidate::Score;
use super::clause_fusion::{COMPARED, Mixture, highest};
use super::fusion::Fusion;
use super::peaks::Peaks;
use super::{fit, wording};

/// The number of rows from which those that score far below the answer are dropped early. Fewer
/// rows are ranked in less than 0.1 ms.
pub const TAIL_FROM: usize = 4_096;

/// The raw scores of both parts for the same rows.
pub(super) struct PartScores<'a> {
    /// Borrowed if a batch of prompts has computed them.
    pub cosines: Cow<'a, [f32]>,
    pub keyword: Vec<f32>,
}

/// The raw scores for the whole prompt, and for each of its clauses.
pub(super) struct RawScores<'a> {
    pub whole: PartScores<'a>,
    pub clauses: Vec<PartScores<'a>>,
}

impl PartScores<'_> {
    /// Returns the weighted scores of both parts. `is_one` is true if they are for one request.
    pub fn fuse(&self, fusion: Fusion, readable_share: f32, is_one: bool) -> Vec<(Score, Score)> {
        let mut fused = fusion.apply(&self.cosines, &self.keyword, readable_share);
        if is_one {
            fusion.lift_nearest(&mut fused);
        }
        fused
    }

    fn only(&self, kept: &[usize]) -> PartScores<'static> {
        let of = |scores: &[f32]| kept.iter().map(|&at| scores[at]).collect::<Vec<_>>();
        PartScores { cosines: of(&self.cosines).into(), keyword: of(&self.keyword) }
    }
}

impl RawScores<'_> {
    /// Returns the scores at the given places.
    pub fn only(&self, kept: &[usize]) -> RawScores<'static> {
        let clauses = self.clauses.iter().map(|clause| clause.only(kept));
        RawScores { whole: self.whole.only(kept), clauses: clauses.collect() }
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

/// The total scores of all rows without their leads.
struct Bounds {
    totals: Vec<f32>,
    /// How much higher a total may be.
    lead: f32,
}

impl Pruning {
    /// Returns the places of the rows that may be in the answer, change the score of another row,
    /// or decide about the verdict. Returns `None` if these may be all rows.
    pub fn kept(&self, raw: &RawScores<'_>) -> Option<Vec<usize>> {
        if raw.clauses.is_empty() { self.for_one(&raw.whole) } else { self.for_several(raw) }
    }

    fn for_one(&self, whole: &PartScores<'_>) -> Option<Vec<usize>> {
        let Bounds { totals, lead } = self.bounds(whole)?;
        let totals = Peaks::of(&totals);
        let mut kept = totals.reaching(self.least(&totals)? - lead - ROUNDING);
        kept.extend(nearest(whole));
        Some(kept)
    }

    /// First finds how the clauses are mixed, which their best rows decide, and then the rows whose
    /// mixed score may be high enough.
    fn for_several(&self, raw: &RawScores<'_>) -> Option<Vec<usize>> {
        let Bounds { totals: whole, .. } = self.bounds(&raw.whole)?;
        let clauses: Option<Vec<Bounds>> =
            raw.clauses.iter().map(|clause| self.bounds(clause)).collect();
        let clauses = clauses?;
        let deciding = deciding(raw, &whole, &clauses);
        let few = raw.only(&deciding);
        let fuse =
            |scores: &PartScores<'_>, is_one| scores.fuse(self.fusion, self.readable_share, is_one);
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
        let mut totals: Vec<f32> = whole.iter().map(|total| (1.0 - share) * total).collect();
        let mut cosines: Vec<f32> =
            raw.whole.cosines.iter().map(|cosine| (1.0 - share) * cosine).collect();
        if share > 0.0 {
            let stretched = clauses.iter().zip(stretch);
            add_best(&mut totals, stretched.map(|(clause, by)| (&clause.totals[..], share * by)));
            add_best(&mut cosines, raw.clauses.iter().map(|clause| (&*clause.cosines, share)));
        }
        let lead = clauses.iter().zip(stretch).map(|(clause, by)| share * by * clause.lead);
        let lead = lead.fold(0.0, f32::max);
        let totals = Peaks::of(&totals);
        let mut kept = totals.reaching(self.least(&totals)? - lead - ROUNDING);
        // The confidence depends on the best mixed cosine.
        let nearest = highest(scores.iter().map(|(semantic, _)| semantic.raw));
        kept.extend(Peaks::of(&cosines).reaching(nearest - ROUNDING));
        kept.extend(deciding);
        Some(kept)
    }

    fn bounds(&self, scores: &PartScores<'_>) -> Option<Bounds> {
        let PartScores { cosines, keyword } = scores;
        let (totals, lead) =
            self.fusion.totals_without_lead(cosines, keyword, self.readable_share)?;
        Some(Bounds { totals, lead })
    }

    /// Returns the score below which a row can neither be in the answer, nor be moved to its first
    /// rank by the prompt's wording, nor do what the prompt asks for. `totals` are lower bounds.
    fn least(&self, totals: &Peaks<'_>) -> Option<f32> {
        let (best, last) = (totals.best(), totals.nth_best(self.limit)?);
        let least = (last - self.band).min(wording::NEIGHBOUR * best).min(best - fit::NEAR);
        (least > 0.0).then_some(least)
    }
}

/// Adds to each sum the highest of the numbers at its place, each multiplied by the factor of its
/// list.
fn add_best<'a>(sums: &mut [f32], lists: impl Iterator<Item = (&'a [f32], f32)>) {
    let mut best = vec![f32::MIN; sums.len()];
    for (numbers, factor) in lists {
        for (best, number) in best.iter_mut().zip(numbers) {
            let number = factor * number;
            *best = if number > *best { number } else { *best };
        }
    }
    sums.iter_mut().zip(best).for_each(|(sum, best)| *sum += best);
}

/// Returns the places of the rows that decide how clauses are mixed: the best and the nearest ones
/// of the whole prompt and of each clause.
fn deciding(raw: &RawScores<'_>, whole: &[f32], clauses: &[Bounds]) -> Vec<usize> {
    let best = |totals: &[f32], rank: usize, lead: f32| {
        let totals = Peaks::of(totals);
        let least = totals.nth_best(rank).unwrap_or(f32::MIN);
        totals.reaching(least - lead - ROUNDING)
    };
    // The whole prompt has no lead.
    let mut places = best(whole, 1, 0.0);
    places.extend(clauses.iter().flat_map(|clause| best(&clause.totals, COMPARED, clause.lead)));
    places.extend(raw.clauses.iter().chain([&raw.whole]).flat_map(nearest));
    places.sort_unstable();
    places.dedup();
    places
}

/// Returns the places of the rows with the best cosine.
fn nearest(scores: &PartScores<'_>) -> Vec<usize> {
    let cosines = Peaks::of(&scores.cosines);
    cosines.reaching(cosines.best())
}
