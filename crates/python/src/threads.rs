//! The threads for ranking.
//!
//! A fork copies only one thread of a process. In the copy, the pool that all crates share has no
//! threads and would wait forever, so a forked process uses its own pool.

use std::ops::Deref;
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
    if !is_forked() {
        return work();
    }
    match pool_of(std::process::id()) {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// Makes the current thread a pool of its own in a forked process, for threads on which [`run`] is
/// not called.
pub fn join_own_pool() {
    if is_forked() {
        // Nothing may end a pool that is of the thread itself, so each lasts as long as the process.
        std::mem::forget(ThreadPoolBuilder::new().num_threads(1).use_current_thread().build());
    }
}

fn is_forked() -> bool {
    *LOADED_IN.get_or_init(std::process::id) != std::process::id()
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

/// A value with threads of its own, which run only in the process that made it. A forked copy is
/// never dropped, because that would wait for the threads forever.
pub struct Owned<T> {
    value: Arc<T>,
    process: u32,
}

impl<T> Owned<T> {
    pub fn new(value: Arc<T>) -> Self {
        Self { value, process: std::process::id() }
    }

    /// Whether this is the process that made the value, not a fork of it.
    pub fn is_here(&self) -> bool {
        self.process == std::process::id()
    }
}

impl<T> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.is_here() {
            std::mem::forget(Arc::clone(&self.value));
        }
    }
}
