//! A row of the journal, read again to be written in another format.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::shard::Shard;

/// The type of the ids of an output that has typed columns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum IdType {
    /// Texts; an id that is none, as JSON.
    Text,
    /// That of the input's column.
    #[cfg(feature = "arrow")]
    Column(arrow_schema::DataType),
}

/// How the rows of an output are laid out.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(feature = "arrow"),
    allow(dead_code, reason = "only the columns of Parquet and Arrow have types")
)]
pub(crate) struct Layout {
    pub id: IdType,
    /// Whether each tool comes with its explanation and what it needs.
    pub explain: bool,
    /// Which rows of the input the output has.
    pub shard: Shard,
    /// Whether rows of the input may lack an id, which is null in the journal: JSON lines.
    pub numbers_missing_ids: bool,
}

/// A row of the output.
#[derive(Deserialize)]
pub(crate) struct OutputRecord<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    pub tools: &'a RawValue,
    pub fit: Option<String>,
    #[serde(borrow)]
    fit_reason: Option<&'a RawValue>,
    pub confidence: Option<f32>,
    pub degraded: Option<String>,
    #[serde(borrow)]
    pub unknown_candidates: Option<&'a RawValue>,
    pub error: Option<String>,
}

impl<'a> OutputRecord<'a> {
    /// Reads a line of the journal.
    ///
    /// # Errors
    /// Where the line is none of ours.
    pub fn parse(line: &'a str) -> std::io::Result<Self> {
        serde_json::from_str(line).map_err(|error| {
            std::io::Error::new(
                std::io::ErrorKind::InvalidData,
                format!("a row of the journal: {error}"),
            )
        })
    }

    /// The id of the row at a place of the output: a text as it is, anything else as JSON. `None` for null.
    pub fn id(&self, layout: &Layout, place: usize) -> Option<String> {
        match self.id.get() {
            "null" if layout.numbers_missing_ids => Some(layout.shard.row(place).to_string()),
            "null" => None,
            json => Some(text(json)),
        }
    }

    pub fn fit_reason(&self) -> Option<String> {
        self.fit_reason.map(|reason| text(reason.get()))
    }
}

/// What a text in JSON says; other values as JSON.
fn text(json: &str) -> String {
    serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned())
}

/// The lines of some rows, each with its place when the first is at `first`.
pub(crate) fn lines(rows: &str, first: usize) -> impl Iterator<Item = (usize, &str)> {
    (first..).zip(rows.lines())
}
