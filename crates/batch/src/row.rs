//! One row of an input, as every format gives it.

use serde_json::value::RawValue;
use toolroute_eval::{BadRow, Query, RowId};
use toolroute_rank::engine::Context;

use crate::columns::Columns;

/// A row of the input.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its number in the input, counted from 0; blank lines do not count.
    pub number: usize,
    pub query: Result<Query, BadRow>,
    /// Tools to rank in the place of the catalog's: a list in JSON.
    pub tools: Option<String>,
}

/// What the cells of a row hold, before it is known whether they make a prompt.
#[derive(Default)]
pub(crate) struct Cells {
    pub id: RowId,
    pub prompt: Option<String>,
    pub candidates: Option<Vec<String>>,
    pub tools: Option<String>,
    pub context: Option<Context>,
}

impl Cells {
    /// The row that they make, or why they make none. `line` counts from 1.
    pub fn row(self, number: usize, line: usize, prompt_column: &str) -> Row {
        let Self { id, prompt, candidates, tools, context } = self;
        let error = match prompt {
            Some(query) if !query.trim().is_empty() => {
                let query = Query { id, query, gold: Vec::new(), candidates, context, line };
                return Row { number, query: Ok(query), tools };
            }
            Some(_) => {
                format!("\"{prompt_column}\" is empty; expected some words that say what is wanted")
            }
            None => {
                format!(
                    "\"{prompt_column}\" is missing; expected some words that say what is wanted"
                )
            }
        };
        bad_row(number, BadRow { id, line, error })
    }
}

pub(crate) fn bad_row(number: usize, bad: BadRow) -> Row {
    Row { number, query: Err(bad), tools: None }
}

/// The ids of candidates out of a list in JSON; `None` for no text and for null.
pub(crate) fn candidates(text: &str) -> Result<Option<Vec<String>>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    serde_json::from_str(text).map_err(|error| {
        format!("the candidates are no JSON list of tool ids, such as [\"mail__send\"]: {error}")
    })
}

/// The tools of a row out of a list in JSON; `None` for no text and for null.
pub(crate) fn tools(text: &str) -> Result<Option<String>, String> {
    let text = text.trim();
    if text.is_empty() || text == "null" {
        return Ok(None);
    }
    let json = serde_json::from_str::<&RawValue>(text);
    let json = json.map_err(|error| format!("the tools are no JSON: {error}"))?;
    if !json.get().starts_with('[') {
        return Err("the tools are no list; expected a JSON list of tool definitions".to_owned());
    }
    Ok(Some(json.get().to_owned()))
}

/// How the columns name the prompt in messages.
pub(crate) fn prompt_name(columns: &Columns) -> &str {
    columns.prompt.as_deref().unwrap_or("query")
}
