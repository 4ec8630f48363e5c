//! What the ledger is asked.

use rusqlite::types::ToSql;
use rusqlite::{OptionalExtension, Row};

use super::{AssertionRow, EventRow, Ledger, ObligationRow, Purpose, RequestRow, RunRow};
use crate::conductor::Error;

impl Ledger {
    /// A name for this file that no other has: part of every idempotency key.
    pub fn id(&self) -> Result<String, Error> {
        let ask = "SELECT value FROM meta WHERE key = 'id'";
        self.connection.query_row(ask, [], |row| row.get(0)).map_err(self.failed("say its name"))
    }

    /// The latest request made of such a document.
    pub fn latest(&self, digest: &str) -> Result<Option<RequestRow>, Error> {
        let ask = format!(
            "SELECT {} FROM requests WHERE digest = ?1 ORDER BY id DESC LIMIT 1",
            RequestRow::COLUMNS
        );
        self.one(&ask, &[&digest], RequestRow::read)
    }

    /// # Errors
    /// Where there is no such request.
    pub fn request(&self, id: i64) -> Result<RequestRow, Error> {
        let ask = format!("SELECT {} FROM requests WHERE id = ?1", RequestRow::COLUMNS);
        let found = self.connection.query_row(&ask, [id], RequestRow::read);
        found.map_err(self.failed("give a request"))
    }

    /// The obligation to look at next.
    pub fn next_active(&self, request: i64) -> Result<Option<ObligationRow>, Error> {
        let ask = "SELECT * FROM obligations WHERE request = ?1 AND status = 'active' \
                   ORDER BY id LIMIT 1";
        self.one(ask, &[&request], ObligationRow::read)
    }

    /// By name within a request.
    pub fn obligation(&self, request: i64, name: &str) -> Result<Option<ObligationRow>, Error> {
        let ask = "SELECT * FROM obligations WHERE request = ?1 AND name = ?2";
        self.one(ask, &[&request, &name], ObligationRow::read)
    }

    /// By the number of its row.
    pub fn obligation_at(&self, id: i64) -> Result<Option<ObligationRow>, Error> {
        self.one("SELECT * FROM obligations WHERE id = ?1", &[&id], ObligationRow::read)
    }

    /// Of one request, or of all.
    pub fn obligations(&self, request: Option<i64>) -> Result<Vec<ObligationRow>, Error> {
        let ask = "SELECT * FROM obligations WHERE ?1 IS NULL OR request = ?1 ORDER BY id";
        self.all(ask, &[&request], ObligationRow::read)
    }

    /// The runs for an obligation, in the order in which they began.
    pub fn runs_for(&self, obligation: i64, purpose: Purpose) -> Result<Vec<RunRow>, Error> {
        let ask = "SELECT * FROM runs WHERE obligation = ?1 AND purpose = ?2 ORDER BY id";
        self.all(ask, &[&obligation, &purpose], RunRow::read)
    }

    pub fn run(&self, id: i64) -> Result<Option<RunRow>, Error> {
        self.one("SELECT * FROM runs WHERE id = ?1", &[&id], RunRow::read)
    }

    pub fn runs(&self) -> Result<Vec<RunRow>, Error> {
        self.all("SELECT * FROM runs ORDER BY id", &[], RunRow::read)
    }

    /// Of one request, or of all.
    pub fn assertions(&self, request: Option<i64>) -> Result<Vec<AssertionRow>, Error> {
        let ask = format!(
            "{} WHERE ?1 IS NULL OR assertions.request = ?1 ORDER BY assertions.id",
            AssertionRow::QUERY
        );
        self.all(&ask, &[&request], AssertionRow::read)
    }

    /// What is said in a request of one subject; `subject` in its canonical spelling.
    pub fn assertions_of(
        &self,
        request: i64,
        kind: &str,
        subject: &str,
    ) -> Result<Vec<AssertionRow>, Error> {
        let ask = format!(
            "{} WHERE assertions.request = ?1 AND assertions.kind = ?2 \
             AND assertions.subject = ?3 ORDER BY assertions.id",
            AssertionRow::QUERY
        );
        self.all(&ask, &[&request, &kind, &subject], AssertionRow::read)
    }

    /// What an obligation came to: the latest that no postcondition has rejected.
    pub fn result(&self, obligation: i64) -> Result<Option<AssertionRow>, Error> {
        let ask = format!(
            "{} WHERE assertions.obligation = ?1 AND standing <> 'rejected' \
             ORDER BY assertions.id DESC LIMIT 1",
            AssertionRow::QUERY
        );
        self.one(&ask, &[&obligation], AssertionRow::read)
    }

    /// The next report of a tool that is not verified yet.
    pub fn next_unverified(&self, request: i64) -> Result<Option<AssertionRow>, Error> {
        let ask = format!(
            "{} JOIN obligations ON obligations.id = assertions.obligation \
             WHERE assertions.request = ?1 AND standing = 'held' \
             AND obligations.status = 'resolved' AND obligations.type LIKE 'REPORT%' \
             ORDER BY assertions.id LIMIT 1",
            AssertionRow::QUERY
        );
        self.one(&ask, &[&request], AssertionRow::read)
    }

    pub fn events(&self) -> Result<Vec<EventRow>, Error> {
        self.all("SELECT * FROM events ORDER BY id", &[], EventRow::read)
    }

    fn one<T>(
        &self,
        ask: &str,
        with: &[&dyn ToSql],
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, Error> {
        let found = self.connection.query_row(ask, with, read).optional();
        found.map_err(self.failed("give a row"))
    }

    fn all<T>(
        &self,
        ask: &str,
        with: &[&dyn ToSql],
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let rows = || -> rusqlite::Result<Vec<T>> {
            self.connection.prepare(ask)?.query_map(with, read)?.collect()
        };
        rows().map_err(self.failed("give its rows"))
    }
}
