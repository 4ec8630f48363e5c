//! The columns of an input.

use std::path::Path;

use crate::Error;

/// The names of the columns of a table, or of the members of JSON rows. `None` uses the usual name
/// if the input has it; an empty name uses no column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The prompts; `query` or `prompt` by default.
    pub prompt: Option<String>,
    /// The ids of the rows; `id` by default.
    pub id: Option<String>,
    /// Ids of the only tools to rank; `candidates` by default.
    pub candidates: Option<String>,
    /// Definitions of the tools to rank instead of the catalog's; `tools` by default.
    pub tools: Option<String>,
}

/// The flags of the command line for the columns.
pub(crate) const PROMPT_FLAG: &str = "--prompt-column";
pub(crate) const ID_FLAG: &str = "--id-column";
pub(crate) const CANDIDATES_FLAG: &str = "--candidates-column";
pub(crate) const TOOLS_FLAG: &str = "--tools-column";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ColumnPositions {
    pub prompt: usize,
    pub id: Option<usize>,
    pub candidates: Option<usize>,
    pub tools: Option<usize>,
}

impl Columns {
    /// Returns the name of a column that may be missing, or `None` if it is not used.
    pub(crate) fn optional<'a>(chosen: &'a Option<String>, usual: &'a str) -> Option<&'a str> {
        Some(chosen.as_deref().unwrap_or(usual)).filter(|name| !name.is_empty())
    }

    /// Whether a name was chosen for a column that rows of JSON lines may lack.
    pub(crate) fn names_optional(&self) -> bool {
        let named = [&self.id, &self.candidates, &self.tools];
        named.into_iter().flatten().any(|name| !name.is_empty())
    }

    /// Finds the columns in the header of a table.
    pub(crate) fn find(&self, path: &Path, header: &[String]) -> Result<ColumnPositions, Error> {
        let at = |name: &str| header.iter().position(|column| column == name);
        let unique = |place: usize, flag| {
            let column = &header[place];
            if header.iter().filter(|other| *other == column).count() == 1 {
                return Ok(place);
            }
            Err(Error::SameColumn { path: path.to_owned(), column: column.clone(), flag })
        };
        let missing = |wanted: String, flag| Error::MissingColumn {
            path: path.to_owned(),
            wanted,
            flag,
            found: header.iter().map(|column| format!("`{column}`")).collect(),
        };
        let prompt = match self.prompt.as_deref() {
            Some(name) => at(name).ok_or_else(|| missing(format!("`{name}`"), PROMPT_FLAG))?,
            None => match (at("query"), at("prompt")) {
                (Some(_), Some(_)) => return Err(Error::TwoPrompts { path: path.to_owned() }),
                (Some(place), None) | (None, Some(place)) => place,
                (None, None) => {
                    let is_near = |name: &String| {
                        ["query", "prompt"].iter().any(|usual| name.eq_ignore_ascii_case(usual))
                    };
                    let case = if header.iter().any(is_near) { " in lower case" } else { "" };
                    return Err(missing(format!("`query` or `prompt`{case}"), PROMPT_FLAG));
                }
            },
        };
        let other = |chosen: &Option<String>, usual, flag| {
            let place = match chosen.as_deref() {
                None => at(usual),
                Some("") => None,
                Some(name) => Some(at(name).ok_or_else(|| missing(format!("`{name}`"), flag))?),
            };
            place.map(|place| unique(place, flag)).transpose()
        };
        Ok(ColumnPositions {
            prompt: unique(prompt, PROMPT_FLAG)?,
            id: other(&self.id, "id", ID_FLAG)?,
            candidates: other(&self.candidates, "candidates", CANDIDATES_FLAG)?,
            tools: other(&self.tools, "tools", TOOLS_FLAG)?,
        })
    }
}
