//! Makes a catalog from another one by adding, replacing and removing tools.

use std::collections::HashMap;
use std::sync::Arc;

use crate::{Catalog, Error, Problem, Tool, validate};

/// One change of a catalog.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Add a tool with a new id.
    Register(Tool),
    /// Replace the tool with the same id.
    Update(Tool),
    /// Remove the tool with this id, in any spelling that [`Catalog::get`] accepts.
    Remove(String),
}

/// The next catalog, and what a change altered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChangedCatalog {
    /// The catalog after the change.
    pub catalog: Catalog,
    /// For each row, the row of the same id in the previous catalog; `None` for a new tool.
    pub origins: Vec<Option<u32>>,
    /// Likely mistakes in the tools that were added or replaced.
    pub warnings: Vec<Problem>,
}

impl Catalog {
    /// Returns the catalog after changes, which are applied in order. Rows keep their order; new
    /// tools come last. Unchanged tools are shared with this catalog, which is not modified.
    ///
    /// # Errors
    /// Returns [`Error::Unusable`] for a tool with an error, [`Error::Taken`] for an id that
    /// already exists, and [`Error::UnknownTool`] for an id that does not exist.
    pub fn with(&self, changes: Vec<Change>) -> Result<ChangedCatalog, Error> {
        let mut draft = Draft::of(self);
        for change in changes {
            match change {
                Change::Register(tool) => draft.register(tool)?,
                Change::Update(tool) => draft.update(tool)?,
                Change::Remove(id) => draft.remove(&id)?,
            }
        }
        Ok(draft.finish())
    }
}

/// A catalog while changes are applied. A removed tool leaves a hole, so that the other places do
/// not move.
struct Draft<'a> {
    before: &'a Catalog,
    places: Vec<Option<(Arc<Tool>, Option<u32>)>>,
    /// The places of ids that these changes added, and `None` for ids that they removed. `before`
    /// has all other ids.
    moved: HashMap<String, Option<usize>>,
    warnings: Vec<Problem>,
}

impl<'a> Draft<'a> {
    fn of(before: &'a Catalog) -> Self {
        let places = (0u32..).zip(before.tools());
        Self {
            before,
            places: places.map(|(row, tool)| Some((tool.clone(), Some(row)))).collect(),
            moved: HashMap::new(),
            warnings: Vec::new(),
        }
    }

    fn register(&mut self, tool: Tool) -> Result<(), Error> {
        self.check(&tool)?;
        if self.place(tool.id.as_str()).is_some() {
            return Err(Error::Taken { id: tool.id });
        }
        self.moved.insert(tool.id.to_string(), Some(self.places.len()));
        self.places.push(Some((Arc::new(tool), None)));
        Ok(())
    }

    fn update(&mut self, tool: Tool) -> Result<(), Error> {
        self.check(&tool)?;
        // Only the exact id is accepted: with another spelling, the tool would be stored under a
        // second id.
        let place = self.place(tool.id.as_str()).ok_or_else(|| self.unknown(tool.id.as_str()))?;
        if let Some((kept, _)) = &mut self.places[place] {
            *kept = Arc::new(tool);
        }
        Ok(())
    }

    fn remove(&mut self, id: &str) -> Result<(), Error> {
        let place = self.place(id).or_else(|| {
            let meant = self.before.get(id)?.id.as_str();
            self.place(meant)
        });
        let place = place.ok_or_else(|| self.unknown(id))?;
        if let Some((tool, _)) = self.places[place].take() {
            self.moved.insert(tool.id.to_string(), None);
        }
        Ok(())
    }

    /// Returns the place of the tool with exactly this id.
    fn place(&self, id: &str) -> Option<usize> {
        match self.moved.get(id) {
            Some(place) => *place,
            None => self.before.row_of_id(id).map(|row| row as usize),
        }
    }

    fn check(&mut self, tool: &Tool) -> Result<(), Error> {
        let problems = validate::check(tool);
        if problems.iter().any(Problem::is_error) {
            return Err(Error::Unusable { id: tool.id.clone(), problems });
        }
        self.warnings.extend(problems);
        Ok(())
    }

    fn unknown(&self, id: &str) -> Error {
        let near = self.before.near(id, 2).into_iter().cloned().collect();
        Error::UnknownTool { id: id.to_owned(), near }
    }

    fn finish(self) -> ChangedCatalog {
        let (tools, origins) = self.places.into_iter().flatten().unzip();
        ChangedCatalog { catalog: Catalog::of_checked(tools), origins, warnings: self.warnings }
    }
}
