//! The whole state of the conductor, stored in one SQLite file.
//!
//! No state is kept in memory between two steps: each step reads what it needs, does one thing, and
//! writes it in one transaction. A run is recorded as started before the tool is called, and as
//! completed together with its assertion, event and source. A killed process therefore leaves
//! either the whole step or nothing of it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::Error;
use toolroute_vectors::durable;

mod read;
mod rows;
mod sums;
mod tables;
mod write;

pub use rows::{
    AssertionRow, EventRow, ObligationRow, Origin, Purpose, RequestRow, RequestStatus, RunRow,
    RunStatus, Standing,
};
pub use write::{Change, NewAssertion, NewRun, RunEnd};

use tables::{APPLICATION, TABLES, VERSION};

/// How long a reader waits for a writer's transaction.
const PATIENCE: Duration = Duration::from_secs(10);

/// An open ledger. Only one conductor at a time can write it; any number of readers can read it.
pub struct Ledger {
    connection: Connection,
    path: PathBuf,
    /// The lock of the writer. The operating system releases it however this process ends.
    _lock: Option<File>,
}

impl Ledger {
    /// Opens the ledger for writing, and creates it if it does not exist.
    ///
    /// # Errors
    /// Returns [`Error::Busy`] while another conductor writes it, [`Error::Foreign`] for a file
    /// that is not a ledger, [`Error::Version`] for an unknown version, and [`Error::Damaged`] for
    /// a damaged ledger. A foreign file and an unknown version are left unchanged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let lock = lock(path)?;
        // The file contains arguments and answers, so it is private. SQLite gives its other files
        // the same permissions.
        durable::private_file(path).map_err(|source| Error::Io {
            action: "write",
            path: path.to_owned(),
            source,
        })?;
        let connection = Connection::open(path).map_err(failed("open", path))?;
        let mut ledger = Self { connection, path: path.to_owned(), _lock: Some(lock) };
        ledger.prepare()?;
        Ok(ledger)
    }

    /// Opens the ledger for reading.
    ///
    /// # Errors
    /// Returns [`Error::Missing`] if there is no ledger, and otherwise the errors of
    /// [`Ledger::open`] except [`Error::Busy`].
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        if !path.exists() {
            return Err(Error::Missing { path: path.to_owned() });
        }
        // Not read-only, because SQLite must first apply the write-ahead log of a killed conductor.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed("open", path))?;
        connection.busy_timeout(PATIENCE).map_err(failed("open", path))?;
        let ledger = Self { connection, path: path.to_owned(), _lock: None };
        ledger.recognise()?;
        ledger.check()?;
        Ok(ledger)
    }

    /// The file of the ledger.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn prepare(&mut self) -> Result<(), Error> {
        self.connection.busy_timeout(PATIENCE).map_err(self.failed("open"))?;
        if self.is_empty()? {
            self.connection
                .execute_batch("PRAGMA journal_mode = WAL")
                .map_err(self.failed("open"))?;
            self.write("make its tables", |tx| {
                tx.execute_batch(TABLES)?;
                tx.execute_batch(sums::TABLE)?;
                sums::watch(tx)?;
                tx.execute("INSERT INTO meta VALUES ('id', ?1)", [durable::unique_id()])?;
                tx.pragma_update(None, "application_id", APPLICATION)?;
                tx.pragma_update(None, "user_version", VERSION)
            })?;
        }
        self.recognise()?;
        self.check()?;
        sums::watch(&self.connection).map_err(self.failed("open"))?;
        // FULL, not NORMAL, because a completed run must also survive a power failure.
        let settings = "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON";
        self.connection.execute_batch(settings).map_err(self.failed("open"))
    }

    fn is_empty(&self) -> Result<bool, Error> {
        let tables = "SELECT count(*) = 0 FROM sqlite_schema";
        let ask = || self.connection.query_row(tables, [], |row| row.get(0));
        ask().map_err(|error| self.not_ours(error))
    }

    /// Returns an error unless the file is a ledger of this version.
    fn recognise(&self) -> Result<(), Error> {
        let number = |pragma| self.connection.pragma_query_value(None, pragma, |row| row.get(0));
        let path = || self.path.clone();
        let application: i64 = number("application_id").map_err(|error| self.not_ours(error))?;
        if application != APPLICATION {
            // A process that was killed before it created the tables leaves an empty file.
            let empty = self.is_empty()?;
            return Err(if empty {
                Error::Missing { path: path() }
            } else {
                Error::Foreign { path: path() }
            });
        }
        let found = number("user_version").map_err(self.failed("open"))?;
        if found != VERSION {
            return Err(Error::Version { path: path(), found, expected: VERSION });
        }
        Ok(())
    }

    /// Verifies the rows of the ledger.
    fn check(&self) -> Result<(), Error> {
        let damaged = |said| Error::Damaged { path: self.path.clone(), said };
        match sums::damage(&self.connection) {
            Ok(None) => Ok(()),
            Ok(Some(said)) => Err(damaged(said)),
            Err(error) => match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::DatabaseCorrupt) => Err(damaged(error.to_string())),
                _ => Err(self.failed("say whether it is whole")(error)),
            },
        }
    }

    fn not_ours(&self, error: rusqlite::Error) -> Error {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => Error::Foreign { path: self.path.clone() },
            _ => self.failed("open")(error),
        }
    }

    fn failed(&self, action: &'static str) -> impl Fn(rusqlite::Error) -> Error + use<> {
        failed(action, &self.path)
    }

    /// Runs `work` in one transaction.
    fn write<T>(
        &mut self,
        action: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let failed = self.failed(action);
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let tx = begun.map_err(&failed)?;
        let done = work(&tx).map_err(&failed)?;
        sums::seal(&tx).map_err(&failed)?;
        tx.commit().map_err(failed)?;
        Ok(done)
    }
}

