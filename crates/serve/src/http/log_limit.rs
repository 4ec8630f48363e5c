//! Tells the log of what anybody can bring about, now and then: under load, or from somebody who means to fill
//! the disk, each would be a line.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two lines.
const EVERY: Duration = Duration::from_secs(10);

/// What happened since the last line about it, by kind.
#[derive(Default)]
pub(crate) struct LogLimit(Mutex<BTreeMap<&'static str, (Option<Instant>, u64)>>);

impl LogLimit {
    /// Counts one more of a kind; how many there were since the last line, this one among them, where it is
    /// time for another: at the first at once.
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
    fn the_first_of_a_kind_is_told_at_once_and_the_others_by_their_number() {
        let (told, start) = (LogLimit::default(), Instant::now());
        assert_eq!(told.count_at("a", start), Some(1));
        for _ in 0..1_000 {
            assert_eq!(told.count_at("a", start + EVERY / 2), None);
        }
        assert_eq!(told.count_at("b", start + EVERY / 2), Some(1));
        assert_eq!(told.count_at("a", start + EVERY), Some(1_001));
        assert_eq!(told.count_at("a", start + EVERY), None);
    }
}
