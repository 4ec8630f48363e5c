//! Writes executions to a log in a background thread, so that callers never wait.
//!
//! The queue is bounded. A full queue drops executions and counts them: a selection must not wait
//! for a disk, and memory must not grow without bound. The thread writes queued executions as they
//! arrive; [`Recorder::flush`], [`Recorder::close`] and dropping the recorder wait until all are
//! written. Queued executions are lost only if the process ends without one of these, or if the log
//! cannot be written.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;
use toolroute_vectors::durable::now_ms;

use super::store::ExecutionStore;
use super::{Execution, StoreError};

type PrepareHook = dyn FnMut(&mut [Execution]) + Send;

type RefreshHook = dyn FnMut(&ExecutionStore) + Send;

/// The maximum number of executions in the queue. One takes a few hundred bytes, because vectors are
/// added later.
const CAPACITY: usize = 16_384;

/// The maximum number of executions in one write.
const BATCH: usize = 256;

/// The minimum time between two refreshes, except those by [`Recorder::flush`].
const REFRESH_EVERY: Duration = Duration::from_secs(5);

/// The minimum pause after a refresh, as a multiple of the duration of the refresh.
const REFRESH_SHARE: u32 = 20;

/// Hooks that run in the writer's thread.
#[derive(Default)]
pub struct RecorderHooks {
    /// Is called with executions before they are written, to add what takes time to compute, such as
    /// vectors.
    pub prepare: Option<Box<PrepareHook>>,
    /// Is called after executions were written and the queue is empty, to read the log again.
    pub refresh: Option<Box<RefreshHook>>,
}

/// Whether an execution was queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordOutcome {
    /// It is in the queue.
    Queued,
    /// The queue was full.
    Dropped,
}

/// Counts since the recorder started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecorderCounts {
    /// Executions that were put into the queue.
    pub queued: u64,
    pub written: u64,
    /// Executions that were dropped because the queue was full.
    pub dropped: u64,
    /// Executions that were queued but not written because of an error.
    pub lost: u64,
}

impl RecorderCounts {
    /// Returns the number of executions that wait in the queue.
    pub fn waiting(&self) -> u64 {
        self.queued.saturating_sub(self.written + self.lost)
    }
}

/// The counts, and the reason for the latest loss, until it is reported.
#[derive(Default)]
struct Counts(Mutex<(RecorderCounts, Option<String>)>);

enum Message {
    Record(Box<Execution>),
    /// Writes everything that was queued before this message, refreshes, and replies.
    Flush(SyncSender<()>),
    Close,
}

/// Queues executions for a log. Share it by reference or `Arc`.
pub struct Recorder {
    queue: SyncSender<Message>,
    writer: Option<JoinHandle<()>>,
    counts: Arc<Counts>,
}

impl Recorder {
    /// Starts a thread that writes to `store`.
    pub fn start(store: ExecutionStore, hooks: RecorderHooks) -> std::io::Result<Self> {
        let (queue, waiting) = mpsc::sync_channel(CAPACITY);
        let counts = Arc::new(Counts::default());
        let writer = Writer {
            store,
            hooks,
            counts: counts.clone(),
            batch: Vec::new(),
            is_stale: false,
            refreshed: Instant::now(),
            pause: REFRESH_EVERY,
        };
        let thread = std::thread::Builder::new().name("toolroute-feedback".to_owned());
        let writer = thread.spawn(move || writer.run(&waiting))?;
        Ok(Self { queue, writer: Some(writer), counts })
    }

    /// Queues an execution. This takes about a microsecond and never waits.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] if the execution cannot be logged; [`StoreError::Closed`] if a hook
    /// panicked and ended the writer.
    pub fn record(&self, mut execution: Execution) -> Result<RecordOutcome, StoreError> {
        execution.check()?;
        // Log the time of the run, not of the write.
        execution.at = execution.at.or_else(|| Some(now_ms()));
        match self.queue.try_send(Message::Record(Box::new(execution))) {
            Ok(()) => {
                self.counts.get().0.queued += 1;
                Ok(RecordOutcome::Queued)
            }
            Err(TrySendError::Full(_)) => {
                let dropped = &mut self.counts.get().0.dropped;
                // A warning for each dropped execution would flood the output.
                if dropped.is_multiple_of(1_000) {
                    tracing::warn!(dropped = *dropped + 1, "the queue of executions is full");
                }
                *dropped += 1;
                Ok(RecordOutcome::Dropped)
            }
            Err(TrySendError::Disconnected(_)) => Err(StoreError::Closed),
        }
    }

    /// Waits until everything that was queued before is written and the log is refreshed.
    ///
    /// # Errors
    /// [`StoreError::Lost`] if executions were lost since the last report; [`StoreError::Closed`]
    /// if the writer has ended.
    pub fn flush(&self) -> Result<(), StoreError> {
        let (done, wait) = mpsc::sync_channel(1);
        self.queue.send(Message::Flush(done)).map_err(|_| StoreError::Closed)?;
        wait.recv().map_err(|_| StoreError::Closed)?;
        self.counts.take_loss()
    }

    /// Writes everything that is queued, ends the thread and returns the counts.
    ///
    /// # Errors
    /// [`StoreError::Lost`] if executions were lost since the last report.
    pub fn close(mut self) -> Result<RecorderCounts, StoreError> {
        self.end();
        self.counts.take_loss()?;
        Ok(self.counts())
    }

    pub fn counts(&self) -> RecorderCounts {
        self.counts.get().0
    }

