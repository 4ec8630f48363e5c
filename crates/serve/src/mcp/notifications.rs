//! Notifies clients of changes, in the version of the protocol that they use.

use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer, ServiceError, SubscriptionContext};
use tokio::sync::broadcast::error::RecvError;

use super::Gateway;
use super::listing::ToolList;
use crate::Notice;

/// The time between two checks whether a client without notifications is still connected.
const LOOK: Duration = Duration::from_secs(30);

/// The service's notices, for one client.
pub(super) type NoticeReceiver = tokio::sync::broadcast::Receiver<Notice>;

/// The number of receivers that may wait for their task.
const MOST_RECEIVERS: usize = 8;

/// Changes of a list within this time become one notification, because a server that starts reports
/// each of its lists more than once.
const TOGETHER: Duration = Duration::from_millis(150);

/// The least time between two notifications about lists: while servers start, one after the other
/// reports its lists.
const APART: Duration = Duration::from_secs(5);

/// A notification to a client.
enum Notification {
    List(ListKind),
    Resource(String),
}

/// A list that a client may hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ListKind {
    Tools,
    Prompts,
    Resources,
}

/// Turns notices into the notifications of one client.
struct ClientFeed {
    gateway: Gateway,
    notices: NoticeReceiver,
    /// The list of a client that listens without a session.
    listed: Option<ToolList>,
    /// The resources that a client named when it began to listen. The gateway holds those of a
    /// session.
    named: Vec<String>,
    /// Lists that changed, to be reported when `due`.
    changed: BTreeSet<ListKind>,
    due: Option<Instant>,
    /// The earliest time of the next notification about lists.
    not_before: Option<Instant>,
}

impl ClientFeed {
    fn new(gateway: Gateway, notices: NoticeReceiver) -> Self {
        let (listed, named, changed, due, not_before) = Default::default();
        Self { gateway, notices, listed, named, changed, due, not_before }
    }

    /// The next notifications; `None` if the service has ended. Cancel safe: recorded changes are
    /// kept.
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
                    // Some notices were missed, so everything may have changed.
                    Err(RecvError::Lagged(_)) => {
                        self.note([ListKind::Tools, ListKind::Prompts, ListKind::Resources]);
                        let subscriptions = self.gateway.subscriptions().clone();
                        let all = self.named.iter().cloned().chain(subscriptions);
                        return Some(all.map(Notification::Resource).collect());
                    }
                    Err(RecvError::Closed) => return None,
                },
                () = tokio::time::sleep_until(due.into()), if self.due.is_some() => {
                    // While servers return their first lists, more changes follow.
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
        let soon = Instant::now() + TOGETHER;
        self.due.get_or_insert(self.not_before.map_or(soon, |at| at.max(soon)));
    }

    /// Notifications of the lists that differ from those of the client.
    async fn lists(&mut self) -> Vec<Notification> {
        let mut differs = false;
        // Most changes of the catalog do not change the client's list.
        if self.changed.contains(&ListKind::Tools) {
            let now = self.gateway.listed().await.ok();
            // A client without a list gets a notification that it may not need: it may be about to
            // receive a list that is already outdated.
            differs = self.gateway.client_lists().announce(now.as_ref(), self.listed.as_ref());
            if self.listed.is_some() {
                self.listed = now;
            }
        }
        self.due = None;
        let changed = std::mem::take(&mut self.changed).into_iter();
        let due = changed.filter(|list| *list != ListKind::Tools || differs);
        let due: Vec<Notification> = due.map(Notification::List).collect();
        if !due.is_empty() {
            self.not_before = Some(Instant::now() + APART);
        }
        due
    }
}

impl Gateway {
    /// Opens a receiver of notices, which [`Gateway::notify_peer`] or
    /// [`Gateway::notify_subscriber`] takes.
    pub(super) fn open_receiver(&self) {
        let notices = self.shared.service.notices();
        let mut receivers = self.receivers.lock().unwrap_or_else(PoisonError::into_inner);
        receivers.push_back(notices);
        // A client that asked to listen and disconnected never takes its receiver.
        if receivers.len() > MOST_RECEIVERS {
            receivers.pop_front();
        }
    }

    /// The receiver that was opened first, or a new one.
    fn take_receiver(&self) -> NoticeReceiver {
        let kept = self.receivers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        kept.unwrap_or_else(|| self.shared.service.notices())
    }

    /// Notifies the client of a session until it disconnects.
    pub(super) fn notify_peer(&self, peer: Peer<RoleServer>) {
        let gateway = self.clone();
        let notices = self.take_receiver();
        tokio::spawn(async move {
            let mut feed = ClientFeed::new(gateway, notices);
            let mut look = tokio::time::interval(LOOK);
            loop {
                let notifications = tokio::select! {
                    found = feed.next() => found,
                    _ = look.tick() => Some(Vec::new()),
                };
                let Some(notifications) = notifications.filter(|_| !peer.is_transport_closed())
                else {
                    return;
                };
                for notification in notifications {
                    if feed.gateway.notify(&peer, notification).await.is_err() {
                        return;
                    }
                }
            }
        });
    }

    async fn notify(
        &self,
        peer: &Peer<RoleServer>,
        notification: Notification,
    ) -> Result<(), ServiceError> {
        match notification {
            Notification::List(ListKind::Tools) => peer.notify_tool_list_changed().await,
            Notification::List(ListKind::Prompts) => peer.notify_prompt_list_changed().await,
            Notification::List(ListKind::Resources) => peer.notify_resource_list_changed().await,
            Notification::Resource(uri) if self.subscriptions().contains(&uri) => {
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await
            }
            Notification::Resource(_) => Ok(()),
        }
    }

    /// Notifies a client that listens, until it stops. The sink refuses notifications that the
    /// client did not ask for, which is not an error.
    pub(super) async fn notify_subscriber(&self, context: &SubscriptionContext) {
        // Taken first, because a server may send a notification before it answers the subscription.
        let notices = self.take_receiver();
        // Listed before the subscriptions, which may start servers and so change the list.
        let listed = self.listed().await.ok();
        let named: Vec<String> =
            context.accepted().resource_subscriptions.iter().flatten().cloned().collect();
        for uri in &named {
            self.subscribe_to(uri).await.ok();
        }
        let mut feed = ClientFeed { listed, named, ..ClientFeed::new(self.clone(), notices) };
        loop {
            let notifications = tokio::select! {
                found = feed.next() => found,
                () = context.cancelled() => None,
            };
            let Some(notifications) = notifications else { return };
            let sink = context.sink();
            for notification in notifications {
                match notification {
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
