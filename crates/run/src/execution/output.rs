//! Truncation of long answers.
//!
//! A truncated answer keeps its shape: JSON parses, a table keeps its header, a text ends with a
//! sentence. A marker says what is missing and under which handle the whole answer is stored.

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

pub(super) use size::chars_of;
pub use size::{Estimate, Sizes, tokens_of};
pub use store::{AnswerStore, Page};
pub use summary::{Extractive, Score, Summarizer};

/// The shape of an answer's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    Json,
    Table,
    Text,
}

/// The shape of a text.
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

/// What was left out of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Truncation {
    pub shape: Shape,
    /// Characters of the whole.
    pub of_chars: usize,
    /// A summary stands in its place, not its beginning.
    pub summarized: bool,
    /// The handle of the stored whole answer; `None` if it could not be stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// The whole value if it was truncated, because a truncated one may not fit the tool's output
    /// schema. For callers that pass answers on.
    #[serde(skip)]
    pub whole_data: Option<Value>,
}

/// The smallest limit, which leaves room for the marker.
pub const LEAST_CHARS: usize = 200;

/// At most `most` characters of the text, the marker among them.
///
/// Never less than `LEAST_CHARS`. The result has the shape of the whole.
pub fn truncate(text: &str, most: usize, handle: Option<&str>) -> String {
    let most = most.max(LEAST_CHARS);
    let chars = text.chars().count();
    if chars <= most {
        return text.to_owned();
    }
    match shape(text) {
        Shape::Json => json::truncate(text, most, chars, handle),
        Shape::Table => table::truncate(text, most, chars, handle),
        Shape::Text => text::truncate(text, most, chars, handle),
    }
}

/// A value of at most so many characters as JSON.
pub(super) fn truncate_value(value: &Value, most: usize, handle: Option<&str>) -> Value {
    json::truncate_value(value, most.max(LEAST_CHARS), handle)
}

/// The marker in the place of missing text.
fn marker(shown: usize, chars: usize, handle: Option<&str>) -> String {
    let rest =
        handle.map_or(String::new(), |handle| format!("; the rest is under handle {handle}"));
    format!("[truncated: {shown} of {chars} characters{rest}]")
}

/// The text up to so many characters.
fn first_chars(text: &str, most: usize) -> &str {
    match text.char_indices().nth(most) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