fn failed(action: &'static str, path: &Path) -> impl Fn(rusqlite::Error) -> Error + use<> {
    let path = path.display().to_string();
    move |error| Error::Ledger { action, said: format!("{path}: {error}") }
}

/// Locks a file beside the ledger, because SQLite's own locks last only for one transaction.
fn lock(path: &Path) -> Result<File, Error> {
    let failed =
        |source| Error::Io { action: "write", path: path.with_added_extension("lock"), source };
    durable::try_lock(path).map_err(failed)?.ok_or_else(|| Error::Busy { path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_settled_row_stays_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path().join("ledger")).unwrap();
        let base = &ledger.connection;
        base.execute_batch(
            "INSERT INTO requests VALUES (1, 'd', '{}', 'u', 'planned', NULL, 0); \
             INSERT INTO obligations VALUES (1, 1, NULL, 'o1', 'REPORT(x)', '{}', NULL, 'active', NULL); \
             INSERT INTO runs VALUES (1, 'k', 1, 'plan', 'T', '{}', '{}', 'completed', 0, 1, NULL, 0, 1); \
             UPDATE obligations SET status = 'resolved'",
        )
        .unwrap();
        for (sql, wanted) in [
            ("UPDATE obligations SET status = 'active'", "settled"),
            ("UPDATE obligations SET status = 'failed'", "settled"),
            ("UPDATE runs SET status = 'started'", "ended"),
            ("UPDATE runs SET attempts = 2", "ended"),
            ("DELETE FROM obligations", "cannot be deleted"),
            ("UPDATE requests SET status = 'lost'", "CHECK"),
        ] {
            let said = base.execute_batch(sql).unwrap_err().to_string();
            assert!(said.contains(wanted), "{sql}: {said}");
        }
        assert!(ledger.obligations(Some(1)).unwrap()[0].note.is_none());
    }

    #[test]
    fn another_version_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        let ledger = Ledger::open(&path).unwrap();
        ledger.connection.pragma_update(None, "user_version", VERSION + 1).unwrap();
        drop(ledger);
        let refused = Ledger::open(&path).err().unwrap();
        assert!(matches!(refused, Error::Version { found, .. } if found == VERSION + 1));
    }
}
