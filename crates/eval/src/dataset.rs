//! The rows of a file of prompts.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Error;
use super::unread::{begins_list, cure};
use toolroute_catalog::row_fault;
use toolroute_rank::engine::Context;
use toolroute_rank::query::says_nothing;

/// The id of a row, kept as it was written: a number of thirty digits is not rounded.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RowId(Box<RawValue>);

impl Default for RowId {
    fn default() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

impl From<&RawValue> for RowId {
    fn from(json: &RawValue) -> Self {
        Self(json.to_owned())
    }
}

impl From<&str> for RowId {
    fn from(text: &str) -> Self {
        Self::of(&text)
    }
}

impl From<u64> for RowId {
    fn from(number: u64) -> Self {
        Self::of(&number)
    }
}

impl From<serde_json::Number> for RowId {
    fn from(number: serde_json::Number) -> Self {
        Self::of(&number)
    }
}

impl RowId {
    fn of(value: &impl Serialize) -> Self {
        let json = serde_json::value::to_raw_value(value);
        Self(json.expect("texts and numbers are JSON. This is a bug."))
    }

    /// Returns the id as people read it; `None` if there is none.
    pub fn text(&self) -> Option<String> {
        let written = self.0.get();
        let text = serde_json::from_str(written).unwrap_or_else(|_| written.to_owned());
        (written != "null").then_some(text)
    }
}

impl PartialEq for RowId {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

/// One prompt of a file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "QueryMembers")]
pub struct Query {
    /// The id of the row, returned unchanged; null if there is none.
    pub id: RowId,
    /// The member `query` of the row, or `prompt` if there is no `query`.
    pub query: String,
    /// Ids of the right tools: the member `gold` of the row, or `tools` if there is no `gold`. Any one tool of an inner
    /// list is enough.
    pub gold: Vec<Vec<String>>,
    /// Whether the row says that no tool is right, by an empty list.
    pub is_unserved: bool,
    /// Ids of the only tools to rank, if the row restricts them.
    pub candidates: Option<Vec<String>>,
    /// The context of the prompt.
    pub context: Option<Context>,
    /// The line number of the row, counted from 1.
    pub line: usize,
}

/// A right tool as it is written, or several of which any one is enough.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Right {
    One(String),
    AnyOf(Vec<String>),
}

impl Right {
    pub(super) fn into_ids(self) -> Vec<String> {
        match self {
            Self::One(id) => vec![id],
            Self::AnyOf(ids) => ids,
        }
    }
}

/// A row as it is written.
#[derive(Deserialize)]
struct QueryMembers {
    #[serde(default)]
    id: RowId,
    query: Option<String>,
    /// If there is a `query`, either the same text or a value that is not a text.
    prompt: Option<serde_json::Value>,
    #[serde(default)]
    gold: Option<Vec<Right>>,
    /// In files for other commands, these may be definitions of tools.
    #[serde(default)]
    tools: Option<Box<RawValue>>,
    #[serde(default)]
    candidates: Option<Vec<String>>,
    #[serde(default)]
    context: Option<Context>,
}

impl TryFrom<QueryMembers> for Query {
    type Error = &'static str;

    fn try_from(row: QueryMembers) -> Result<Self, Self::Error> {
        let query = match (row.query, row.prompt) {
            (Some(query), Some(serde_json::Value::String(prompt))) if prompt != query => {
                return Err("`query` and `prompt` are not the same text");
            }
            (Some(query), _) | (None, Some(serde_json::Value::String(query))) => query,
            (None, Some(_)) => return Err("`prompt` is not a text"),
            (None, None) => return Err("missing field `query`"),
        };
        let ids = || serde_json::from_str(row.tools?.get()).ok();
        let gold: Option<Vec<Right>> = row.gold.or_else(ids);
        let is_unserved = gold.as_ref().is_some_and(Vec::is_empty);
        let gold: Vec<_> = gold.unwrap_or_default().into_iter().map(Right::into_ids).collect();
        if gold.iter().any(Vec::is_empty) {
            return Err(
                "`gold` has an empty list within; expected the ids of which any one is right",
            );
        }
        let id = row.id;
        let (candidates, context) = (row.candidates, row.context);
        Ok(Self { id, query, gold, is_unserved, candidates, context, line: 0 })
    }
}

/// A row without an answer, and the reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BadRow {
    /// The id of the row, if it could be read.
    pub id: RowId,
    /// The line number of the row, counted from 1.
    pub line: usize,
    pub error: String,
}

