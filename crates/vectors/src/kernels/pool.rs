//! A thread pool that shares the work of a single prompt.
//!
//! A prompt has some 25 points at which its threads synchronise, a few microseconds of work apart.
//! Waking a sleeping thread takes longer than that, so workers spin for a moment before they sleep.
//!
//! Users' machines are busy. A thread without a core of its own starts milliseconds late, and a
//! prompt that waited for it at each of these points would take thirty times as long. Therefore
//! nobody waits for a worker that has not started: parts of the work are claimed, and the caller
//! claims those that no worker has claimed yet. A prompt that is delayed nevertheless continues on
//! the caller's thread alone, and so do the next prompts.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

/// Iterations of the spin loop before a worker sleeps, or before a caller yields: about 50 µs.
const SPINS: usize = 20_000;

/// The caller counts as delayed if it waits for a worker longer than this and than twice the time of
/// its own part: parts are of equal work, and a part that no worker has started is the caller's.
const LATE: Duration = Duration::from_micros(500);

/// Number of prompts that use a single thread after a delayed one. It doubles with each delay, up to
/// [`MOST_ALONE`], and starts again at [`ALONE`] if threads shared [`WORTH`] times as much time
/// before the delay as it took: a second thread then saved far more than it lost. On a busy machine
/// such a run is rare, so nearly all prompts use one thread; an idle machine, which has delays of a
/// millisecond now and then too, keeps its threads.
const ALONE: u32 = 8;
const MOST_ALONE: u32 = 4_096;
const WORTH: u32 = 50;

/// A fixed number of threads, including the caller's.
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    threads: Vec<Thread>,
    /// Held by the prompt that uses the pool.
    turn: Mutex<()>,
    /// How many prompts still use a single thread, and how many will after the next delay.
    alone: AtomicU32,
    next_alone: AtomicU32,
    /// Microseconds of shared work since the last delay.
    shared_micros: AtomicU64,
}

