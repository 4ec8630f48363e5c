//! Tells clients what has changed: in the words of the protocol that they speak.

use std::sync::PoisonError;
use std::time::Duration;

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer, ServiceError, SubscriptionContext};
use tokio::sync::broadcast::error::RecvError;

use super::super::Notice;
use super::Gateway;
use super::listing::Listed;

/// How often it is looked whether a client that hears of nothing is still there.
const LOOK: Duration = Duration::from_secs(30);

/// What a client is to be told.
enum Word {
    Tools,
    Prompts,
    Resources,
    Resource(String),
}

/// Notices as they concern one client.
struct Ear {
    gateway: Gateway,
    notices: tokio::sync::broadcast::Receiver<Notice>,
    /// What a client knows that lists and listens in different requests.
    listed: Option<Listed>,
}

impl Ear {
    fn new(gateway: Gateway, listed: Option<Listed>) -> Self {
        let notices = gateway.shared.service.notices();
        Self { gateway, notices, listed }
    }

    /// What the client was listed last. A client that was listed nothing yet is told once too often
    /// rather than once too little: it may be about to be listed what is old already.
    fn seen(&self) -> Option<Listed> {
        let seen = self.gateway.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        seen.or_else(|| self.listed.clone())
    }

    /// The next words for the client; `None` where there will be no more.
    async fn next(&mut self) -> Option<Vec<Word>> {
        loop {
            let words = match self.notices.recv().await {
                Ok(notice) => self.words(notice).await,
                // Something was missed: it may have been anything.
                Err(RecvError::Lagged(_)) => vec![Word::Tools, Word::Prompts, Word::Resources],
                Err(RecvError::Closed) => return None,
            };
            if !words.is_empty() {
                return Some(words);
            }
        }
    }

    async fn words(&mut self, notice: Notice) -> Vec<Word> {
        match notice {
            // Most changes of the catalog change nothing of what the client has in its prompt.
            Notice::Tools => {
                let now = self.gateway.listed().await.ok();
                let is_other = now != self.seen();
                if self.listed.is_some() {
                    self.listed = now;
                }
                if is_other { vec![Word::Tools] } else { Vec::new() }
            }
            Notice::Prompts => vec![Word::Prompts],
            Notice::Resources => vec![Word::Resources],
            Notice::Resource { uri } => vec![Word::Resource(uri)],
            Notice::Server { .. } => Vec::new(),
        }
    }
}

impl Gateway {
    /// Tells a client of a session, until it is gone.
    pub(super) fn tell_peer(&self, peer: Peer<RoleServer>) {
        let gateway = self.clone();
        tokio::spawn(async move {
            let mut ear = Ear::new(gateway.clone(), None);
            let mut look = tokio::time::interval(LOOK);
            loop {
                let words = tokio::select! {
                    words = ear.next() => words,
                    _ = look.tick() => Some(Vec::new()),
                };
                let Some(words) = words.filter(|_| !peer.is_transport_closed()) else { return };
                for word in words {
                    if gateway.say(&peer, word).await.is_err() {
                        return;
                    }
                }
            }
        });
    }

    async fn say(&self, peer: &Peer<RoleServer>, word: Word) -> Result<(), ServiceError> {
        match word {
            Word::Tools => peer.notify_tool_list_changed().await,
            Word::Prompts => peer.notify_prompt_list_changed().await,
            Word::Resources => peer.notify_resource_list_changed().await,
            Word::Resource(uri) if self.wants(&uri) => {
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await
            }
            Word::Resource(_) => Ok(()),
        }
    }

    /// Tells a client that listens, until it no longer does. What it did not ask for is refused by
    /// the sink, which is no fault.
    pub(super) async fn tell_subscriber(&self, context: &SubscriptionContext) {
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            self.subscribe_to(uri).await.ok();
        }
        let mut ear = Ear::new(self.clone(), self.listed().await.ok());
        loop {
            let words = tokio::select! {
                words = ear.next() => words,
                () = context.cancelled() => None,
            };
            let Some(words) = words else { return };
            let sink = context.sink();
            for word in words {
                match word {
                    Word::Tools => sink.notify_tool_list_changed().await.ok(),
                    Word::Prompts => sink.notify_prompt_list_changed().await.ok(),
                    Word::Resources => sink.notify_resource_list_changed().await.ok(),
                    Word::Resource(uri) => sink.notify_resource_updated(uri).await.ok(),
                };
            }
        }
    }
}
