//! Receives the servers' notifications of changes, and retries servers that are unavailable.
//!
//! A server may send a thousand notifications a second, so they only set marks. One task for each
//! server reads the marks, and only one refresh of its list runs at a time.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::mpsc;
use toolroute_run::execution::Changed;

use super::{Notice, Service, Status};

/// The time between two attempts to reach servers that are unavailable.
const RETRY: Duration = Duration::from_secs(60);

/// The least time between two refreshes of a server's list.
const BETWEEN_LISTS: Duration = Duration::from_secs(1);

/// The least time between two reads of a server's marks.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// The most resources whose changes are reported one by one. For more, a change of the list is
/// reported.
const MOST_RESOURCES: usize = 64;

/// The longest URI in bytes that is reported. For a longer one, a change of the list is reported.
const LONGEST_URI: usize = 4_096;

/// The notifications of a server since its marks were last read.
#[derive(Default)]
struct PendingChanges {
    connected: bool,
    tools: bool,
    prompts: bool,
    resources: bool,
    changed: BTreeSet<String>,
    dropped: Option<String>,
}

impl PendingChanges {
    fn note(&mut self, changed: Changed) {
        match changed {
            Changed::Connected => self.connected = true,
            Changed::Tools => self.tools = true,
            Changed::Prompts => self.prompts = true,
            Changed::Resources => self.resources = true,
            Changed::Resource { uri }
                if self.changed.len() < MOST_RESOURCES && uri.len() <= LONGEST_URI =>
            {
                self.changed.insert(uri);
            }
            Changed::Resource { .. } => self.resources = true,
            Changed::Dropped { because } => self.dropped = Some(because),
        }
    }
}

impl Service {
    /// Watches the servers for changes until the service is dropped.
    pub(super) fn watch(self: &Arc<Self>) {
        let Some(executor) = self.executor() else { return };
        let mut renewals = Vec::new();
        for name in executor.servers().names() {
            let Some(invoker) = executor.servers().get(name) else { continue };
            let marks = Arc::new(Mutex::new(PendingChanges::default()));
            // One slot is enough, because a second signal would add nothing.
            let (wake, woken) = mpsc::channel(1);
            let (renew, renewed) = mpsc::channel(1);
            let noted = Arc::clone(&marks);
            let (lists, server) = (Arc::clone(&self.list_changes), name.to_owned());
            invoker.watch(Arc::new(move |changed| {
                if changed == Changed::Tools {
                    lists.announce(&server);
                }
                noted.lock().unwrap_or_else(PoisonError::into_inner).note(changed);
                wake.try_send(()).ok();
            }));
            let service = Arc::downgrade(self);
            tokio::spawn(refresh(service.clone(), name.to_owned(), renewed));
            tokio::spawn(read_marks((service, name.to_owned()), marks, woken, renew.clone()));
            renewals.push((name.to_owned(), renew));
        }
        tokio::spawn(retry(Arc::downgrade(self), renewals));
    }

    /// Sends notices of a server's changes. Returns whether its tools must be listed again.
    fn apply_marks(&self, name: &str, marks: PendingChanges) -> bool {
        let PendingChanges { connected, tools, prompts, resources, changed, dropped } = marks;
        if prompts {
            self.notify(Notice::Prompts);
        }
        if resources {
            self.notify(Notice::Resources);
        }
        changed.into_iter().for_each(|uri| self.notify(Notice::Resource { uri }));
        if let Some(because) = dropped {
            self.set_dropped(name, because);
            self.list_changes.note_read(name, self.list_changes.made(name), false);
            return false;
        }
        // Listing the tools connects to the server, and that connection needs no second list.
        let is_asked = || self.status(name).is_none_or(|status| status == Status::Starting);
        tools || (connected && !is_asked())
    }

    fn status(&self, name: &str) -> Option<Status> {
        self.servers().into_iter().find(|state| state.name == name).map(|state| state.status)
    }
}

/// Reads the marks of a server when they change.
async fn read_marks(
    (service, name): (Weak<Service>, String),
    marks: Arc<Mutex<PendingChanges>>,
    mut woken: mpsc::Receiver<()>,
    renew: mpsc::Sender<()>,
) {
    while woken.recv().await.is_some() {
        let Some(service) = service.upgrade() else { return };
        let marks = std::mem::take(&mut *marks.lock().unwrap_or_else(PoisonError::into_inner));
        if service.apply_marks(&name, marks) {
            // A refresh that already waits will see this change too.
            renew.try_send(()).ok();
        }
        drop(service);
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

/// Lists a server's tools on request, one list at a time. Each server has its own task, so that one
/// that hangs does not delay the others.
async fn refresh(service: Weak<Service>, name: String, mut renewed: mpsc::Receiver<()>) {
    while renewed.recv().await.is_some() {
        let Some(service) = service.upgrade() else { return };
        service.connect([name.clone()]).await;
        drop(service);
        tokio::time::sleep(BETWEEN_LISTS).await;
    }
}

/// Retries unavailable servers.
async fn retry(service: Weak<Service>, renewals: Vec<(String, mpsc::Sender<()>)>) {
    let mut retry = tokio::time::interval_at(tokio::time::Instant::now() + RETRY, RETRY);
    loop {
        retry.tick().await;
        let Some(service) = service.upgrade() else { return };
        for (name, renew) in &renewals {
            if matches!(service.status(name), Some(Status::Unavailable { .. })) {
                renew.try_send(()).ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_that_is_too_long_is_reported_as_a_change_of_the_list() {
        let mut marks = PendingChanges::default();
        marks.note(Changed::Resource { uri: "a".repeat(LONGEST_URI) });
        assert!(marks.changed.len() == 1 && !marks.resources);
        marks.note(Changed::Resource { uri: "b".repeat(LONGEST_URI + 1) });
        assert!(marks.changed.len() == 1 && marks.resources);
    }
}
