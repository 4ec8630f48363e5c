//! The statistics of a tool's runs: success, latency, and their certainty.

use std::collections::BTreeMap;

use serde::Serialize;
use toolroute_catalog::{LatencyTier, Reliability, Tool, ToolId};

use super::Execution;
use super::credibility::{self, PER_SESSION_AND_DAY, day};

/// The half-width of a 95 % interval, in standard deviations.
const Z: f64 = 1.96;

/// The weight, in runs, of the prior `EXPECTED_SUCCESS`.
pub const PRIOR_RUNS: f64 = 10.0;

/// The expected success rate of an unknown tool. Tools mostly work: with a lower value, a tool
/// would rise merely because it is used.
pub const EXPECTED_SUCCESS: f64 = 0.8;

/// The minimum weight of runs that changes a declared reliability tier. One session counts at most
/// [`PER_SESSION_AND_DAY`] a day, so a change takes two days or two sessions.
const ENOUGH_RUNS: f64 = 10.0;

/// The minimum lower bounds on the success rate for high (`HIGH`) and medium (`MEDIUM`)
/// reliability.
const HIGH: f32 = 0.85;
const MEDIUM: f32 = 0.5;

/// The minimum number of measured runs that changes a declared latency.
const ENOUGH_TIMED: u64 = 3;

/// A measured latency is clamped to within this factor of the declared one.
const LATENCY_FACTOR: f64 = 4.0;

/// The weight of the newest value in a running mean.
const LATENCY_SHARE: f64 = 0.2;

/// The maximum of a single value, as a multiple of the running mean, so that one hang does not
/// dominate.
const LATENCY_JUMP: f64 = 10.0;

/// The statistics of one tool's runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RunStats {
    /// The number of runs.
    pub runs: u64,
    /// The number of runs that succeeded.
    pub successes: u64,
    /// The weight of the runs by credibility and age, from which `good` and `lower_bound` are
    /// computed.
    pub weight: f64,
    /// The part of `weight` that succeeded.
    pub good: f64,
    /// The lower end of Wilson's 95 % interval for the success rate.
    pub lower_bound: f32,
    /// The running mean of the duration of successful runs, in milliseconds.
    pub latency_ms: Option<f64>,
    /// The number of runs in `latency_ms`.
    pub timed: u64,
    /// The running mean of the length of the tool's results, in characters, over calls that
    /// toolroute made.
    pub chars: Option<f64>,
    /// The time of the latest run, in milliseconds since 1970.
    pub last: i64,
}

impl RunStats {
    /// Creates statistics from counts of another system, with full weight.
    pub fn from_counts(successes: u64, runs: u64, latency_ms: Option<f64>) -> Self {
        let successes = successes.min(runs);
        let (good, weight) = (successes as f64, runs as f64);
        Self {
            runs,
            successes,
            weight,
            good,
            lower_bound: wilson_lower(good, weight),
            latency_ms,
            timed: if latency_ms.is_some() { runs } else { 0 },
            ..Self::default()
        }
    }

    /// Returns the effective reliability: the declared tier, changed by at most one tier, and only
    /// from a weight of ten runs on. So one failure does not degrade a tool, and no series of
    /// successes turns a declared low into a high.
    pub fn reliability(observed: Option<&Self>, declared: Option<Reliability>) -> Reliability {
        let declared = declared.unwrap_or(Reliability::Medium);
        let enough = observed.filter(|observed| observed.weight >= ENOUGH_RUNS);
        let Some(observed) = enough else { return declared };
        let found = match observed.lower_bound {
            bound if bound >= HIGH => Reliability::High,
            bound if bound >= MEDIUM => Reliability::Medium,
            _ => Reliability::Low,
        };
        match declared {
            Reliability::High => found.max(Reliability::Medium),
            Reliability::Medium => found,
            Reliability::Low => found.min(Reliability::Medium),
        }
    }

    /// Returns the effective latency in milliseconds: from three measured runs on, the measured
    /// one, within a factor of four of the declared one; otherwise the declared one. Returns `None`
    /// if there is neither.
    pub fn latency_ms(observed: Option<&Self>, tool: &Tool) -> Option<f64> {
        let declared = tool.latency_ms.map(|ms| ms as f64);
        let declared = declared.or_else(|| Some(tool.declared_latency_tier?.floor_ms() as f64));
        Self::near_declared(observed, declared)
    }

