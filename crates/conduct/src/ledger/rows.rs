//! The rows of the ledger's tables.

use rusqlite::Row;
use rusqlite::types::{FromSqlError, ToSql, ToSqlOutput, ValueRef};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::obligation::{ObligationType, Status};

/// Enums are stored by their serde names, so that tables, JSON and files agree.
macro_rules! to_sql {
    ($($type:ty),+) => {$(
        impl ToSql for $type {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                let name = serde_json::to_value(self)
                    .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
                Ok(name.as_str().unwrap_or_default().to_owned().into())
            }
        }
    )+};
}

to_sql!(Status, RequestStatus, Purpose, RunStatus, Origin, Standing);

/// The columns that contain JSON.
const JSON: [&str; 7] = ["answer", "payload", "inputs", "outputs", "subject", "value", "detail"];

/// Reads a row by the names of its columns. Columns without a member are ignored.
pub(super) fn read<T: DeserializeOwned>(row: &Row<'_>) -> rusqlite::Result<T> {
    let wrong = |error: serde_json::Error| FromSqlError::Other(error.into());
    let mut members = Map::new();
    for (place, name) in row.as_ref().column_names().enumerate() {
        let value = match row.get_ref(place)? {
            ValueRef::Integer(number) if name == "repeatable" => (number != 0).into(),
            ValueRef::Integer(number) => number.into(),
            text @ ValueRef::Text(_) if JSON.contains(&name) => {
                serde_json::from_str(text.as_str()?).map_err(wrong)?
            }
            text @ ValueRef::Text(_) => text.as_str()?.into(),
            _ => Value::Null,
        };
        members.insert(name.to_owned(), value);
    }
    Ok(serde_json::from_value(Value::Object(members)).map_err(wrong)?)
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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RequestRow {
    pub id: i64,
    pub document: String,
    pub utterance: Option<String>,
    pub status: RequestStatus,
    pub answer: Option<Value>,
}

/// An obligation, as the ledger keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObligationRow {
    /// The number of the obligation.
    pub id: i64,
    /// The request that it belongs to.
    pub request: i64,
    /// The obligation that brought it about.
    pub parent: Option<i64>,
    /// Its name in the request.
    pub name: String,
    /// What is to be done.
    #[serde(rename = "type")]
    pub what: ObligationType,
    /// The inputs.
    pub payload: Map<String, Value>,
    /// How the answer words the result.
    pub say: Option<String>,
    /// How far it is.
    pub status: Status,
    /// The reason for the status.
    pub note: Option<String>,
}

/// A run of a tool, as the ledger keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRow {
    /// The number of the run.
    pub id: i64,
    /// The idempotency key of the call.
    pub key: String,
    /// The obligation that it serves.
    pub obligation: i64,
    /// What it is for.
    pub purpose: Purpose,
    /// The id of the tool.
    pub tool: String,
    /// The arguments.
    pub inputs: Value,
    /// What the tool answered.
    pub outputs: Option<Value>,
    /// How it ended.
    pub status: RunStatus,
    /// Whether the run may be repeated if its outcome is unknown.
    pub repeatable: bool,
    /// How often it was tried.
    pub attempts: i64,
    /// What the tool said about a failure.
    pub said: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub started_ms: i64,
    /// How long it took, in microseconds.
    pub duration_us: Option<i64>,
}

/// An assertion with its source.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    #[serde(rename(deserialize = "source_name"))]
    pub source: String,
    pub run: Option<i64>,
}

/// An event, as the ledger keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EventRow {
    /// The number of the event.
    pub id: i64,
    /// The request that it belongs to.
    pub request: i64,
    /// The obligation that it belongs to.
    pub obligation: Option<i64>,
    /// The run that it belongs to.
    pub run: Option<i64>,
    /// What happened.
    pub kind: String,
    /// More about it, as JSON.
    pub detail: Value,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}
