//! A row of the journal, read again to be written in another format.

use serde::Deserialize;
use serde_json::value::RawValue;

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

    /// The id: a text as it is, anything else as JSON. `None` for null.
    pub fn id(&self) -> Option<String> {
        Some(self.id.get()).filter(|id| *id != "null").map(text)
    }

    pub fn fit_reason(&self) -> Option<String> {
        self.fit_reason.map(|reason| text(reason.get()))
    }
}

/// What a text in JSON says; other values as JSON.
fn text(json: &str) -> String {
    serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned())
}
