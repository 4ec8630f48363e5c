//! Executions on disk: an SQLite file with a write-ahead log. Only this module and its submodules
//! use rusqlite.
//!
//! Files of other programs are never changed, and deleted data is overwritten.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension, TransactionBehavior};
use toolroute_catalog::ToolId;
use toolroute_vectors::durable::now_ms;

use super::{Execution, StoreError};
pub use checksums::row_checksum;
use rows::Columns;
pub use weight_log::WeightRecord;

mod checksums;
mod rows;
mod schema;
#[cfg(test)]
mod tests;
mod weight_log;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How many executions are kept, and for how long. The next write removes the rest, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// The most executions that are kept.
    pub rows: u64,
    /// For how many days an execution is kept.
    pub days: u32,
}

impl Default for Retention {
    /// Half a year, because tools change faster than that. With vectors of 384 numbers, 50,000 rows
    /// take about 100 MB.
    fn default() -> Self {
        Self { rows: 50_000, days: 180 }
    }
}

/// Which data a log stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// Whether to store the text of prompts. If not, only their hashes are stored.
    pub keep_prompts: bool,
    /// Whether to store the vectors of prompts. They are not text, but they reveal what a text is
    /// about.
    pub keep_vectors: bool,
    /// How much is kept, and for how long.
    pub retention: Retention,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { keep_prompts: false, keep_vectors: true, retention: Retention::default() }
    }
}

/// The result of an insert.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InsertReport {
    pub added: u64,
    /// The number of rows, new or old, that were removed because they exceed the retention.
    pub removed: u64,
}

/// Which data to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForgetScope {
    /// The executions of a tool, and its id among the offered tools of other executions.
    Tool(ToolId),
    /// Everything before a time, in milliseconds since 1970.
    Before(i64),
    /// Everything, including learned weights.
    All,
}

/// The result of forgetting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForgetReport {
    pub executions: u64,
    /// Whether the bytes are removed from disk as well. If another process reads the log at that
    /// moment, they remain until the next write or the next forgetting.
    pub scrubbed: bool,
}

/// A log of executions on disk. Several processes may open the same log.
pub struct ExecutionStore {
    connection: Connection,
    path: PathBuf,
    options: StoreOptions,
}

impl ExecutionStore {
    /// Opens the log at `path`, or creates it in a folder that exists.
    ///
    /// # Errors
    /// [`StoreError::Foreign`] for a file of another program, which is left unchanged;
    /// [`StoreError::Version`], [`StoreError::Damaged`], [`StoreError::Busy`], [`StoreError::Io`].
    pub fn open(path: impl AsRef<Path>, options: StoreOptions) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        let connection = schema::open(&path)?;
        Ok(Self { connection, path, options })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of executions.
    pub fn count(&self) -> Result<u64, StoreError> {
        self.checked(count(&self.connection))
    }

    /// Logs all executions or none, and removes rows beyond the retention.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] if an execution is invalid; an error if the file cannot be written.
    pub fn insert(&mut self, executions: &[Execution]) -> Result<InsertReport, StoreError> {
        executions.iter().try_for_each(Execution::check)?;
        let written = insert_at(&mut self.connection, executions, &self.options, now_ms());
        self.checked(written)
    }

    /// Calls `see` with every execution, in order of time.
    pub fn for_each(&self, see: impl FnMut(Execution)) -> Result<(), StoreError> {
        self.read(Columns::All, Order::Forward, see)
    }

    /// Returns every execution in order of time, without texts and vectors, which most of the
    /// learning does not need.
    pub fn facts(&self) -> Result<Vec<Execution>, StoreError> {
        let mut all = Vec::new();
        self.read(Columns::Facts, Order::Forward, |execution| all.push(execution))?;
        Ok(all)
    }

    /// Calls `see` with the latest executions, at most `most`, newest first.
    pub fn latest(&self, most: u32, see: impl FnMut(Execution)) -> Result<(), StoreError> {
        self.read(Columns::All, Order::Newest(most), see)
    }

