//! A row of the journal, parsed to be written in another format.

use serde::Deserialize;
use serde_json::value::RawValue;

/// The type of the column of ids in Parquet and Arrow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum IdType {
    /// Text. Other ids are written as JSON.
    Text,
    /// The type of the input's column.
    #[cfg(feature = "arrow")]
    Column(arrow_schema::DataType),
}

/// The information that determines the columns of an output.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(feature = "arrow"),
    allow(dead_code, reason = "only the columns of Parquet and Arrow have types")
)]
pub(crate) struct Layout {
    pub id: IdType,
    /// Whether the output includes the explanation and the needs of each tool, and the evidence.
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
    pub no_tools: Option<String>,
    pub read_as: Option<String>,
    #[serde(borrow)]
    pub unknown_candidates: Option<&'a RawValue>,
    pub evidence: Option<f32>,
    pub background: Option<f32>,
    pub error: Option<String>,
}

impl<'a> OutputRecord<'a> {
    pub fn parse(line: &'a str) -> std::io::Result<Self> {
        serde_json::from_str(line).map_err(|error| {
            std::io::Error::new(
                std::io::ErrorKind::InvalidData,
                format!("a row of the journal: {error}"),
            )
        })
    }

    /// Returns the id: text unchanged, anything else as JSON, `None` for null.
    pub fn id(&self) -> Option<String> {
        Some(self.id.get()).filter(|id| *id != "null").map(text)
    }

    pub fn fit_reason(&self) -> Option<String> {
        self.fit_reason.map(|reason| text(reason.get()))
    }
}

/// Returns the content of a JSON string; other values are returned as JSON.
fn text(json: &str) -> String {
    serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned())
}
