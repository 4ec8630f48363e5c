//! Rows out of JSON lines.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};

use serde::Deserialize;
use serde_json::value::RawValue;
use toolroute_eval::{BadRow, RowId, parse_query};

use crate::columns::Columns;
use crate::row::{self, Cells, Row};

/// The rows of a text, a JSON object on each line; blank lines are none.
pub(crate) struct JsonRows<R> {
    from: BufReader<R>,
    columns: Columns,
    line: usize,
    number: usize,
}

impl<R: Read> JsonRows<R> {
    pub fn new(from: R, columns: Columns) -> Self {
        Self { from: BufReader::new(from), columns, line: 0, number: 0 }
    }

    fn parse(&self, line: &[u8]) -> Row {
        let (number, at) = (self.number, self.line);
        if self.columns != Columns::default() {
            return named(line, &self.columns, (number, at));
        }
        let query = parse_query(line, at);
        let read = query.and_then(|query| {
            let tools = usual_tools(line).map_err(|error| BadRow {
                id: query.id.clone(),
                line: at,
                error,
            })?;
            Ok((query, tools))
        });
        match read {
            Ok((query, tools)) => Row { number, query: Ok(query), tools },
            Err(bad) => row::bad_row(number, bad),
        }
    }
}

impl<R: Read> Iterator for JsonRows<R> {
    type Item = std::io::Result<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut line = Vec::new();
        loop {
            line.clear();
            match self.from.read_until(b'\n', &mut line) {
                Ok(0) => return None,
                Ok(_) => self.line += 1,
                Err(error) => return Some(Err(error)),
            }
            let row = line.trim_ascii();
            let row = row.strip_prefix(b"\xef\xbb\xbf").unwrap_or(row).trim_ascii();
            if !row.is_empty() {
                let row = self.parse(row);
                self.number += 1;
                return Some(Ok(row));
            }
        }
    }
}

/// The member `tools` of a row that is known to be an object.
fn usual_tools(line: &[u8]) -> Result<Option<String>, String> {
    #[derive(Deserialize)]
    struct ToolsAlone<'a> {
        #[serde(borrow)]
        tools: Option<&'a RawValue>,
    }
    // Few rows have it, and reading a row twice takes as long as reading it.
    if !line.windows(7).any(|part| part == b"\"tools\"") {
        return Ok(None);
    }
    let row: ToolsAlone<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    row.tools.map_or(Ok(None), |tools| row::tools(tools.get()))
}

/// A row whose members have names of the user's choice. `at` is its number and its line.
fn named(line: &[u8], columns: &Columns, at: (usize, usize)) -> Row {
    let (number, line_number) = at;
    let bad = |id, error| row::bad_row(number, BadRow { id, line: line_number, error });
    let prompt = row::prompt_name(columns);
    let expected = format!("expected {{\"id\": …, \"{prompt}\": \"…\"}}");
    let text = match std::str::from_utf8(line) {
        Ok(text) => text,
        Err(error) => {
            let at = error.valid_up_to() + 1;
            return bad(RowId::default(), format!("not UTF-8 at byte {at}; {expected}"));
        }
    };
    let members: HashMap<String, &RawValue> = match serde_json::from_str(text) {
        Ok(members) => members,
        Err(error) => return bad(RowId::default(), format!("{error}; {expected}")),
    };
    let id = Columns::optional(&columns.id, "id").and_then(|name| members.get(name));
    let id = id.map_or_else(RowId::default, |id| RowId::from(*id));
    match cells(&members, columns) {
        Ok(cells) if cells.prompt.is_none() => {
            let mut found: Vec<String> = members.keys().map(|name| format!("`{name}`")).collect();
            found.sort_unstable();
            bad(id, format!("missing field `{prompt}` beside {}; {expected}", found.join(", ")))
        }
        Ok(cells) => match context(&members) {
            Ok(context) => {
                let mut row = Cells { id, ..cells }.row(number, line_number, prompt);
                if let Ok(query) = &mut row.query {
                    query.context = context;
                }
                row
            }
            Err(error) => bad(id, error),
        },
        Err(error) => bad(id, error),
    }
}

type Members<'a> = HashMap<String, &'a RawValue>;

fn cells(members: &Members<'_>, columns: &Columns) -> Result<Cells, String> {
    let text = |name: &str| match members.get(name).map(|raw| raw.get()) {
        None | Some("null") => Ok(None),
        Some(raw) => serde_json::from_str::<String>(raw)
            .map(Some)
            .map_err(|_| format!("`{name}` is not a text")),
    };
    let prompt = match columns.prompt.as_deref() {
        Some(name) => text(name)?,
        None => match text("query")? {
            Some(query) => Some(query),
            None => text("prompt")?,
        },
    };
    let raw = |chosen, usual| {
        let found = Columns::optional(chosen, usual).and_then(|name| members.get(name));
        found.map_or("", |raw| raw.get())
    };
    let candidates = row::candidates(raw(&columns.candidates, "candidates"))?;
    let tools = row::tools(raw(&columns.tools, "tools"))?;
    Ok(Cells { prompt, candidates, tools, ..Cells::default() })
}

fn context(members: &Members<'_>) -> Result<Option<toolroute_rank::engine::Context>, String> {
    let context = members.get("context").map_or("null", |raw| raw.get());
    serde_json::from_str(context).map_err(|error| format!("`context`: {error}"))
}
