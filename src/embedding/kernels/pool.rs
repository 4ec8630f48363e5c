//! Threads that share one prompt's work.
//!
//! A prompt has some 25 points where its threads must meet, a few microseconds of work apart: a
//! pool that sleeps in between would spend longer on waking up. So workers wait in a loop for a
//! moment before they sleep.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, Thread};

/// Turns of the waiting loop before a worker sleeps: some 50 µs.
const SPINS: usize = 20_000;

/// A fixed number of threads, the caller's own among them.
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    threads: Vec<Thread>,
    /// Held by the one prompt that uses the pool.
    turn: Mutex<()>,
}

struct Shared {
    /// Raised by one for each job.
    epoch: AtomicUsize,
    job: Mutex<Option<Job>>,
    /// Workers that have not finished the job.
    pending: AtomicUsize,
    asleep: Vec<AtomicBool>,
    stop: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// What each worker calls with its number.
#[derive(Clone, Copy)]
struct Job {
    call: *const (dyn Fn(usize) + Sync + 'static),
}

// SAFETY: the pointer is to a `Sync` closure, and `run` keeps it alive until no worker is pending.
unsafe impl Send for Job {}

impl Pool {
    /// A pool of so many threads, the caller's included; 1 or 0 is the caller alone.
    pub fn new(threads: usize) -> Self {
        let others = threads.saturating_sub(1);
        let shared = Arc::new(Shared {
            epoch: AtomicUsize::new(0),
            job: Mutex::new(None),
            pending: AtomicUsize::new(0),
            asleep: (0..others).map(|_| AtomicBool::new(false)).collect(),
            stop: AtomicBool::new(false),
            panic: Mutex::new(None),
        });
        let mut workers = Vec::with_capacity(others);
        for number in 0..others {
            let shared = shared.clone();
            let builder = std::thread::Builder::new().name(format!("toolroute-{number}"));
            // A machine that gives no thread leaves the work to those it gave.
            let Ok(worker) = builder.spawn(move || shared.work(number)) else { break };
            workers.push(worker);
        }
        let threads = workers.iter().map(|worker| worker.thread().clone()).collect();
        Self { shared, workers, threads, turn: Mutex::new(()) }
    }

    /// Threads at hand, the caller's included.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// The pool for one prompt; `None` while another prompt has it.
    pub fn take(&self) -> Option<Turn<'_>> {
        match self.turn.try_lock() {
            Ok(guard) => Some(Turn { pool: self, _guard: guard }),
            Err(std::sync::TryLockError::Poisoned(poisoned)) => {
                Some(Turn { pool: self, _guard: poisoned.into_inner() })
            }
            Err(std::sync::TryLockError::WouldBlock) => None,
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.epoch.fetch_add(1, Ordering::Release);
        self.threads.iter().for_each(Thread::unpark);
        for worker in self.workers.drain(..) {
            // A panic of the worker was handed to the caller of `run`.
            worker.join().ok();
        }
    }
}

/// The right to use the pool.
pub struct Turn<'a> {
    pool: &'a Pool,
    _guard: MutexGuard<'a, ()>,
}

impl Turn<'_> {
    /// Threads at hand, the caller's included.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// Calls `work` with each part, each on a thread of its own, and returns when all are done.
    ///
    /// # Panics
    /// With the panic of any part; and where there are more parts than threads.
    pub fn run<P: Send>(&self, parts: Vec<P>, work: impl Fn(P) + Sync) {
        assert!(parts.len() <= self.threads(), "more parts than threads. This is a bug.");
        let parts: Vec<Mutex<Option<P>>> =
            parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
        let call = |number: usize| {
            let part = parts.get(number).and_then(|part| lock(part).take());
            if let Some(part) = part {
                work(part);
            }
        };
        self.broadcast(&call);
    }

    fn broadcast(&self, call: &(dyn Fn(usize) + Sync)) {
        let Pool { shared, threads, .. } = self.pool;
        // SAFETY: only the lifetime is erased. Workers call it only between the raising of `epoch`
        // and their lowering of `pending`, and this function does not return before that is 0.
        let call_for_ever: &'static (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(call) };
        *lock(&shared.job) = Some(Job { call: call_for_ever });
        shared.pending.store(threads.len(), Ordering::Release);
        shared.epoch.fetch_add(1, Ordering::SeqCst);
        for (thread, asleep) in threads.iter().zip(&shared.asleep) {
            if asleep.load(Ordering::SeqCst) {
                thread.unpark();
            }
        }
        let mine = catch_unwind(AssertUnwindSafe(|| call(0)));
        let mut spins = 0;
        while shared.pending.load(Ordering::Acquire) > 0 {
            spins += 1;
            // On a machine with fewer free cores than threads, spinning would keep the worker out.
            if spins > SPINS { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
        *lock(&shared.job) = None;
        let theirs = lock(&shared.panic).take();
        if let Some(panic) = mine.err().or(theirs) {
            resume_unwind(panic);
        }
    }
}

impl Shared {
    fn work(&self, number: usize) {
        let mut seen = 0;
        loop {
            seen = self.wait(number, seen);
            if self.stop.load(Ordering::Acquire) {
                return;
            }
            let job = *lock(&self.job);
            if let Some(Job { call }) = job {
                // SAFETY: `broadcast` keeps the closure alive while `pending` counts this worker.
                let called = catch_unwind(AssertUnwindSafe(|| unsafe { (*call)(number + 1) }));
                if let Err(panic) = called {
                    *lock(&self.panic) = Some(panic);
                }
                self.pending.fetch_sub(1, Ordering::Release);
            }
        }
    }

    /// Waits for an epoch other than `seen`: awake for a moment, then asleep.
    fn wait(&self, number: usize, seen: usize) -> usize {
        for _ in 0..SPINS {
            let epoch = self.epoch.load(Ordering::Acquire);
            if epoch != seen {
                return epoch;
            }
            std::hint::spin_loop();
        }
        let asleep = &self.asleep[number];
        asleep.store(true, Ordering::SeqCst);
        loop {
            // Looked at after `asleep` is set: whoever raises the epoch later will wake us.
            let epoch = self.epoch.load(Ordering::SeqCst);
            if epoch != seen {
                asleep.store(false, Ordering::SeqCst);
                return epoch;
            }
            std::thread::park();
        }
    }
}

/// Nothing is left half-done under these locks, so a poisoned one is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_done_once_however_often_it_is_asked() {
        for threads in [1, 2, 4] {
            let pool = Pool::new(threads);
            let turn = pool.take().unwrap();
            assert!(pool.take().is_none(), "one prompt at a time");
            for round in 0..2_000 {
                let mut numbers = vec![0; threads];
                turn.run(numbers.iter_mut().enumerate().collect(), |(at, number)| {
                    *number = at + round
                });
                assert_eq!(numbers, (round..round + threads).collect::<Vec<_>>());
                if round % 500 == 0 {
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
            }
        }
    }

    #[test]
    fn a_panic_comes_back_to_the_caller_and_the_pool_lives_on() {
        let pool = Pool::new(2);
        let turn = pool.take().unwrap();
        for bad in 0..2 {
            let run = || turn.run(vec![0, 1], |part| assert_ne!(part, bad));
            assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        }
        turn.run(vec![0, 1], |_| ());
    }
}
