//! How a log lies in its file, and how an older one is brought up to date.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use toolroute_vectors::durable;

use super::super::StoreError;
use super::{checksums, told};

/// `TRFB`, in the header of every log: tells ours from other programs' databases.
const APPLICATION: i64 = 0x5452_4642;

/// Every SQLite file begins so.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// How long another process may hold the file.
pub(super) const BUSY: Duration = Duration::from_secs(5);

/// One a version, in order: number N brings version N to N + 1. What has shipped never changes.
pub(super) const MIGRATIONS: &[&str] = &[
    "CREATE TABLE executions (
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
        session TEXT
    ) STRICT;
    CREATE INDEX executions_by_time ON executions (at);
    CREATE INDEX executions_by_tool ON executions (tool, at);",
    "CREATE TABLE weights (
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        action TEXT NOT NULL CHECK (action IN ('apply', 'revert')),
        weights TEXT,
        parent INTEGER,
        executions INTEGER NOT NULL,
        loss_before REAL,
        loss_after REAL
    ) STRICT;",
    "ALTER TABLE executions ADD COLUMN request TEXT;
    ALTER TABLE executions ADD COLUMN place INTEGER;
    ALTER TABLE executions ADD COLUMN tries INTEGER;
    ALTER TABLE executions ADD COLUMN estimated_ms INTEGER;
    ALTER TABLE executions ADD COLUMN estimated_chars INTEGER;
    ALTER TABLE executions ADD COLUMN chars INTEGER;
    ALTER TABLE executions ADD COLUMN truncated INTEGER CHECK (truncated IN (0, 1));",
    checksums::COLUMNS,
];

/// The version from which on rows have sums.
const SUMS: i64 = 4;

const VERSION: i64 = MIGRATIONS.len() as i64;

/// Opens a log of the current version, or makes one where there is no file or an empty one.
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    make(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let told = |error| told(path, error);
    let mut connection = Connection::open_with_flags(path, flags).map_err(told)?;
    connection.busy_timeout(BUSY).map_err(told)?;
    if is_foreign(&connection).map_err(told)? {
        let what = "it is a database of another program".to_owned();
        return Err(StoreError::Foreign { path: path.to_owned(), what });
    }
    let found = pragma(&connection, "user_version").map_err(told)?;
    if found > VERSION {
        return Err(StoreError::Newer { path: path.to_owned(), found, expected: VERSION });
    }
    if found < VERSION {
        migrate(&mut connection, VERSION).map_err(told)?;
    }
    settle(&connection).map_err(told)?;
    Ok(connection)
}

/// Makes the file, readable by its owner only: what was asked and done is nobody else's. One that
/// holds something must at least begin as a database does.
fn make(path: &Path) -> Result<(), StoreError> {
    let io = |error: std::io::Error| StoreError::Io {
        path: path.to_owned(),
        what: error.to_string(),
        cure: "check that it is a file in a folder that can be written to",
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        durable::private_folder(folder).map_err(io)?;
    }
    match new_file().open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => return made.map(drop).map_err(io),
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

fn new_file() -> OpenOptions {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Whether it holds something that is not ours. A new file holds nothing at all.
fn is_foreign(connection: &Connection) -> rusqlite::Result<bool> {
    // In one transaction: between two another process could put tables and mark into a new file, and
    // the tables alone would be seen.
    let reading = connection.unchecked_transaction()?;
    match pragma(&reading, "application_id")? {
        APPLICATION => Ok(false),
        0 => reading.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0)),
        _ => Ok(true),
    }
}

/// Brings the schema to a version, whole or not at all. It happens before the write-ahead log is
/// turned on, so that the mark of ours stands in the file itself from the start.
pub(super) fn migrate(connection: &mut Connection, version: i64) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it since.
    let found = pragma(&transaction, "user_version")?;
    let missing = MIGRATIONS.iter().take(version as usize).skip(found as usize);
    for sql in missing {
        transaction.execute_batch(sql)?;
    }
    if found < SUMS && version >= SUMS {
        checksums::seal_all(&transaction)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", version.max(found))?;
    transaction.commit()
}

/// What holds for every connection: readers and one writer side by side, and what is deleted is
/// overwritten.
fn settle(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update_and_check(None, "secure_delete", "on", |_| Ok(()))
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}
