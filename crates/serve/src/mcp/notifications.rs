//! Tells clients what has changed: in the words of the protocol that they speak.

use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer, ServiceError, SubscriptionContext};
use tokio::sync::broadcast::error::RecvError;

use super::Gateway;
use super::listing::ToolList;
use crate::Notice;

/// How often it is looked whether a client that hears of nothing is still there.
const LOOK: Duration = Duration::from_secs(30);

/// What happens, for one client to hear.
pub(super) type NoticeReceiver = tokio::sync::broadcast::Receiver<Notice>;

/// Requests to listen at most that are accepted and not begun.
const MOST_UNHEARD: usize = 8;

/// Changes of lists that come so close together are told in one: a server that starts tells of each of
/// its lists more than once.
const TOGETHER: Duration = Duration::from_millis(150);

/// What a client is to be told.
enum Notification {
    List(ListKind),
    Resource(String),
}

/// A list that a client may have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ListKind {
    Tools,
    Prompts,
    Resources,
}

/// NoticeReceiver as they concern one client.
struct ClientFeed {
    gateway: Gateway,
    notices: NoticeReceiver,
    /// What a client knows that lists and listens in different requests.
    listed: Option<ToolList>,
    /// The resources that a client named when it began to listen; those of a session are the gateway's.
    named: Vec<String>,
    /// Lists that are others now, which is told once it is due.
    changed: BTreeSet<ListKind>,
    due: Option<Instant>,
}

impl ClientFeed {
    fn new(gateway: Gateway, notices: NoticeReceiver) -> Self {
        let (listed, named, changed, due) = Default::default();
        Self { gateway, notices, listed, named, changed, due }
    }

    /// What the client was listed last. A client that was listed nothing yet is told once too often
    /// rather than once too little: it may be about to be listed what is old already.
    fn seen(&self) -> Option<ToolList> {
        let seen = self.gateway.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        seen.or_else(|| self.listed.clone())
    }

    /// What the client is to be told next; `None` where there will be no more. What was heard is kept
    /// where nobody waits for the answer.
    async fn next(&mut self) -> Option<Vec<Notification>> {
        loop {
            let due = self.due.unwrap_or_else(Instant::now);
            tokio::select! {
                heard = self.notices.recv() => match heard {
                    Ok(Notice::Tools) => self.note([ListKind::Tools]),
                    Ok(Notice::Prompts) => self.note([ListKind::Prompts]),
                    Ok(Notice::Resources) => self.note([ListKind::Resources]),
                    Ok(Notice::Resource { uri }) => return Some(vec![Notification::Resource(uri)]),
                    Ok(Notice::Server { .. }) => {}
                    // Something was missed: it may have been anything.
                    Err(RecvError::Lagged(_)) => {
                        self.note([ListKind::Tools, ListKind::Prompts, ListKind::Resources]);
                        let wanted = self.gateway.wanted().clone();
                        let all = self.named.iter().cloned().chain(wanted);
                        return Some(all.map(Notification::Resource).collect());
                    }
                    Err(RecvError::Closed) => return None,
                },
                () = tokio::time::sleep_until(due.into()), if self.due.is_some() => {
                    // While servers list their tools for the first time, more is about to come.
                    if self.gateway.shared.service.is_settled() {
                        return Some(self.lists().await);
                    }
                    self.due = Some(Instant::now() + TOGETHER);
                }
            }
        }
    }

    fn note(&mut self, lists: impl IntoIterator<Item = ListKind>) {
        self.changed.extend(lists);
        self.due.get_or_insert_with(|| Instant::now() + TOGETHER);
    }

    /// The lists that are others now than the client has them.
    async fn lists(&mut self) -> Vec<Notification> {
        let mut is_other = false;
        // Most changes of the catalog change nothing of what the client has in its prompt.
        if self.changed.contains(&ListKind::Tools) {
            let now = self.gateway.listed().await.ok();
            is_other = now != self.seen();
            if self.listed.is_some() {
                self.listed = now;
            }
        }
        self.due = None;
        let changed = std::mem::take(&mut self.changed).into_iter();
        let told = changed.filter(|list| *list != ListKind::Tools || is_other);
        told.map(Notification::List).collect()
    }
}

impl Gateway {
    /// Keeps what happens from now on for the client, until [`Gateway::tell_peer`] or
    /// [`Gateway::tell_subscriber`] has it.
    pub(super) fn keep_notices(&self) {
        let notices = self.shared.service.notices();
        let mut unheard = self.unheard.lock().unwrap_or_else(PoisonError::into_inner);
        unheard.push_back(notices);
        // Who asked and was gone before it was heard takes none.
        if unheard.len() > MOST_UNHEARD {
            unheard.pop_front();
        }
    }

    /// What was kept first, or else what happens from now on.
    fn kept_notices(&self) -> NoticeReceiver {
        let kept = self.unheard.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        kept.unwrap_or_else(|| self.shared.service.notices())
    }

    /// Tells a client of a session, until it is gone.
    pub(super) fn tell_peer(&self, peer: Peer<RoleServer>) {
        let gateway = self.clone();
        let notices = self.kept_notices();
        tokio::spawn(async move {
            let mut ear = ClientFeed::new(gateway, notices);
            let mut look = tokio::time::interval(LOOK);
            loop {
                let words = tokio::select! {
                    words = ear.next() => words,
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

    async fn say(&self, peer: &Peer<RoleServer>, word: Notification) -> Result<(), ServiceError> {
        match word {
            Notification::List(ListKind::Tools) => peer.notify_tool_list_changed().await,
            Notification::List(ListKind::Prompts) => peer.notify_prompt_list_changed().await,
            Notification::List(ListKind::Resources) => peer.notify_resource_list_changed().await,
            Notification::Resource(uri) if self.wanted().contains(&uri) => {
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await
            }
            Notification::Resource(_) => Ok(()),
        }
    }

    /// Tells a client that listens, until it no longer does. What it did not ask for is refused by
    /// the sink, which is no fault.
    pub(super) async fn tell_subscriber(&self, context: &SubscriptionContext) {
        // First of all: a server may tell of a resource before it has answered who asks to be told.
        let notices = self.kept_notices();
        // What it was listed before: servers that are asked below may bring tools.
        let listed = self.listed().await.ok();
        let named: Vec<String> =
            context.accepted().resource_subscriptions.iter().flatten().cloned().collect();
        for uri in &named {
            self.subscribe_to(uri).await.ok();
        }
        let mut ear = ClientFeed { listed, named, ..ClientFeed::new(self.clone(), notices) };
        loop {
            let words = tokio::select! {
                words = ear.next() => words,
                () = context.cancelled() => None,
            };
            let Some(words) = words else { return };
            let sink = context.sink();
            for word in words {
                match word {
                    Notification::List(ListKind::Tools) => {
                        sink.notify_tool_list_changed().await.ok()
                    }
                    Notification::List(ListKind::Prompts) => {
                        sink.notify_prompt_list_changed().await.ok()
                    }
                    Notification::List(ListKind::Resources) => {
                        sink.notify_resource_list_changed().await.ok()
                    }
                    Notification::Resource(uri) => sink.notify_resource_updated(uri).await.ok(),
                };
            }
        }
    }
}
