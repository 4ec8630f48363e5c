//! Times and ids of what is written.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::sha256_hex;

/// Returns the milliseconds since 1970; 0 if the clock is set to an earlier time.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The time in seconds since 1970.
pub fn now_s() -> u64 {
    now_ms().unsigned_abs() / 1_000
}

/// Returns 64 hexadecimal digits that differ from those of every other call, also of other processes
/// that write to the same file.
pub fn unique_id() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let nth = COUNTER.fetch_add(1, Ordering::Relaxed);
    sha256_hex(format!("{} {nth} {:?}", std::process::id(), SystemTime::now()).as_bytes())
}