    /// Forgets all executions in the scope or none, and overwrites their bytes.
    pub fn forget(&mut self, what: &ForgetScope) -> Result<ForgetReport, StoreError> {
        let deleted = delete(&mut self.connection, what);
        let executions = self.checked(deleted)?;
        let scrubbed = scrub(&self.connection).unwrap_or(false);
        Ok(ForgetReport { executions, scrubbed })
    }

    /// Parses a date such as `2026-01-31`, optionally with a time, to milliseconds since 1970
    /// (UTC).
    ///
    /// # Errors
    /// [`StoreError::BadDate`] if the text is not a date.
    pub fn date(&self, text: &str) -> Result<i64, StoreError> {
        // SQLite accepts more than dates: "now", Julian days, and 2026-02-31 as the 3rd of March.
        // For those, the date that it returns differs from the text.
        let sql = "SELECT unixepoch(?1) * 1000 WHERE date(?1, '+0 days') = substr(?1, 1, 10)";
        let found = self.connection.query_row(sql, [text], |row| row.get::<_, Option<i64>>(0));
        let found = self.checked(found.optional())?.flatten();
        found.ok_or_else(|| StoreError::BadDate { found: text.chars().take(40).collect() })
    }

    /// Formats a time for people, in UTC: `2026-01-31 14:05`.
    pub fn time(&self, at: i64) -> Result<String, StoreError> {
        let sql = "SELECT strftime('%Y-%m-%d %H:%M', ?1 / 1000, 'unixepoch')";
        let found = self.connection.query_row(sql, [at], |row| row.get::<_, Option<String>>(0));
        Ok(self.checked(found)?.unwrap_or_default())
    }

    fn read(
        &self,
        columns: Columns,
        order: Order,
        mut see: impl FnMut(Execution),
    ) -> Result<(), StoreError> {
        let mut read = || {
            // Read one snapshot of the log, whatever other processes write.
            let reading = self.connection.unchecked_transaction()?;
            let mut statement = reading.prepare_cached(&columns.select(&order.sql()))?;
            let mut found = statement.query([])?;
            let (mut last, mut seen) = (None, 0);
            while let Some(row) = found.next()? {
                let execution = rows::execution(row, columns)?;
                if last.is_some_and(|last| !order.allows(last, execution.at)) {
                    return Err(checksums::damage("its index by time is not in order"));
                }
                last = Some(execution.at);
                seen += 1;
                see(execution);
            }
            // The index must contain every row of the table.
            let all = "SELECT count(*) FROM executions NOT INDEXED";
            let is_whole = order != Order::Forward
                || seen == reading.query_row(all, [], |row| row.get::<_, i64>(0))?;
            match is_whole {
                true => Ok(()),
                false => Err(checksums::damage("its index by time lacks executions")),
            }
        };
        self.checked(read())
    }

    fn checked<T>(&self, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|error| store_error(&self.path, error))
    }
}

/// The order in which executions are read, and their number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// All executions, oldest first.
    Forward,
    /// This number of executions, newest first.
    Newest(u32),
}

impl Order {
    fn sql(self) -> String {
        match self {
            Self::Forward => "ORDER BY at, id".to_owned(),
            Self::Newest(most) => format!("ORDER BY at DESC, id DESC LIMIT {most}"),
        }
    }

    /// Whether an execution at the first time may come before one at the second.
    fn allows(self, first: Option<i64>, second: Option<i64>) -> bool {
        if self == Self::Forward { first <= second } else { first >= second }
    }
}

fn count(connection: &Connection) -> rusqlite::Result<u64> {
    let count: i64 =
        connection.query_row("SELECT count(*) FROM executions", [], |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or(0))
}

fn insert_at(
    connection: &mut Connection,
    executions: &[Execution],
    options: &StoreOptions,
    now: i64,
) -> rusqlite::Result<InsertReport> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let is_now = is_plausible(&transaction, now)?;
    {
        let mut statement = transaction.prepare_cached(rows::INSERT)?;
        for execution in executions {
            rows::insert(&mut statement, execution, options, now)?;
            checksums::seal(&transaction, transaction.last_insert_rowid())?;
        }
    }
    let removed = retain(&transaction, options.retention, is_now.then_some(now))?;
    transaction.commit()?;
    Ok(InsertReport { added: executions.len() as u64, removed })
}

