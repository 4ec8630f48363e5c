//! Takes up approvals, which another process (`toolroute pins approve`) writes to the pins while
//! this one runs.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use toolroute_catalog::{Catalog, Change, Tool};
use toolroute_run::pins::Screened;

use super::upstream::exactly;
use super::{Error, Notice, Service, off_thread};

impl Service {
    /// Brings the catalog up to date before a request: waits for the first lists, and admits the
    /// tools that were approved since the previous request.
    pub(crate) async fn catch_up(self: &Arc<Self>) {
        self.first_lists().await;
        let Some(screening) = &self.options.screening else { return };
        let stamp = screening.pins.stamp();
        let is_known = || self.pins_stamp.load(Ordering::Acquire) == stamp;
        if is_known() {
            return;
        }
        let _one_at_a_time = self.refreshing.lock().await;
        if is_known() {
            return;
        }
        let service = Arc::clone(self);
        let done = off_thread(move || service.admit_approved()).await;
        if let Err(error) = done.and_then(|done| done) {
            tracing::warn!(%error, "approved tools are not taken in");
        }
        self.pins_stamp.store(stamp, Ordering::Release);
    }

    /// Checks the tools again that an approval may change: those that pins hold back, and newcomers.
    fn admit_approved(&self) -> Result<(), Error> {
        let Some(screening) = &self.options.screening else { return Ok(()) };
        let catalog = self.catalog();
        let mut changes = Vec::new();
        let mut before = Vec::new();
        for (server, tools) in self.unapproved(&catalog) {
            before.push((server.clone(), self.presence(&server)));
            let screened = screening.check(&server, tools);
            changes.extend(self.changes_by(&catalog, &screened.accepted));
            self.still_held(&server, screened);
        }
        self.hold_back();
        if changes.is_empty() {
            return Ok(());
        }
        self.engine.change(changes)?;
        self.notify(Notice::Tools);
        for (server, before) in before {
            self.count_tools(&server);
            self.notify_of_presence(&server, before);
        }
        Ok(())
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

    /// The changes that bring accepted tools into the catalog. What clients changed stays.
    fn changes_by(&self, catalog: &Catalog, accepted: &[Tool]) -> Vec<Change> {
        let made = self.changes();
        let own = accepted.iter().filter(|tool| made.is_as_listed(tool));
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
