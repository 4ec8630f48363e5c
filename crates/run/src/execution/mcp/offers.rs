//! What a server has besides tools, remembered from its latest connection, so that it need not be
//! started to learn that it lacks something.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use toolroute_vectors::durable::{self, Readers};

use super::super::invoker::Changed;

/// What a server may lack, as the first part of its methods, and how changes of its list are
/// reported.
const KINDS: [(&str, Option<Changed>); 3] = [
    ("prompts", Some(Changed::Prompts)),
    ("resources", Some(Changed::Resources)),
    ("completion", None),
];

type Kinds = BTreeSet<&'static str>;

pub(super) struct Offers {
    /// Keeps them for the next start.
    file: Option<PathBuf>,
    /// `None` if the server was never connected.
    known: Mutex<Option<Kinds>>,
}

impl Offers {
    pub fn read(file: Option<&PathBuf>) -> Self {
        let known = Mutex::new(file.and_then(|file| kept(file)));
        Self { file: file.cloned(), known }
    }

    /// Whether the server declared that it has what the method is for.
    pub fn has(&self, method: &str) -> bool {
        self.known().as_ref().is_some_and(|known| known.contains(kind(method)))
    }

    /// Whether the server declared everything that it has, without what the method is for.
    pub fn lacks(&self, method: &str) -> bool {
        let is_kind = KINDS.iter().any(|(name, _)| *name == kind(method));
        is_kind && self.known().as_ref().is_some_and(|known| !known.contains(kind(method)))
    }

    /// Takes over what a server declares as it connects. Returns the lists that it has or had.
    pub fn replace(&self, has: impl Fn(&str) -> bool) -> Vec<Changed> {
        let names = KINDS.iter().map(|(name, _)| *name);
        let now: Kinds = names.filter(|name| has(name)).collect();
        let before = self.known().replace(now.clone());
        if before.as_ref() != Some(&now) {
            self.keep(&now);
        }
        let before = before.unwrap_or_default();
        let is_or_was = |name: &str| now.contains(name) || before.contains(name);
        let lists = KINDS.into_iter().filter(|(name, _)| is_or_was(name));
        lists.filter_map(|(_, list)| list).collect()
    }

    fn keep(&self, kinds: &Kinds) {
        let Some(file) = &self.file else { return };
        let text = serde_json::to_string(kinds).expect("a list of texts is JSON. This is a bug.");
        let folder = file.parent().map_or(Ok(()), durable::private_folder);
        let kept = folder.and_then(|()| durable::replace(file, Readers::Owner, text.as_bytes()));
        if let Err(error) = kept {
            tracing::debug!(%error, path = %file.display(), "not kept");
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Option<Kinds>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn kept(file: &Path) -> Option<Kinds> {
    let names: Vec<String> = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    let kinds = KINDS.iter().map(|(name, _)| *name);
    Some(kinds.filter(|kind| names.iter().any(|name| name == kind)).collect())
}

/// The first part of a method.
fn kind(method: &str) -> &str {
    method.split('/').next().unwrap_or(method)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_lacks_is_known_at_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("offers.json");
        let first = Offers::read(Some(&file));
        assert!(!first.has("prompts/list") && !first.lacks("prompts/list"));
        assert_eq!(first.replace(|kind| kind == "resources"), [Changed::Resources]);
        let next = Offers::read(Some(&file));
        assert!(next.has("resources/read") && next.lacks("prompts/get"));
        assert!(!next.lacks("tools/list") && next.lacks("completion/complete"));
        // A list that is gone has changed, too.
        let lists = next.replace(|kind| kind == "prompts");
        assert_eq!(lists, [Changed::Prompts, Changed::Resources]);
        std::fs::write(&file, "{broken").unwrap();
        assert!(!Offers::read(Some(&file)).lacks("prompts/list"));
    }
}