/// Reads only the id of a row, because any other member may be missing or wrong.
#[derive(Default, Deserialize)]
struct IdAlone {
    #[serde(default)]
    id: RowId,
}

/// A file of rows, read as bytes, so that one row that is not UTF-8 does not make the others
/// unreadable.
#[derive(Clone, Debug)]
pub struct RowFile {
    path: PathBuf,
    bytes: Vec<u8>,
}

/// A non-blank line with its number.
type Line<'a> = (usize, &'a [u8]);

impl RowFile {
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
        Ok(Self { path: path.to_owned(), bytes })
    }

    /// Reads rows from another source. Errors use `name` as the name of the file.
    pub fn read_from(name: impl Into<PathBuf>, mut from: impl Read) -> Result<Self, Error> {
        let (path, mut bytes) = (name.into(), Vec::new());
        from.read_to_end(&mut bytes).map_err(Error::io("read", &path))?;
        Ok(Self { path, bytes })
    }

    /// Returns the prompts, and the rows that are invalid.
    pub fn queries(&self) -> Result<(Vec<Query>, Vec<BadRow>), Error> {
        self.each(|_, query| Ok(query))
    }

    /// Parses each row as a prompt, and makes a value of the row and its prompt with `read`.
    pub(super) fn each<T>(
        &self,
        read: impl Fn(&[u8], Query) -> Result<T, BadRow>,
    ) -> Result<(Vec<T>, Vec<BadRow>), Error> {
        let (mut read_rows, mut bad, mut has_prompt) = (Vec::new(), Vec::new(), false);
        for (number, line) in self.lines()? {
            let query = parse_query(line, number);
            has_prompt |= query.is_ok();
            match query.and_then(|query| read(line, query)) {
                Ok(row) => read_rows.push(row),
                Err(row) => bad.push(row),
            }
        }
        match bad.first() {
            Some(first) if !has_prompt => Err(self.nothing_read(first)),
            _ => Ok((read_rows, bad)),
        }
    }

    fn nothing_read(&self, first: &BadRow) -> Error {
        let found = first.error.split("; expected").next().unwrap_or_default().to_owned();
        Error::NothingRead {
            path: self.path.clone(),
            cure: cure(&self.bytes),
            line: first.line,
            found,
        }
    }

    fn lines(&self) -> Result<Vec<Line<'_>>, Error> {
        let rows = (1..).zip(self.bytes.split(|byte| *byte == b'\n'));
        let rows: Vec<Line<'_>> = rows
            .map(|(number, row)| (number, trim(row)))
            .filter(|(_, row)| !row.is_empty())
            .collect();
        match rows.first() {
            None => Err(Error::NoRows { path: self.path.clone() }),
            Some((line, row)) if begins_list(row) => Err(self.nothing_read(&BadRow {
                id: RowId::default(),
                line: *line,
                error: LIST.into(),
            })),
            Some(_) => Ok(rows),
        }
    }
}

const LIST: &str = "found a list; expected {\"id\": …, \"query\": \"…\"}";

/// Removes the white space around a row, and the byte order mark before it.
fn trim(row: &[u8]) -> &[u8] {
    let row = row.trim_ascii();
    row.strip_prefix(b"\xef\xbb\xbf").unwrap_or(row).trim_ascii()
}

