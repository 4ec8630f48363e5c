//! Where the time is spent: percentiles by stage.

use std::time::Duration;

use serde::Serialize;

use toolroute_rank::engine::Timings;

/// Percentiles of a stage, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
}

impl Percentiles {
    /// Returns nearest-rank percentiles; all are 0 if there are no times.
    pub fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |share: f64| {
            let rank = (share * times.len() as f64).ceil() as usize;
            times.get(rank.saturating_sub(1)).map_or(0.0, |time| time.as_secs_f64() * 1e3)
        };
        Self { p50_ms: at(0.5), p95_ms: at(0.95), p99_ms: at(0.99), max_ms: at(1.0) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StageReport {
    pub stage: &'static str,
    #[serde(flatten)]
    pub times: Percentiles,
}

/// Collects the timings of many selections.
#[derive(Default)]
pub struct StageTimer {
    all: Vec<Timings>,
}

impl StageTimer {
    pub fn add(&mut self, timings: Timings) {
        self.all.push(timings);
    }

    /// Returns one row for each stage, in their order, and then one for their sum.
    pub fn report(&self) -> Vec<StageReport> {
        let names = Timings::default().stages().map(|(name, _)| name);
        let stage = |(at, stage): (usize, &'static str)| {
            let times = self.all.iter().map(|timings| timings.stages()[at].1).collect();
            StageReport { stage, times: Percentiles::of(times) }
        };
        let total = Percentiles::of(self.all.iter().map(Timings::total).collect());
        let stages = names.into_iter().enumerate().map(stage);
        stages.chain([StageReport { stage: "total", times: total }]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let times = (1..=100).rev().map(Duration::from_millis).collect();
        let p = Percentiles::of(times);
        assert_eq!((p.p50_ms, p.p95_ms, p.p99_ms, p.max_ms), (50.0, 95.0, 99.0, 100.0));
        assert_eq!(Percentiles::of(vec![Duration::from_millis(3)]).p99_ms, 3.0);
        assert_eq!(Percentiles::of(Vec::new()), Percentiles::default());
    }
}
