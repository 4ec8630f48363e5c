//! The tools that MCP servers listed last time, and the servers to ask again: a program that serves for
//! long starts with the first and does not wait for the second.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::servers;
use toolroute_catalog::{Catalog, LoadOptions, Tool};
use toolroute_run::execution::ServersFile;
use toolroute_serve::{Keep, Upstreams};

/// The kept lists of the servers of a servers file.
#[derive(Clone, Default)]
pub struct Lists {
    /// The file of each server's tools, which may be missing or empty.
    by_server: BTreeMap<String, PathBuf>,
    /// Servers whose list is missing or old.
    pub stale: Vec<String>,
}

impl Lists {
    /// The lists of a servers file. With `refresh` each server is stale.
    pub fn of(file: &ServersFile, refresh: bool) -> Self {
        let kept = servers::kept(file);
        let stale = kept.iter().filter(|kept| kept.is_stale(refresh));
        let stale = stale.map(|kept| kept.name.clone()).collect();
        Self { stale, by_server: kept.into_iter().map(|kept| (kept.name, kept.path)).collect() }
    }

    /// The files that hold tools.
    pub fn there(&self) -> impl Iterator<Item = PathBuf> {
        self.by_server.values().filter(|path| servers::has_tools(path)).cloned()
    }

    /// The servers of the file, whose new lists are kept here.
    pub fn upstreams(&self, file: ServersFile, overlays: &[PathBuf]) -> Upstreams {
        Upstreams {
            stale: self.stale.clone(),
            withheld: servers::withheld(&file),
            options: servers::options(),
            keep: Some(self.keeper(overlays)),
            ..Upstreams::new(file)
        }
    }

    /// Keeps the list of a server, and returns it with what overlays add.
    fn keeper(&self, overlays: &[PathBuf]) -> Keep {
        let (lists, overlays) = (self.by_server.clone(), overlays.to_vec());
        Arc::new(move |server: &str, tools: Vec<Tool>| {
            let Some(path) = lists.get(server) else { return tools };
            if let Err(error) = servers::keep(path, &Catalog::from_tools(tools.clone()).catalog) {
                tracing::warn!(server, "its tools are not kept for the next start: {error:#}");
            }
            with_overlays(&tools, &overlays).unwrap_or_else(|error| {
                tracing::warn!(server, "no overlay is applied to its tools: {error:#}");
                tools
            })
        })
    }
}

fn with_overlays(tools: &[Tool], overlays: &[PathBuf]) -> anyhow::Result<Vec<Tool>> {
    if overlays.is_empty() || tools.is_empty() {
        return Ok(tools.to_vec());
    }
    let options = LoadOptions { overlays: overlays.to_vec(), ..LoadOptions::default() };
    let loaded = Catalog::load_with(&[], tools.to_vec(), &options)?;
    Ok(loaded.catalog.iter().cloned().collect())
}
