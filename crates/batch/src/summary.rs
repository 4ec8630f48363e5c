//! The summary of a batch.

use std::path::PathBuf;

use serde::Serialize;
use toolroute_eval::BadRow;

/// The result of a batch.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BatchSummary {
    pub rows: usize,
    /// The rows that an interrupted run had answered.
    pub resumed: usize,
    #[serde(flatten)]
    pub counts: BatchCounts,
    /// The rows that failed. Each is also in the output, with its error.
    pub bad: Vec<BadRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
}

/// The number of rows by outcome, including those of an interrupted run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BatchCounts {
    /// Rows with at least one tool.
    pub answered: usize,
    /// Answered rows whose tools may not fit.
    pub unsure: usize,
    /// Rows for which no tool fits.
    pub empty: usize,
    /// Empty rows in a language that the model does not read.
    pub unread: usize,
    /// Rows that could not be read or answered.
    pub failed: usize,
}

impl BatchCounts {
    /// Counts one row of the output.
    pub(crate) fn add(&mut self, tools: usize, is_unread: bool, has_failed: bool) {
        match (has_failed, tools) {
            (true, _) => self.failed += 1,
            (false, 0) => self.empty += 1,
            (false, _) => self.answered += 1,
        }
        self.unread += usize::from(is_unread && tools == 0 && !has_failed);
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            answered: self.answered + other.answered,
            unsure: self.unsure + other.unsure,
            empty: self.empty + other.empty,
            unread: self.unread + other.unread,
            failed: self.failed + other.failed,
        }
    }
}
