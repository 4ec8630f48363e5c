//! Reads the rows of an input in groups that are answered together.

use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::record::IdType;
use crate::row::{OpenRows, Row};
use crate::{Error, Input, Shard};

/// The number of rows that are answered and written together. A resumed run starts at a multiple of
/// it.
pub(crate) const GROUP: usize = 256;

/// The limit for rows that are read while others are ranked.
const READ_AHEAD: usize = 2 * GROUP;

/// The limit for the size of these rows in bytes. A larger row is read ahead alone. The tools in a
/// row may take megabytes.
const READ_AHEAD_BYTES: usize = 16 << 20;

/// Reads an input in its own thread.
pub(crate) struct RowGroups {
    rows: Receiver<Result<(Row, usize), Error>>,
    read_ahead: Arc<ReadAheadBudget>,
    shard: Shard,
    /// Whether a group waits until it is full, so that its boundaries are the same in every run.
    /// Rows from a pipe are answered as they arrive.
    fills: bool,
    pub id: IdType,
    /// The number of rows of this shard, if it is known.
    pub total: Option<usize>,
    /// The number of rows of this shard that were answered by an earlier run.
    pub skipped: usize,
    to_skip: usize,
    /// Whether any row so far is a prompt.
    pub has_prompts: bool,
    /// The line and the error of the first bad row of any shard.
    pub first_bad: Option<(usize, String)>,
    /// An error that occurred after rows that must be answered first.
    failed: Option<Error>,
}

impl RowGroups {
    /// Opens the input and starts the thread.
    pub fn open(input: &Input, shard: Shard) -> Result<Self, Error> {
        let OpenRows { rows: all, id, total } = input.rows()?;
        let (sender, rows) = sync_channel(READ_AHEAD);
        let read_ahead = Arc::new(ReadAheadBudget::default());
        let reader_ahead = read_ahead.clone();
        // Not joined, because it may still wait for a pipe when the output is already closed.
        let reader = move || {
            let mut tools = None;
            for row in all {
                let row = row.map(|mut row| {
                    let bytes = row.share_tools(&mut tools);
                    (row, bytes)
                });
                let bytes = row.as_ref().map_or(0, |(_, bytes)| *bytes);
                // A reader must not be used after an error.
                let is_last = row.is_err();
                if !reader_ahead.take(bytes) || sender.send(row).is_err() || is_last {
                    return;
                }
            }
        };
        let spawned = std::thread::Builder::new().name("rows".to_owned()).spawn(reader);
        spawned.map_err(Error::io("start a thread for", "the input"))?;
        let is_file = input.is_file();
        Ok(Self {
            rows,
            read_ahead,
            shard,
            fills: is_file,
            id,
            total: total.map(|total| shard.len(total)),
            skipped: 0,
            to_skip: 0,
            // A file was checked for a prompt when it was opened.
            has_prompts: is_file,
            first_bad: None,
            failed: None,
        })
    }

    /// Skips the first rows of the shard, which were answered by an earlier run.
    pub fn skip(&mut self, rows: usize) {
        (self.skipped, self.to_skip) = (rows, rows);
    }

    /// Returns the next rows of the shard in their order, or `None` after the last.
    pub fn next(&mut self) -> Result<Option<Vec<Row>>, Error> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut group = Vec::new();
        while group.len() < GROUP {
            let row = if self.fills || group.is_empty() {
                self.rows.recv().ok()
            } else {
                self.rows.try_recv().ok()
            };
            match row {
                None => break,
                Some(Ok((row, bytes))) => {
                    self.read_ahead.give(bytes);
                    group.extend(self.accept(row));
                }
                Some(Err(error)) if group.is_empty() => return Err(error),
                Some(Err(error)) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        Ok(if group.is_empty() { None } else { Some(group) })
    }

    fn accept(&mut self, row: Row) -> Option<Row> {
        match &row.query {
            Ok(_) => self.has_prompts = true,
            Err(bad) if self.first_bad.is_none() => {
                self.first_bad = Some((bad.line, bad.error.clone()));
            }
            Err(_) => {}
        }
        if !self.shard.holds(row.number) {
            return None;
        }
        if self.to_skip > 0 {
            self.to_skip -= 1;
            return None;
        }
        Some(row)
    }
}

impl Drop for RowGroups {
    fn drop(&mut self) {
        self.read_ahead.update(|state| state.is_over = true);
    }
}

/// Limits the size of the rows that are read ahead.
#[derive(Default)]
struct ReadAheadBudget {
    state: Mutex<ReadAheadState>,
    changed: Condvar,
}

#[derive(Default)]
struct ReadAheadState {
    bytes: usize,
    /// Whether the receiver of the rows is gone.
    is_over: bool,
}

impl ReadAheadBudget {
    /// Waits until `bytes` more may be read. Returns `false` if the receiver of the rows is gone.
    fn take(&self, bytes: usize) -> bool {
        let is_full = |state: &mut ReadAheadState| {
            !state.is_over && state.bytes > 0 && state.bytes + bytes > READ_AHEAD_BYTES
        };
        let state = self.changed.wait_while(self.lock(), is_full);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.bytes += bytes;
        !state.is_over
    }

    fn give(&self, bytes: usize) {
        self.update(|state| state.bytes -= bytes);
    }

    fn update(&self, change: impl FnOnce(&mut ReadAheadState)) {
        change(&mut self.lock());
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, ReadAheadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn large_rows_wait_until_those_before_them_are_taken() {
        let read_ahead = Arc::new(ReadAheadBudget::default());
        assert!(read_ahead.take(3 * READ_AHEAD_BYTES), "a large row alone");
        let waiting = read_ahead.clone();
        let waiting = std::thread::spawn(move || waiting.take(1) && waiting.take(READ_AHEAD_BYTES));
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waiting.is_finished());
        read_ahead.give(3 * READ_AHEAD_BYTES);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(read_ahead.lock().bytes, 1);
        read_ahead.update(|state| state.is_over = true);
        assert!(!waiting.join().unwrap());
    }
}
