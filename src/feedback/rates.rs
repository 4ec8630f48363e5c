//! How often a tool did what was asked, how long it took, and how sure that is.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Execution;
use super::evidence::{self, PER_SESSION_AND_DAY, day};
use crate::catalog::{Reliability, ToolId};

/// Deviations of a normal distribution that a bound of 95 % lies off.
const Z: f64 = 1.96;

/// Runs that what is expected of a tool counts as: after as many observed ones, both count the same.
pub const PRIOR_RUNS: f64 = 10.0;

/// The share of runs of a tool that are expected to succeed before any was seen. Tools mostly work:
/// with less, a tool would rise merely for being used.
pub const EXPECTED_SUCCESS: f64 = 0.8;

/// No tool's reliability falls below, so that it can come back.
pub const LEAST_RELIABILITY: f32 = 0.1;

/// Share of the newest latency in the running mean.
const LATENCY_SHARE: f64 = 0.2;

/// Latencies beyond so many times the mean so far count as that: one hang is no habit.
const LATENCY_JUMP: f64 = 10.0;

/// Measured runs that a declared latency counts as.
const LATENCY_PRIOR_RUNS: f64 = 3.0;

/// What was seen of one tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Observed {
    pub runs: u64,
    pub successes: u64,
    /// Runs after each source was bounded and age was counted: what everything below is made from.
    pub weight: f64,
    /// The part of `weight` that succeeded.
    pub good: f64,
    /// The lower end of Wilson's 95 % interval for the share of successes.
    pub lower_bound: f32,
    /// A running mean over successful runs.
    pub latency_ms: Option<f64>,
    /// Runs that `latency_ms` is made from.
    pub timed: u64,
    /// Characters of its answers, as a running mean; of calls that we made ourselves.
    pub chars: Option<f64>,
    /// When it last ran, in milliseconds since 1970.
    pub last: i64,
}

impl Observed {
    /// The share of runs expected to succeed: what was seen, and [`EXPECTED_SUCCESS`] as
    /// [`PRIOR_RUNS`] runs.
    pub fn rate(&self) -> f64 {
        (self.good + PRIOR_RUNS * EXPECTED_SUCCESS) / (self.weight + PRIOR_RUNS)
    }

    /// The upper end of Wilson's 95 % interval for the share of successes.
    pub fn upper_bound(&self) -> f32 {
        1.0 - wilson_lower(self.weight - self.good, self.weight)
    }
}

/// The lower end of Wilson's 95 % interval for a share of successes; 0 without runs. Runs need not
/// be whole. Source: E. B. Wilson, "Probable inference, the law of succession, and statistical
/// inference", JASA 22 (1927).
pub fn wilson_lower(successes: f64, runs: f64) -> f32 {
    if runs <= 0.0 {
        return 0.0;
    }
    let share = (successes / runs).clamp(0.0, 1.0);
    let spread = Z * (share * (1.0 - share) / runs + Z * Z / (4.0 * runs * runs)).sqrt();
    let bound = (share + Z * Z / (2.0 * runs) - spread) / (1.0 + Z * Z / runs);
    bound.clamp(0.0, 1.0) as f32
}

/// 0.5 for a tool of which nothing is known; towards 1 as it succeeds more than is expected, towards
/// 0 as it fails more.
pub fn history(rate: f64) -> f32 {
    (0.5 + (rate - EXPECTED_SUCCESS) / 2.0) as f32
}

/// A number to order tools by, the more reliable the higher: the lower bound on success, with the
/// declared tier as [`PRIOR_RUNS`] runs. Without observations tools stand in the order of their
/// tiers; undeclared counts as medium.
pub fn reliability_score(declared: Option<Reliability>, observed: Option<&Observed>) -> f32 {
    let expected = match declared {
        Some(Reliability::High) => 0.95,
        Some(Reliability::Medium) | None => EXPECTED_SUCCESS,
        Some(Reliability::Low) => 0.5,
    };
    let (good, weight) = observed.map_or((0.0, 0.0), |seen| (seen.good, seen.weight));
    let bound = wilson_lower(good + PRIOR_RUNS * expected, weight + PRIOR_RUNS);
    bound.max(LEAST_RELIABILITY)
}

