//! The ids that tools require, and the tools that return them. For example,
//! `GET /tv/{tv_id}/credits` cannot be called before a search for the show.

mod entity;
mod supply;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::{Catalog, Tool, ToolId};
use entity::id_parameters;
use supply::suppliers;

/// A required parameter that is an id, and the tools that return such ids.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Need {
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
        Self { ids: linked.collect() }
    }
}

/// Returns the required ids of one server's tools.
fn link(tools: &[Arc<Tool>], rows: &[u32]) -> Vec<(u32, Vec<RequiredId>)> {
    let of_server: Vec<(u32, &Tool)> =
        rows.iter().map(|row| (*row, tools[*row as usize].as_ref())).collect();
    let required: Vec<_> = of_server.iter().map(|(_, tool)| id_parameters(tool)).collect();
    if required.iter().all(Vec::is_empty) {
        return Vec::new();
    }
    let givers = supply::givers(&of_server, &required);
    let mut known: HashMap<&[String], Vec<Supplier>> = HashMap::new();
    let mut linked = Vec::new();
    for ((row, _), parameters) in of_server.iter().zip(&required) {
        let mut ids = Vec::new();
        for parameter in parameters {
            let words = parameter.entity.as_slice();
            let found = known.entry(words).or_insert_with(|| suppliers(&givers, words));
            if let (false, Some(entity)) = (found.is_empty(), words.last()) {
                let (parameter, entity) = (parameter.name.clone(), entity.clone());
                ids.push(RequiredId { parameter, entity, suppliers: found.clone() });
            }
        }
        if !ids.is_empty() {
            linked.push((*row, ids));
        }
    }
    linked
}

impl Catalog {
    /// Returns the ids that a tool requires, each with the tools that return it. These are tools of
    /// the same server that only read or create, that name the id's entity, and that do not require
    /// the id themselves.
    ///
    /// ```
    /// use toolroute_catalog::{Catalog, Schema, Tool};
    ///
    /// let mut credits = Tool::new(Some("tmdb"), "tv_credits", "The cast of a show");
    /// let schema = r#"{"type": "object", "required": ["tv_id"]}"#.to_owned();
    /// credits.input_schema = Some(Schema::new(serde_json::value::RawValue::from_string(schema)?));
    /// let search = Tool::new(Some("tmdb"), "search_tv", "Finds shows");
    /// let catalog = Catalog::from_tools(vec![credits.clone(), search]).catalog;
    /// let needs = catalog.needs(&credits);
    /// assert_eq!((needs[0].parameter.as_str(), needs[0].from[0].as_str()), ("tv_id", "tmdb__search_tv"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn needs(&self, tool: &Tool) -> Vec<Need> {
        let id = |supplier: &Supplier| self.tools()[supplier.row as usize].id.clone();
        let need = |required: &RequiredId| Need {
            parameter: required.parameter.clone(),
            from: required.suppliers.iter().take(MOST).map(id).collect(),
        };
        let row = self.row_of_id(tool.id.as_str());
        row.map_or_else(Vec::new, |row| self.required_ids(row).iter().map(need).collect())
    }

    /// Links tools to those that they need, unless this was already done. [`Catalog::needs`] links
    /// them too, and reads the schemas of all tools to do so.
    pub fn link_needs(&self) {
        self.need_graph();
    }

    /// Returns the required ids of the tool in a row, each with all tools that return it.
    pub fn required_ids(&self, row: u32) -> &[RequiredId] {
        self.need_graph().ids.get(&row).map_or(&[], Vec::as_slice)
    }
}
