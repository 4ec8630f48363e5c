//! Protects against panics of libraries that read damaged files.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Calls `read` and converts a panic to an error without printing it. `parquet` 60 panics on
/// damaged files, because it divides by a length that a page states and uses another one as an
/// index. The reader must not be used after a panic.
pub(super) fn catch_panics<T, E: std::fmt::Display>(
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
        assert!(catch_panics(|| Ok::<_, String>(10 / none.len())).is_err());
        assert_eq!(catch_panics(|| Ok::<_, String>(1)), Ok(1));
    }
}
