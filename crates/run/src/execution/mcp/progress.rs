//! Hands on what a server says of how far a call is, in the order in which it says it.
//!
//! rmcp has a task of its own handle each notification, so that a server's last word before a result
//! may be handled after it. Here it is taken where messages come in, one after the other.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{JsonRpcMessage, ProgressNotificationParam, ProgressToken, ServerNotification};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use super::super::invoker::Progress;

/// Words that are kept for calls whose token is not known yet: it is known once a call is sent, and
/// a server may be quick.
const EARLY: usize = 64;

/// Who listens to which call of a connection.
#[derive(Clone, Default)]
pub(super) struct Listeners {
    heard: Arc<Mutex<Heard>>,
}

#[derive(Default)]
struct Heard {
    calls: HashMap<ProgressToken, mpsc::UnboundedSender<Progress>>,
    early: VecDeque<(ProgressToken, Progress)>,
}

impl Listeners {
    /// Hears what is said of a call from now on, and what was said of it already.
    pub fn listen(&self, token: ProgressToken) -> Listener {
        let (tell, said) = mpsc::unbounded_channel();
        let mut heard = self.heard();
        heard.early.retain(|(of, progress)| {
            let is_of_it = *of == token;
            if is_of_it {
                tell.send(progress.clone()).ok();
            }
            !is_of_it
        });
        heard.calls.insert(token.clone(), tell);
        drop(heard);
        Listener { token, said, listeners: self.clone() }
    }

    fn note(&self, told: &ProgressNotificationParam) {
        let progress =
            Progress { done: told.progress, total: told.total, message: told.message.clone() };
        let mut heard = self.heard();
        match heard.calls.get(&told.progress_token) {
            Some(tell) => _ = tell.send(progress).ok(),
            None => {
                heard.early.push_back((told.progress_token.clone(), progress));
                if heard.early.len() > EARLY {
                    heard.early.pop_front();
                }
            }
        }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hears of one call, until it is dropped.
pub(super) struct Listener {
    token: ProgressToken,
    said: mpsc::UnboundedReceiver<Progress>,
    listeners: Listeners,
}

impl Listener {
    /// The next word; it is waited for.
    pub async fn next(&mut self) -> Option<Progress> {
        self.said.recv().await
    }

    /// What was said and not heard yet.
    pub fn rest(&mut self) -> impl Iterator<Item = Progress> {
        std::iter::from_fn(|| self.said.try_recv().ok())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.listeners.heard().calls.remove(&self.token);
    }
}

/// A transport whose words on progress are told before what comes after them is read.
pub(super) struct InOrder<T> {
    transport: T,
    listeners: Listeners,
}

impl<T> InOrder<T> {
    pub fn new(transport: T, listeners: Listeners) -> Self {
        Self { transport, listeners }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for InOrder<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.transport.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.transport.receive().await?;
        if let JsonRpcMessage::Notification(notification) = &message
            && let ServerNotification::ProgressNotification(told) = &notification.notification
        {
            self.listeners.note(&told.params);
        }
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.transport.close()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Says what it was given, one after the other.
    struct Script(VecDeque<Value>);

    impl Transport<RoleClient> for Script {
        type Error = std::io::Error;

        fn send(
            &mut self,
            _item: TxJsonRpcMessage<RoleClient>,
        ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
            std::future::ready(Ok(()))
        }

        async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
            self.0.pop_front().map(|message| serde_json::from_value(message).unwrap())
        }

        async fn close(&mut self) -> Result<(), Self::Error> {
            Ok(())
        }
    }

    fn word(token: &str, progress: usize) -> Value {
        json!({"jsonrpc": "2.0", "method": "notifications/progress",
               "params": {"progressToken": token, "progress": progress}})
    }

    fn token(name: &str) -> ProgressToken {
        serde_json::from_value(json!(name)).unwrap()
    }

    #[test]
    fn a_word_is_heard_before_what_comes_after_it_is_read_and_one_before_anybody_listened_is_kept()
    {
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": []}});
        let words = [word("a", 1), word("b", 9), word("a", 2), word("a", 3), answer];
        let listeners = Listeners::default();
        let mut transport = InOrder::new(Script(words.into()), listeners.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut read = || runtime.block_on(transport.receive()).unwrap();
        let done = |listener: &mut Listener| -> Vec<f64> {
            listener.rest().map(|progress| progress.done).collect()
        };
        read();
        let mut first = listeners.listen(token("a"));
        assert_eq!(done(&mut first), [1.0]);
        for _ in 0..3 {
            read();
        }
        assert_eq!(done(&mut first), [2.0, 3.0], "and no answer was read yet");
        assert!(matches!(read(), JsonRpcMessage::Response(_)));
        assert_eq!(done(&mut listeners.listen(token("b"))), [9.0]);
        drop(first);
        assert!(listeners.heard().calls.is_empty() && listeners.heard().early.is_empty());
    }

    #[test]
    fn what_nobody_listens_to_is_forgotten() {
        let words = (0..200).map(|step| word("nobody", step)).collect();
        let listeners = Listeners::default();
        let mut transport = InOrder::new(Script(words), listeners.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        while runtime.block_on(transport.receive()).is_some() {}
        assert_eq!(listeners.heard().early.len(), EARLY);
    }
}