/// The number of executions within [`LONGEST_PAUSE`] that confirm the clock.
const WITNESSES: u32 = 16;

/// The maximum pause in a log. After a longer one, the clock is more likely wrong.
const LONGEST_PAUSE: Duration = DAY.saturating_mul(365);

/// Whether the clock is plausible. A clock that is years ahead for a few commands must not delete
/// the log by age, so nothing is removed by age until enough executions are recent.
fn is_plausible(connection: &Connection, now: i64) -> rusqlite::Result<bool> {
    let newest = "SELECT min(at) FROM (SELECT at FROM executions ORDER BY at DESC LIMIT ?1)";
    let witness: Option<i64> = connection.query_row(newest, [WITNESSES], |row| row.get(0))?;
    let pause = LONGEST_PAUSE.as_millis() as i64;
    Ok(witness.is_none_or(|at| at >= now.saturating_sub(pause)))
}

/// Removes rows beyond the retention; by age only if the time is known.
fn retain(connection: &Connection, keep: Retention, now: Option<i64>) -> rusqlite::Result<u64> {
    let days = DAY.as_millis() as i64 * i64::from(keep.days);
    let old = "DELETE FROM executions WHERE at < ?1";
    let aged = now.map_or(Ok(0), |now| connection.execute(old, [now.saturating_sub(days)]))?;
    let beyond = count(connection)?.saturating_sub(keep.rows);
    let beyond = i64::try_from(beyond).unwrap_or(i64::MAX);
    let oldest = "DELETE FROM executions WHERE id IN
        (SELECT id FROM executions ORDER BY at, id LIMIT ?1)";
    let cut = if beyond > 0 { connection.execute(oldest, [beyond])? } else { 0 };
    Ok((aged + cut) as u64)
}

fn delete(connection: &mut Connection, what: &ForgetScope) -> rusqlite::Result<u64> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let deleted = match what {
        ForgetScope::Tool(id) => {
            // Remove the id from the rows of other tools, too.
            let offered = "UPDATE executions SET facts_sum = NULL, offered =
                (SELECT json_group_array(value) FROM json_each(offered) WHERE value <> ?1)
                WHERE EXISTS (SELECT 1 FROM json_each(offered) WHERE value = ?1)";
            let touched = "SELECT id FROM executions
                WHERE EXISTS (SELECT 1 FROM json_each(offered) WHERE value = ?1)";
            let touched: Vec<i64> = transaction
                .prepare(touched)?
                .query_map([id.as_str()], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            transaction.execute(offered, [id.as_str()])?;
            touched.into_iter().try_for_each(|id| checksums::seal(&transaction, id))?;
            transaction.execute("DELETE FROM executions WHERE tool = ?1", [id.as_str()])?
        }
        ForgetScope::Before(at) => {
            transaction.execute("DELETE FROM executions WHERE at < ?1", [at])?
        }
        ForgetScope::All => {
            transaction.execute("DELETE FROM weights", [])?;
            transaction.execute("DELETE FROM executions", [])?
        }
    };
    transaction.commit()?;
    Ok(deleted as u64)
}

/// Rewrites the file without deleted rows and empties the write-ahead log. Returns false if another
/// process prevented the latter.
fn scrub(connection: &Connection) -> rusqlite::Result<bool> {
    connection.execute_batch("VACUUM")?;
    let busy: i64 =
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    Ok(busy == 0)
}

fn store_error(path: &Path, error: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    let what = error.to_string();
    let io = |cure| StoreError::Io { path: path.clone(), what: what.clone(), cure };
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::Foreign { path, what },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Busy { path, waited_ms: schema::BUSY.as_millis() as u64 }
        }
        Some(ErrorCode::DiskFull) => io("make room on the disk"),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            io("check its permissions and those of its folder")
        }
        Some(ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed) => {
            io("check the disk; a log cannot lie on a network drive")
        }
        // A missing column or a value of another type, which toolroute did not write.
        _ => StoreError::Damaged { path, what },
    }
}
