//! A checksum for every row, verified when the row is read. It detects damage, not forgery: anyone
//! who can write the file can write the checksums.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use sha2::{Digest as _, Sha256};

use super::rows::Columns;

/// The range of the long columns in a row of [`Columns::select`].
const LONG: std::ops::Range<usize> = 4..8;

/// Sets the checksums of an execution in the table.
pub(super) fn seal(connection: &Connection, id: i64) -> rusqlite::Result<()> {
    let sql = Columns::All.select("WHERE id = ?1");
    let sums = |row: &Row<'_>| Ok((facts(row)?, rest(row)?));
    let (facts, rest) = connection.prepare_cached(&sql)?.query_row([id], sums)?;
    let set = "UPDATE executions SET facts_sum = ?1, rest_sum = ?2 WHERE id = ?3";
    connection.prepare_cached(set)?.execute((facts, rest, id)).map(drop)
}

/// Verifies a row of [`Columns::select`].
pub(super) fn check(row: &Row<'_>, columns: Columns) -> rusqlite::Result<()> {
    let is_whole = row.get::<_, Option<i64>>("facts_sum")? == Some(facts(row)?)
        && (columns == Columns::Facts
            || row.get::<_, Option<i64>>("rest_sum")? == Some(rest(row)?));
    if is_whole { Ok(()) } else { Err(damage("an execution is not what was written")) }
}

/// Returns the error of a damaged log.
pub(super) fn damage(said: &'static str) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(said.into())
}

fn facts(row: &Row<'_>) -> rusqlite::Result<i64> {
    let sums = row.as_ref().column_count() - 2;
    row_checksum(row, (0..LONG.start).chain(LONG.end..sums))
}

fn rest(row: &Row<'_>) -> rusqlite::Result<i64> {
    row_checksum(row, LONG)
}

/// Returns a checksum of some columns of a row: eight bytes of a hash of their types and values.
pub fn row_checksum(row: &Row<'_>, columns: impl Iterator<Item = usize>) -> rusqlite::Result<i64> {
    let length = |bytes: &[u8]| (bytes.len() as u64).to_le_bytes();
    let mut hash = Sha256::new();
    for column in columns {
        let (kind, number, bytes): (u8, [u8; 8], &[u8]) = match row.get_ref(column)? {
            ValueRef::Null => (0, [0; 8], &[]),
            ValueRef::Integer(value) => (1, value.to_le_bytes(), &[]),
            ValueRef::Real(value) => (2, value.to_le_bytes(), &[]),
            ValueRef::Text(text) => (3, length(text), text),
            ValueRef::Blob(blob) => (4, length(blob), blob),
        };
        hash.update([kind]);
        hash.update(number);
        hash.update(bytes);
    }
    let hash = hash.finalize();
    Ok(i64::from_le_bytes(*hash.first_chunk().expect("a SHA-256 has 32 bytes. This is a bug.")))
}