struct Shared {
    /// Upper bits: the number of the current job. Lower [`PART_BITS`] bits: parts left to claim.
    claims: AtomicU64,
    job: Mutex<Option<Job>>,
    /// Parts of the job that are not finished.
    pending: AtomicUsize,
    asleep: Vec<AtomicBool>,
    stop: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// The closure that is called with the number of each part.
#[derive(Clone, Copy)]
struct Job {
    call: *const (dyn Fn(usize) + Sync + 'static),
}

// SAFETY: the pointer is to a `Sync` closure, and `broadcast` keeps it alive until no part is
// pending.
unsafe impl Send for Job {}

impl Pool {
    /// Creates a pool of `threads` threads, including the caller's; 0 and 1 mean the caller's only.
    pub fn new(threads: usize) -> Self {
        let others = threads.saturating_sub(1);
        let shared = Arc::new(Shared {
            claims: AtomicU64::new(0),
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
            // If the system refuses a thread, the pool works with fewer.
            let Ok(worker) = builder.spawn(move || shared.work(number)) else { break };
            workers.push(worker);
        }
        let threads = workers.iter().map(|worker| worker.thread().clone()).collect();
        Self {
            shared,
            workers,
            threads,
            turn: Mutex::new(()),
            alone: AtomicU32::new(0),
            next_alone: AtomicU32::new(ALONE),
            shared_micros: AtomicU64::new(0),
        }
    }

    /// Number of threads, including the caller's.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Reserves the pool for one prompt. Returns `None` while another prompt uses it, and for a
    /// number of prompts after a delayed one.
    pub fn take(&self) -> Option<PoolGuard<'_>> {
        let guard = match self.turn.try_lock() {
            Ok(guard) => guard,
            Err(std::sync::TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(std::sync::TryLockError::WouldBlock) => return None,
        };
        let alone = self.alone.load(Ordering::Relaxed);
        if alone > 0 {
            self.alone.store(alone - 1, Ordering::Relaxed);
            return None;
        }
        Some(PoolGuard {
            pool: self,
            is_held_up: Cell::new(false),
            parts: Cell::default(),
            shared_time: Cell::default(),
            _guard: guard,
        })
    }

    /// Makes the next prompts use a single thread.
    fn back_off(&self, waited: Duration) {
        let shared = Duration::from_micros(self.shared_micros.swap(0, Ordering::Relaxed));
        let next = match shared > WORTH * waited {
            true => ALONE,
            false => self.next_alone.load(Ordering::Relaxed),
        };
        self.alone.store(next, Ordering::Relaxed);
        self.next_alone.store((2 * next).min(MOST_ALONE), Ordering::Relaxed);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.threads.iter().for_each(Thread::unpark);
        for worker in self.workers.drain(..) {
            // `run` has already passed the worker's panic to its caller.
            worker.join().ok();
        }
    }
}

/// The exclusive use of the pool for one prompt.
pub struct PoolGuard<'a> {
    pool: &'a Pool,
    /// After a delay, the caller does the remaining work alone.
    is_held_up: Cell<bool>,
    /// Number of shared parts, and how many of them the caller did.
    parts: Cell<(usize, usize)>,
    shared_time: Cell<Duration>,
    _guard: MutexGuard<'a, ()>,
}

impl PoolGuard<'_> {
    /// Number of threads, including the caller's.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// Calls `work` with each part, on as many threads as start in time, and returns when all parts
    /// are finished.
    ///
    /// # Panics
    /// If any part panics, with its panic; and if there are more parts than threads.
    pub fn run<P: Send>(&self, parts: Vec<P>, work: impl Fn(P) + Sync) {
        assert!(parts.len() <= self.threads(), "more parts than threads. This is a bug.");
        if self.is_held_up.get() {
            parts.into_iter().for_each(work);
            return;
        }
        let count = parts.len();
        let parts: Vec<Mutex<Option<P>>> =
            parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
        let call = |number: usize| {
            let part = parts.get(number).and_then(|part| lock(part).take());
            if let Some(part) = part {
                work(part);
            }
        };
        let began = Instant::now();
        let (mine, finished) = self.broadcast(count, &call);
        let (work, waited) = (finished - began, finished.elapsed());
        let (all, by_caller) = self.parts.get();
        self.parts.set((all + count, by_caller + mine));
        self.shared_time.update(|time| time + work + waited);
        if waited > LATE.max(2 * work) {
            self.is_held_up.set(true);
            self.pool.back_off(waited);
        }
    }

    /// Returns the number of parts that the caller did, and when it began to wait for the others.
    fn broadcast(&self, parts: usize, call: &(dyn Fn(usize) + Sync)) -> (usize, Instant) {
        let Pool { shared, threads, .. } = self.pool;
        // SAFETY: only the lifetime is erased. A part is called only by the thread that claimed it,
        // and this function returns only after all parts are finished and none can be claimed.
        let call_for_ever: &'static (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(call) };
        *lock(&shared.job) = Some(Job { call: call_for_ever });
        shared.pending.store(parts, Ordering::Release);
        let job = shared.publish(parts);
        for (thread, asleep) in threads.iter().zip(&shared.asleep).take(parts.saturating_sub(1)) {
            if asleep.load(Ordering::SeqCst) {
                thread.unpark();
            }
        }
        let (mut mine, mut result) = (0, Ok(()));
        while let Some(part) = shared.claim(job) {
            let done = catch_unwind(AssertUnwindSafe(|| call(part)));
            result = result.and(done);
            mine += 1;
            shared.pending.fetch_sub(1, Ordering::Release);
        }
        let finished = Instant::now();
        let mut spins = 0;
        while shared.pending.load(Ordering::Acquire) > 0 {
            spins += 1;
            // On a machine with fewer free cores than threads, spinning would take the worker's
            // core.
            if spins > SPINS { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
        *lock(&shared.job) = None;
        let theirs = lock(&shared.panic).take();
        if let Some(panic) = result.err().or(theirs) {
            resume_unwind(panic);
        }
        (mine, finished)
    }
}

impl Drop for PoolGuard<'_> {
    /// Workers that did less than half of their parts have no core of their own: they only take
    /// time from others.
    fn drop(&mut self) {
        let (all, by_caller) = self.parts.get();
        let (theirs, fair) = (all - by_caller, all - all / self.threads());
        if !self.is_held_up.get() && 2 * theirs < fair {
            self.pool.back_off(self.shared_time.get());
        }
        let micros = self.shared_time.get().as_micros() as u64;
        self.pool.shared_micros.fetch_add(micros, Ordering::Relaxed);
    }
}

/// Number of bits in [`Shared::claims`] that count the parts left to claim.
const PART_BITS: u32 = 16;
const PARTS: u64 = (1 << PART_BITS) - 1;

impl Shared {
    /// Makes a job's parts claimable and returns the job's number.
    fn publish(&self, parts: usize) -> u64 {
        let job = (self.claims.load(Ordering::Relaxed) >> PART_BITS).wrapping_add(1);
        self.claims.store(job << PART_BITS | parts as u64, Ordering::SeqCst);
        job & (u64::MAX >> PART_BITS)
    }

