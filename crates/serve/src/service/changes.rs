//! The changes that clients made to the catalog.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolroute_catalog::{Catalog, Change, Error, Tool, ToolId};

/// Changes of the catalog: tools that were added or changed, and ids that were removed.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// `None` marks a removed tool.
    by_id: BTreeMap<String, Option<Tool>>,
}

#[derive(Serialize)]
struct SavedChanges<'a> {
    removed: Vec<&'a str>,
    tools: Vec<&'a Tool>,
}

#[derive(Deserialize)]
struct LoadedChanges<'a> {
    removed: Vec<String>,
    #[serde(borrow)]
    tools: &'a RawValue,
}

impl Changes {
    /// Parses the output of [`Changes::to_json`].
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |said: String| format!("expected changes of tools, as they were kept: {said}");
        let read: LoadedChanges<'_> =
            serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let mut changes = Self::default();
        read.removed.iter().for_each(|id| changes.note_removed(id));
        if read.tools.get().trim() != "[]" {
            let loaded =
                Catalog::read(read.tools.get()).map_err(|error| wrong(error.to_string()))?;
            loaded.catalog.iter().for_each(|tool| changes.note(tool.clone()));
        }
        Ok(changes)
    }

    pub fn to_json(&self) -> String {
        let removed = self.by_id.iter().filter(|(_, tool)| tool.is_none());
        let saved = SavedChanges {
            removed: removed.map(|(id, _)| id.as_str()).collect(),
            tools: self.by_id.values().flatten().collect(),
        };
        serde_json::to_string_pretty(&saved)
            .expect("tools have string keys and finite numbers only. This is a bug.")
    }

    pub fn note(&mut self, tool: Tool) {
        self.by_id.insert(tool.id.to_string(), Some(tool));
    }

    pub fn note_removed(&mut self, id: &str) {
        self.by_id.insert(id.to_owned(), None);
    }

    /// Whether a client removed the tool.
    pub fn removes(&self, tool: &Tool) -> bool {
        matches!(self.by_id.get(tool.id.as_str()), Some(None))
    }

    /// Applies the changes to a catalog. A tool of a server that `runs` is as its server lists it: permissions, pins and
    /// confirmations rest on what the server says, and no client may say otherwise.
    pub fn applied(
        &self,
        catalog: Catalog,
        runs: impl Fn(Option<&str>) -> bool,
    ) -> Result<Catalog, Error> {
        let there = |id: &str| catalog.get(id).is_some_and(|tool| tool.id.as_str() == id);
        let change = |(id, tool): (&String, &Option<Tool>)| match tool {
            Some(tool) if runs(tool.server.as_deref()) => {
                tracing::warn!(%id, "a tool of a server that was registered earlier is left out");
                None
            }
            Some(tool) if there(id) => Some(Change::Update(tool.clone())),
            Some(tool) => Some(Change::Register(tool.clone())),
            None if there(id) => Some(Change::Remove(id.clone())),
            None => None,
        };
        let changes: Vec<Change> = self.by_id.iter().filter_map(change).collect();
        if changes.is_empty() { Ok(catalog) } else { Ok(catalog.with(changes)?.catalog) }
    }
}

/// The changes that make a catalog equal to `wanted`, or only the tools of one server in it.
pub(crate) fn differences(
    present: &Catalog,
    wanted: &Catalog,
    server: Option<&str>,
) -> Vec<Change> {
    let is_own = |tool: &Tool| server.is_none() || tool.server.as_deref() == server;
    let gone = present.iter().filter(|tool| is_own(tool) && exactly(wanted, &tool.id).is_none());
    let mut changes: Vec<Change> = gone.map(|tool| Change::Remove(tool.id.to_string())).collect();
    for tool in wanted.iter() {
        match exactly(present, &tool.id) {
            // It stays.
            Some(other) if !is_own(other) => {
                tracing::warn!(server, id = %tool.id, "another server has a tool of this id");
            }
            Some(known) if known == tool => {}
            Some(_) => changes.push(Change::Update(tool.clone())),
            None => changes.push(Change::Register(tool.clone())),
        }
    }
    changes
}

/// The tool with exactly this id, which [`Catalog::get`] may also find as a name.
pub(super) fn exactly<'c>(catalog: &'c Catalog, id: &ToolId) -> Option<&'c Tool> {
    catalog.get(id.as_str()).filter(|tool| tool.id == *id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_saved_and_applied_again() {
        let tool = |name: &str, text: &str| Tool::new(Some("s"), name, text);
        let catalog = Catalog::from_tools(vec![tool("a", "old"), tool("b", "goes")]).catalog;
        let mut changes = Changes::default();
        changes.note(tool("a", "new"));
        changes.note(tool("c", "comes"));
        changes.note_removed("s__b");
        changes.note_removed("never there");
        let read = Changes::parse(&changes.to_json()).unwrap();
        let after = read.applied(catalog.clone(), |_| false).unwrap();
        let ids: Vec<&str> = after.iter().map(|tool| tool.id.as_str()).collect();
        assert_eq!(ids, ["s__a", "s__c"]);
        assert_eq!(after.get("s__a").unwrap().description, "new");
        // Of a server that runs here, only removals count.
        let after = read.applied(catalog, |server| server == Some("s")).unwrap();
        let ids: Vec<&str> = after.iter().map(|tool| tool.id.as_str()).collect();
        assert_eq!(ids, ["s__a"]);
        assert_eq!(after.get("s__a").unwrap().description, "old");
        let none = Changes::parse(&Changes::default().to_json()).unwrap();
        assert!(none.applied(Catalog::default(), |_| false).unwrap().is_empty());
        assert!(Changes::parse("{}").is_err());
    }
}
