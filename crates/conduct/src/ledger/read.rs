//! Queries of the ledger.

use rusqlite::types::ToSql;
use rusqlite::{OptionalExtension, Row};

use super::{AssertionRow, EventRow, Ledger, ObligationRow, Purpose, RequestRow, RunRow};
use crate::Error;
use crate::facts::FactQuery;

impl Ledger {
    /// Returns the unique id of this file, which is part of every idempotency key.
    pub fn id(&self) -> Result<String, Error> {
        let ask = "SELECT value FROM meta WHERE key = 'id'";
        self.connection.query_row(ask, [], |row| row.get(0)).map_err(self.failed("say its name"))
    }

    /// Returns the latest request whose document has one of these digests.
    pub fn latest(&self, digests: &[String; 2]) -> Result<Option<RequestRow>, Error> {
        let ask = format!(
            "SELECT {} FROM requests WHERE digest IN (?1, ?2) ORDER BY id DESC LIMIT 1",
            RequestRow::COLUMNS
        );
        self.one(&ask, &[&digests[0], &digests[1]], RequestRow::read)
    }

    /// Returns the latest request that was not refused.
    #[doc(hidden)] // For our own crates.
    pub fn latest_of_all(&self) -> Result<Option<RequestRow>, Error> {
        let ask = format!(
            "SELECT {} FROM requests WHERE status <> 'refused' ORDER BY id DESC LIMIT 1",
            RequestRow::COLUMNS
        );
        self.one(&ask, &[], RequestRow::read)
    }

    /// Returns the request with this id.
    ///
    /// # Errors
    /// Returns an error if there is no such request.
    #[doc(hidden)] // For our own crates.
    pub fn request(&self, id: i64) -> Result<RequestRow, Error> {
        let ask = format!("SELECT {} FROM requests WHERE id = ?1", RequestRow::COLUMNS);
        let found = self.connection.query_row(&ask, [id], RequestRow::read);
        found.map_err(self.failed("give a request"))
    }

    /// Returns the first obligation of a request that is still active.
    #[doc(hidden)] // For our own crates.
    pub fn next_active(&self, request: i64) -> Result<Option<ObligationRow>, Error> {
        let ask = "SELECT * FROM obligations WHERE request = ?1 AND status = 'active' \
                   ORDER BY id LIMIT 1";
        self.one(ask, &[&request], ObligationRow::read)
    }

    /// Returns the obligation with this name in a request.
    #[doc(hidden)] // For our own crates.
    pub fn obligation(&self, request: i64, name: &str) -> Result<Option<ObligationRow>, Error> {
        let ask = "SELECT * FROM obligations WHERE request = ?1 AND name = ?2";
        self.one(ask, &[&request, &name], ObligationRow::read)
    }

    /// Returns the obligation with this row id.
    #[doc(hidden)] // For our own crates.
    pub fn obligation_at(&self, id: i64) -> Result<Option<ObligationRow>, Error> {
        self.one("SELECT * FROM obligations WHERE id = ?1", &[&id], ObligationRow::read)
    }

    /// Returns the obligations of one request, or of all requests.
    pub fn obligations(&self, request: Option<i64>) -> Result<Vec<ObligationRow>, Error> {
        let ask = "SELECT * FROM obligations WHERE ?1 IS NULL OR request = ?1 ORDER BY id";
        self.all(ask, &[&request], ObligationRow::read)
    }

    /// Returns the runs for an obligation in the order in which they started.
    #[doc(hidden)] // For our own crates.
    pub fn runs_for(&self, obligation: i64, purpose: Purpose) -> Result<Vec<RunRow>, Error> {
        let ask = "SELECT * FROM runs WHERE obligation = ?1 AND purpose = ?2 ORDER BY id";
        self.all(ask, &[&obligation, &purpose], RunRow::read)
    }

    #[doc(hidden)] // For our own crates.
    pub fn run(&self, id: i64) -> Result<Option<RunRow>, Error> {
        self.one("SELECT * FROM runs WHERE id = ?1", &[&id], RunRow::read)
    }

    pub fn runs(&self) -> Result<Vec<RunRow>, Error> {
        self.all("SELECT * FROM runs ORDER BY id", &[], RunRow::read)
    }

    /// Returns the assertions of one request, or of all requests.
    #[doc(hidden)] // For our own crates.
    pub fn assertions(&self, request: Option<i64>) -> Result<Vec<AssertionRow>, Error> {
        let ask = format!(
            "{} WHERE ?1 IS NULL OR assertions.request = ?1 ORDER BY assertions.id",
            AssertionRow::QUERY
        );
        self.all(&ask, &[&request], AssertionRow::read)
    }

    /// Returns the facts of a request, the latest first, without rejected ones.
    pub(crate) fn facts_of_request(
        &self,
        query: &FactQuery<'_>,
    ) -> Result<Vec<AssertionRow>, Error> {
        let ask = format!(
            "{} WHERE assertions.request = ?1 AND standing <> 'rejected' \
             AND (?2 IS NULL OR assertions.kind = ?2) \
             AND (?3 IS NULL OR assertions.subject = ?3) ORDER BY assertions.id DESC",
            AssertionRow::QUERY
        );
        self.all(&ask, &[&query.request, &query.kind, &query.subject], AssertionRow::read)
    }

    /// Returns facts of users and verified facts from other requests, the latest first, at most
    /// `most`.
    pub(crate) fn facts_of_others(
        &self,
        query: &FactQuery<'_>,
        most: usize,
    ) -> Result<Vec<AssertionRow>, Error> {
        let of_kind = if query.kind.is_some() { "assertions.kind = ?2" } else { "?2 IS NULL" };
        let ask = format!(
            "{} WHERE {of_kind} AND (?3 IS NULL OR assertions.subject = ?3) \
             AND assertions.request <> ?1 AND standing <> 'rejected' \
             AND (sources.kind = 'user' OR (sources.kind = 'tool' AND standing <> 'held')) \
             ORDER BY assertions.id DESC LIMIT ?4",
            AssertionRow::QUERY
        );
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let with: [&dyn ToSql; 4] = [&query.request, &query.kind, &query.subject, &most];
        self.all(&ask, &with, AssertionRow::read)
    }

    /// Returns the user's replies to a question, in order.
    #[doc(hidden)] // For our own crates.
    pub fn replies(&self, question: i64) -> Result<Vec<AssertionRow>, Error> {
        let ask = format!(
            "{} WHERE assertions.obligation = ?1 AND sources.kind = 'user' ORDER BY assertions.id",
            AssertionRow::QUERY
        );
        self.all(&ask, &[&question], AssertionRow::read)
    }

    /// Returns the result of an obligation: its latest assertion that was not rejected.
    #[doc(hidden)] // For our own crates.
    pub fn result(&self, obligation: i64) -> Result<Option<AssertionRow>, Error> {
        let ask = format!(
            "{} WHERE assertions.obligation = ?1 AND standing <> 'rejected' \
             ORDER BY assertions.id DESC LIMIT 1",
            AssertionRow::QUERY
        );
        self.one(&ask, &[&obligation], AssertionRow::read)
    }

    /// Returns the next result of a report that is not verified yet.
    #[doc(hidden)] // For our own crates.
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
