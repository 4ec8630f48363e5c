//! Limits log lines about events that any client can cause, which could otherwise fill the disk.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time between two lines.
const EVERY: Duration = Duration::from_secs(10);

/// Counts events since the last line, by kind.
#[derive(Default)]
pub(crate) struct LogLimit(Mutex<BTreeMap<&'static str, (Option<Instant>, u64)>>);

impl LogLimit {
    /// Counts an event. If a line is due, as for the first event, returns the number of events
    /// since the last line, including this one.
    pub fn count(&self, kind: &'static str) -> Option<u64> {
        self.count_at(kind, Instant::now())
    }

    fn count_at(&self, kind: &'static str, now: Instant) -> Option<u64> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, count) = known.entry(kind).or_default();
        *count += 1;
        if last.is_some_and(|last| now.saturating_duration_since(last) < EVERY) {
            return None;
        }
        *last = Some(now);
        Some(std::mem::take(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_event_of_a_kind_is_logged_at_once_and_the_others_are_counted() {
        let (limit, start) = (LogLimit::default(), Instant::now());
        assert_eq!(limit.count_at("a", start), Some(1));
        for _ in 0..1_000 {
            assert_eq!(limit.count_at("a", start + EVERY / 2), None);
        }
        assert_eq!(limit.count_at("b", start + EVERY / 2), Some(1));
        assert_eq!(limit.count_at("a", start + EVERY), Some(1_001));
        assert_eq!(limit.count_at("a", start + EVERY), None);
    }
}
