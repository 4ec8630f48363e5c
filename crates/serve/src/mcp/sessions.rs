//! Limits the sessions of the gateway over HTTP.

use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::Stream;
use lru::LruCache;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};

/// The limit of open sessions, as many as connections. Beyond it, the session that was idle longest
/// is closed. A session takes about 70 kB.
const MOST: usize = 1_024;

/// The number of messages that every session begins with (`notifications/initialized`).
const BEGINNING: u32 = 1;

/// Sessions in memory. Beyond the limit, the one that was idle longest is closed. A client that
/// uses it again gets an error and starts a new one.
pub(super) struct BoundedSessions {
    sessions: LocalSessionManager,
    most: usize,
    /// The number of messages of each session, the most recently used first.
    used: Mutex<LruCache<SessionId, u32>>,
}

impl BoundedSessions {
    pub fn new(sessions: LocalSessionManager) -> Self {
        Self { sessions, most: MOST, used: Mutex::new(LruCache::unbounded()) }
    }

    fn used(&self) -> MutexGuard<'_, LruCache<SessionId, u32>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, id: &SessionId) {
        if let Some(messages) = self.used().get_mut(id) {
            *messages = messages.saturating_add(1);
        }
    }

    /// Adds a new session. Beyond the limit, returns the session to close: the one that was idle
    /// longest among those that have only begun, or else among all. A client that begins many
    /// sessions therefore closes its own. The new session is never closed, because it has not been
    /// answered yet.
    fn admit(&self, id: SessionId) -> Option<SessionId> {
        let mut used = self.used();
        let excess = match used.len() >= self.most {
            true => {
                let begun = used.iter().rev().find(|(_, messages)| **messages <= BEGINNING);
                begun.or_else(|| used.peek_lru()).map(|(id, _)| id.clone())
            }
            false => None,
        };
        if let Some(excess) = &excess {
            used.pop(excess);
        }
        used.put(id, 0);
        excess
    }
}

impl SessionManager for BoundedSessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let created = self.sessions.create_session().await?;
        if let Some(excess) = self.admit(created.0.clone()) {
            tracing::info!(most = self.most, "the session that was idle longest is closed");
            self.sessions.close_session(&excess).await.ok();
        }
        Ok(created)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.sessions.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.sessions.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.used().pop(id);
        self.sessions.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.note(id);
        self.sessions.create_stream(id, message).await
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.note(id);
        self.sessions.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.used().promote(id);
        self.sessions.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.used().promote(id);
        self.sessions.resume(id, last_event_id).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_only_begins_sessions_closes_their_own() {
        let bounded =
            BoundedSessions { most: 3, ..BoundedSessions::new(LocalSessionManager::default()) };
        let mut open = Vec::new();
        for _ in 0..2 {
            open.push(bounded.create_session().await.unwrap());
        }
        let worked = open[0].0.clone();
        (0..2).for_each(|_| bounded.note(&worked));
        for _ in 0..50 {
            open.push(bounded.create_session().await.unwrap());
        }
        assert!(bounded.has_session(&worked).await.unwrap());
        assert!(!bounded.has_session(&open[1].0).await.unwrap());
        assert_eq!((bounded.sessions.sessions.read().await.len(), bounded.used().len()), (3, 3));
        for (id, _) in &open {
            bounded.close_session(id).await.ok();
        }
        assert!(bounded.used().is_empty());
    }

    #[tokio::test]
    async fn where_all_sessions_are_at_work_the_longest_idle_makes_room_for_a_new_one() {
        let bounded =
            BoundedSessions { most: 3, ..BoundedSessions::new(LocalSessionManager::default()) };
        let mut open = Vec::new();
        for _ in 0..3 {
            open.push(bounded.create_session().await.unwrap());
        }
        for (id, _) in [&open[1], &open[0], &open[2], &open[0], &open[1], &open[2]] {
            bounded.note(id);
        }
        open.push(bounded.create_session().await.unwrap());
        let mut kept = Vec::new();
        for (id, _) in &open {
            kept.push(bounded.has_session(id).await.unwrap());
        }
        assert_eq!(kept, [false, true, true, true]);
        assert_eq!((bounded.sessions.sessions.read().await.len(), bounded.used().len()), (3, 3));
    }
}
