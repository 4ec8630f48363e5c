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

#[derive(Clone, Debug, Serialize, Deserialize)]
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

#[derive(Clone, Debug, Serialize, Deserialize)]
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

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EventRow {
    pub id: i64,
    pub request: i64,
    pub obligation: Option<i64>,
    pub run: Option<i64>,
    pub kind: String,
    pub detail: Value,
    pub at_ms: i64,
}
