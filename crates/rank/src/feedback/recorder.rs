//! Takes executions without making anybody wait, and writes them from a thread of its own.
//!
//! The queue is bounded. Where it is full an execution is dropped and counted: a selection must not
//! wait for a disk, and memory must not grow without end. What was taken is written, by
//! [`Recorder::flush`], [`Recorder::close`] and when the recorder goes out of scope; only the end of
//! the process without these loses it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::store::ExecutionStore;
use super::{Execution, StoreError};

/// Told of executions before they are written, to add what takes time: vectors.
pub type PrepareHook = dyn FnMut(&mut [Execution]) + Send;

/// Told after executions were written and nothing else waits, to read what the log says now.
pub type RefreshHook = dyn FnMut(&ExecutionStore) + Send;

/// A refresh rests so many times as long as it took.
const REFRESH_SHARE: u32 = 20;

/// How a recorder works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecorderOptions {
    /// Executions that may wait.
    pub capacity: usize,
    /// Executions written at once at most.
    pub batch: usize,
    /// Least time between two refreshes that nobody asked for; more where one takes long.
    pub refresh_every: Duration,
}

impl Default for RecorderOptions {
    /// Without vectors, which are added later, an execution takes some hundred bytes.
    fn default() -> Self {
        Self { capacity: 16_384, batch: 256, refresh_every: Duration::from_secs(5) }
    }
}

/// What is done in the writer's thread.
#[derive(Default)]
pub struct RecorderHooks {
    pub prepare: Option<Box<PrepareHook>>,
    pub refresh: Option<Box<RefreshHook>>,
}

/// Whether an execution was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordOutcome {
    Queued,
    /// The queue was full.
    Dropped,
}

/// Counts since the recorder began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecorderCounts {
    /// Taken into the queue.
    pub queued: u64,
    pub written: u64,
    /// Refused, because the queue was full.
    pub dropped: u64,
    /// Taken, and not written for an error.
    pub lost: u64,
}

impl RecorderCounts {
    /// Taken, and not written yet.
    pub fn waiting(&self) -> u64 {
        self.queued.saturating_sub(self.written + self.lost)
    }
}

#[derive(Default)]
struct Counts {
    queued: AtomicU64,
    written: AtomicU64,
    dropped: AtomicU64,
    lost: AtomicU64,
    /// Why the last were lost.
    because: Mutex<String>,
}

enum Message {
    Record(Box<Execution>),
    /// Write all before this, refresh, and answer.
    Flush(SyncSender<()>),
    Close,
}

/// A queue of executions on their way to a log. Share it by reference or `Arc`.
pub struct Recorder {
    queue: SyncSender<Message>,
    writer: Option<JoinHandle<()>>,
    counts: Arc<Counts>,
}

impl Recorder {
    /// Begins a thread that writes to `store`.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn start(
        store: ExecutionStore,
        options: RecorderOptions,
        hooks: RecorderHooks,
    ) -> std::io::Result<Self> {
        let (queue, waiting) = mpsc::sync_channel(options.capacity.max(1));
        let counts = Arc::new(Counts::default());
        let (now, pause) = (Instant::now(), options.refresh_every);
        let writer = Writer {
            store,
            options,
            hooks,
            counts: counts.clone(),
            batch: Vec::new(),
            is_stale: false,
            refreshed: now,
            pause,
        };
        let thread = std::thread::Builder::new().name("toolroute-feedback".to_owned());
        let writer = thread.spawn(move || writer.run(&waiting))?;
        Ok(Self { queue, writer: Some(writer), counts })
    }

    /// Takes an execution, in about a microsecond, and never waits.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] where it cannot be logged; [`StoreError::Closed`] where the writer
    /// ended by a panic of a hook.
    pub fn record(&self, mut execution: Execution) -> Result<RecordOutcome, StoreError> {
        execution.check()?;
        // When it happened, not when it is written.
        execution.at = execution.at.or_else(|| Some(super::store::now()));
        match self.queue.try_send(Message::Record(Box::new(execution))) {
            Ok(()) => {
                self.counts.queued.fetch_add(1, Ordering::Relaxed);
                Ok(RecordOutcome::Queued)
            }
            Err(TrySendError::Full(_)) => {
                let dropped = self.counts.dropped.fetch_add(1, Ordering::Relaxed);
                // Once is news; each of a thousand is noise.
                if dropped.is_multiple_of(1_000) {
                    tracing::warn!(dropped = dropped + 1, "the queue of executions is full");
                }
                Ok(RecordOutcome::Dropped)
            }
            Err(TrySendError::Disconnected(_)) => Err(StoreError::Closed),
        }
    }

    /// Waits until all that was taken before is written and the refresh has seen it.
    ///
    /// # Errors
    /// [`StoreError::Lost`] where some could not be written since the last time it was told;
    /// [`StoreError::Closed`].
    pub fn flush(&self) -> Result<(), StoreError> {
        let (done, wait) = mpsc::sync_channel(1);
        self.queue.send(Message::Flush(done)).map_err(|_| StoreError::Closed)?;
        wait.recv().map_err(|_| StoreError::Closed)?;
        self.counts.told()
    }

    /// Writes all that was taken, and ends the thread.
    ///
    /// # Errors
    /// As for [`Recorder::flush`].
    pub fn close(mut self) -> Result<RecorderCounts, StoreError> {
        self.end();
        self.counts.told()?;
        Ok(self.counts())
    }

    pub fn counts(&self) -> RecorderCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counts { queued, written, dropped, lost, .. } = &*self.counts;
        RecorderCounts {
            queued: read(queued),
            written: read(written),
            dropped: read(dropped),
            lost: read(lost),
        }
    }

    fn end(&mut self) {
        let Some(writer) = self.writer.take() else { return };
        // A writer that is gone has written what it could.
        self.queue.send(Message::Close).ok();
        if writer.join().is_err() {
            tracing::warn!("the writer of executions panicked");
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end();
        if let Err(error) = self.counts.told() {
            tracing::warn!("{error}");
        }
    }
}