    /// Claims a part of the job; `None` if none is left.
    fn claim(&self, job: u64) -> Option<usize> {
        let claim = |claims: u64| {
            let left = claims & PARTS;
            (claims >> PART_BITS == job && left > 0).then(|| claims - 1)
        };
        let claimed = self.claims.fetch_update(Ordering::AcqRel, Ordering::Acquire, claim);
        claimed.ok().map(|claims| (claims & PARTS) as usize - 1)
    }

    fn work(&self, number: usize) {
        let mut seen = 0;
        loop {
            seen = self.wait(number, seen);
            if self.stop.load(Ordering::Acquire) {
                return;
            }
            while let Some(part) = self.claim(seen) {
                let job = *lock(&self.job);
                let Job { call } =
                    job.expect("a job stays until its claimed parts are done. This is a bug.");
                // SAFETY: `broadcast` keeps the closure alive until this part is finished.
                let called = catch_unwind(AssertUnwindSafe(|| unsafe { (*call)(part) }));
                if let Err(panic) = called {
                    *lock(&self.panic) = Some(panic);
                }
                self.pending.fetch_sub(1, Ordering::Release);
            }
        }
    }

    /// Waits for a job other than `seen`: spins for a moment, then sleeps. Returns `seen` when the
    /// pool is dropped.
    fn wait(&self, number: usize, seen: u64) -> u64 {
        let job = || self.claims.load(Ordering::SeqCst) >> PART_BITS;
        for _ in 0..SPINS {
            if job() != seen {
                return job();
            }
            std::hint::spin_loop();
        }
        let asleep = &self.asleep[number];
        asleep.store(true, Ordering::SeqCst);
        // Checked after `asleep` is set: a thread that publishes a job later will wake this one.
        while job() == seen && !self.stop.load(Ordering::SeqCst) {
            std::thread::park();
        }
        asleep.store(false, Ordering::SeqCst);
        job()
    }
}

/// No invariant can be broken while these locks are held, so a poisoned lock is still usable.
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

    /// Uses the pool for a prompt whose caller did `by_caller` of 100 parts in 10 ms; returns how
    /// many prompts then use a single thread.
    fn alone_after(pool: &Pool, by_caller: usize) -> usize {
        let guard = pool.take().unwrap();
        guard.parts.set((100, by_caller));
        guard.shared_time.set(Duration::from_millis(10));
        drop(guard);
        std::iter::from_fn(|| pool.take().is_none().then_some(())).count()
    }

    #[test]
    fn workers_without_a_core_are_asked_ever_more_rarely() {
        let pool = Pool::new(2);
        assert_eq!(alone_after(&pool, 50), 0);
        let alone: Vec<usize> = (0..12).map(|_| alone_after(&pool, 90)).collect();
        assert_eq!(alone[..3], [8, 16, 32]);
        assert_eq!(alone[9..], [4_096; 3]);
        for _ in 0..51 {
            assert_eq!(alone_after(&pool, 60), 0);
        }
        assert_eq!(alone_after(&pool, 90), 8, "sharing paid before");
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
