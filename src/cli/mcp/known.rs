//! What the last time left for this one: tools by server, vectors, and words on the catalog.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::args::{ExposeChoice, Global, McpArgs, RightsArgs};
use super::super::{paths, render, servers, setup};
use crate::catalog::{Catalog, LoadOptions, Tool};
use crate::engine::fingerprint;
use crate::execution::ServersFile;
use crate::server::{Keep, Profiles, Service, Status, catalog_hint};

/// The files of the last time.
pub(super) struct Known {
    /// The file of each server's tools.
    lists: BTreeMap<String, PathBuf>,
    /// Servers to ask now: their tools are not known, or are old.
    pub stale: Vec<String>,
    pub snapshot: Option<PathBuf>,
    hints: PathBuf,
    profiles: Vec<String>,
    tools: Vec<PathBuf>,
    overlays: Vec<PathBuf>,
}

impl Known {
    pub fn of(args: &McpArgs, file: &ServersFile, profiles: &Profiles) -> anyhow::Result<Self> {
        let kept = servers::kept(file);
        let is_stale = |kept: &&servers::KeptList| args.catalog.live.refresh || !kept.is_fresh;
        let stale = kept.iter().filter(is_stale).map(|kept| kept.name.clone()).collect();
        let lists = kept.into_iter().map(|kept| (kept.name, kept.path)).collect();
        let strategy = setup::snapshot_path(&args.catalog, &args.engine);
        Ok(Self {
            lists,
            stale,
            snapshot: strategy,
            hints: super::hints_path(&revision(args, file, profiles)),
            profiles: profiles.keys().cloned().collect(),
            tools: args.catalog.tools.clone(),
            overlays: args.catalog.overlay.clone(),
        })
    }

    /// The tools of files, and those that the servers had the last time.
    pub fn catalog(&self, global: &Global) -> anyhow::Result<Catalog> {
        let there = |path: &&PathBuf| std::fs::metadata(path).is_ok_and(|about| about.len() > 0);
        let lists = self.lists.values().filter(there).cloned();
        let paths: Vec<PathBuf> = self.tools.iter().cloned().chain(lists).collect();
        let options = LoadOptions { strict: false, overlays: self.overlays.clone() };
        let loaded = Catalog::load(&paths, &options)?;
        for problem in &loaded.problems {
            render::warn(global, &render::plain(&problem.to_string()));
        }
        Ok(loaded.catalog)
    }

    /// Keeps what a server lists, and gives it back with what overlays add.
    pub fn keeper(&self) -> Keep {
        let (lists, overlays) = (self.lists.clone(), self.overlays.clone());
        Arc::new(move |server: &str, tools: Vec<Tool>| {
            let Some(path) = lists.get(server) else { return tools };
            let kept = keep_list(path, &tools, &overlays);
            kept.unwrap_or_else(|error| {
                tracing::warn!(server, "its tools are not kept: {error:#}");
                tools
            })
        })
    }

    /// What is said of the catalog in this revision of the configuration; nothing where all
    /// servers were never seen together.
    pub fn hints(&self) -> BTreeMap<String, String> {
        let text = std::fs::read_to_string(&self.hints).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Keeps vectors, and words on the catalog, where there are none yet and every server was heard.
    pub fn keep(&self, service: &Service) -> anyhow::Result<()> {
        if let (Some(path), false) = (&self.snapshot, self.stale.is_empty()) {
            service.engine().save_vectors(path)?;
        }
        let lost = |status: &Status| matches!(status, Status::Unavailable { .. });
        let all = !service.servers().iter().any(|state| lost(&state.status));
        if all && !self.hints.exists() {
            let mut hints = BTreeMap::new();
            for name in self.profiles.iter().map(String::as_str).chain([""]) {
                let profile = Some(name).filter(|name| !name.is_empty());
                hints.insert(name.to_owned(), catalog_hint(service, profile)?);
            }
            paths::put(&self.hints, &serde_json::to_vec(&hints)?)?;
        }
        Ok(())
    }
}

/// Another entry, profile or way of exposing tools is another revision.
fn revision(args: &McpArgs, file: &ServersFile, profiles: &Profiles) -> String {
    let prints = format!("{:?}", file.fingerprints);
    let profiles = format!("{profiles:?}");
    let exposed = if args.expose == ExposeChoice::Search { "search" } else { "selected" };
    let rights = {
        let RightsArgs { allow, deny, read_only, .. } = &args.rights;
        let pinned = args.catalog.live.pinning.pin_mode;
        format!("{allow:?} {deny:?} {read_only} {:?} {pinned:?}", args.catalog.tools)
    };
    fingerprint(&[&prints, &profiles, exposed, &rights])[..16].to_owned()
}

/// Keeps a server's tools for the next start, and gives them back with what overlays add.
pub fn keep_list(path: &Path, tools: &[Tool], overlays: &[PathBuf]) -> anyhow::Result<Vec<Tool>> {
    servers::keep(path, &Catalog::from_tools(tools.to_vec()).catalog)?;
    if overlays.is_empty() || tools.is_empty() {
        return Ok(tools.to_vec());
    }
    let options = LoadOptions { strict: false, overlays: overlays.to_vec() };
    let loaded = Catalog::load(&[path.to_owned()], &options)?;
    Ok(loaded.catalog.iter().cloned().collect())
}
