//! Rows of a file of prompts.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One prompt of a file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Query {
    /// Given back as it came: a string, a number, or null where there is none.
    #[serde(default)]
    pub id: Value,
    pub query: String,
    /// Ids of the right tools.
    #[serde(default)]
    pub gold: Vec<String>,
    /// Ids of the only tools to rank.
    #[serde(default)]
    pub candidates: Option<Vec<String>>,
}

/// A row that gave no answer, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BadRow {
    /// Its id, where it could be read.
    pub id: Value,
    /// Counted from 1.
    pub line: usize,
    pub error: String,
}

/// Reads line number `line`; `None` for a blank one.
///
/// # Errors
/// Where the line is no object with a `query`, or the query holds no words.
pub fn parse_query(text: &str, line: usize) -> Option<Result<Query, BadRow>> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return None;
    }
    let query = serde_json::from_str::<Query>(text).map_err(|error| {
        let value = serde_json::from_str::<Value>(text).unwrap_or_default();
        let id = value.get("id").cloned().unwrap_or_default();
        let error = format!("{error}; expected {{\"id\": …, \"query\": \"…\"}}");
        BadRow { id, line, error }
    });
    Some(query.and_then(|query| {
        if query.query.trim().is_empty() {
            let error = "\"query\" is empty; expected some words that say what is wanted";
            return Err(BadRow { id: query.id, line, error: error.to_owned() });
        }
        Ok(query)
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_keeps_its_id_as_it_came() {
        let row = parse_query(r#"{"id": 7, "query": "x", "candidates": ["a"], "meta": {}}"#, 1);
        let query = row.unwrap().unwrap();
        assert_eq!((query.id, query.candidates), (json!(7), Some(vec!["a".to_owned()])));
        assert_eq!(parse_query("  \r", 2), None);
    }

    #[test]
    fn a_bad_row_says_its_line_and_keeps_its_id() {
        let bad = parse_query(r#"{"id": "q1", "text": "x"}"#, 9).unwrap().unwrap_err();
        assert_eq!((bad.line, bad.id), (9, json!("q1")));
        assert!(bad.error.contains("missing field `query`"), "{}", bad.error);
        assert!(parse_query("{", 1).unwrap().is_err());
        assert!(parse_query(r#"{"query": " "}"#, 1).unwrap().is_err());
    }
}
