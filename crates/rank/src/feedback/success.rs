//! The success metrics of the orchestration design, from the calls in a log.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Execution;

/// The error kind of an attempt that found nothing. Its tool did not fail.
pub const EMPTY: &str = "empty";

/// The maximum error of a good estimate, as a share of the duration.
const GOOD: f64 = 0.5;

/// The error, in milliseconds, that counts as rounding: both times are whole milliseconds.
const ROUNDING_MS: f64 = 5.0;

/// Counts and their shares. A share of nothing is `None`, never 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SuccessMetrics {
    /// Calls of tools: all attempts of all requests.
    pub calls: u64,
    /// Calls that failed. An empty result is not a failure.
    pub failed: u64,
    pub error_rate: Option<f64>,
    pub requests: u64,
    /// Requests that the requested tool did not answer.
    pub first_failed: u64,
    /// The requests among `first_failed` that another tool answered.
    pub recovered: u64,
    pub fallback_recovery: Option<f64>,
    /// Successful calls with an estimated duration.
    pub estimated: u64,
    /// Successful calls whose estimate was within half of their duration.
    pub estimated_well: u64,
    pub latency_accuracy: Option<f64>,
    /// Successful calls.
    pub answers: u64,
    /// Successful calls whose result was cut or summarised.
    pub truncated: u64,
    pub truncated_share: Option<f64>,
}

impl SuccessMetrics {
    /// Computes the metrics of the calls that toolroute made. Reports of others contain neither
    /// positions nor estimates.
    pub fn of(log: &[Execution]) -> Self {
        let mut found = Self::default();
        // Whether each request was answered, and by the requested tool.
        let mut requests: BTreeMap<&str, (bool, bool)> = BTreeMap::new();
        for execution in log {
            let Some(called) = &execution.called else { continue };
            let is_empty = execution.error_kind.as_deref() == Some(EMPTY);
            found.calls += 1;
            found.failed += u64::from(!execution.success && !is_empty);
            let request = requests.entry(&called.request).or_default();
            request.0 |= execution.success;
            request.1 |= execution.success && called.place == 0;
            if execution.success {
                found.answers += 1;
                found.truncated += u64::from(called.truncated);
                found.estimate(called.estimated_ms, execution.duration_ms);
            }
        }
        found.requests = requests.len() as u64;
        for (is_answered, _) in requests.values().filter(|(_, by_first)| !by_first) {
            found.first_failed += 1;
            found.recovered += u64::from(*is_answered);
        }
        found.error_rate = share(found.failed, found.calls);
        found.fallback_recovery = share(found.recovered, found.first_failed);
        found.latency_accuracy = share(found.estimated_well, found.estimated);
        found.truncated_share = share(found.truncated, found.answers);
        found
    }

    fn estimate(&mut self, estimated_ms: Option<u64>, took_ms: Option<u64>) {
        let Some((estimated, took)) = estimated_ms.zip(took_ms) else { return };
        let (estimated, took) = (estimated as f64, took as f64);
        self.estimated += 1;
        let off = (estimated - took).abs();
        self.estimated_well += u64::from(off <= (GOOD * took).max(ROUNDING_MS));
    }
}

/// Returns a part of a whole, 0 to 1, or `None` if the whole is 0.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::super::CallAttempt;
    use super::*;

    fn call(request: &str, place: u32, success: bool) -> Execution {
        let called =
            CallAttempt { request: request.into(), place, tries: 1, ..CallAttempt::default() };
        Execution { called: Some(called), ..Execution::new("t".into(), "p", success) }
    }

    #[test]
    fn nothing_logged_is_no_share_at_all() {
        let reported = Execution::new("t".into(), "p", false);
        for log in [&[][..], &[reported]] {
            assert_eq!(SuccessMetrics::of(log), SuccessMetrics::default());
        }
        assert_eq!(SuccessMetrics::default().error_rate, None);
    }

    #[test]
    fn requests_that_another_tool_answered_are_recovered() {
        let empty = Execution { error_kind: Some(EMPTY.into()), ..call("d", 0, false) };
        let log = [
            call("a", 0, true),
            call("b", 0, false),
            call("b", 1, true),
            call("c", 0, false),
            empty,
            // The first tool was skipped because its breaker was open.
            call("e", 1, true),
        ];
        let found = SuccessMetrics::of(&log);
        assert_eq!((found.calls, found.failed, found.requests), (6, 2, 5));
        assert_eq!((found.first_failed, found.recovered), (4, 2));
        assert_eq!(found.fallback_recovery, Some(0.5));
    }

    #[test]
    fn estimates_and_cut_answers_are_counted_over_answers() {
        let timed = |estimated, took| {
            let mut call = call(&format!("{estimated} {took}"), 0, true);
            call.duration_ms = Some(took);
            call.called.as_mut().unwrap().estimated_ms = Some(estimated);
            call
        };
        let mut log = vec![timed(100, 200), timed(99, 200), timed(301, 200), timed(0, 4)];
        log.push(call("unknown", 0, true));
        log[0].called.as_mut().unwrap().truncated = true;
        let found = SuccessMetrics::of(&log);
        assert_eq!((found.estimated, found.estimated_well), (4, 2));
        assert_eq!((found.answers, found.truncated), (5, 1));
        assert_eq!(found.truncated_share, Some(0.2));
    }
}