/// The latency to order tools by: what was measured, with what is declared as three runs. `None`
/// where there is neither.
pub fn effective_latency_ms(declared: Option<u64>, observed: Option<&Observed>) -> Option<f64> {
    let measured = observed.and_then(|seen| Some((seen.latency_ms?, seen.timed as f64)));
    let declared = declared.map(|ms| ms as f64);
    match (declared, measured) {
        (Some(declared), Some((measured, runs))) => {
            let sum = declared * LATENCY_PRIOR_RUNS + measured * runs;
            Some(sum / (LATENCY_PRIOR_RUNS + runs))
        }
        (declared, measured) => measured.map(|(ms, _)| ms).or(declared),
    }
}

/// What a log, in order of time, says of each tool.
pub(super) fn rates(log: &[Execution]) -> BTreeMap<ToolId, Observed> {
    let weights = evidence::weights(log);
    let mut tools: BTreeMap<ToolId, Observed> = BTreeMap::new();
    let mut timed = Timed::default();
    for (execution, weight) in log.iter().zip(weights) {
        let seen = tools.entry(execution.tool.clone()).or_default();
        seen.runs += 1;
        seen.successes += u64::from(execution.success);
        seen.weight += weight;
        seen.good += if execution.success { weight } else { 0.0 };
        seen.last = seen.last.max(execution.at.unwrap_or_default());
        if execution.success && timed.admits(execution) {
            if let Some(ms) = execution.duration_ms {
                seen.time(ms as f64);
            }
            if let Some(chars) = execution.called.as_ref().and_then(|called| called.chars) {
                seen.chars = Some(followed(seen.chars, chars as f64));
            }
        }
    }
    for seen in tools.values_mut() {
        seen.lower_bound = wilson_lower(seen.good, seen.weight);
    }
    tools
}

impl Observed {
    fn time(&mut self, ms: f64) {
        self.latency_ms = Some(followed(self.latency_ms, ms));
        self.timed += 1;
    }
}

/// A running mean after one more number.
fn followed(mean: Option<f64>, newest: f64) -> f64 {
    match mean {
        None => newest,
        Some(mean) => mean + LATENCY_SHARE * (newest.min(mean.max(1.0) * LATENCY_JUMP) - mean),
    }
}

/// Counts the latencies of each session and day: only the first few are believed.
#[derive(Default)]
struct Timed(BTreeMap<(ToolId, Option<String>), (i64, u32)>);

impl Timed {
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

    fn seen(good: f64, weight: f64) -> Observed {
        Observed { good, weight, ..Observed::default() }
    }

    #[test]
    fn wilson_bounds_are_those_of_the_tables() {
        // Of R's `binom::binom.wilson`.
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
    fn tiers_keep_their_order_and_one_failure_buries_no_tool() {
        use Reliability::{High, Low, Medium};
        let score = |declared, seen: &Observed| reliability_score(declared, Some(seen));
        let plain = |declared| reliability_score(declared, None);
        assert!(plain(Some(High)) > plain(Some(Medium)) && plain(Some(Medium)) > plain(Some(Low)));
        assert_eq!(plain(None), plain(Some(Medium)));
        let failed_once = seen(0.0, 1.0);
        assert!(score(Some(High), &failed_once) > plain(Some(Medium)));
        assert!(score(None, &failed_once) > plain(Some(Low)));
        assert!(score(None, &seen(0.0, 30.0)) < plain(Some(Low)));
        assert_eq!(score(None, &seen(0.0, 1e6)), LEAST_RELIABILITY);
        assert!(score(None, &seen(99.0, 100.0)) > plain(Some(High)));
        assert!((history(seen(0.0, 0.0).rate()) - 0.5).abs() < 1e-6);
        assert!(history(failed_once.rate()) > 0.46);
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

    #[test]
    fn a_declared_latency_counts_as_three_runs() {
        let measured = Observed { latency_ms: Some(500.0), timed: 1, ..Observed::default() };
        assert_eq!(effective_latency_ms(Some(100), Some(&measured)), Some(200.0));
        assert_eq!(effective_latency_ms(None, Some(&measured)), Some(500.0));
        assert_eq!(effective_latency_ms(Some(100), None), Some(100.0));
        assert_eq!(effective_latency_ms(None, Some(&Observed::default())), None);
    }
}
