//! Leaves a rule out while the program runs. `scripts/rules.py` puts a call of `off` at the beginning of each.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// The rule that is left out; `u32::MAX` if none.
pub static OFF: AtomicU32 = AtomicU32::new(u32::MAX);

/// Whether a rule was reached since it was last set to `false`.
pub static REACHED: [AtomicBool; 8192] = [const { AtomicBool::new(false) }; 8192];

#[inline(never)]
pub fn off(rule: u32) -> bool {
    REACHED[rule as usize].store(true, Relaxed);
    OFF.load(Relaxed) == rule
}
