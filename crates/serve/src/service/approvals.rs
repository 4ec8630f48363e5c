//! Takes up approvals, which another process (`toolroute pins approve`) writes to the pins while
//! this one runs.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use toolroute_catalog::{Catalog, Change, Tool};
use toolroute_run::pins::Screened;

use super::changes::exactly;
use super::{Error, Notice, Service, off_thread};

/// How long a request waits while lists are taken in; the next request looks for approvals again.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The pause after approvals could not be taken in, because an embedder may be down.
const PAUSE: Duration = Duration::from_secs(5);

impl Service {
    /// Brings the catalog up to date before a request: waits for the first lists, and admits the
    /// tools that were approved since the previous request.
    pub(crate) async fn catch_up(self: &Arc<Self>) {
        self.first_lists().await;
        let Some(screening) = &self.options.screening else { return };
        let stamp = screening.pins.stamp();
        let is_known = || self.pins_stamp.load(Ordering::Acquire) == stamp;
        let is_early = || {
            let retry = *self.retry_approvals.lock().unwrap_or_else(PoisonError::into_inner);
            retry.is_some_and(|retry| Instant::now() < retry)
        };
        if is_known() || is_early() {
            return;
        }
        let lock = tokio::time::timeout(LONGEST_WAIT, self.refreshing.lock()).await;
        let Ok(_one_at_a_time) = lock else { return };
        if is_known() || is_early() {
            return;
        }
        let service = Arc::clone(self);
        let done = off_thread(move || service.admit_approved()).await;
        let retry = match done.and_then(|done| done) {
            Ok(()) => {
                self.pins_stamp.store(stamp, Ordering::Release);
                None
            }
            Err(error) => {
                tracing::warn!(%error, "approved tools are not taken in");
                Some(Instant::now() + PAUSE)
            }
        };
        *self.retry_approvals.lock().unwrap_or_else(PoisonError::into_inner) = retry;
    }

    /// Checks the tools again that an approval may change: those that pins hold back, and newcomers.
    fn admit_approved(&self) -> Result<(), Error> {
        let Some(screening) = &self.options.screening else { return Ok(()) };
        let catalog = self.catalog();
        let mut changes = Vec::new();
        let (mut before, mut checked) = (Vec::new(), Vec::new());
        for (server, tools) in self.unapproved(&catalog) {
            before.push((server.clone(), self.presence(&server)));
            let screened = screening.check_again(&server, tools, self.was_checked(&server));
            changes.extend(self.changes_by(&catalog, &screened.accepted));
            checked.push((server, screened));
        }
        let is_changed = !changes.is_empty();
        if is_changed {
            self.engine.change(changes)?;
        }
        // Only now, because a tool that is neither in the catalog nor held back would be lost.
        checked.into_iter().for_each(|(server, screened)| self.still_held(&server, screened));
        self.hold_back();
        if !is_changed {
            return Ok(());
        }
        self.notify(Notice::Tools);
        for (server, before) in before {
            self.count_tools(&server);
            self.notify_of_presence(&server, before);
        }
        Ok(())
    }

    /// Whether pins could be used when the server's list came.
    fn was_checked(&self, server: &str) -> bool {
        let hidden = self.hidden.read().unwrap_or_else(PoisonError::into_inner);
        hidden.get(server).is_none_or(|hidden| hidden.pins_fault.is_none())
    }

    /// The tools of each server that pins hold back, and its newcomers.
    fn unapproved(&self, catalog: &Catalog) -> BTreeMap<String, Vec<Tool>> {
        let mut tools: BTreeMap<String, Vec<Tool>> = BTreeMap::new();
        let is_screened = |server: &str| {
            let screening = self.options.screening.as_ref();
            screening.is_some_and(|screening| screening.fingerprints.contains_key(server))
        };
        for tool in catalog.iter().filter(|tool| tool.routing.newcomer) {
            let Some(server) = tool.server.clone().filter(|server| is_screened(server)) else {
                continue;
            };
            let mut tool = tool.clone();
            // As it was listed.
            tool.set_newcomer(false);
            tools.entry(server).or_default().push(tool);
        }
        let hidden = self.hidden.read().unwrap_or_else(PoisonError::into_inner);
        for (server, hidden) in hidden.iter().filter(|(_, hidden)| !hidden.held.is_empty()) {
            let held = hidden.held.values().map(|held| held.tool.as_ref().clone());
            tools.entry(server.clone()).or_default().extend(held);
        }
        tools
    }

