//! Rows of an input, in groups that are answered together.

use std::sync::mpsc::{Receiver, sync_channel};

use crate::input::OpenRows;
use crate::job::GROUP;
use crate::record::IdType;
use crate::row::Row;
use crate::{Error, Input, Shard};

/// Rows that are read ahead while others are ranked.
const READ_AHEAD: usize = 2 * GROUP;

/// Reads an input in a thread of its own.
pub(crate) struct Groups {
    rows: Receiver<Result<Row, Error>>,
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
        // Not joined: it may wait for a pipe when the output is closed already.
        let reader = move || {
            for row in all {
                // What was read with must not be used again after an error.
                let is_last = row.is_err();
                if sender.send(row).is_err() || is_last {
                    return;
                }
            }
        };
        let spawned = std::thread::Builder::new().name("rows".to_owned()).spawn(reader);
        spawned.map_err(Error::io("start a thread for", "the input"))?;
        let is_file = input.is_file();
        Ok(Self {
            rows,
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
                Some(Ok(row)) => group.extend(self.accept(row)),
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
