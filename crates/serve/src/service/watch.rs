//! Hears what servers say has changed, and tries anew those that could not be had.
//!
//! A server may say so a thousand times a second. So what it says is only marked; one task for each
//! server looks at the marks, and no more than one refresh of its list is under way.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::mpsc;
use toolroute_run::execution::Changed;

use super::{Notice, Service, Status};

/// How often servers that cannot be had are tried anew.
const RETRY: Duration = Duration::from_secs(60);

/// From the end of one refresh of a server's list to the next, however often it says that it changed.
const BETWEEN_LISTS: Duration = Duration::from_secs(1);

/// From one look at what a server says has changed to the next.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Resources whose change is told one by one; of more it is told that the list is another.
const MOST_RESOURCES: usize = 64;

/// Bytes of a resource's URI with which it is told by itself; of a longer one, the same as of too many.
const LONGEST_URI: usize = 4_096;

/// What a server has said since somebody looked.
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
            // A place for one word, which is all that there is to say.
            let (wake, woken) = mpsc::channel(1);
            let (renew, renewed) = mpsc::channel(1);
            let noted = Arc::clone(&marks);
            invoker.watch(Arc::new(move |changed| {
                noted.lock().unwrap_or_else(PoisonError::into_inner).note(changed);
                wake.try_send(()).ok();
            }));
            let service = Arc::downgrade(self);
            tokio::spawn(refresh(service.clone(), name.to_owned(), renewed));
            tokio::spawn(hear((service, name.to_owned()), marks, woken, renew.clone()));
            renewals.push((name.to_owned(), renew));
        }
        tokio::spawn(retry(Arc::downgrade(self), renewals));
    }

    /// Tells what a server said; whether its tools are to be asked for.
    fn heard(&self, name: &str, marks: PendingChanges) -> bool {
        let PendingChanges { connected, tools, prompts, resources, changed, dropped } = marks;
        if prompts || connected {
            self.tell(Notice::Prompts);
        }
        if resources || connected {
            self.tell(Notice::Resources);
        }
        changed.into_iter().for_each(|uri| self.tell(Notice::Resource { uri }));
        if let Some(because) = dropped {
            self.set_status(name, Status::Unavailable { because }).ok();
            return false;
        }
        // Who asks for the tools connects; they need not be asked for again.
        let is_asked = || self.status(name).is_none_or(|status| status == Status::Starting);
        tools || (connected && !is_asked())
    }

    fn status(&self, name: &str) -> Option<Status> {
        self.servers().into_iter().find(|state| state.name == name).map(|state| state.status)
    }
}

async fn hear(
    (service, name): (Weak<Service>, String),
    marks: Arc<Mutex<PendingChanges>>,
    mut woken: mpsc::Receiver<()>,
    renew: mpsc::Sender<()>,
) {
    while woken.recv().await.is_some() {
        let Some(service) = service.upgrade() else { return };
        let marks = std::mem::take(&mut *marks.lock().unwrap_or_else(PoisonError::into_inner));
        if service.heard(&name, marks) {
            // Where one waits already, it will see this too.
            renew.try_send(()).ok();
        }
        drop(service);
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

/// Asks a server for its tools, once at a time. One that hangs keeps nobody from hearing the others.
async fn refresh(service: Weak<Service>, name: String, mut renewed: mpsc::Receiver<()>) {
    while renewed.recv().await.is_some() {
        let Some(service) = service.upgrade() else { return };
        service.connect([name.clone()]).await;
        drop(service);
        tokio::time::sleep(BETWEEN_LISTS).await;
    }
}

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
    fn of_a_uri_that_is_too_long_only_the_list_is_told() {
        let mut marks = PendingChanges::default();
        marks.note(Changed::Resource { uri: "a".repeat(LONGEST_URI) });
        assert!(marks.changed.len() == 1 && !marks.resources);
        marks.note(Changed::Resource { uri: "b".repeat(LONGEST_URI + 1) });
        assert!(marks.changed.len() == 1 && marks.resources);
    }
}
