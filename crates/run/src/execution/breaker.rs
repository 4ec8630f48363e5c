//! Circuit breakers.
//!
//! Each server and each tool has one. It counts consecutive transport failures and timeouts, and
//! ignores errors that the tool itself reports: a server that answers "not found" is healthy. After
//! a pause one call is let through as a probe, and its outcome closes or reopens the breaker.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::invoker::FaultKind;
use toolroute_catalog::Tool;

/// When a breaker opens, and for how long.
#[derive(Clone, Debug)]
pub struct BreakerOptions {
    /// Consecutive failures that open the breaker of a tool.
    pub tool_failures: u32,
    /// Consecutive failures that open the breaker of a server. Larger, because one hanging tool
    /// does not make its server unavailable.
    pub server_failures: u32,
    /// How long an open breaker blocks calls. Doubles with each failed probe, up to
    /// `open_for_at_most`.
    pub open_for: Duration,
    pub open_for_at_most: Duration,
}

impl Default for BreakerOptions {
    fn default() -> Self {
        Self {
            tool_failures: 3,
            server_failures: 5,
            open_for: Duration::from_secs(15),
            open_for_at_most: Duration::from_secs(300),
        }
    }
}

/// The state of a circuit breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Calls are sent.
    Closed,
    /// Calls are not sent for a while.
    Open,
    /// The pause is over; one probe is let through.
    HalfOpen,
}

/// The state of a breaker, for reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BreakerState {
    /// `server` or `tool`.
    pub kind: &'static str,
    /// The server's name or the tool's id.
    pub of: String,
    /// Whether calls are sent.
    pub phase: Phase,
    /// Failures in a row.
    pub failures: u32,
    /// Milliseconds until a probe is let through.
    pub opens_in_ms: u64,
}

#[derive(Clone, Debug, Default)]
struct Breaker {
    failures: u32,
    open_until: Option<Instant>,
    opened: u32,
    /// When the current probe started. A probe that never reports back expires.
    probe: Option<Instant>,
}

impl Breaker {
    fn phase(&self, now: Instant) -> Phase {
        match self.open_until {
            None => Phase::Closed,
            Some(until) if now < until => Phase::Open,
            Some(_) => Phase::HalfOpen,
        }
    }

    /// How long calls are still blocked; `None` if a call may be sent.
    fn blocked(&self, now: Instant, options: &BreakerOptions) -> Option<Duration> {
        match self.phase(now) {
            Phase::Closed => None,
            Phase::Open => self.open_until.map(|until| until - now),
            Phase::HalfOpen => {
                let probing = self.probe.map(|since| now.saturating_duration_since(since));
                probing.filter(|since| *since < options.open_for_at_most).map(|_| options.open_for)
            }
        }
    }

    fn failed(&mut self, now: Instant, threshold: u32, options: &BreakerOptions) {
        self.failures = self.failures.saturating_add(1);
        self.probe = None;
        // A call that was sent before the breaker opened adds no information.
        if self.phase(now) == Phase::Open || self.failures < threshold {
            return;
        }
        let doubled = options.open_for.saturating_mul(1 << self.opened.min(16));
        self.open_until = Some(now + doubled.min(options.open_for_at_most));
        self.opened = self.opened.saturating_add(1);
    }
}

