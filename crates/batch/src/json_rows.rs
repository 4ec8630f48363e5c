//! Reads rows from JSON lines.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;
use toolroute_catalog::{near_word, row_fault, value_fault};
use toolroute_eval::{BadRow, RowId};
use toolroute_rank::engine::Context;

use crate::Error;
use crate::columns::{CANDIDATES_FLAG, Columns, ID_FLAG, TOOLS_FLAG};
use crate::row::{self, Cells, Row};

/// What JSON lines are, for errors.
pub(crate) const JSON_LINES: &str =
    "one JSON object a line, such as {\"id\": 1, \"query\": \"the weather in Paris\"}";

/// The most names of members that are compared with the known ones.
const MOST_NAMES: usize = 200;

/// The names of members that are not known, each with the known name that it may be misspelt for, until a warning was
/// given. Rows repeat their names, and a file is read more than once.
pub(crate) type Misspelt = Arc<Mutex<BTreeMap<String, Option<String>>>>;

/// Converts an I/O error.
type Failed = Box<dyn Fn(std::io::Error) -> Error + Send>;

/// The rows of a text with one JSON object per line. Blank lines are skipped.
pub(crate) struct JsonRows<R> {
    from: BufReader<R>,
    path: PathBuf,
    columns: Columns,
    failed: Failed,
    line: usize,
    number: usize,
    /// Chosen columns that no row has had so far, with their flags.
    missing: Vec<(&'static str, String)>,
    /// The names of the members of the first row.
    first: Option<Vec<String>>,
    misspelt: Misspelt,
}

impl<R: Read> JsonRows<R> {
    pub fn new(
        from: R,
        (path, columns, misspelt): (PathBuf, Columns, Misspelt),
        failed: Failed,
    ) -> Self {
        let named = [
            (ID_FLAG, &columns.id),
            (CANDIDATES_FLAG, &columns.candidates),
            (TOOLS_FLAG, &columns.tools),
        ];
        let named = named.into_iter().filter_map(|(flag, name)| Some((flag, name.clone()?)));
        let missing = named.filter(|(_, name)| !name.is_empty()).collect();
        let from = BufReader::new(from);
        Self { from, path, columns, failed, line: 0, number: 0, missing, first: None, misspelt }
    }

    fn parse(&mut self, line: &[u8]) -> Row {
        let (number, at) = (self.number, self.line);
        match self.read(line) {
            Ok(cells) => cells.row(number, at, row::prompt_name(&self.columns)),
            Err((id, error)) => row::bad_row(number, BadRow { id, line: at, error }),
        }
    }

    /// Reads the cells of a line, or returns its id and the error.
    fn read(&mut self, line: &[u8]) -> Result<Cells, (RowId, String)> {
        let prompt = row::prompt_name(&self.columns);
        let expected = format!("expected {{\"id\": …, \"{prompt}\": \"…\"}}");
        let bad = |error: &str| (RowId::default(), format!("{error}; {expected}"));
        if line.starts_with(b"[") {
            return Err(bad("found a list"));
        }
        let text = std::str::from_utf8(line).map_err(|error| {
            let found = format!(
                "not UTF-8 at byte {}; expected UTF-8: convert the file with `iconv`",
                error.valid_up_to() + 1
            );
            (self.readable_id(&String::from_utf8_lossy(line)), found)
        })?;
        let members: Members<'_> =
            serde_json::from_str(text).map_err(|error| bad(&row_fault(&error)))?;
        self.missing.retain(|(_, name)| !members.has(name));
        self.first.get_or_insert_with(|| members.names());
        self.warn_of_misspelt(&members);
        let id = self.id(&members).map_err(|error| bad(&error))?;
        match cells(&members, &self.columns) {
            Ok(cells) if cells.prompt.is_none() => {
                Err((id, format!("{}; {expected}", self.without_prompt(&members))))
            }
            Ok(cells) => Ok(Cells { id, ..cells }),
            Err(error) => Err((id, error)),
        }
    }

    /// Warns of each member, once, whose name is nearly that of a member that the row does not have: what it says is not
    /// used.
    fn warn_of_misspelt(&self, members: &Members<'_>) {
        let columns = &self.columns;
        let named =
            [(&columns.id, "id"), (&columns.candidates, "candidates"), (&columns.tools, "tools")];
        let named =
            named.into_iter().filter_map(|(chosen, usual)| Columns::optional(chosen, usual));
        let known: Vec<&str> = named.chain(["context", row::prompt_name(columns)]).collect();
        let mut misspelt = self.misspelt.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, _) in &members.0.0 {
            let name: &str = name;
            // Known, or a usual name of another member.
            if known.contains(&name) || ["content", "ids", "tool"].contains(&name) {
                continue;
            }
            if !misspelt.contains_key(name) && misspelt.len() < MOST_NAMES {
                misspelt.insert(name.to_string(), near_word(name, &known).map(str::to_owned));
            }
            let Some(meant) = misspelt.get_mut(name) else { continue };
            if let Some(meant) = meant.take_if(|meant| !members.has(meant)) {
                let line = self.line;
                tracing::warn!(line, "`{name}` is not used; did you mean `{meant}`?");
            }
        }
    }