    /// Like [`RunStats::latency_ms`], for the declared latency in milliseconds.
    pub(crate) fn near_declared(observed: Option<&Self>, declared: Option<f64>) -> Option<f64> {
        let enough = observed.filter(|observed| observed.timed >= ENOUGH_TIMED);
        match (enough.and_then(|observed| observed.latency_ms), declared) {
            (Some(measured), Some(declared)) => {
                let declared = declared.max(1.0);
                Some(measured.clamp(declared / LATENCY_FACTOR, declared * LATENCY_FACTOR))
            }
            (measured, declared) => measured.or(declared),
        }
    }

    /// Returns the tier of the measured latency, or `None` with fewer than three measured runs.
    pub fn latency_tier(&self) -> Option<LatencyTier> {
        let measured = self.latency_ms.filter(|_| self.timed >= ENOUGH_TIMED)?;
        Some(LatencyTier::from_ms(measured.max(0.0) as u64))
    }

    /// Returns the expected success rate: that of the observed runs and of `PRIOR_RUNS` runs at
    /// `EXPECTED_SUCCESS`.
    pub fn rate(&self) -> f64 {
        (self.good + PRIOR_RUNS * EXPECTED_SUCCESS) / (self.weight + PRIOR_RUNS)
    }

    /// Returns the upper end of Wilson's 95 % interval for the success rate.
    pub fn upper_bound(&self) -> f32 {
        1.0 - wilson_lower(self.weight - self.good, self.weight)
    }
}

/// Returns the lower end of Wilson's 95 % interval for a success rate; 0 without runs. The numbers
/// need not be whole. Source: E. B. Wilson, "Probable inference, the law of succession, and
/// statistical inference", JASA 22 (1927).
pub fn wilson_lower(successes: f64, runs: f64) -> f32 {
    if runs <= 0.0 {
        return 0.0;
    }
    let share = (successes / runs).clamp(0.0, 1.0);
    let spread = Z * (share * (1.0 - share) / runs + Z * Z / (4.0 * runs * runs)).sqrt();
    let bound = (share + Z * Z / (2.0 * runs) - spread) / (1.0 + Z * Z / runs);
    bound.clamp(0.0, 1.0) as f32
}

/// Converts a success rate to a history value, 0 to 1: 0.5 for the expected rate, more above it and
/// less below.
pub fn history(rate: f64) -> f32 {
    (0.5 + (rate - EXPECTED_SUCCESS) / 2.0) as f32
}

/// Returns the statistics of each tool in a log, which must be in order of time.
pub(super) fn rates(log: &[Execution]) -> BTreeMap<ToolId, RunStats> {
    let weights = credibility::weights(log);
    let mut tools: BTreeMap<ToolId, RunStats> = BTreeMap::new();
    let mut timed = MeasuredRuns::default();
    for (execution, weight) in log.iter().zip(weights) {
        let seen = tools.entry(execution.tool.clone()).or_default();
        seen.runs += 1;
        seen.successes += u64::from(execution.success);
        seen.weight += weight;
        seen.good += if execution.success { weight } else { 0.0 };
        seen.last = seen.last.max(execution.at.unwrap_or_default());
        if execution.success && timed.admits(execution) {
            if let Some(ms) = execution.duration_ms {
                seen.latency_ms = Some(running_mean(seen.latency_ms, ms as f64));
                seen.timed += 1;
            }
            if let Some(chars) = execution.called.as_ref().and_then(|called| called.chars) {
                seen.chars = Some(running_mean(seen.chars, chars as f64));
            }
        }
    }
    for seen in tools.values_mut() {
        seen.lower_bound = wilson_lower(seen.good, seen.weight);
    }
    tools
}

/// Returns a running mean after one more value.
fn running_mean(mean: Option<f64>, newest: f64) -> f64 {
    match mean {
        None => newest,
        Some(mean) => mean + LATENCY_SHARE * (newest.min(mean.max(1.0) * LATENCY_JUMP) - mean),
    }
}

/// Counts the measured runs of each tool, session and day. Only the first [`PER_SESSION_AND_DAY`]
/// count.
#[derive(Default)]
struct MeasuredRuns(BTreeMap<(ToolId, Option<String>), (i64, u32)>);

