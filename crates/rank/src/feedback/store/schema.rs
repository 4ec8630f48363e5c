//! The schema of a log.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use toolroute_vectors::durable;

use super::super::StoreError;
use super::store_error;

/// The application id in the header of every log, `TRFB`. It distinguishes a log from databases of
/// other programs.
const APPLICATION: i64 = 0x5452_4642;

/// The first bytes of every SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// How long to wait for another process that holds the file.
pub(super) const BUSY: Duration = Duration::from_secs(5);

/// The version of the tables. Other versions are rejected.
const VERSION: i64 = 4;

/// The tables. A row is inserted without checksums, which are set in the same transaction.
const TABLES: &str = "
CREATE TABLE executions (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    tool TEXT NOT NULL,
    success INTEGER NOT NULL CHECK (success IN (0, 1)),
    prompt_hash BLOB NOT NULL CHECK (length(prompt_hash) = 32),
    prompt TEXT,
    model TEXT,
    vector BLOB,
    phase TEXT,
    task_type TEXT,
    languages TEXT,
    complexity REAL,
    structure TEXT,
    testing TEXT,
    rank INTEGER,
    score REAL,
    parts TEXT,
    offered TEXT,
    duration_ms INTEGER,
    error_kind TEXT,
    cost REAL,
    feedback TEXT,
    session TEXT,
    request TEXT,
    place INTEGER,
    tries INTEGER,
    estimated_ms INTEGER,
    estimated_chars INTEGER,
    chars INTEGER,
    truncated INTEGER CHECK (truncated IN (0, 1)),
    facts_sum INTEGER,
    rest_sum INTEGER
) STRICT;
CREATE INDEX executions_by_time ON executions (at);
CREATE INDEX executions_by_tool ON executions (tool, at);

CREATE TABLE weights (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    action TEXT NOT NULL CHECK (action IN ('apply', 'revert')),
    weights TEXT,
    parent INTEGER,
    executions INTEGER NOT NULL,
    loss_before REAL,
    loss_after REAL,
    sum INTEGER
) STRICT;
";

/// Opens a log. Creates it if the file is missing or empty.
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    make(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |error| store_error(path, error);
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(BUSY).map_err(failed)?;
    if is_foreign(&connection).map_err(failed)? {
        let what = "it is a database of another program".to_owned();
        return Err(StoreError::Foreign { path: path.to_owned(), what });
    }
    create_tables(&mut connection).map_err(failed)?;
    let found = pragma(&connection, "user_version").map_err(failed)?;
    if found != VERSION {
        return Err(StoreError::Version { path: path.to_owned(), found, expected: VERSION });
    }
    settle(&connection).map_err(failed)?;
    Ok(connection)
}

/// Creates the file, readable by its owner only. An existing file must be empty or start like a
/// database.
fn make(path: &Path) -> Result<(), StoreError> {
    let io = |error: std::io::Error| StoreError::Io {
        path: path.to_owned(),
        what: error.to_string(),
        cure: "check that it is a file in a folder that can be written to",
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty())
        && !folder.is_dir()
    {
        return Err(StoreError::Io {
            path: path.to_owned(),
            what: format!("there is no folder {}", folder.display()),
            cure: "make it, or name another file",
        });
    }
    // Another program's file must keep its permissions.
    if !path.exists() {
        return durable::private_file(path).map_err(io);
    }
    let mut begin = Vec::new();
    let file = File::open(path).map_err(io)?;
    file.take(MAGIC.len() as u64).read_to_end(&mut begin).map_err(io)?;
    if begin.is_empty() || begin == MAGIC {
        return Ok(());
    }
    let what = "it does not begin as a database does".to_owned();
    Err(StoreError::Foreign { path: path.to_owned(), what })
}

/// Whether the file is a database of another program. A new file is empty.
fn is_foreign(connection: &Connection) -> rusqlite::Result<bool> {
    // Read in one transaction: another process may be creating the tables and the id in a new file,
    // and the tables must not be visible without the id.
    let reading = connection.unchecked_transaction()?;
    match pragma(&reading, "application_id")? {
        APPLICATION => Ok(false),
        0 => reading.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0)),
        _ => Ok(true),
    }
}

/// Creates the tables in an empty file, all or none. This happens before the write-ahead log is
/// turned on, so that the file itself contains the application id from the start.
fn create_tables(connection: &mut Connection) -> rusqlite::Result<()> {
    if pragma(connection, "application_id")? == APPLICATION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have created them in the meantime.
    if pragma(&transaction, "application_id")? == APPLICATION {
        return Ok(());
    }
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

/// Applies the settings of every connection: readers run concurrently with one writer, and deleted
/// data is overwritten.
fn settle(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update_and_check(None, "secure_delete", "on", |_| Ok(()))
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}
