//! Stores the description of the catalog that `find_tools` carries, because a model's prompt cache
//! is only valid while this text stays the same.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::super::args::{McpArgs, RightsArgs};
use super::super::paths;
use toolroute_rank::engine::fingerprint;
use toolroute_run::execution::ServersFile;
use toolroute_serve::{Expose, Profiles, Service, Status, catalog_hint};

/// The file with the hints of one configuration.
pub(super) struct KeptHints {
    path: PathBuf,
    profiles: Vec<String>,
}

impl KeptHints {
    pub fn of(args: &McpArgs, file: &ServersFile, profiles: &Profiles) -> Self {
        let name = format!("{}.json", revision(args, file, profiles));
        let path = paths::cache("gateway").join(name);
        Self { path, profiles: profiles.keys().cloned().collect() }
    }

    /// Returns the hints by profile; empty until all servers were available at once.
    pub fn read(&self) -> BTreeMap<String, String> {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Writes the hints if there are none yet and every server is available.
    pub fn keep(&self, service: &Service) -> anyhow::Result<()> {
        let is_lost = |status: &Status| matches!(status, Status::Unavailable { .. });
        if self.path.exists() || service.servers().iter().any(|state| is_lost(&state.status)) {
            return Ok(());
        }
        let mut hints = BTreeMap::new();
        for name in self.profiles.iter().map(String::as_str).chain([""]) {
            let profile = Some(name).filter(|name| !name.is_empty());
            hints.insert(name.to_owned(), catalog_hint(service, profile)?);
        }
        paths::put(&self.path, &serde_json::to_vec(&hints)?)
    }
}

/// A hash that changes with the servers, the profiles, the permissions and the exposed tools.
fn revision(args: &McpArgs, file: &ServersFile, profiles: &Profiles) -> String {
    let prints = format!("{:?}", file.fingerprints);
    let profiles = format!("{profiles:?}");
    let exposed = if args.expose == Expose::Search { "search" } else { "selected" };
    let rights = {
        let RightsArgs { allow, deny, read_only, .. } = &args.rights;
        let pinned = args.catalog.live.pinning.pin_mode;
        format!("{allow:?} {deny:?} {read_only} {:?} {pinned:?}", args.catalog.tools)
    };
    fingerprint(&[&prints, &profiles, exposed, &rights])[..16].to_owned()
}
