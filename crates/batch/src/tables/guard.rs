//! Damaged files at which a library of formats panics.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Runs what reads a file. A panic becomes an error, and is not printed: `parquet` 60 divides by a length
/// that a page says, and indexes by another. What was read with must not be used again after it.
pub(super) fn guarded<T, E: std::fmt::Display>(
    read: impl FnOnce() -> Result<T, E>,
) -> Result<T, String> {
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_GUARDED.get() {
                before(panic);
            }
        }));
    });
    IS_GUARDED.set(true);
    let done = catch_unwind(AssertUnwindSafe(read));
    IS_GUARDED.set(false);
    match done {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err("its parts contradict each other".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let none: [u8; 0] = [];
        assert!(guarded(|| Ok::<_, String>(10 / none.len())).is_err());
        assert_eq!(guarded(|| Ok::<_, String>(1)), Ok(1));
    }
}