    /// Says what a row without a prompt has instead.
    fn without_prompt(&self, members: &Members<'_>) -> String {
        let prompt = row::prompt_name(&self.columns);
        let usual = if self.columns.prompt.is_none() { "prompt" } else { prompt };
        match [prompt, usual].into_iter().find(|name| members.has(name)) {
            Some(null) => format!("`{null}` is null"),
            None => format!("missing field `{prompt}` beside {}", members.names().join(", ")),
        }
    }

    fn id(&self, members: &Members<'_>) -> Result<RowId, String> {
        let id = Columns::optional(&self.columns.id, "id").map(|name| members.get(name));
        Ok(id.transpose()?.flatten().map_or_else(RowId::default, RowId::from))
    }

    /// Returns the id of a line whose other parts are damaged.
    fn readable_id(&self, text: &str) -> RowId {
        let members = serde_json::from_str::<Members<'_>>(text).ok();
        let id = members.and_then(|members| self.id(&members).ok()).unwrap_or_default();
        let json = serde_json::to_string(&id).unwrap_or_default();
        if json.contains(char::REPLACEMENT_CHARACTER) { RowId::default() } else { id }
    }

    /// Returns the error of a list over several lines, of which this is the first.
    fn list(&self, line: &[u8]) -> Error {
        let (path, cure) = (self.path.clone(), toolroute_eval::cure(line).to_owned());
        let found = "found a list".to_owned();
        Error::NothingRead { path, expected: JSON_LINES, cure, line: self.line, found }
    }

    /// Returns the error of a chosen column that no row has.
    fn end(&mut self) -> Option<Error> {
        let found = self.first.take()?;
        let (flag, name) = std::mem::take(&mut self.missing).into_iter().next()?;
        let (path, wanted) = (self.path.clone(), format!("`{name}`"));
        Some(Error::MissingColumn { path, wanted, flag, found })
    }
}

impl<R: Read> Iterator for JsonRows<R> {
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut line = Vec::new();
        loop {
            line.clear();
            match self.from.read_until(b'\n', &mut line) {
                Ok(0) => return self.end().map(Err),
                Ok(_) => self.line += 1,
                Err(error) => return Some(Err((self.failed)(error))),
            }
            let row = line.trim_ascii();
            let row = row.strip_prefix(b"\xef\xbb\xbf").unwrap_or(row).trim_ascii();
            if self.number == 0 && toolroute_eval::begins_list(row) {
                return Some(Err(self.list(row)));
            }
            if !row.is_empty() {
                let row = self.parse(row);
                self.number += 1;
                return Some(Ok(row));
            }
        }
    }
}

/// The members of a row.
#[derive(Deserialize)]
struct Members<'a>(#[serde(borrow)] toolroute_catalog::Members<'a>);

impl<'a> Members<'a> {
    fn has(&self, name: &str) -> bool {
        self.0.0.iter().any(|(found, _)| found == name)
    }

    /// Returns a member, or `None` for null.
    ///
    /// # Errors
    /// Returns an error for a duplicate member, because it is unknown which one was meant.
    fn get(&self, name: &str) -> Result<Option<&'a RawValue>, String> {
        let mut found = self.0.0.iter().filter(|(found, _)| found == name);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(format!("duplicate field `{name}`")),
            (first, None) => {
                Ok(first.map(|(_, value)| *value).filter(|value| value.get() != "null"))
            }
        }
    }

    fn text(&self, name: &str) -> Result<Option<String>, String> {
        let text = self.get(name)?.map(|raw| serde_json::from_str(raw.get()));
        text.transpose().map_err(|error| match self.get(name) {
            Ok(Some(raw)) if raw.get().starts_with('"') => {
                format!("`{name}`: {}", value_fault(&error))
            }
            _ => format!("`{name}` is not a text"),
        })
    }

    /// Returns the names in quotes and in alphabetical order, for a message.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.0.0.iter().map(|(name, _)| format!("`{name}`")).collect();
        names.sort_unstable();
        names
    }
}

fn cells(members: &Members<'_>, columns: &Columns) -> Result<Cells, String> {
    let prompt = match columns.prompt.as_deref() {
        Some(name) => members.text(name)?,
        None => usual_prompt(members)?,
    };
    let json = |chosen, usual| {
        let found = Columns::optional(chosen, usual).map(|name| members.get(name)).transpose()?;
        Ok::<_, String>(found.flatten().map_or("", RawValue::get))
    };
    let candidates = row::candidates(json(&columns.candidates, "candidates")?)?;
    let tools = row::tools(json(&columns.tools, "tools")?)?;
    let context = context(members)?;
    Ok(Cells { id: RowId::default(), prompt, candidates, tools, context })
}

/// Returns the member `query`, or `prompt` if there is no `query`. If both are texts, they must be
/// equal.
fn usual_prompt(members: &Members<'_>) -> Result<Option<String>, String> {
    let Some(query) = members.text("query")? else { return members.text("prompt") };
    let prompt = members.get("prompt")?;
    match prompt.map(|raw| serde_json::from_str::<String>(raw.get())) {
        Some(Ok(prompt)) if prompt != query => {
            Err("`query` and `prompt` are not the same text".to_owned())
        }
        _ => Ok(Some(query)),
    }
}

fn context(members: &Members<'_>) -> Result<Option<Context>, String> {
    let Some(raw) = members.get("context")? else { return Ok(None) };
    if !raw.get().starts_with('{') {
        return Err("`context` is not an object; expected one such as {\"files\": []}".to_owned());
    }
    serde_json::from_str(raw.get()).map_err(|error| format!("`context`: {}", value_fault(&error)))
}
