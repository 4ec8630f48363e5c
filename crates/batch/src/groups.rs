//! Rows of an input, in groups that are answered together.

use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::input::OpenRows;
use crate::job::GROUP;
use crate::record::IdType;
use crate::row::Row;
use crate::{Error, Input, Shard};

/// Rows that are read ahead while others are ranked.
const READ_AHEAD: usize = 2 * GROUP;

/// Their bytes; a row that has more is read ahead alone. Tools that rows bring may be megabytes each.
const READ_AHEAD_BYTES: usize = 16 << 20;

/// Reads an input in a thread of its own.
pub(crate) struct Groups {
    rows: Receiver<Result<(Row, usize), Error>>,
    ahead: Arc<Ahead>,
    shard: Shard,
    /// Whether a group waits until it is full: then its borders are the same in every run. Rows of a pipe
    /// are answered as they come.
    fills: bool,
    pub id: IdType,
    /// Rows in all, of this shard.
    pub total: Option<usize>,
    /// Rows of this shard that were answered before.
    pub skipped: usize,
    to_skip: usize,
    has_prompts: bool,
    /// The line and the error of the first row that is none, of any shard.
    pub first_bad: Option<(usize, String)>,
    /// An error that came after rows which are answered first.
    failed: Option<Error>,
}

impl Groups {
    /// # Errors
    /// Where the input cannot be opened.
    pub fn open(input: &Input, shard: Shard) -> Result<Self, Error> {
        let OpenRows { rows: all, id, total } = input.rows()?;
        let (sender, rows) = sync_channel(READ_AHEAD);
        let ahead = Arc::new(Ahead::default());
        let reader_ahead = ahead.clone();
        // Not joined: it may wait for a pipe when the output is closed already.
        let reader = move || {
            let mut tools = None;
            for row in all {
                let row = row.map(|mut row| {
                    let bytes = row.share_tools(&mut tools);
                    (row, bytes)
                });
                let bytes = row.as_ref().map_or(0, |(_, bytes)| *bytes);
                // What was read with must not be used again after an error.
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
            ahead,
            shard,
            fills: is_file,
            id,
            total: total.map(|total| shard.len(total)),
            skipped: 0,
            to_skip: 0,
            // A file was looked through when it was opened.
            has_prompts: is_file,
            first_bad: None,
            failed: None,
        })
    }

    /// Leaves out rows of the shard that were answered before.
    pub fn skip(&mut self, rows: usize) {
        (self.skipped, self.to_skip) = (rows, rows);
    }

    /// Whether any row so far is a prompt.
    pub fn has_prompts(&self) -> bool {
        self.has_prompts
    }

    /// Some rows of the shard, in their order; `None` after the last.
    ///
    /// # Errors
    /// Where the input cannot be read on.
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
                    self.ahead.give(bytes);
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

impl Drop for Groups {
    fn drop(&mut self) {
        self.ahead.update(|state| state.is_over = true);
    }
}

/// How many bytes are read ahead.
#[derive(Default)]
struct Ahead {
    state: Mutex<AheadState>,
    changed: Condvar,
}

#[derive(Default)]
struct AheadState {
    bytes: usize,
    /// Whether nobody takes rows any more.
    is_over: bool,
}

impl Ahead {
    /// Waits until there is room for so many bytes more; false where nobody takes them any more.
    fn take(&self, bytes: usize) -> bool {
        let is_full = |state: &mut AheadState| {
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

    fn update(&self, change: impl FnOnce(&mut AheadState)) {
        change(&mut self.lock());
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, AheadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn large_rows_wait_until_those_before_them_are_taken() {
        let ahead = Arc::new(Ahead::default());
        assert!(ahead.take(3 * READ_AHEAD_BYTES), "a large row alone");
        let waiting = ahead.clone();
        let waiting = std::thread::spawn(move || waiting.take(1) && waiting.take(READ_AHEAD_BYTES));
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waiting.is_finished());
        ahead.give(3 * READ_AHEAD_BYTES);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(ahead.lock().bytes, 1);
        ahead.update(|state| state.is_over = true);
        assert!(!waiting.join().unwrap());
    }
}
