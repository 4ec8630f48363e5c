//! Truncation of long answers.
//!
//! A truncated answer keeps its shape: JSON can be parsed, a table keeps its header, and a text
//! ends with a sentence. A marker states what is missing and under which handle the whole answer is
//! stored.

mod json;
mod size;
mod store;
mod summary;
mod table;
#[cfg(test)]
mod tests;
mod text;

use serde::Serialize;
use serde_json::Value;

pub(super) use json::truncate_value;
pub(super) use size::chars_of;
pub use size::{AnswerStatistics, Estimate, tokens_of};
pub use store::{AnswerStore, Page};
pub use summary::Extractive;

/// The shape of an answer's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    Json,
    Table,
    Text,
}

/// Detects the shape of a text.
pub fn shape(text: &str) -> Shape {
    let start = text.trim_start();
    if start.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
    {
        Shape::Json
    } else if table::header_lines(text).is_some() {
        Shape::Table
    } else {
        Shape::Text
    }
}

/// How an answer was truncated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Truncation {
    /// What the answer looks like.
    pub shape: Shape,
    /// The length of the whole answer in characters.
    pub of_chars: usize,
    /// Whether the answer is a summary instead of the beginning of the text.
    pub summarized: bool,
    /// The handle of the stored whole answer; `None` if it could not be stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// The whole value if it was truncated, because a truncated one may not match the tool's output
    /// schema. It is for callers that pass answers on.
    #[serde(skip)]
    pub whole_data: Option<Value>,
}

/// The smallest limit in characters, which leaves room for the marker.
pub const LEAST_CHARS: usize = 200;

/// Truncates a text to at most `most` characters, including the marker. The result has the shape of
/// the whole text.
///
/// A limit below `LEAST_CHARS` counts as `LEAST_CHARS`.
pub fn truncate(text: &str, most: usize, handle: Option<&str>) -> String {
    let most = most.max(LEAST_CHARS);
    let chars = text.chars().count();
    if chars <= most {
        return text.to_owned();
    }
    match shape(text) {
        Shape::Json => json::truncate(text, most, handle),
        Shape::Table => table::truncate(text, most, chars, handle),
        Shape::Text => text::truncate(text, most, chars, handle),
    }
}

/// The marker that replaces missing text. `shown` is the number of characters at the beginning of
/// the stored text that are in the answer, which is the offset where the rest begins. It is 0 for
/// the parts of a value whose JSON is not the stored text.
fn marker(shown: usize, chars: usize, handle: Option<&str>) -> String {
    if shown == 0 {
        let whole = handle
            .map_or(String::new(), |handle| format!("; the whole answer is under handle {handle}"));
        return format!("[truncated: a part of {chars} characters{whole}]");
    }
    let rest = handle.map_or(String::new(), |handle| {
        format!("; the rest is under handle {handle} from offset {shown}")
    });
    format!("[truncated: {shown} of {chars} characters{rest}]")
}
