//! A row of an input, independent of its format.

use std::sync::Arc;

use serde_json::value::RawValue;
use toolroute_catalog::value_fault;
use toolroute_eval::{BadRow, Query, RowId};
use toolroute_rank::engine::Context;
use toolroute_rank::query::says_nothing;

use crate::Error;
use crate::columns::Columns;
use crate::record::IdType;

/// A row of the input.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its number in the input, counted from 0; blank lines do not count.
    pub number: usize,
    pub query: Result<Query, BadRow>,
    /// The tools to rank instead of the catalog's, as a JSON list. Successive rows with equal tools
    /// share them.
    pub tools: Option<Arc<str>>,
}

impl Row {
    /// Shares the tools with the previous row if they are equal. Returns the size of this row in
    /// bytes, without shared tools.
    pub fn share_tools(&mut self, before: &mut Option<Arc<str>>) -> usize {
        let tools = match (&self.tools, &*before) {
            (Some(own), Some(shared)) if own == shared => {
                self.tools = before.clone();
                0
            }
            (Some(own), _) => {
                *before = Some(own.clone());
                own.len()
            }
            (None, _) => 0,
        };
        let Ok(query) = &self.query else { return tools };
        let candidates = query.candidates.iter().flatten().map(String::len).sum::<usize>();
        tools + query.query.len() + candidates
    }
}

/// The rows of an open input.
pub(crate) type Rows = Box<dyn Iterator<Item = Result<Row, Error>> + Send>;

/// An input whose columns are known.
pub(crate) struct OpenRows {
    pub rows: Rows,
    pub id: IdType,
    /// The number of rows, if it is known without reading them.
    pub total: Option<usize>,
}

/// The cells of a row, which may not form a prompt.
#[derive(Default)]
pub(crate) struct Cells {
    pub id: RowId,
    pub prompt: Option<String>,
    pub candidates: Option<Vec<String>>,
    pub tools: Option<String>,
    pub context: Option<Context>,
}

impl Cells {
    /// Converts the cells to a row, which contains an error if they do not form a prompt. `line`
    /// counts from 1.
    pub fn row(self, number: usize, line: usize, prompt_column: &str) -> Row {
        let Self { id, prompt, candidates, tools, context } = self;
        let found = match prompt {
            Some(query) if !says_nothing(&query) => {
                let query = Query {
                    id,
                    query,
                    gold: Vec::new(),
                    is_unserved: false,
                    candidates,
                    context,
                    line,
                };
                return Row { number, query: Ok(query), tools: tools.map(Arc::from) };
            }
            Some(_) => "empty",
            None => "missing",
        };
        let error =
            format!("\"{prompt_column}\" is {found}; expected some words that say what is wanted");
        bad_row(number, BadRow { id, line, error })
    }
}

pub(crate) fn bad_row(number: usize, bad: BadRow) -> Row {
    Row { number, query: Err(bad), tools: None }
}

/// Parses a JSON list of candidates; `None` for an empty text and for null.
pub(crate) fn candidates(text: &str) -> Result<Option<Vec<String>>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    serde_json::from_str(text).map_err(|error| {
        format!(
            "the candidates are no JSON list of tool ids, such as [\"mail__send\"]: {}",
            value_fault(&error)
        )
    })
}

/// Checks that a text is a JSON list of tools; `None` for an empty text and for null.
pub(crate) fn tools(text: &str) -> Result<Option<String>, String> {
    let text = text.trim();
    if text.is_empty() || text == "null" {
        return Ok(None);
    }
    let json = serde_json::from_str::<&RawValue>(text);
    let json = json.map_err(|error| format!("the tools are no JSON: {}", value_fault(&error)))?;
    if !json.get().starts_with('[') {
        return Err("the tools are no list; expected a JSON list of tool definitions".to_owned());
    }
    Ok(Some(json.get().to_owned()))
}

pub(crate) fn prompt_name(columns: &Columns) -> &str {
    columns.prompt.as_deref().unwrap_or("query")
}
