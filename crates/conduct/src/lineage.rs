//! The lineage of obligations: how an obligation continues after it was settled.
//!
//! A settled obligation never changes. If a report can continue, because its question was answered
//! or a tool for it exists now, it becomes a new obligation below its question or search: `sum`,
//! `sum.clarify`, `sum.2`.

use std::collections::HashMap;

use super::Error;
use super::ledger::{Ledger, ObligationRow};
use super::obligation::{Duty, Status};

/// The kind of a question that asks for the inputs of a report.
pub const INPUT: &str = "input";
/// The kind of a question that asks which of two facts is right.
pub const CONTRADICTION: &str = "contradiction";
/// The kind of a question that asks what an utterance means.
pub const UTTERANCE: &str = "utterance";

/// The obligations of one request, in the order in which they were added.
pub struct Lineage {
    pub rows: Vec<ObligationRow>,
    /// The index of each row by its id.
    places: HashMap<i64, usize>,
    /// The indexes of the children of each row.
    below: HashMap<i64, Vec<usize>>,
}

impl Lineage {
    pub fn read(ledger: &Ledger, request: i64) -> Result<Self, Error> {
        let rows = ledger.obligations(Some(request))?;
        let places = rows.iter().enumerate().map(|(place, row)| (row.id, place)).collect();
        let mut below: HashMap<i64, Vec<usize>> = HashMap::new();
        for (place, row) in rows.iter().enumerate() {
            if let Some(parent) = row.parent {
                below.entry(parent).or_default().push(place);
            }
        }
        Ok(Self { rows, places, below })
    }

    pub fn children(&self, of: i64) -> impl Iterator<Item = &ObligationRow> {
        self.below.get(&of).into_iter().flatten().map(|place| &self.rows[*place])
    }

    pub fn row(&self, id: i64) -> Option<&ObligationRow> {
        self.places.get(&id).map(|place| &self.rows[*place])
    }

    pub fn named(&self, name: &str) -> Option<&ObligationRow> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// Returns the child from which a report can continue: a question for inputs, or a search.
    pub fn continuation_child(&self, report: &ObligationRow) -> Option<&ObligationRow> {
        self.children(report.id).find(|child| match child.what.duty {
            Duty::Clarify => child.what.kind.as_deref() == Some(INPUT),
            duty => duty == Duty::DiscoverOp,
        })
    }

    /// Returns the row that continues this one.
    pub fn next(&self, row: &ObligationRow) -> Option<&ObligationRow> {
        let below = match row.what.duty {
            Duty::Report => self.continuation_child(row)?.id,
            Duty::Clarify | Duty::Verify => row.id,
            Duty::DiscoverOp | Duty::Justify => return None,
        };
        self.children(below).next()
    }

    /// Returns the last continuation of a row, or the row itself.
    pub fn latest<'a>(&'a self, row: &'a ObligationRow) -> &'a ObligationRow {
        let mut latest = row;
        while let Some(next) = self.next(latest) {
            latest = next;
        }
        latest
    }

    /// Returns the row that this one continues.
    pub fn predecessor(&self, row: &ObligationRow) -> Option<&ObligationRow> {
        let parent = self.row(row.parent?)?;
        match parent.what.duty {
            // A child of a report is a consequence of the report, and does not continue it.
            Duty::Report | Duty::Justify => None,
            _ => {
                let report = parent.parent.and_then(|id| self.row(id));
                Some(report.filter(|row| row.what.duty == Duty::Report).unwrap_or(parent))
            }
        }
    }

    /// Returns the rows that this one continues, the nearest first.
    pub fn ancestors<'a>(
        &'a self,
        row: &'a ObligationRow,
    ) -> impl Iterator<Item = &'a ObligationRow> {
        std::iter::successors(self.predecessor(row), |row| self.predecessor(row))
    }

    /// Returns the name for the continuation of a row: the first row's name with a number.
    pub fn next_name(&self, row: &ObligationRow) -> String {
        let ancestors: Vec<&ObligationRow> = self.ancestors(row).collect();
        let first = ancestors.last().map_or(row, |first| first);
        format!("{}.{}", first.name, ancestors.len() + 2)
    }

    /// Returns `true` if an obligation waits for a reply or for a tool.
    pub fn is_open(&self, row: &ObligationRow) -> bool {
        let latest = self.latest(row);
        latest.status == Status::Escalated
            && match latest.what.duty {
                Duty::Report => self.continuation_child(latest).is_some(),
                Duty::Clarify => latest.what.kind.as_deref() == Some(UTTERANCE),
                Duty::Verify => true,
                Duty::DiscoverOp | Duty::Justify => false,
            }
    }
}
