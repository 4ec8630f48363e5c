//! Checksums of the ledger's rows, with which changed, missing and foreign rows are found before
//! they are used. They detect damage but not forgery, because whoever can write the file can also
//! write the checksums.

use rusqlite::{Connection, OptionalExtension as _, Transaction};
use toolroute_rank::feedback::row_checksum;

/// The tables whose rows have checksums.
const TABLES: [&str; 7] =
    ["meta", "requests", "obligations", "runs", "sources", "assertions", "events"];

/// The table of checksums.
pub const TABLE: &str = "
CREATE TABLE sums (
    tab TEXT NOT NULL,
    row INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    PRIMARY KEY (tab, row)
) STRICT, WITHOUT ROWID;
";

/// The maximum size in bytes of a ledger that is verified when it is opened. Verifying 8 MB, some
/// 20,000 rows, takes about as long as one conducted request.
const MOST_BYTES: i64 = 8 << 20;

/// Records which rows this connection writes. The tables must exist.
pub fn watch(connection: &Connection) -> rusqlite::Result<()> {
    let mut sql = "CREATE TEMP TABLE IF NOT EXISTS written_rows (tab TEXT, row INTEGER, \
                   PRIMARY KEY (tab, row)) WITHOUT ROWID;"
        .to_owned();
    for table in TABLES {
        for (event, row) in [("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")] {
            sql += &format!(
                "CREATE TEMP TRIGGER IF NOT EXISTS {table}_{event} AFTER {event} ON main.{table} \
                 BEGIN INSERT OR IGNORE INTO written_rows VALUES ('{table}', {row}.rowid); END;"
            );
        }
    }
    connection.execute_batch(&sql)
}

/// Writes the checksums of the rows that this transaction has written.
pub fn seal(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    let is_watched = "SELECT count(*) > 0 FROM temp.sqlite_schema WHERE name = 'written_rows'";
    if !tx.prepare_cached(is_watched)?.query_row([], |row| row.get(0))? {
        return Ok(());
    }
    let written: Vec<(String, i64)> = tx
        .prepare_cached("SELECT tab, row FROM written_rows")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (table, id) in &written {
        let Some(table) = TABLES.into_iter().find(|known| known == table) else { continue };
        let found = tx
            .prepare_cached(&format!("SELECT * FROM {table} WHERE rowid = ?1"))?
            .query_row([id], |row| row_checksum(row, 0..row.as_ref().column_count()))
            .optional()?;
        match found {
            Some(sum) => tx
                .prepare_cached("INSERT OR REPLACE INTO sums VALUES (?1, ?2, ?3)")?
                .execute((table, id, sum))?,
            None => tx
                .prepare_cached("DELETE FROM sums WHERE tab = ?1 AND row = ?2")?
                .execute((table, id))?,
        };
    }
    tx.prepare_cached("DELETE FROM written_rows")?.execute([])?;
    Ok(())
}

/// Describes the damage to the ledger's rows or their order; `None` if there is none, or if the
/// ledger is too large to verify.
pub fn damage(connection: &Connection) -> rusqlite::Result<Option<String>> {
    // The transaction gives a consistent view of the file, even if others write.
    let reading = connection.unchecked_transaction()?;
    let pragma = |name| reading.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if pragma("page_count")?.saturating_mul(pragma("page_size")?) > MOST_BYTES {
        return Ok(None);
    }
    let order: String = reading.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if order != "ok" {
        return Ok(Some(order));
    }
    let mut rows = 0;
    for table in TABLES {
        let sql = format!(
            "SELECT {table}.*, {table}.rowid, sums.sum FROM {table} LEFT JOIN sums \
             ON sums.tab = '{table}' AND sums.row = {table}.rowid"
        );
        let mut statement = reading.prepare(&sql)?;
        let columns = statement.column_count() - 2;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let (id, written): (i64, Option<i64>) = (row.get(columns)?, row.get(columns + 1)?);
            if written != Some(row_checksum(row, 0..columns)?) {
                return Ok(Some(format!("row {id} of {table} is not what was written")));
            }
            rows += 1;
        }
    }
    let sums: i64 = reading.query_row("SELECT count(*) FROM sums", [], |row| row.get(0))?;
    Ok((sums != rows).then(|| format!("{sums} rows were written, and {rows} are there")))
}
