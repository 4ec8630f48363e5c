//! Stored tool lists of MCP servers. A long-running program starts with the stored lists and asks
//! the servers in the background.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::args::CatalogArgs;
use super::{secrets, servers};
use toolroute_catalog::{Catalog, LoadOptions, Tool};
use toolroute_run::execution::ServersFile;
use toolroute_serve::{Keep, Upstreams};

/// The stored lists of the servers of a servers file.
#[derive(Clone, Default)]
pub struct Lists {
    /// The file of each server's tools, which may be missing or empty.
    by_server: BTreeMap<String, PathBuf>,
    /// Servers whose list is missing or too old.
    pub stale: Vec<String>,
}

impl Lists {
    /// The lists for a servers file. With `refresh`, all servers are stale.
    pub fn of(file: &ServersFile, refresh: bool) -> Self {
        let kept = servers::stored_lists(file);
        let stale = kept.iter().filter(|kept| kept.is_stale(refresh));
        let stale = stale.map(|kept| kept.name.clone()).collect();
        Self { stale, by_server: kept.into_iter().map(|kept| (kept.name, kept.path)).collect() }
    }

    /// The existing files of tools.
    pub fn there(&self) -> impl Iterator<Item = PathBuf> {
        self.by_server.values().filter(|path| servers::has_tools(path)).cloned()
    }

    /// The stale servers without an existing file of tools.
    fn unlisted(&self) -> impl Iterator<Item = &String> {
        let has_list =
            |name: &String| self.by_server.get(name).is_some_and(|path| servers::has_tools(path));
        self.stale.iter().filter(move |name| !has_list(name))
    }

    /// The servers of the file; new lists are stored here.
    pub fn upstreams(&self, file: ServersFile, from: &CatalogArgs) -> Upstreams {
        Upstreams {
            stale: self.stale.clone(),
            unlisted: self.unlisted().cloned().collect(),
            withheld: servers::withheld(&file),
            options: servers::gateway_options(&file),
            keep: Some(self.keeper(from)),
            ..Upstreams::new(file)
        }
    }

    /// A function that stores a server's list and returns it as a start with that list has it: the server's tools of the
    /// files first, and with the overlays applied.
    fn keeper(&self, from: &CatalogArgs) -> Keep {
        let (lists, from) = (self.by_server.clone(), from.clone());
        Arc::new(move |server: &str, tools: Vec<Tool>| {
            secrets::keep_ids(&tools);
            let Some(path) = lists.get(server) else { return tools };
            if let Err(error) = servers::keep(path, &Catalog::from_tools(tools.clone()).catalog) {
                tracing::warn!(server, "its tools are not kept for the next start: {error:#}");
            }
            beside_files(server, &tools, &from).unwrap_or_else(|error| {
                tracing::warn!(server, "no file and no overlay is applied to its tools: {error:#}");
                tools
            })
        })
    }
}

fn beside_files(server: &str, tools: &[Tool], from: &CatalogArgs) -> anyhow::Result<Vec<Tool>> {
    if from.tools.is_empty() && (from.overlay.is_empty() || tools.is_empty()) {
        return Ok(tools.to_vec());
    }
    let author_signals = from.author_signals;
    let options = LoadOptions { overlays: from.overlay.clone(), author_signals, strict: false };
    let loaded = Catalog::load_with(&from.tools, tools.to_vec(), &options)?;
    let is_own = |tool: &&Tool| tool.server.as_deref() == Some(server);
    Ok(loaded.catalog.iter().filter(is_own).cloned().collect())
}
