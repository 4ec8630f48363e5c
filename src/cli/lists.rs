//! What MCP servers listed the last time, and who is to be asked anew: a program that lives long begins
//! with the one and does not wait for the other.

use std::collections::BTreeMap;
use std::path::PathBuf;
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
        let stale = kept.iter().filter(|kept| kept.is_stale(refresh));
        let stale = stale.map(|kept| kept.name.clone()).collect();
        Self { stale, by_server: kept.into_iter().map(|kept| (kept.name, kept.path)).collect() }
    }

    /// The files with something in them.
    pub fn there(&self) -> impl Iterator<Item = PathBuf> {
        self.by_server.values().filter(|path| servers::has_tools(path)).cloned()
    }

    /// Keeps what a server lists, and gives it back with what overlays add.
    pub fn keeper(&self, overlays: &[PathBuf]) -> Keep {
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

/// The tools of a catalog that can be found and called, with what is known to be hidden of each server:
/// what is found must be callable.
pub fn callable(
    catalog: Catalog,
    file: &ServersFile,
    options: &ServiceOptions,
) -> (Catalog, BTreeMap<String, Hidden>) {
    let mut hidden = BTreeMap::new();
    let left = servers::looked_over(catalog, file, |server, tools| {
        let looked_over = Service::admitted(options, server, tools);
        hidden.insert(server.to_owned(), looked_over.hidden);
        looked_over.tools
    });
    (left, hidden)
}
