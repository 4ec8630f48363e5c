//! Hears what servers say has changed, and tries anew those that could not be had.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::mpsc;

use super::{Notice, Service, Status};
use crate::execution::Changed;

/// How often servers that cannot be had are tried anew.
const RETRY: Duration = Duration::from_secs(60);

impl Service {
    /// Has servers say what changes, from now on until the service is dropped. To be called once,
    /// within a runtime.
    pub fn watch(self: &Arc<Self>) {
        let Some(executor) = self.executor() else { return };
        let (tell, said) = mpsc::unbounded_channel();
        for name in executor.servers().names() {
            if let Some(invoker) = executor.servers().get(name) {
                let (tell, name) = (tell.clone(), name.to_owned());
                invoker.watch(Arc::new(move |changed| {
                    tell.send((name.clone(), changed)).ok();
                }));
            }
        }
        tokio::spawn(hear(Arc::downgrade(self), said));
    }

    fn heard(&self, name: &str, changed: Changed) -> bool {
        match changed {
            // Who asks for the tools connects; they need not be asked for again.
            Changed::Connected => {
                self.tell(Notice::Prompts);
                self.tell(Notice::Resources);
                self.status(name).is_some_and(|status| status != Status::Connecting)
            }
            Changed::Tools => true,
            Changed::Prompts => {
                self.tell(Notice::Prompts);
                false
            }
            Changed::Resources => {
                self.tell(Notice::Resources);
                false
            }
            Changed::Resource { uri } => {
                self.tell(Notice::Resource { uri });
                false
            }
        }
    }

    fn status(&self, name: &str) -> Option<Status> {
        self.servers().into_iter().find(|state| state.name == name).map(|state| state.status)
    }
}

async fn hear(service: Weak<Service>, mut said: mpsc::UnboundedReceiver<(String, Changed)>) {
    let mut retry = tokio::time::interval_at(tokio::time::Instant::now() + RETRY, RETRY);
    loop {
        let first = tokio::select! {
            heard = said.recv() => match heard {
                Some(heard) => Some(heard),
                None => return,
            },
            _ = retry.tick() => None,
        };
        let Some(service) = service.upgrade() else { return };
        let mut renewed = BTreeSet::new();
        let is_retry = first.is_none();
        let mut next = first;
        // A server that says the same ten times is asked once.
        while let Some((name, changed)) = next {
            if service.heard(&name, changed) {
                renewed.insert(name);
            }
            next = said.try_recv().ok();
        }
        if is_retry {
            let states = service.servers().into_iter();
            let lost = states.filter(|state| matches!(state.status, Status::Unavailable { .. }));
            renewed.extend(lost.map(|state| state.name));
        }
        // Not waited for: one that hangs must not keep us from hearing the others.
        tokio::spawn(async move { service.connect(renewed).await });
    }
}