    /// The changes that bring accepted tools into the catalog. What clients removed stays away.
    fn changes_by(&self, catalog: &Catalog, accepted: &[Tool]) -> Vec<Change> {
        let made = self.changes();
        let own = accepted.iter().filter(|tool| !made.removes(tool));
        let change = |tool: &Tool| match exactly(catalog, &tool.id) {
            None => Some(Change::Register(tool.clone())),
            Some(known) if known == tool || known.server != tool.server => None,
            Some(_) => Some(Change::Update(tool.clone())),
        };
        own.filter_map(change).collect()
    }

    /// Keeps those of the server's hidden tools that pins still hold back.
    fn still_held(&self, server: &str, screened: Screened) {
        let mut hidden = self.hidden.write().unwrap_or_else(PoisonError::into_inner);
        let Some(hidden) = hidden.get_mut(server) else { return };
        let known = std::mem::take(&mut hidden.held);
        hidden.hold(screened, |tool| known.contains_key(tool.id.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use toolroute_rank::engine::Engine;
    use toolroute_run::execution::Permissions;
    use toolroute_run::pins::{Approve, Mode, Pins};
    use toolroute_vectors::embedding::{self, Embedded, Embedder, ModelIdentity, Role};

    use super::*;
    use crate::service::ServiceOptions;
    use crate::{Notes, Screening};

    /// A model whose backend may be down.
    struct Remote {
        identity: ModelIdentity,
        is_down: AtomicBool,
    }

    impl Embedder for Remote {
        fn identity(&self) -> &ModelIdentity {
            &self.identity
        }

        fn embed(&self, texts: &[&str], _: Role) -> Result<Embedded, embedding::Error> {
            if self.is_down.load(Ordering::Relaxed) {
                return Err(embedding::Error::other("it is down"));
            }
            Embedded::from_rows(&vec![vec![0.6_f32, 0.8]; texts.len()])
        }
    }

    #[tokio::test]
    async fn an_approved_tool_stays_held_back_until_it_is_in_the_catalog() {
        let folder = tempfile::tempdir().unwrap();
        let pins = Pins::new(folder.path().join("pins.json"), Mode::Strict);
        let fingerprints = [("fs".to_owned(), String::new())].into();
        let screening = Screening { pins: pins.clone(), fingerprints, notes: Notes::new(|_| {}) };
        let mut options = ServiceOptions {
            permissions: Permissions::default(),
            screening: Some(screening),
            ..ServiceOptions::default()
        };
        let tools = vec![Tool::new(Some("fs"), "read", "Reads a file")];
        let hidden = Service::admit_tools(&options, "fs", tools).hidden;
        options.hidden = [("fs".to_owned(), hidden)].into();
        let identity =
            ModelIdentity { name: "m".to_owned(), fingerprint: "f".to_owned(), dimension: 2 };
        let remote = Arc::new(Remote { identity, is_down: AtomicBool::new(false) });
        let engine = Engine::builder(Catalog::default()).embedder(remote.clone());
        let service = Service::new(Arc::new(engine.build().unwrap()), options).unwrap();
        let is_held = || matches!(service.describe("fs__read", None), Err(Error::HeldBack { .. }));
        service.catch_up().await;
        assert!(is_held());
        pins.approve(&Approve::All).unwrap();
        // While a list is taken in, requests go on.
        let lists = service.pause_lists().await;
        let began = Instant::now();
        service.catch_up().await;
        assert!(began.elapsed() < LONGEST_WAIT * 4 && is_held());
        drop(lists);
        remote.is_down.store(true, Ordering::Relaxed);
        service.catch_up().await;
        assert!(is_held());
        remote.is_down.store(false, Ordering::Relaxed);
        service.catch_up().await;
        assert!(is_held(), "tried again after a pause only");
        *service.retry_approvals.lock().unwrap() = None;
        service.catch_up().await;
        assert!(service.describe("fs__read", None).is_ok());
    }
}