impl MeasuredRuns {
    fn admits(&mut self, execution: &Execution) -> bool {
        let day = day(execution);
        let key = (execution.tool.clone(), execution.session.clone());
        let (of_day, runs) = self.0.entry(key).or_insert((day, 0));
        if *of_day != day {
            (*of_day, *runs) = (day, 0);
        }
        *runs += 1;
        f64::from(*runs) <= PER_SESSION_AND_DAY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(good: f64, weight: f64) -> RunStats {
        RunStats { good, weight, ..RunStats::default() }
    }

    #[test]
    fn wilson_bounds_are_those_of_the_tables() {
        // The values of R's `binom::binom.wilson`.
        for (successes, runs, lower) in
            [(0.0, 1.0, 0.0), (1.0, 1.0, 0.2065), (8.0, 10.0, 0.4901), (98.0, 100.0, 0.9300)]
        {
            let found = wilson_lower(successes, runs);
            assert!((found - lower).abs() < 1e-3, "{successes} of {runs}: {found}");
        }
        assert_eq!(wilson_lower(0.0, 0.0), 0.0);
        assert!((seen(0.0, 10.0).upper_bound() - 0.2775).abs() < 1e-3);
    }

    #[test]
    fn one_failure_buries_no_tool() {
        use Reliability::{High, Low, Medium};
        let failed_once = RunStats::from_counts(0, 1, Some(90_000.0));
        assert!(history(failed_once.rate()) > 0.46);
        assert!((history(seen(0.0, 0.0).rate()) - 0.5).abs() < 1e-6);
        for declared in [Low, Medium, High] {
            assert_eq!(RunStats::reliability(Some(&failed_once), Some(declared)), declared);
        }
        let hopeless = RunStats::from_counts(0, 1_000, Some(90_000.0));
        assert_eq!(RunStats::reliability(Some(&hopeless), Some(High)), Medium);
        assert_eq!(RunStats::reliability(Some(&hopeless), None), Low);
        let flawless = RunStats::from_counts(1_000, 1_000, None);
        assert_eq!(RunStats::reliability(Some(&flawless), Some(Low)), Medium);
    }

    #[test]
    fn a_measured_latency_stays_near_the_declared_one() {
        let mut tool = Tool::new(None, "t", "");
        let latency = |tool: &Tool, ms, runs| {
            RunStats::latency_ms(Some(&RunStats::from_counts(runs, runs, Some(ms))), tool)
        };
        assert_eq!(latency(&tool, 500.0, 3), Some(500.0));
        assert_eq!(latency(&tool, 500.0, 2), None, "too few runs");
        tool.latency_ms = Some(200);
        assert_eq!(latency(&tool, 90_000.0, 1), Some(200.0));
        assert_eq!(latency(&tool, 90_000.0, 50), Some(800.0));
        tool.latency_ms = None;
        tool.declared_latency_tier = Some(LatencyTier::Medium);
        assert_eq!(latency(&tool, 1.0, 50), Some(750.0));
    }

    fn timed(ms: u64, session: usize) -> Execution {
        let session = Some(session.to_string());
        Execution { duration_ms: Some(ms), session, ..Execution::new("t".into(), "p", true) }
    }

    fn latency(log: &[Execution]) -> f64 {
        rates(log)["t"].latency_ms.unwrap()
    }

    #[test]
    fn latency_follows_and_one_hang_is_no_habit() {
        let mut log: Vec<_> = (0..20).map(|n| timed(100, n)).collect();
        assert_eq!(latency(&log), 100.0);
        log.push(timed(3_600_000, 99));
        assert!(latency(&log) < 300.0, "{}", latency(&log));
        log.extend((0..50).map(|n| timed(1_000, n)));
        assert!((900.0..=1_000.0).contains(&latency(&log)), "{}", latency(&log));
        let fast_failure = Execution { success: false, ..timed(1, 7) };
        log.extend(vec![fast_failure; 50]);
        assert!(latency(&log) > 900.0, "a failure is quick and says nothing");
        log.extend(vec![timed(1, 1_000); 100]);
        assert!(latency(&log) > 250.0, "one source is believed five times: {}", latency(&log));
    }
}
