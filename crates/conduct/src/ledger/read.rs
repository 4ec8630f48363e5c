//! Queries of the ledger.

use rusqlite::OptionalExtension;
use rusqlite::types::ToSql;
use serde::de::DeserializeOwned;

use super::rows::read;
use super::{AssertionRow, EventRow, Ledger, ObligationRow, Purpose, RequestRow, RunRow};
use crate::Error;
use crate::facts::FactQuery;

const ASSERTIONS: &str = "SELECT assertions.*, sources.kind AS origin, \
    sources.name AS source_name, sources.run AS run \
    FROM assertions JOIN sources ON sources.id = assertions.source";

impl Ledger {
    /// Returns the unique id of this file, which is part of every idempotency key.
    pub fn id(&self) -> Result<String, Error> {
        let ask = "SELECT value FROM meta WHERE key = 'id'";
        self.connection.query_row(ask, [], |row| row.get(0)).map_err(self.failed("say its name"))
    }

    /// Returns the latest request whose document has one of these digests.
    #[doc(hidden)] // For our own crates.
    pub fn latest(&self, digests: &[String; 2]) -> Result<Option<RequestRow>, Error> {
        let ask = "SELECT * FROM requests WHERE digest IN (?1, ?2) ORDER BY id DESC LIMIT 1";
        self.one(ask, &[&digests[0], &digests[1]])
    }

    /// Returns the latest request that was not refused.
    pub(crate) fn latest_of_all(&self) -> Result<Option<RequestRow>, Error> {
        let ask = "SELECT * FROM requests WHERE status <> 'refused' ORDER BY id DESC LIMIT 1";
        self.one(ask, &[])
    }

    pub(crate) fn request(&self, id: i64) -> Result<RequestRow, Error> {
        let ask = "SELECT * FROM requests WHERE id = ?1";
        let found = self.connection.query_row(ask, [id], read);
        found.map_err(self.failed("give a request"))
    }

    /// Returns the first obligation of a request that is still active.
    pub(crate) fn next_active(&self, request: i64) -> Result<Option<ObligationRow>, Error> {
        let ask = "SELECT * FROM obligations WHERE request = ?1 AND status = 'active' \
                   ORDER BY id LIMIT 1";
        self.one(ask, &[&request])
    }

    /// Returns the obligation with this name in a request.
    pub(crate) fn obligation(
        &self,
        request: i64,
        name: &str,
    ) -> Result<Option<ObligationRow>, Error> {
        let ask = "SELECT * FROM obligations WHERE request = ?1 AND name = ?2";
        self.one(ask, &[&request, &name])
    }

    pub(crate) fn obligation_at(&self, id: i64) -> Result<Option<ObligationRow>, Error> {
        self.one("SELECT * FROM obligations WHERE id = ?1", &[&id])
    }

    /// Returns the obligations of one request, or of all requests.
    pub fn obligations(&self, request: Option<i64>) -> Result<Vec<ObligationRow>, Error> {
        let ask = "SELECT * FROM obligations WHERE ?1 IS NULL OR request = ?1 ORDER BY id";
        self.all(ask, &[&request])
    }

    /// Returns the runs for an obligation in the order in which they started.
    pub(crate) fn runs_for(&self, obligation: i64, purpose: Purpose) -> Result<Vec<RunRow>, Error> {
        let ask = "SELECT * FROM runs WHERE obligation = ?1 AND purpose = ?2 ORDER BY id";
        self.all(ask, &[&obligation, &purpose])
    }

    pub(crate) fn run(&self, id: i64) -> Result<Option<RunRow>, Error> {
        self.one("SELECT * FROM runs WHERE id = ?1", &[&id])
    }

    /// Returns all runs of tools, oldest first.
    pub fn runs(&self) -> Result<Vec<RunRow>, Error> {
        self.all("SELECT * FROM runs ORDER BY id", &[])
    }

    /// Returns the assertions of one request, or of all requests.
    #[doc(hidden)] // For our own crates.
    pub fn assertions(&self, request: Option<i64>) -> Result<Vec<AssertionRow>, Error> {
        let ask = format!(
            "{ASSERTIONS} WHERE ?1 IS NULL OR assertions.request = ?1 ORDER BY assertions.id"
        );
        self.all(&ask, &[&request])
    }

    /// Returns the facts of a request, the latest first, without rejected ones.
    pub(crate) fn facts_of_request(
        &self,
        query: &FactQuery<'_>,
    ) -> Result<Vec<AssertionRow>, Error> {
        let ask = format!(
            "{ASSERTIONS} WHERE assertions.request = ?1 AND standing <> 'rejected' \
             AND (?2 IS NULL OR assertions.kind = ?2) \
             AND (?3 IS NULL OR assertions.subject = ?3) ORDER BY assertions.id DESC"
        );
        self.all(&ask, &[&query.request, &query.kind, &query.subject])
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
            "{ASSERTIONS} WHERE {of_kind} AND (?3 IS NULL OR assertions.subject = ?3) \
             AND assertions.request <> ?1 AND standing <> 'rejected' \
             AND (sources.kind = 'user' OR (sources.kind = 'tool' AND standing <> 'held')) \
             ORDER BY assertions.id DESC LIMIT ?4"
        );
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let with: [&dyn ToSql; 4] = [&query.request, &query.kind, &query.subject, &most];
        self.all(&ask, &with)
    }

    /// Returns the user's replies to a question, in order.
    pub(crate) fn replies(&self, question: i64) -> Result<Vec<AssertionRow>, Error> {
        let ask = format!(
            "{ASSERTIONS} WHERE assertions.obligation = ?1 AND sources.kind = 'user' ORDER BY assertions.id"
        );
        self.all(&ask, &[&question])
    }

    /// Returns the result of an obligation: its latest assertion that was not rejected.
    pub(crate) fn result(&self, obligation: i64) -> Result<Option<AssertionRow>, Error> {
        let ask = format!(
            "{ASSERTIONS} WHERE assertions.obligation = ?1 AND standing <> 'rejected' \
             ORDER BY assertions.id DESC LIMIT 1"
        );
        self.one(&ask, &[&obligation])
    }

    /// Returns the next result of a report that is not verified yet.
    pub(crate) fn next_unverified(&self, request: i64) -> Result<Option<AssertionRow>, Error> {
        let ask = format!(
            "{ASSERTIONS} JOIN obligations ON obligations.id = assertions.obligation \
             WHERE assertions.request = ?1 AND standing = 'held' \
             AND obligations.status = 'resolved' AND obligations.type LIKE 'REPORT%' \
             ORDER BY assertions.id LIMIT 1"
        );
        self.one(&ask, &[&request])
    }

    /// Returns all events, oldest first.
    pub fn events(&self) -> Result<Vec<EventRow>, Error> {
        self.all("SELECT * FROM events ORDER BY id", &[])
    }

    fn one<T: DeserializeOwned>(&self, ask: &str, with: &[&dyn ToSql]) -> Result<Option<T>, Error> {
        let found = self.connection.query_row(ask, with, read).optional();
        found.map_err(self.failed("give a row"))
    }

    fn all<T: DeserializeOwned>(&self, ask: &str, with: &[&dyn ToSql]) -> Result<Vec<T>, Error> {
        let rows = || -> rusqlite::Result<Vec<T>> {
            self.connection.prepare(ask)?.query_map(with, read)?.collect()
        };
        rows().map_err(self.failed("give its rows"))
    }
}
