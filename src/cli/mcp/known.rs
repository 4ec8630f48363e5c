//! What the last time left for this one: tools by server, vectors, and words on the catalog.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::super::args::{ExposeChoice, Global, McpArgs, RightsArgs};
use super::super::lists::Lists;
use super::super::{paths, render, setup};
use crate::catalog::{Catalog, LoadOptions};
use crate::engine::fingerprint;
use crate::execution::ServersFile;
use crate::server::{Keep, Profiles, Service, Status, catalog_hint};

/// The files of the last time.
pub(super) struct Known {
    pub lists: Lists,
    pub snapshot: Option<PathBuf>,
    hints: PathBuf,
    profiles: Vec<String>,
    tools: Vec<PathBuf>,
    overlays: Vec<PathBuf>,
    author_signals: bool,
}

impl Known {
    pub fn of(args: &McpArgs, file: &ServersFile, profiles: &Profiles) -> anyhow::Result<Self> {
        Ok(Self {
            lists: Lists::of(file, args.catalog.live.refresh),
            snapshot: setup::snapshot_path(&args.catalog, &args.engine),
            hints: super::hints_path(&revision(args, file, profiles)),
            profiles: profiles.keys().cloned().collect(),
            tools: args.catalog.tools.clone(),
            overlays: args.catalog.overlay.clone(),
            author_signals: args.catalog.author_signals,
        })
    }

    /// The tools of files, and those that the servers had the last time.
    pub fn catalog(&self, global: &Global) -> anyhow::Result<Catalog> {
        let paths: Vec<PathBuf> = self.tools.iter().cloned().chain(self.lists.there()).collect();
        let (strict, author_signals) = (false, self.author_signals);
        let options = LoadOptions { strict, overlays: self.overlays.clone(), author_signals };
        let loaded = Catalog::load(&paths, &options)?;
        for problem in &loaded.problems {
            render::warn(global, &render::plain(&problem.to_string()));
        }
        Ok(loaded.catalog)
    }

    pub fn keeper(&self) -> Keep {
        self.lists.keeper(&self.overlays)
    }

    /// What is said of the catalog in this revision of the configuration; nothing where all
    /// servers were never seen together.
    pub fn hints(&self) -> BTreeMap<String, String> {
        let text = std::fs::read_to_string(&self.hints).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Keeps vectors, and words on the catalog, where there are none yet and every server was heard.
    pub fn keep(&self, service: &Service) -> anyhow::Result<()> {
        if let (Some(path), false) = (&self.snapshot, self.lists.stale.is_empty())
            && let Ok(vectors) = service.engine().vectors()
        {
            vectors.save(path)?;
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
