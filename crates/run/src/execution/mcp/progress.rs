//! Routes a server's progress messages to the calls that they belong to, in order.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{NumberOrString, ProgressNotificationParam, ProgressToken};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::super::invoker::Progress;

/// The most messages that are kept for unknown tokens. The token of a call is known only after the
/// call is sent, and the server may report progress before.
const MOST_EARLY: usize = 64;

/// The most messages of one call that wait in the queue. The oldest are dropped.
const MOST_QUEUED: usize = 256;

/// The longest token or message in bytes. A longer message is truncated, and a longer token cannot
/// be ours. A limit on the number of messages alone would not bound memory.
pub(super) const LONGEST: usize = 4_096;

/// The listeners of a connection, by call.
#[derive(Clone, Default)]
pub(super) struct Listeners {
    heard: Arc<Mutex<ProgressRoutes>>,
}

#[derive(Default)]
struct ProgressRoutes {
    calls: HashMap<ProgressToken, broadcast::Sender<Progress>>,
    early: VecDeque<(ProgressToken, Progress)>,
}

impl Listeners {
    /// Subscribes to the progress of a call, including the messages that arrived before.
    pub fn listen(&self, token: ProgressToken) -> Listener {
        let (tell, said) = broadcast::channel(MOST_QUEUED);
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

    /// Delivers a message. Returns whether its call has a listener.
    pub fn note(&self, told: &ProgressNotificationParam) -> bool {
        if is_too_long(&told.progress_token.0) {
            return false;
        }
        let message = told.message.as_deref();
        let message = message.map(|text| text[..text.floor_char_boundary(LONGEST)].to_owned());
        let progress = Progress { done: told.progress, total: told.total, message };
        let mut heard = self.heard();
        match heard.calls.get(&told.progress_token) {
            Some(tell) => tell.send(progress).is_ok(),
            None => {
                heard.early.push_back((told.progress_token.clone(), progress));
                if heard.early.len() > MOST_EARLY {
                    heard.early.pop_front();
                }
                false
            }
        }
    }

    fn heard(&self) -> MutexGuard<'_, ProgressRoutes> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a token is too long to be ours.
pub(super) fn is_too_long(name: &NumberOrString) -> bool {
    matches!(name, NumberOrString::String(name) if name.len() > LONGEST)
}

/// Receives the progress of one call until it is dropped.
pub(super) struct Listener {
    token: ProgressToken,
    said: broadcast::Receiver<Progress>,
    listeners: Listeners,
}

impl Listener {
    /// Waits for the next message.
    pub async fn next(&mut self) -> Option<Progress> {
        loop {
            match self.said.recv().await {
                Ok(progress) => return Some(progress),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// The messages that are queued.
    pub fn rest(&mut self) -> impl Iterator<Item = Progress> {
        std::iter::from_fn(|| {
            loop {
                match self.said.try_recv() {
                    Ok(progress) => return Some(progress),
                    Err(TryRecvError::Lagged(_)) => {}
                    Err(TryRecvError::Empty | TryRecvError::Closed) => return None,
                }
            }
        })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.listeners.heard().calls.remove(&self.token);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(token: &str, step: usize) -> ProgressNotificationParam {
        serde_json::from_value(json!({"progressToken": token, "progress": step})).unwrap()
    }

    #[test]
    fn what_nobody_listens_to_is_forgotten() {
        let listeners = Listeners::default();
        for step in 0..200 {
            assert!(!listeners.note(&told("nobody", step)));
        }
        assert_eq!(listeners.heard().early.len(), MOST_EARLY);
        let token = told("nobody", 0).progress_token;
        assert_eq!(listeners.listen(token).rest().count(), MOST_EARLY);
        assert!(listeners.heard().calls.is_empty() && listeners.heard().early.is_empty());
    }

    #[test]
    fn of_more_than_anybody_hears_the_latest_stay() {
        let listeners = Listeners::default();
        let mut listener = listeners.listen(told("a", 0).progress_token);
        for step in 0..100_000 {
            assert!(listeners.note(&told("a", step)));
        }
        let heard: Vec<f64> = listener.rest().map(|progress| progress.done).collect();
        assert_eq!((heard.len(), heard.last()), (MOST_QUEUED, Some(&99_999.0)));
    }

    #[test]
    fn of_a_long_word_little_is_kept_and_of_a_long_token_nothing() {
        let listeners = Listeners::default();
        let mut long = told("a", 1);
        long.message = Some("é".repeat(1 << 20) + "x");
        let mut listener = listeners.listen(long.progress_token.clone());
        assert!(listeners.note(&long));
        long.message = Some(format!("a{}", "é".repeat(1 << 20)));
        assert!(listeners.note(&long));
        let lengths: Vec<_> = listener.rest().map(|word| word.message.unwrap().len()).collect();
        assert_eq!(lengths, [LONGEST, LONGEST - 1]);
        assert!(!listeners.note(&told(&"t".repeat(LONGEST + 1), 1)));
        assert_eq!(listeners.heard().early.len(), 0);
    }
}
