//! The summary of a batch.

use std::path::PathBuf;

use serde::Serialize;
use toolroute_eval::BadRow;

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
    /// Rows without tools for another reason: the filters, the limit or an empty catalog.
    pub filtered: usize,
    /// Rows that could not be read or answered.
    pub failed: usize,
}

#[derive(Clone, Copy)]
pub(crate) enum RowOutcome {
    Answered { is_unsure: bool },
    Empty { is_unread: bool },
    Filtered,
    Failed,
}

impl BatchCounts {
    pub(crate) fn add(&mut self, outcome: RowOutcome) {
        match outcome {
            RowOutcome::Answered { is_unsure } => {
                self.answered += 1;
                self.unsure += usize::from(is_unsure);
            }
            RowOutcome::Empty { is_unread } => {
                self.empty += 1;
                self.unread += usize::from(is_unread);
            }
            RowOutcome::Filtered => self.filtered += 1,
            RowOutcome::Failed => self.failed += 1,
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            answered: self.answered + other.answered,
            unsure: self.unsure + other.unsure,
            empty: self.empty + other.empty,
            unread: self.unread + other.unread,
            filtered: self.filtered + other.filtered,
            failed: self.failed + other.failed,
        }
    }
}
