//! The threads for ranking.
//!
//! A fork copies only one thread of a process. In the copy, the pool that all crates share has no
//! threads and would wait forever, so a forked process uses its own pool.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The id of the process that loaded this module.
static LOADED_IN: OnceLock<u32> = OnceLock::new();

/// The id of a forked process, and its pool.
static FORKED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Stores the id of this process. Must be called before any work.
pub fn remember_process() {
    LOADED_IN.get_or_init(std::process::id);
}

/// Runs work that may use several threads.
pub fn run<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let process = std::process::id();
    if *LOADED_IN.get_or_init(std::process::id) == process {
        return work();
    }
    match pool_of(process) {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

fn pool_of(process: u32) -> Option<Arc<ThreadPool>> {
    let mut forked = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((owner, pool)) = &*forked
        && *owner == process
    {
        return Some(Arc::clone(pool));
    }
    let pool = Arc::new(ThreadPoolBuilder::new().build().ok()?);
    // The pool of the parent process has no threads here, so dropping it would wait forever.
    if let Some(before) = forked.replace((process, Arc::clone(&pool))) {
        std::mem::forget(before);
    }
    Some(pool)
}
