//! The ids that tools require, and the tools that return them. For example,
//! `GET /tv/{tv_id}/credits` cannot be called before a search for the show.

mod entity;
mod mentions;
mod supply;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::{Catalog, Tool, ToolId};
pub use entity::objects;
use entity::{IdParameter, id_parameters, required};
use mentions::{Names, mentions, undeclared};
use supply::{stated_suppliers, suppliers};

/// A required parameter that is an id, and the tools that return such ids.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Need {
    /// The parameter that takes the id.
    pub parameter: String,
    /// Tools of the same server, the most likely first, at most three.
    pub from: Vec<ToolId>,
}

/// A required parameter that is an id, with all tools that return such ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredId {
    pub parameter: String,
    /// The kind of object that the id identifies, in lower case and singular: `playlist` for
    /// `playlistId`.
    pub entity: String,
    /// Whether only a UUID is accepted, and not a key such as `WEB-7`.
    pub is_uuid: bool,
    /// Whether a text of the tool names the suppliers. Otherwise they are guessed from the names and
    /// descriptions of the server's tools.
    pub is_stated: bool,
    /// Tools of the same server, the most likely first; at least one.
    pub suppliers: Vec<Supplier>,
}

/// A tool that returns ids of an entity and does not require such an id itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supplier {
    pub row: u32,
    /// Whether it creates the entity. Otherwise it only reads.
    pub creates: bool,
    /// Whether its name contains the entity and no further noun: `listOrders` for `order_id`, unlike
    /// `listPurchaseOrders`.
    pub is_exact: bool,
}

/// The maximum number of tools that are named for one parameter.
const MOST: usize = 3;

/// What the tools of a catalog require from each other, by row. Tools without a server have no
/// edges, because it is unknown whether one knows the ids of another.
#[derive(Clone, Debug, Default)]
pub(super) struct NeedGraph {
    ids: HashMap<u32, Vec<RequiredId>>,
    /// The rows of all suppliers that a text names, ascending.
    stated: Vec<u32>,
}

impl NeedGraph {
    pub fn new(tools: &[Arc<Tool>]) -> Self {
        let mut servers: HashMap<&str, Vec<u32>> = HashMap::new();
        for (row, tool) in (0u32..).zip(tools) {
            if let Some(server) = tool.server.as_deref() {
                servers.entry(server).or_default().push(row);
            }
        }
        let servers: Vec<Vec<u32>> = servers.into_values().collect();
        let linked = servers.into_par_iter().flat_map_iter(|rows| link(tools, &rows));
        let ids: HashMap<u32, Vec<RequiredId>> = linked.collect();
        let stated = ids.values().flatten().filter(|required| required.is_stated);
        let mut stated: Vec<u32> =
            stated.flat_map(|required| &required.suppliers).map(|supplier| supplier.row).collect();
        stated.sort_unstable();
        stated.dedup();
        Self { ids, stated }
    }
}

/// Returns the required ids of one server's tools.
fn link(tools: &[Arc<Tool>], rows: &[u32]) -> Vec<(u32, Vec<RequiredId>)> {
    let of_server: Vec<(u32, &Tool)> =
        rows.iter().map(|row| (*row, tools[*row as usize].as_ref())).collect();
    let names = Names::new(&of_server);
    let ids: Vec<Vec<IdParameter>> =
        of_server.iter().map(|(_, tool)| all_ids(tool, &names)).collect();
    if ids.iter().all(Vec::is_empty) {
        return Vec::new();
    }
    let givers = supply::givers(&of_server, &ids);
    let mut known: HashMap<&[String], Vec<Supplier>> = HashMap::new();
    let mut linked = Vec::new();
    for ((row, tool), parameters) in of_server.iter().zip(&ids) {
        let said = mentions(tool, parameters, &names);
        let mut required = Vec::new();
        for parameter in parameters {
            let words = parameter.entity.as_slice();
            let said = said.iter().find(|said| said.parameter == parameter.name);
            let rows = said.map_or(&[][..], |said| &said.rows);
            let mut found = stated_suppliers(&givers, parameter, rows);
            let is_stated = !found.is_empty();
            if !is_stated && parameter.is_declared {
                found.clone_from(known.entry(words).or_insert_with(|| suppliers(&givers, words)));
            }
            if let (false, Some(entity)) = (found.is_empty(), words.last()) {
                required.push(RequiredId {
                    parameter: parameter.name.clone(),
                    entity: entity.clone(),
                    is_uuid: parameter.is_uuid,
                    is_stated,
                    suppliers: found,
                });
            }
        }
        if !required.is_empty() {
            linked.push((*row, required));
        }
    }
    linked
}