impl Counts {
    fn lose(&self, executions: u64, error: &StoreError) {
        self.lost.fetch_add(executions, Ordering::Relaxed);
        let because = error.to_string();
        tracing::warn!(executions, "executions are lost: {because}");
        *self.because.lock().unwrap_or_else(PoisonError::into_inner) = because;
    }

    /// Losses are told once.
    fn told(&self) -> Result<(), StoreError> {
        let mut because = self.because.lock().unwrap_or_else(PoisonError::into_inner);
        if because.is_empty() {
            return Ok(());
        }
        let lost = self.lost.load(Ordering::Relaxed);
        Err(StoreError::Lost { lost, because: std::mem::take(&mut because) })
    }
}

/// The thread's own side.
struct Writer {
    store: ExecutionStore,
    options: RecorderOptions,
    hooks: RecorderHooks,
    counts: Arc<Counts>,
    batch: Vec<Execution>,
    /// Whether something was written since the last refresh.
    is_stale: bool,
    refreshed: Instant,
    /// Least time to the next: a long log must not be read all the time.
    pause: Duration,
}

impl Writer {
    fn run(mut self, waiting: &Receiver<Message>) {
        loop {
            let message = if self.is_stale {
                let left = self.pause.saturating_sub(self.refreshed.elapsed());
                waiting.recv_timeout(left)
            } else {
                waiting.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match message {
                Ok(Message::Record(execution)) => {
                    self.batch.push(*execution);
                    if !self.gather(waiting) {
                        return;
                    }
                }
                Ok(Message::Flush(done)) => self.answer(&done),
                Err(RecvTimeoutError::Timeout) => self.refresh(),
                Ok(Message::Close) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Takes what else waits, up to a batch, and writes it; whether there is more to come.
    fn gather(&mut self, waiting: &Receiver<Message>) -> bool {
        while self.batch.len() < self.options.batch {
            match waiting.try_recv() {
                Ok(Message::Record(execution)) => self.batch.push(*execution),
                Ok(Message::Flush(done)) => {
                    self.write();
                    self.answer(&done);
                }
                Ok(Message::Close) => {
                    self.write();
                    return false;
                }
                Err(_) => break,
            }
        }
        self.write();
        true
    }

    fn write(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        if let Some(prepare) = &mut self.hooks.prepare {
            prepare(&mut self.batch);
        }
        let executions = self.batch.len() as u64;
        let mut written = self.store.insert(&self.batch);
        if matches!(written, Err(StoreError::Busy { .. })) {
            // Somebody held the file for seconds; such a thing ends.
            written = self.store.insert(&self.batch);
        }
        match written {
            Ok(_) => {
                self.counts.written.fetch_add(executions, Ordering::Relaxed);
                self.is_stale = true;
            }
            Err(error) => self.counts.lose(executions, &error),
        }
        self.batch.clear();
    }

    fn answer(&mut self, done: &SyncSender<()>) {
        self.refresh();
        // Whoever asked may have gone.
        done.send(()).ok();
    }

    fn refresh(&mut self) {
        let start = Instant::now();
        if self.is_stale
            && let Some(refresh) = &mut self.hooks.refresh
        {
            refresh(&self.store);
        }
        let took = start.elapsed();
        self.pause = self.options.refresh_every.max(took * REFRESH_SHARE);
        (self.is_stale, self.refreshed) = (false, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::StoreOptions;

    fn store(folder: &tempfile::TempDir) -> ExecutionStore {
        ExecutionStore::open(folder.path().join("log"), StoreOptions::default()).unwrap()
    }

    fn run(n: usize) -> Execution {
        Execution::new(format!("tool{}", n % 7).as_str().into(), format!("prompt {n}"), true)
    }

    #[test]
    fn ten_thousand_records_of_eight_threads_are_all_there_after_close() {
        let folder = tempfile::tempdir().unwrap();
        let recorder =
            Recorder::start(store(&folder), RecorderOptions::default(), RecorderHooks::default())
                .unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let recorder = &recorder;
                scope.spawn(move || {
                    for n in 0..1_250 {
                        assert_eq!(
                            recorder.record(run(thread * 1_250 + n)).unwrap(),
                            RecordOutcome::Queued
                        );
                    }
                });
            }
        });
        let counts = recorder.close().unwrap();
        let all = RecorderCounts { queued: 10_000, written: 10_000, dropped: 0, lost: 0 };
        assert_eq!(counts, all);
        let mut hashes = std::collections::HashSet::new();
        store(&folder).for_each(|execution| _ = hashes.insert(execution.hash())).unwrap();
        assert_eq!(hashes.len(), 10_000);
    }

    #[test]
    fn a_full_queue_drops_and_counts_and_never_waits() {
        let folder = tempfile::tempdir().unwrap();
        let (go, wait) = mpsc::channel::<()>();
        let hooks =
            RecorderHooks { prepare: Some(Box::new(move |_| _ = wait.recv())), refresh: None };
        let options = RecorderOptions { capacity: 4, batch: 1, ..RecorderOptions::default() };
        let recorder = Recorder::start(store(&folder), options, hooks).unwrap();
        let start = Instant::now();
        let taken = (0..100).filter(|n| recorder.record(run(*n)).unwrap() == RecordOutcome::Queued);
        let taken = taken.count() as u64;
        assert!(start.elapsed() < Duration::from_secs(2) && (4..=5).contains(&taken), "{taken}");
        drop(go);
        let counts = recorder.close().unwrap();
        assert_eq!((counts.written, counts.dropped), (taken, 100 - taken));
        assert_eq!(store(&folder).count().unwrap(), taken);
    }

    #[test]
    fn a_flush_writes_and_refreshes_and_a_drop_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let seen = Arc::new(AtomicU64::new(0));
        let tell = seen.clone();
        let refresh =
            move |store: &ExecutionStore| tell.store(store.count().unwrap(), Ordering::Relaxed);
        let hooks = RecorderHooks { prepare: None, refresh: Some(Box::new(refresh)) };
        let recorder = Recorder::start(store(&folder), RecorderOptions::default(), hooks).unwrap();
        (0..1_000).for_each(|n| _ = recorder.record(run(n)).unwrap());
        recorder.flush().unwrap();
        assert_eq!(seen.load(Ordering::Relaxed), 1_000);
        (0..500).for_each(|n| _ = recorder.record(run(n)).unwrap());
        drop(recorder);
        assert_eq!(store(&folder).count().unwrap(), 1_500);
    }

    #[test]
    fn what_cannot_be_logged_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let recorder =
            Recorder::start(store(&folder), RecorderOptions::default(), RecorderHooks::default())
                .unwrap();
        let bad = Execution { cost: Some(f64::NAN), ..run(1) };
        assert!(matches!(recorder.record(bad), Err(StoreError::Invalid { field: "cost", .. })));
        assert_eq!(recorder.close().unwrap().queued, 0);
    }

    #[test]
    fn what_could_not_be_written_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        // A hook that spoils a row stands for a disk that fails.
        let spoil = |rows: &mut [Execution]| rows.iter_mut().for_each(|row| row.cost = Some(-1.0));
        let hooks = RecorderHooks { prepare: Some(Box::new(spoil)), refresh: None };
        let recorder = Recorder::start(store(&folder), RecorderOptions::default(), hooks).unwrap();
        recorder.record(run(1)).unwrap();
        let said = recorder.flush().unwrap_err();
        assert!(
            matches!(&said, StoreError::Lost { lost: 1, because } if because.contains("cost")),
            "{said}"
        );
        recorder.flush().unwrap();
        assert_eq!(recorder.counts().lost, 1);
    }
}
