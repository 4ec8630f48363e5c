//! What MCP servers listed the last time, and who is to be asked anew: a program that lives long begins
//! with the one and does not wait for the other.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::servers;
use crate::catalog::{Catalog, LoadOptions, Tool};
use crate::execution::ServersFile;
use crate::server::{Hidden, Keep, Service, ServiceOptions};

/// The lists of the last time.
#[derive(Clone, Default)]
pub struct Lists {
    /// The file of each server's tools, whether there is anything in it or not.
    by_server: BTreeMap<String, PathBuf>,
    /// Servers to ask now: their tools are not known, or are old.
    pub stale: Vec<String>,
}

impl Lists {
    /// Those of a servers file; with `refresh` everybody is asked.
    pub fn of(file: &ServersFile, refresh: bool) -> Self {
        let kept = servers::kept(file);
        let stale = kept.iter().filter(|kept| refresh || !kept.is_fresh);
        let stale = stale.map(|kept| kept.name.clone()).collect();
        Self { stale, by_server: kept.into_iter().map(|kept| (kept.name, kept.path)).collect() }
    }

    /// The files with something in them.
    pub fn there(&self) -> impl Iterator<Item = PathBuf> {
        let there = |path: &&PathBuf| std::fs::metadata(path).is_ok_and(|about| about.len() > 0);
        self.by_server.values().filter(there).cloned()
    }

    /// Keeps what a server lists, and gives it back with what overlays add.
    pub fn keeper(&self, overlays: &[PathBuf]) -> Keep {
        let (lists, overlays) = (self.by_server.clone(), overlays.to_vec());
        Arc::new(move |server: &str, tools: Vec<Tool>| {
            let Some(path) = lists.get(server) else { return tools };
            let kept = keep(path, &tools, &overlays);
            kept.unwrap_or_else(|error| {
                tracing::warn!(server, "its tools are not kept: {error:#}");
                tools
            })
        })
    }
}

fn keep(path: &Path, tools: &[Tool], overlays: &[PathBuf]) -> anyhow::Result<Vec<Tool>> {
    servers::keep(path, &Catalog::from_tools(tools.to_vec()).catalog)?;
    if overlays.is_empty() || tools.is_empty() {
        return Ok(tools.to_vec());
    }
    let options = LoadOptions { strict: false, overlays: overlays.to_vec() };
    let loaded = Catalog::load(&[path.to_owned()], &options)?;
    Ok(loaded.catalog.iter().cloned().collect())
}

/// The tools of a catalog that can be found and called, with what is known to be hidden of each server:
/// what is found must be callable. Each server's are looked over by themselves; tools of no server of the
/// file stay.
pub fn callable(
    catalog: Catalog,
    file: &ServersFile,
    options: &ServiceOptions,
) -> (Catalog, BTreeMap<String, Hidden>) {
    let mut by_server: BTreeMap<&str, Vec<Tool>> = BTreeMap::new();
    for tool in catalog.iter() {
        if let Some(server) = home(tool, file) {
            by_server.entry(server).or_default().push(tool.clone());
        }
    }
    let listed: usize = by_server.values().map(Vec::len).sum();
    let (mut free, mut hidden) = (HashSet::new(), BTreeMap::new());
    for (name, tools) in by_server {
        let looked_over = Service::admitted(options, name, tools);
        free.extend(looked_over.tools.into_iter().map(|tool| tool.id));
        hidden.insert(name.to_owned(), looked_over.hidden);
    }
    if free.len() == listed {
        return (catalog, hidden);
    }
    let stays = |tool: &&Tool| home(tool, file).is_none() || free.contains(&tool.id);
    let left = catalog.iter().filter(stays).cloned().collect();
    (Catalog::from_tools(left).catalog, hidden)
}

/// The server of the file that a tool is of.
pub fn home<'a>(tool: &'a Tool, file: &ServersFile) -> Option<&'a str> {
    tool.server.as_deref().filter(|server| file.entries.contains_key(*server))
}