/// Parses the row at line number `line`.
pub fn parse_query(row: &[u8], line: usize) -> Result<Query, BadRow> {
    let row = trim(row);
    let bad = |id, error| BadRow { id, line, error };
    let id = || serde_json::from_slice::<IdAlone>(row).unwrap_or_default().id;
    let unread =
        |error: String| bad(id(), format!("{error}; expected {{\"id\": …, \"query\": \"…\"}}"));
    // Serde would accept a list as the fields in their order.
    if row.starts_with(b"[") {
        return Err(bad(RowId::default(), LIST.to_owned()));
    }
    let text = std::str::from_utf8(row).map_err(|error| {
        let at = error.valid_up_to() + 1;
        let cure = "expected UTF-8: convert the file with `iconv`";
        bad(id(), format!("not UTF-8 at byte {at}; {cure}"))
    })?;
    let query: Query = serde_json::from_str(text).map_err(|error| unread(row_fault(&error)))?;
    if says_nothing(&query.query) {
        let error = "\"query\" is empty; expected some words that say what is wanted";
        return Err(bad(query.id, error.to_owned()));
    }
    Ok(Query { line, ..query })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(query: &Query) -> &str {
        query.id.0.get()
    }

    #[test]
    fn a_row_keeps_its_id_as_it_came() {
        let row = r#"{"id": 7, "query": "x", "candidates": ["a"], "gold": null, "meta": {}}"#;
        let query = parse_query(row.as_bytes(), 1).unwrap();
        assert_eq!((id(&query), &query.candidates), ("7", &Some(vec!["a".to_owned()])));
        assert!(query.gold.is_empty());
        for kept in ["123456789012345678901234567890", "1.50", "1e3", "\"\\u0041\"", "null"] {
            let row = format!("{{\"id\": {kept} , \"query\": \"x\", \"candidates\": null}}");
            let query = parse_query(row.as_bytes(), 1).unwrap();
            assert_eq!((id(&query), &query.candidates), (kept, &None));
        }
        assert_eq!(id(&parse_query(br#"{"query": "x"}"#, 1).unwrap()), "null");
    }

    #[test]
    fn a_row_names_its_prompt_by_either_name() {
        for row in [
            r#"{"query": "x"}"#,
            r#"{"prompt": "x"}"#,
            r#"{"query": "x", "prompt": "x"}"#,
            r#"{"query": "x", "prompt": null}"#,
        ] {
            assert_eq!(parse_query(row.as_bytes(), 1).unwrap().query, "x", "{row}");
        }
        let two = parse_query(br#"{"query": "x", "prompt": "y"}"#, 1).unwrap_err();
        assert!(two.error.contains("not the same text"), "{}", two.error);
    }

    #[test]
    fn a_row_names_its_right_tools_by_either_name() {
        let gold = |row: &str| parse_query(row.as_bytes(), 1).unwrap().gold.concat();
        assert_eq!(gold(r#"{"query": "x", "tools": ["a", "b"]}"#), ["a", "b"]);
        assert_eq!(gold(r#"{"query": "x", "gold": ["a"], "tools": ["b"]}"#), ["a"]);
        assert_eq!(gold(r#"{"query": "x", "gold": null, "tools": ["b"]}"#), ["b"]);
        let definitions = r#"{"query": "x", "tools": [{"name": "a"}]}"#;
        assert_eq!(gold(definitions), [""; 0], "a definition is no right tool");
        let is_unserved = |row: &str| parse_query(row.as_bytes(), 1).unwrap().is_unserved;
        for row in [r#"{"query": "x", "tools": []}"#, r#"{"query": "x", "gold": []}"#] {
            assert!(is_unserved(row), "{row}");
        }
        assert!(!is_unserved(definitions) && !is_unserved(r#"{"query": "x", "gold": null}"#));
    }

    #[test]
    fn a_bad_row_says_its_line_and_keeps_its_id() {
        let bad = parse_query(br#"{"id": "q1", "text": "x"}"#, 9).unwrap_err();
        assert_eq!((bad.line, bad.id.0.get()), (9, "\"q1\""));
        assert!(bad.error.contains("missing field `query`"), "{}", bad.error);
        assert!(parse_query(b"{", 1).is_err());
        assert!(parse_query(br#"{"query": " "}"#, 1).is_err());
        let list = parse_query(br#"[1, "x"]"#, 1).unwrap_err();
        assert!(list.error.contains("found a list"), "{}", list.error);
    }

    #[test]
    fn a_row_that_is_not_utf8_costs_itself_alone() {
        let bytes = b"\xef\xbb\xbf{\"query\": \"a\"}\r\n\n{\"id\": 5, \"query\": \"\xff\"}\n{\"query\": \"b\"}";
        let file = RowFile::read_from("stdin", &bytes[..]).unwrap();
        let (queries, bad) = file.queries().unwrap();
        let seen: Vec<_> = queries.iter().map(|query| (query.query.as_str(), query.line)).collect();
        assert_eq!(seen, [("a", 1), ("b", 4)]);
        assert_eq!((bad.len(), bad[0].line, bad[0].id.0.get()), (1, 3, "5"));
        assert!(bad[0].error.contains("not UTF-8"), "{}", bad[0].error);
    }
}
