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

/// What happens, for one client to hear.
pub(super) type Notices = tokio::sync::broadcast::Receiver<Notice>;

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
    notices: Notices,
    /// What a client knows that lists and listens in different requests.
    listed: Option<Listed>,
    /// The resources that a client named when it began to listen; those of a session are the gateway's.
    named: Vec<String>,
}

impl Ear {
    /// What the client was listed last. A client that was listed nothing yet is told once too often
    /// rather than once too little: it may be about to be listed what is old already.
    fn seen(&self) -> Option<Listed> {
        let seen = self.gateway.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        seen.or_else(|| self.listed.clone())
    }

    /// What the client is to be told of what was heard; `None` where there will be no more.
    async fn words(&mut self, heard: Result<Notice, RecvError>) -> Option<Vec<Word>> {
        Some(match heard {
            // Most changes of the catalog change nothing of what the client has in its prompt.
            Ok(Notice::Tools) => {
                let now = self.gateway.listed().await.ok();
                let is_other = now != self.seen();
                if self.listed.is_some() {
                    self.listed = now;
                }
                if is_other { vec![Word::Tools] } else { Vec::new() }
            }
            Ok(Notice::Prompts) => vec![Word::Prompts],
            Ok(Notice::Resources) => vec![Word::Resources],
            Ok(Notice::Resource { uri }) => vec![Word::Resource(uri)],
            Ok(Notice::Server { .. }) => Vec::new(),
            // Something was missed: it may have been anything.
            Err(RecvError::Lagged(_)) => {
                let wanted = self.gateway.wanted().clone();
                let resources = self.named.iter().cloned().chain(wanted).map(Word::Resource);
                [Word::Tools, Word::Prompts, Word::Resources].into_iter().chain(resources).collect()
            }
            Err(RecvError::Closed) => return None,
        })
    }
}

impl Gateway {
    /// Keeps what happens from now on for the client, until [`Gateway::tell_peer`] has it.
    pub(super) fn keep_notices(&self) {
        let notices = self.shared.service.notices();
        *self.unheard.lock().unwrap_or_else(PoisonError::into_inner) = Some(notices);
    }

    /// Tells a client of a session, until it is gone.
    pub(super) fn tell_peer(&self, peer: Peer<RoleServer>) {
        let gateway = self.clone();
        let kept = self.unheard.lock().unwrap_or_else(PoisonError::into_inner).take();
        let notices = kept.unwrap_or_else(|| self.shared.service.notices());
        tokio::spawn(async move {
            let mut ear = Ear { gateway, notices, listed: None, named: Vec::new() };
            let mut look = tokio::time::interval(LOOK);
            loop {
                let words = tokio::select! {
                    heard = ear.notices.recv() => ear.words(heard).await,
                    _ = look.tick() => Some(Vec::new()),
                };
                let Some(words) = words.filter(|_| !peer.is_transport_closed()) else { return };
                for word in words {
                    if ear.gateway.say(&peer, word).await.is_err() {
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
            Word::Resource(uri) if self.wanted().contains(&uri) => {
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await
            }
            Word::Resource(_) => Ok(()),
        }
    }

    /// Tells a client that listens, until it no longer does. What it did not ask for is refused by
    /// the sink, which is no fault.
    pub(super) async fn tell_subscriber(&self, context: &SubscriptionContext) {
        // First of all: a server may tell of a resource before it has answered who asks to be told.
        let notices = self.shared.service.notices();
        // What it was listed before: servers that are asked below may bring tools.
        let listed = self.listed().await.ok();
        let named: Vec<String> =
            context.accepted().resource_subscriptions.iter().flatten().cloned().collect();
        for uri in &named {
            self.subscribe_to(uri).await.ok();
        }
        let mut ear = Ear { gateway: self.clone(), notices, listed, named };
        loop {
            let words = tokio::select! {
                heard = ear.notices.recv() => ear.words(heard).await,
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
