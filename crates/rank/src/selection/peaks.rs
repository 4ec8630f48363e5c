//! Finds the few highest of many scores without looking at most of them.

/// Scores that share a peak. The peaks of a large catalog's scores fit in the first-level cache.
const STRIDE: usize = 16;

/// The scores of all rows, and the highest one of each sixteen.
pub(super) struct Peaks<'a> {
    scores: &'a [f32],
    peaks: Vec<f32>,
}

impl<'a> Peaks<'a> {
    pub fn of(scores: &'a [f32]) -> Self {
        let (whole, rest) = scores.as_chunks::<STRIDE>();
        let last = (!rest.is_empty()).then(|| rest.iter().copied().fold(f32::MIN, higher));
        Self { scores, peaks: whole.iter().map(peak).chain(last).collect() }
    }

    /// The highest score; the lowest number if there are none.
    pub fn best(&self) -> f32 {
        self.peaks.iter().copied().fold(f32::MIN, higher)
    }

    /// Returns the places of the scores that are at least `least`, ascending.
    pub fn reaching(&self, least: f32) -> Vec<usize> {
        let mut places = Vec::new();
        let strides = self.scores.chunks(STRIDE).zip(&self.peaks).enumerate();
        for (at, (scores, _)) in strides.filter(|(_, (_, peak))| **peak >= least) {
            let high = scores.iter().enumerate().filter(|(_, score)| **score >= least);
            places.extend(high.map(|(offset, _)| at * STRIDE + offset));
        }
        places
    }

    /// Returns the score at a rank, counted from 1, or `None` if there are fewer scores.
    pub fn nth_best(&self, rank: usize) -> Option<f32> {
        // At least as many scores as the rank reach the peak at that rank, so the wanted score
        // does, too.
        let least = select(&mut self.peaks.clone(), rank).unwrap_or(f32::MIN);
        let mut high: Vec<f32> =
            self.reaching(least).into_iter().map(|at| self.scores[at]).collect();
        select(&mut high, rank)
    }
}

/// The same as `f32::max` for numbers, in one instruction.
fn higher(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

/// Lane by lane, so that the compiler uses vector registers.
fn peak(scores: &[f32; STRIDE]) -> f32 {
    let mut lanes = [f32::MIN; 4];
    for four in scores.as_chunks::<4>().0 {
        for lane in 0..4 {
            lanes[lane] = higher(lanes[lane], four[lane]);
        }
    }
    higher(higher(lanes[0], lanes[1]), higher(lanes[2], lanes[3]))
}

/// Returns the score at a rank. Reorders the scores.
fn select(scores: &mut [f32], rank: usize) -> Option<f32> {
    let before = rank.checked_sub(1).filter(|before| *before < scores.len())?;
    Some(*scores.select_nth_unstable_by(before, |a, b| b.total_cmp(a)).1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_finds_what_sorting_finds(
            scores in prop::collection::vec((-9_i8..9).prop_map(f32::from), 0..200),
            rank in 0_usize..40,
        ) {
            let peaks = Peaks::of(&scores);
            let mut sorted = scores.clone();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let expected = rank.checked_sub(1).and_then(|before| sorted.get(before).copied());
            prop_assert_eq!(peaks.nth_best(rank), expected);
            prop_assert_eq!(peaks.best(), sorted.first().copied().unwrap_or(f32::MIN));
            let least = expected.unwrap_or(0.0);
            let places: Vec<usize> = (0..scores.len()).filter(|&at| scores[at] >= least).collect();
            prop_assert_eq!(peaks.reaching(least), places);
        }
    }
}
