//! The rows of the ledger's tables.

use rusqlite::Row;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::obligation::{Duty, ObligationType, Status};

/// Enums are stored by their serde names, so that tables, JSON and files agree.
macro_rules! in_sql {
    ($($type:ty),+) => {$(
        impl ToSql for $type {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                let name = serde_json::to_value(self)
                    .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
                Ok(name.as_str().unwrap_or_default().to_owned().into())
            }
        }

        impl FromSql for $type {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                word(value)
            }
        }
    )+};
}

in_sql!(Status, RequestStatus, Purpose, RunStatus, Origin, Standing, ObligationType);

fn word<T: DeserializeOwned>(value: ValueRef<'_>) -> FromSqlResult<T> {
    let word = Value::String(value.as_str()?.to_owned());
    serde_json::from_value(word).map_err(|error| FromSqlError::Other(error.into()))
}

/// The progress of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestStatus {
    /// Recorded, but not translated yet.
    Received,
    /// Its obligations are in the ledger.
    Planned,
    /// It could not be translated.
    Refused,
    Answered,
}

/// Why a tool is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    Plan,
    /// To check that the tool returns the same result again.
    Verify,
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    Started,
    /// The tool answered.
    Completed,
    /// The tool reported that it failed.
    Failed,
    /// The process ended during the run, and the tool must not be called again.
    Uncertain,
}

/// The origin of an assertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    Tool,
    User,
    Conductor,
}

/// How reliable an assertion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Not verified yet.
    Held,
    /// A postcondition does not hold.
    Rejected,
    Verified,
    /// The verification found evidence against it.
    Disputed,
}

/// A request: its document, its state and its answer.
#[derive(Clone, Debug, Serialize)]
pub struct RequestRow {
    pub id: i64,
    pub document: String,
    pub utterance: Option<String>,
    pub status: RequestStatus,
    pub answer: Option<Value>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ObligationRow {
    pub id: i64,
    pub request: i64,
    pub parent: Option<i64>,
    pub name: String,
    #[serde(rename = "type")]
    pub what: ObligationType,
    pub payload: Map<String, Value>,
    pub say: Option<String>,
    pub status: Status,
    /// The reason for the status.
    pub note: Option<String>,
}

impl ObligationRow {
    pub fn is_report(&self) -> bool {
        self.what.duty == Duty::Report
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct RunRow {
    pub id: i64,
    pub key: String,
    pub obligation: i64,
    pub purpose: Purpose,
    pub tool: String,
    pub inputs: Value,
    pub outputs: Option<Value>,
    pub status: RunStatus,
    /// Whether the run may be repeated if its outcome is unknown.
    pub repeatable: bool,
    pub attempts: i64,
    pub said: Option<String>,
    pub started_ms: i64,
    pub duration_us: Option<i64>,
}

/// An assertion with its source.
#[derive(Clone, Debug, Serialize)]
pub struct AssertionRow {
    pub id: i64,
    pub obligation: Option<i64>,
    pub kind: String,
    pub subject: Value,
    pub value: Value,
    pub standing: Standing,
    pub because: Option<String>,
    pub origin: Origin,
    /// The id of the tool, or the person or program that made the assertion.
    pub source: String,
    pub run: Option<i64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct EventRow {
    pub id: i64,
    pub request: i64,
    pub obligation: Option<i64>,
    pub run: Option<i64>,
    pub kind: String,
    pub detail: Value,
    pub at_ms: i64,
}

fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    let wrong = |error| FromSqlError::Other(Box::new(error)).into();
    serde_json::from_str(&text).map_err(wrong)
}

fn json_or_null(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<Value>> {
    let text: Option<String> = row.get(column)?;
    text.map(|_| json(row, column)).transpose()
}

impl RequestRow {
    pub(super) const COLUMNS: &str = "id, document, utterance, status, answer";

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get("id")?,
            document: row.get("document")?,
            utterance: row.get("utterance")?,
            status: row.get("status")?,
            answer: json_or_null(row, "answer")?,
        })
    }
}

impl ObligationRow {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get("id")?,
            request: row.get("request")?,
            parent: row.get("parent")?,
            name: row.get("name")?,
            what: row.get("type")?,
            payload: json(row, "payload")?,
            say: row.get("say")?,
            status: row.get("status")?,
            note: row.get("note")?,
        })
    }
}

impl RunRow {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get("id")?,
            key: row.get("key")?,
            obligation: row.get("obligation")?,
            purpose: row.get("purpose")?,
            tool: row.get("tool")?,
            inputs: json(row, "inputs")?,
            outputs: json_or_null(row, "outputs")?,
            status: row.get("status")?,
            repeatable: row.get("repeatable")?,
            attempts: row.get("attempts")?,
            said: row.get("said")?,
            started_ms: row.get("started_ms")?,
            duration_us: row.get("duration_us")?,
        })
    }
}

impl AssertionRow {
    pub(super) const QUERY: &str = "SELECT assertions.*, sources.kind AS origin, \
        sources.name AS source_name, sources.run AS run \
        FROM assertions JOIN sources ON sources.id = assertions.source";

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get("id")?,
            obligation: row.get("obligation")?,
            kind: row.get("kind")?,
            subject: json(row, "subject")?,
            value: json(row, "value")?,
            standing: row.get("standing")?,
            because: row.get("because")?,
            origin: row.get("origin")?,
            source: row.get("source_name")?,
            run: row.get("run")?,
        })
    }
}

impl EventRow {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get("id")?,
            request: row.get("request")?,
            obligation: row.get("obligation")?,
            run: row.get("run")?,
            kind: row.get("kind")?,
            detail: json(row, "detail")?,
            at_ms: row.get("at_ms")?,
        })
    }
}