/// The ids that a tool requires. Some servers declare no parameter at all and name those of a tool
/// in its description.
fn all_ids(tool: &Tool, names: &Names<'_>) -> Vec<IdParameter> {
    let declared = id_parameters(tool);
    if declared.is_empty() && required(tool).is_empty() {
        undeclared(tool, names)
    } else {
        declared
    }
}

impl Catalog {
    /// Returns the ids that a tool requires, each with the tools that return it. These are tools of
    /// the same server that only read or create, and that do not require the id themselves: those
    /// that a text of the tool names or, if it names none, those that name the id's entity.
    ///
    /// ```
    /// # use toolroute_catalog::{Catalog, Schema, Tool};
    /// let mut credits = Tool::new(Some("tmdb"), "tv_credits", "The cast of a show");
    /// let schema = r#"{"type": "object", "required": ["tv_id"]}"#.to_owned();
    /// credits.input_schema = Some(Schema::new(serde_json::value::RawValue::from_string(schema)?));
    /// let search = Tool::new(Some("tmdb"), "search_tv", "Finds shows");
    /// let catalog = Catalog::from_tools(vec![credits.clone(), search]).catalog;
    /// let needs = catalog.needs(&credits);
    /// assert_eq!((needs[0].parameter.as_str(), needs[0].from[0].as_str()), ("tv_id", "tmdb__search_tv"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)] // For our own crates.
    pub fn needs(&self, tool: &Tool) -> Vec<Need> {
        self.needs_from(tool, |_| true)
    }

    /// Returns the same as [`Catalog::needs`], with only those tools whose row `admits` admits. An
    /// id that none of them returns is left out.
    #[doc(hidden)] // For our own crates.
    pub fn needs_from(&self, tool: &Tool, admits: impl Fn(u32) -> bool) -> Vec<Need> {
        let need = |required: &RequiredId| {
            let rows = required.suppliers.iter().map(|supplier| supplier.row);
            let rows = rows.filter(|row| admits(*row)).take(MOST);
            let from: Vec<ToolId> = rows.map(|row| self.tools()[row as usize].id.clone()).collect();
            let parameter = required.parameter.clone();
            (!from.is_empty()).then_some(Need { parameter, from })
        };
        let row = self.row_of_id(tool.id.as_str());
        row.map_or_else(Vec::new, |row| self.required_ids(row).iter().filter_map(need).collect())
    }

    /// Links tools to those that they need, unless this was already done. [`Catalog::needs`] links
    /// them too, and reads the schemas of all tools to do so.
    #[doc(hidden)] // For our own crates.
    pub fn link_needs(&self) {
        self.need_graph();
    }

    /// Returns the required ids of the tool in a row, each with all tools that return it.
    #[doc(hidden)] // For our own crates.
    pub fn required_ids(&self, row: u32) -> &[RequiredId] {
        self.need_graph().ids.get(&row).map_or(&[], Vec::as_slice)
    }

    /// Returns the rows of all tools that a text of another tool names as a supplier, ascending.
    #[doc(hidden)] // For our own crates.
    pub fn stated_suppliers(&self) -> &[u32] {
        &self.need_graph().stated
    }
}
