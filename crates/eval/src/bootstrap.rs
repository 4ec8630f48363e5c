//! Confidence intervals of means by the percentile bootstrap (Efron 1979), the same in each run.
//!
//! Values that belong to one prompt are drawn together, so that a difference between two columns is
//! a paired one: a prompt that is hard for one column is hard for both.

use serde::Serialize;

/// The number of resamples for an interval. Each end of a 95 % interval is then based on 25 values.
pub const RESAMPLES: usize = 1_000;

/// The share of the resamples below an interval, and the share above it.
const TAIL: f64 = 0.025;

/// A mean with its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Interval {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// `drawn` contains the mean in each resample.
    fn new(mean: f64, mut drawn: Vec<f64>) -> Self {
        drawn.sort_unstable_by(f64::total_cmp);
        let tail = (drawn.len() as f64 * TAIL) as usize;
        let at = |at: usize| drawn.get(at).copied().unwrap_or(mean);
        Self { mean, low: at(tail), high: at(drawn.len().saturating_sub(tail + 1)) }
    }

    /// Returns half of its width, for display as `±`.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// Means of `N` columns: as observed, and in each resample.
#[derive(Clone, Debug)]
pub struct Resampled<const N: usize> {
    pub(super) observed: [f64; N],
    drawn: Vec<[f64; N]>,
}

impl<const N: usize> Resampled<N> {
    /// Draws the rows with replacement. `seed` is the name of the rows: the intervals of a set must
    /// not depend on which other sets are measured in the same run.
    pub fn of_rows(rows: &[[f64; N]], seed: &str) -> Self {
        let mut random = SplitMix64::new(seed);
        let drawn = (0..RESAMPLES)
            .map(|_| mean((0..rows.len()).map(|_| &rows[random.below(rows.len())])))
            .collect();
        Self { observed: mean(rows.iter()), drawn }
    }

    /// Creates the value from numbers that are not means of rows.
    pub(super) fn new(observed: [f64; N], drawn: Vec<[f64; N]>) -> Self {
        Self { observed, drawn }
    }

    /// Returns the mean over sets, with the same weight for each. Each set is resampled by itself.
    pub fn mean_of(sets: &[&Self]) -> Self {
        let drawn = (0..RESAMPLES).map(|at| mean(sets.iter().map(|set| &set.drawn[at])));
        Self { observed: mean(sets.iter().map(|set| &set.observed)), drawn: drawn.collect() }
    }

    /// Returns the interval of a column, or of a difference between two.
    pub fn interval(&self, value: impl Fn(&[f64; N]) -> f64) -> Interval {
        Interval::new(value(&self.observed), self.drawn.iter().map(&value).collect())
    }
}

fn mean<'a, const N: usize>(rows: impl Iterator<Item = &'a [f64; N]>) -> [f64; N] {
    let (mut sums, mut count) = ([0.0; N], 0usize);
    for row in rows {
        count += 1;
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += value;
        }
    }
    sums.map(|sum| sum / count.max(1) as f64)
}

/// SplitMix64 (Steele, Lea and Flood 2014). Its ten lines are part of this crate, so that no update
/// of a dependency can change the results.
pub(super) struct SplitMix64(u64);

impl SplitMix64 {
    /// Seeds the generator with the FNV-1a hash of a name.
    pub(super) fn new(seed: &str) -> Self {
        let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Self(seed.bytes().fold(0xcbf2_9ce4_8422_2325, step))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`. The bias of the multiplication method (Lemire 2019) is below
    /// 2⁻⁴⁰ for the rows of a file.
    pub(super) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hits and misses as a measure returns them, and a second column that is always 0.1 better.
    fn rows(count: usize) -> Vec<[f64; 2]> {
        let mut random = SplitMix64::new("rows");
        let value = |hit: usize| if hit < 7 { 0.9 } else { 0.0 };
        (0..count).map(|_| value(random.below(10))).map(|value| [value, value + 0.1]).collect()
    }

    fn first(values: &[f64; 2]) -> f64 {
        values[0]
    }

    #[test]
    fn the_generator_is_that_of_the_paper() {
        // The first numbers after seed 1234567, from the authors' C program.
        let mut random = SplitMix64(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
        assert!((0..1_000).all(|_| random.below(3) < 3));
    }

    #[test]
    fn an_interval_is_the_same_on_each_run_and_hangs_on_its_name() {
        let interval = |seed| Resampled::of_rows(&rows(200), seed).interval(first);
        assert_eq!(interval("a"), interval("a"));
        assert_ne!(interval("a"), interval("b"));
    }

    #[test]
    fn an_interval_holds_its_mean_and_narrows_with_more_rows() {
        let mut last = f64::INFINITY;
        for count in [20, 200, 2_000] {
            let interval = Resampled::of_rows(&rows(count), "a").interval(first);
            assert!(interval.low <= interval.mean && interval.mean <= interval.high);
            assert!(interval.half_width() < last / 2.0, "{count}: {interval:?}");
            last = interval.half_width();
        }
        // 1.96 standard errors of 0.9 times a Bernoulli variable of about 0.7.
        let wanted = 1.96 * 0.9 * (0.21f64 / 2_000.0).sqrt();
        assert!((last / wanted - 1.0).abs() < 0.15, "{last} beside {wanted}");
    }

    #[test]
    fn a_difference_is_paired() {
        let resampled = Resampled::of_rows(&rows(50), "a");
        let difference = resampled.interval(|values| values[1] - values[0]);
        assert!(resampled.interval(first).half_width() > 0.05);
        assert!(difference.half_width() < 1e-9, "{difference:?}");
        assert!((difference.mean - 0.1).abs() < 1e-9);
    }

    #[test]
    fn sets_count_the_same_in_a_mean_whatever_their_size() {
        let (small, large) = (vec![[1.0]; 3], vec![[0.0]; 300]);
        let sets = [Resampled::of_rows(&small, "a"), Resampled::of_rows(&large, "b")];
        let mean = Resampled::mean_of(&[&sets[0], &sets[1]]).interval(|values| values[0]);
        assert_eq!(mean, Interval { mean: 0.5, low: 0.5, high: 0.5 });
        let none = Resampled::<1>::of_rows(&[], "a").interval(|values| values[0]);
        assert_eq!(none, Interval::default());
    }
}