/// `server` or `tool`, and the server's name or the tool's id.
type Key = (&'static str, String);

/// The breakers of all servers and tools. Only those with failures are stored.
#[derive(Debug, Default)]
pub struct Breakers {
    options: BreakerOptions,
    known: Mutex<BTreeMap<Key, Breaker>>,
}

fn keys(tool: &Tool) -> [Key; 2] {
    let server = tool.server.clone().unwrap_or_default();
    [("server", server), ("tool", tool.id.to_string())]
}

impl Breakers {
    pub fn new(options: BreakerOptions) -> Self {
        Self { options, known: Mutex::default() }
    }

    /// Checks whether a call may be sent now. If a probe is due, this call becomes the probe. An
    /// error is the time to wait before the next call.
    pub fn admit(&self, tool: &Tool, now: Instant) -> Result<(), Duration> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_empty() {
            return Ok(());
        }
        let keys = keys(tool);
        let blocked = keys.iter().filter_map(|key| known.get(key)?.blocked(now, &self.options));
        if let Some(wait) = blocked.max() {
            return Err(wait);
        }
        for key in &keys {
            if let Some(breaker) = known.get_mut(key)
                && breaker.phase(now) == Phase::HalfOpen
            {
                breaker.probe = Some(now);
            }
        }
        Ok(())
    }

    /// Records how a call ended; only transport faults count as failures.
    pub fn record(&self, tool: &Tool, fault: Option<FaultKind>, now: Instant) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = fault.is_some_and(FaultKind::is_transport);
        for key in keys(tool) {
            if !failed {
                known.remove(&key);
                continue;
            }
            let (of_server, of_tool) = (self.options.server_failures, self.options.tool_failures);
            let threshold = if key.0 == "server" { of_server } else { of_tool };
            known.entry(key).or_default().failed(now, threshold, &self.options);
        }
    }

    /// The breakers with recent failures, servers first.
    pub fn states(&self, now: Instant) -> Vec<BreakerState> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let states = known.iter().map(|((kind, of), breaker)| {
            let left =
                breaker.open_until.map_or(Duration::ZERO, |t| t.saturating_duration_since(now));
            BreakerState {
                kind,
                of: of.clone(),
                phase: breaker.phase(now),
                failures: breaker.failures,
                opens_in_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            }
        });
        states.collect()
    }

    /// Whether the breaker of the tool or of its server is open.
    pub fn is_open(&self, tool: &Tool, now: Instant) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        keys(tool).iter().any(|key| known.get(key).is_some_and(|b| b.phase(now) == Phase::Open))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> Tool {
        Tool::new(Some("web"), name, "")
    }

    #[test]
    fn it_opens_after_failures_in_a_row_and_closes_after_a_probe_that_worked() {
        let (breakers, start) = (Breakers::default(), Instant::now());
        let search = tool("search");
        for _ in 0..3 {
            assert!(breakers.admit(&search, start).is_ok());
            breakers.record(&search, Some(FaultKind::Timeout), start);
        }
        assert!(breakers.is_open(&search, start));
        assert_eq!(breakers.admit(&search, start), Err(Duration::from_secs(15)));
        // Other tools of the server are not affected.
        assert!(breakers.admit(&tool("fetch"), start).is_ok());
        let later = start + Duration::from_secs(16);
        assert!(breakers.admit(&search, later).is_ok(), "the probe");
        assert!(breakers.admit(&search, later).is_err(), "only one");
        breakers.record(&search, None, later);
        assert!(breakers.admit(&search, later).is_ok());
        assert!(breakers.states(later).is_empty());
    }

    #[test]
    fn a_probe_that_fails_opens_it_for_longer() {
        let (breakers, mut now) = (Breakers::default(), Instant::now());
        let search = tool("search");
        for _ in 0..3 {
            breakers.record(&search, Some(FaultKind::Broken), now);
        }
        for wait in [15, 30, 60] {
            assert_eq!(breakers.admit(&search, now), Err(Duration::from_secs(wait)));
            now += Duration::from_secs(wait);
            assert!(breakers.admit(&search, now).is_ok());
            breakers.record(&search, Some(FaultKind::Unreachable), now);
        }
    }

    #[test]
    fn what_a_tool_says_is_no_failure_and_a_server_opens_for_all_its_tools() {
        let (breakers, now) = (Breakers::default(), Instant::now());
        for _ in 0..9 {
            breakers.record(&tool("a"), Some(FaultKind::Refused), now);
            breakers.record(&tool("a"), Some(FaultKind::Missing), now);
        }
        assert!(breakers.states(now).is_empty());
        for name in ["a", "b", "c", "d", "e"] {
            breakers.record(&tool(name), Some(FaultKind::Unreachable), now);
        }
        assert!(breakers.admit(&tool("never-called"), now).is_err());
        assert_eq!(breakers.states(now)[0].phase, Phase::Open);
    }

    #[test]
    fn a_probe_that_never_reports_is_forgotten() {
        let (breakers, start) = (Breakers::default(), Instant::now());
        for _ in 0..3 {
            breakers.record(&tool("a"), Some(FaultKind::Timeout), start);
        }
        let probe = start + Duration::from_secs(20);
        assert!(breakers.admit(&tool("a"), probe).is_ok());
        assert!(breakers.admit(&tool("a"), probe + Duration::from_secs(1)).is_err());
        assert!(breakers.admit(&tool("a"), probe + Duration::from_secs(301)).is_ok());
    }
}
