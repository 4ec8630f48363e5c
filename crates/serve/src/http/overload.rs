//! Tells the log of requests that were turned away, now and then: under load each would be a line.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two lines.
const EVERY: Duration = Duration::from_secs(10);

/// Requests that were turned away since the last line.
#[derive(Default)]
pub(super) struct Overload(Mutex<(Option<Instant>, u64)>);

impl Overload {
    /// Counts one more; how many there were since the last line, where it is time for another.
    pub fn count(&self) -> Option<u64> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, count) = &mut *known;
        *count += 1;
        if last.is_some_and(|last| last.elapsed() < EVERY) {
            return None;
        }
        *last = Some(Instant::now());
        Some(std::mem::take(count))
    }
}
