//! The log of learned weights. Each record refers to the record that it replaced.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use serde::Serialize;
use toolroute_vectors::durable::now_ms;

use super::checksums::{damage, row_checksum};
use super::{ExecutionStore, rows, store_error};
use crate::feedback::{ScoreWeights, StoreError};

/// One change of the weights in the log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WeightRecord {
    pub id: i64,
    /// Milliseconds since 1970.
    pub at: i64,
    /// `apply` or `revert`.
    pub action: String,
    /// `None` stands for the weights of the configuration.
    pub weights: Option<ScoreWeights>,
    /// The record whose weights applied before or, in a revert, apply again. `None` stands for the
    /// configuration.
    pub parent: Option<i64>,
    pub executions: u64,
    pub loss_before: Option<f64>,
    pub loss_after: Option<f64>,
}

/// The last column is the checksum of the others.
const COLUMNS: &str = "id, at, action, weights, parent, executions, loss_before, loss_after, sum";

impl ExecutionStore {
    /// Returns the current weights, or `None` if those of the configuration apply.
    pub fn current_weights(&self) -> Result<Option<ScoreWeights>, StoreError> {
        let newest = newest(&self.connection).map_err(|error| store_error(&self.path, error))?;
        Ok(newest.and_then(|record| record.weights))
    }

    /// Returns every change of the weights, oldest first. The number of records serves as a
    /// version.
    pub fn weight_history(&self) -> Result<Vec<WeightRecord>, StoreError> {
        let read = || -> rusqlite::Result<Vec<WeightRecord>> {
            let sql = format!("SELECT {COLUMNS} FROM weights ORDER BY id");
            self.connection.prepare(&sql)?.query_map([], record)?.collect()
        };
        read().map_err(|error| store_error(&self.path, error))
    }

    /// `fit` is the number of executions, and the losses before and after.
    pub(in crate::feedback) fn apply_weights(
        &mut self,
        weights: &ScoreWeights,
        fit: (usize, f64, f64),
    ) -> Result<(), StoreError> {
        apply(&mut self.connection, weights, fit).map_err(|error| store_error(&self.path, error))
    }

    /// Reverts the latest weights and returns the ones before; `None` stands for the configuration.
    /// The reverted record remains in the log.
    ///
    /// # Errors
    /// [`StoreError::NothingToRevert`] if no weights are left to revert; an error if the file
    /// cannot be written.
    pub fn revert_weights(&mut self) -> Result<Option<ScoreWeights>, StoreError> {
        let failed = |error| store_error(&self.path, error);
        let reverted = revert(&mut self.connection).map_err(failed)?;
        reverted.ok_or(StoreError::NothingToRevert)
    }
}

fn record(row: &rusqlite::Row<'_>) -> rusqlite::Result<WeightRecord> {
    check(row)?;
    let executions: i64 = row.get("executions")?;
    Ok(WeightRecord {
        id: row.get("id")?,
        at: row.get("at")?,
        action: row.get("action")?,
        weights: rows::parsed(row, "weights")?,
        parent: row.get("parent")?,
        executions: u64::try_from(executions).unwrap_or(0),
        loss_before: row.get("loss_before")?,
        loss_after: row.get("loss_after")?,
    })
}

fn newest(connection: &Connection) -> rusqlite::Result<Option<WeightRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM weights ORDER BY id DESC LIMIT 1");
    connection.query_row(&sql, [], record).optional()
}

fn by_id(connection: &Connection, id: i64) -> rusqlite::Result<WeightRecord> {
    connection.query_row(&format!("SELECT {COLUMNS} FROM weights WHERE id = ?1"), [id], record)
}

/// Returns the record whose weights apply: for a revert, the record to which it returned.
fn holding(connection: &Connection) -> rusqlite::Result<Option<WeightRecord>> {
    match newest(connection)? {
        Some(reverted) if reverted.action == "revert" => {
            reverted.parent.map(|id| by_id(connection, id)).transpose()
        }
        other => Ok(other),
    }
}

fn apply(
    connection: &mut Connection,
    weights: &ScoreWeights,
    (executions, before, after): (usize, f64, f64),
) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let parent = holding(&transaction)?.map(|record| record.id);
    let executions = i64::try_from(executions).unwrap_or(i64::MAX);
    let fit = (executions, Some(before), Some(after));
    append(&transaction, "apply", (Some(weights), parent), fit)?;
    transaction.commit()
}

/// Returns the weights that apply after the revert, or `None` if nothing is left to revert.
fn revert(connection: &mut Connection) -> rusqlite::Result<Option<Option<ScoreWeights>>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let Some(held) = holding(&transaction)? else { return Ok(None) };
    let before = held.parent.map(|id| by_id(&transaction, id)).transpose()?;
    let (parent, weights) = before.map_or((None, None), |record| (Some(record.id), record.weights));
    append(&transaction, "revert", (weights.as_ref(), parent), (0, None, None))?;
    transaction.commit()?;
    Ok(Some(weights))
}

fn append(
    connection: &Connection,
    action: &str,
    (weights, parent): (Option<&ScoreWeights>, Option<i64>),
    (executions, before, after): (i64, Option<f64>, Option<f64>),
) -> rusqlite::Result<()> {
    let json = |weights: &ScoreWeights| {
        serde_json::to_string(weights).expect("names and numbers are JSON. This is a bug.")
    };
    connection.execute(
        "INSERT INTO weights (at, action, weights, parent, executions, loss_before, loss_after, sum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0)",
        params![now_ms(), action, weights.map(json), parent, executions, before, after],
    )?;
    seal(connection, connection.last_insert_rowid())
}

/// Sets the checksum of a record of weights.
fn seal(connection: &Connection, id: i64) -> rusqlite::Result<()> {
    let sql = format!("SELECT {} FROM weights WHERE id = ?1", COLUMNS);
    let sum = connection
        .query_row(&sql, [id], |row| row_checksum(row, 0..row.as_ref().column_count() - 1))?;
    connection.execute("UPDATE weights SET sum = ?1 WHERE id = ?2", [sum, id]).map(drop)
}

/// Verifies a record of weights.
fn check(row: &rusqlite::Row<'_>) -> rusqlite::Result<()> {
    let sum = row_checksum(row, 0..row.as_ref().column_count() - 1)?;
    match row.get::<_, Option<i64>>("sum")? == Some(sum) {
        true => Ok(()),
        false => Err(damage("a record of weights is not what was written")),
    }
}