    fn end(&mut self) {
        let Some(writer) = self.writer.take() else { return };
        // Sending fails only if the writer has already ended.
        self.queue.send(Message::Close).ok();
        if writer.join().is_err() {
            tracing::warn!("the writer of executions panicked");
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end();
        if let Err(error) = self.counts.take_loss() {
            tracing::warn!("{error}");
        }
    }
}

impl Counts {
    fn get(&self) -> MutexGuard<'_, (RecorderCounts, Option<String>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lose(&self, executions: u64, error: &StoreError) {
        tracing::warn!(executions, "executions are lost: {error}");
        let mut counts = self.get();
        counts.0.lost += executions;
        counts.1 = Some(error.to_string());
    }

    /// Returns an error if executions were lost since the last report.
    fn take_loss(&self) -> Result<(), StoreError> {
        let mut counts = self.get();
        let lost = counts.0.lost;
        counts.1.take().map_or(Ok(()), |because| Err(StoreError::Lost { lost, because }))
    }
}

/// The state of the writer's thread.
struct Writer {
    store: ExecutionStore,
    hooks: RecorderHooks,
    counts: Arc<Counts>,
    batch: Vec<Execution>,
    /// Whether something was written since the last refresh.
    is_stale: bool,
    refreshed: Instant,
    /// The minimum time until the next refresh, so that a long log is not read continuously.
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

    /// Takes more executions from the queue, up to a full batch, and writes them. Returns false
    /// after a close message.
    fn gather(&mut self, waiting: &Receiver<Message>) -> bool {
        while self.batch.len() < BATCH {
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
            // Another process held the file for seconds. Try once more.
            written = self.store.insert(&self.batch);
        }
        match written {
            Ok(_) => {
                self.counts.get().0.written += executions;
                self.is_stale = true;
            }
            Err(error) => self.counts.lose(executions, &error),
        }
        self.batch.clear();
    }

    fn answer(&mut self, done: &SyncSender<()>) {
        self.refresh();
        // The caller may have stopped waiting.
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
        self.pause = REFRESH_EVERY.max(took * REFRESH_SHARE);
        (self.is_stale, self.refreshed) = (false, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::feedback::StoreOptions;

    fn store(folder: &tempfile::TempDir) -> ExecutionStore {
        ExecutionStore::open(folder.path().join("log"), StoreOptions::default()).unwrap()
    }

    fn start(folder: &tempfile::TempDir, hooks: RecorderHooks) -> Recorder {
        Recorder::start(store(folder), hooks).unwrap()
    }

    fn run(n: usize) -> Execution {
        Execution::new(format!("tool{}", n % 7).as_str().into(), format!("prompt {n}"), true)
    }

    #[test]
    fn ten_thousand_records_of_eight_threads_are_all_there_after_close() {
        let folder = tempfile::tempdir().unwrap();
        let recorder = start(&folder, RecorderHooks::default());
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let recorder = &recorder;
                scope.spawn(move || {
                    for n in 0..1_250 {
                        let outcome = recorder.record(run(thread * 1_250 + n)).unwrap();
                        assert_eq!(outcome, RecordOutcome::Queued);
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
        let ((go, wait), (tell, begun)) = (mpsc::channel::<()>(), mpsc::channel());
        let block = move |_: &mut [Execution]| _ = (tell.send(()), wait.recv());
        let hooks = RecorderHooks { prepare: Some(Box::new(block)), refresh: None };
        let recorder = start(&folder, hooks);
        recorder.record(run(0)).unwrap();
        begun.recv().unwrap();
        // The writer blocks until `go` is dropped, so a call to `record` that waits would never
        // return.
        let all = CAPACITY + 100;
        let taken = (0..all).filter(|n| recorder.record(run(*n)).unwrap() == RecordOutcome::Queued);
        assert_eq!(taken.count(), CAPACITY);
        drop(go);
        let counts = recorder.close().unwrap();
        assert_eq!((counts.written, counts.dropped), (CAPACITY as u64 + 1, 100));
        assert_eq!(store(&folder).count().unwrap(), counts.written);
    }

    #[test]
    fn a_flush_writes_and_refreshes_and_a_drop_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let seen = Arc::new(AtomicU64::new(0));
        let tell = seen.clone();
        let refresh =
            move |store: &ExecutionStore| tell.store(store.count().unwrap(), Ordering::Relaxed);
        let hooks = RecorderHooks { prepare: None, refresh: Some(Box::new(refresh)) };
        let recorder = start(&folder, hooks);
        (0..1_000).for_each(|n| _ = recorder.record(run(n)).unwrap());
        recorder.flush().unwrap();
        assert_eq!(seen.load(Ordering::Relaxed), 1_000);
        (0..500).for_each(|n| _ = recorder.record(run(n)).unwrap());
        drop(recorder);
        assert_eq!(store(&folder).count().unwrap(), 1_500);
    }

    #[test]
    fn what_could_not_be_written_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        // A hook that makes a row invalid simulates a disk that fails.
        let spoil = |rows: &mut [Execution]| rows.iter_mut().for_each(|row| row.cost = Some(-1.0));
        let hooks = RecorderHooks { prepare: Some(Box::new(spoil)), refresh: None };
        let recorder = start(&folder, hooks);
        let bad = Execution { cost: Some(f64::NAN), ..run(1) };
        assert!(matches!(recorder.record(bad), Err(StoreError::Invalid { field: "cost", .. })));
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
