//! What a server may send: everything that comes from it passes here, one message after the other,
//! before anything else is done with it.
//!
//! rmcp has a task of its own handle each notification and each request, however many there are. So
//! here notifications are taken where messages come in: what is said of a call's progress is heard
//! before the answer that comes after it, and what has changed is one word to whoever watches. What is
//! left for rmcp is bounded. A server that sends more than anybody could have asked for is dropped.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use rmcp::model::{JsonRpcMessage, RequestId, ServerNotification};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

use super::super::invoker::{Changed, OnChange};
use super::super::spawn::GroupLease;
use super::progress::Listeners;

/// Messages that nobody asked for, beyond those of a call's progress: so many at once, and so many a
/// second for ever. A server that logs each of some thousand files that it reads is within it; one that
/// repeats a message in a loop sends 50,000 a second.
const BURST: f64 = 5_000.0;
const PER_SECOND: f64 = 500.0;

/// Requests of a server whose answers it has not read.
const UNANSWERED: usize = 64;

/// Where a server's word on what has changed goes: to whoever asked last to be told.
#[derive(Clone, Default)]
pub(super) struct Watcher {
    told: Arc<Mutex<Option<OnChange>>>,
    /// [`super::McpOptions::says_it_offers_all`].
    pub says_it_offers_all: bool,
}

impl Watcher {
    pub fn new(says_it_offers_all: bool) -> Self {
        Self { told: Arc::default(), says_it_offers_all }
    }

    pub fn set(&self, told: OnChange) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
    }

    pub fn tell(&self, changed: Changed) {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(told) = told {
            told(changed);
        }
    }
}

/// What ends a connection's server, and why it was ended.
#[derive(Clone, Default)]
pub(super) struct Hold {
    inner: Arc<HoldInner>,
}

#[derive(Default)]
struct HoldInner {
    /// Kills what is left of the server's processes.
    lease: Mutex<Option<GroupLease>>,
    dropped: OnceLock<String>,
}

impl Hold {
    pub fn of(lease: GroupLease) -> Self {
        let lease = Mutex::new(Some(lease));
        Self { inner: Arc::new(HoldInner { lease, dropped: OnceLock::new() }) }
    }

    /// Ends the server's processes.
    pub fn end(&self) {
        self.inner.lease.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Why the server was dropped, if it was.
    pub fn dropped(&self) -> Option<&str> {
        self.inner.dropped.get().map(String::as_str)
    }
}

/// A transport from which no more comes than can be taken.
pub(super) struct Intake<T> {
    transport: T,
    listeners: Listeners,
    watcher: Watcher,
    hold: Hold,
    allowance: Allowance,
    /// Our requests that have no answer yet: another answer is one that nobody asked for.
    awaited: usize,
    unanswered: Arc<Mutex<HashSet<RequestId>>>,
}

impl<T> Intake<T> {
    pub fn new(transport: T, listeners: Listeners, watcher: Watcher, hold: Hold) -> Self {
        Self {
            transport,
            listeners,
            watcher,
            hold,
            allowance: Allowance::full(),
            awaited: 0,
            unanswered: Arc::default(),
        }
    }

    /// Whether the message is for rmcp; an error where the server must be dropped.
    fn take(&mut self, message: &RxJsonRpcMessage<RoleClient>) -> Result<bool, String> {
        let is_passed = match message {
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) if self.awaited > 0 => {
                self.awaited -= 1;
                return Ok(true);
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => true,
            JsonRpcMessage::Request(request) => {
                let mut unanswered = lock(&self.unanswered);
                if unanswered.len() >= UNANSWERED {
                    return Err(format!("it asked {UNANSWERED} times and read no answer"));
                }
                unanswered.insert(request.id.clone());
                true
            }
            JsonRpcMessage::Notification(told) => match self.heard(&told.notification) {
                Heard::Free => return Ok(false),
                Heard::Taken => false,
                Heard::Passed => true,
            },
        };
        match self.allowance.spend(Instant::now()) {
            true => Ok(is_passed),
            false => Err(format!(
                "it sent more than {BURST} messages that nobody asked for, and {PER_SECOND} a second"
            )),
        }
    }

    fn heard(&self, notification: &ServerNotification) -> Heard {
        match notification {
            ServerNotification::ProgressNotification(told) => {
                return if self.listeners.note(&told.params) { Heard::Free } else { Heard::Taken };
            }
            ServerNotification::ToolListChangedNotification(_) => self.watcher.tell(Changed::Tools),
            ServerNotification::PromptListChangedNotification(_) => {
                self.watcher.tell(Changed::Prompts);
            }
            ServerNotification::ResourceListChangedNotification(_) => {
                self.watcher.tell(Changed::Resources);
            }
            ServerNotification::ResourceUpdatedNotification(told) => {
                self.watcher.tell(Changed::Resource { uri: told.params.uri.clone() });
            }
            // Nobody asked for its log.
            ServerNotification::LoggingMessageNotification(_) => {}
            ServerNotification::CancelledNotification(told) => {
                if let Some(id) = &told.params.request_id {
                    lock(&self.unanswered).remove(id);
                }
                return Heard::Passed;
            }
            _ => return Heard::Passed,
        }
        Heard::Taken
    }

    /// Ends the server at once: it would go on for as long as it is read.
    fn drop_server(&self, because: String) {
        tracing::warn!(because, "a server was dropped");
        self.hold.inner.dropped.set(because.clone()).ok();
        self.hold.end();
        self.watcher.tell(Changed::Dropped { because });
    }
}

/// What becomes of a notification.
enum Heard {
    /// It was taken, and belongs to a call that is under way.
    Free,
    Taken,
    Passed,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Intake<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Request(_) => {
                self.awaited += 1;
                None
            }
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Notification(_) => None,
        };
        let unanswered = Arc::clone(&self.unanswered);
        let sent = self.transport.send(item);
        async move {
            let sent = sent.await;
            if let Some(id) = answered {
                lock(&unanswered).remove(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if self.hold.dropped().is_some() {
                return None;
            }
            let message = self.transport.receive().await?;
            match self.take(&message) {
                Ok(true) => return Some(message),
                Ok(false) => {}
                Err(because) => self.drop_server(because),
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.transport.close()
    }
}

fn lock(ids: &Mutex<HashSet<RequestId>>) -> std::sync::MutexGuard<'_, HashSet<RequestId>> {
    ids.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What may still be sent: it grows with time, up to a burst.
struct Allowance {
    left: f64,
    at: Instant,
}

impl Allowance {
    fn full() -> Self {
        Self { left: BURST, at: Instant::now() }
    }

    /// Whether one more may come.
    fn spend(&mut self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + since * PER_SECOND).min(BURST) - 1.0;
        self.at = now;
        self.left >= 0.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;

    /// Says what it was given, one after the other.
    pub(super) struct Script(pub VecDeque<Value>);

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

    fn intake(words: impl IntoIterator<Item = Value>, listeners: &Listeners) -> Intake<Script> {
        let script = Script(words.into_iter().collect());
        Intake::new(script, listeners.clone(), Watcher::default(), Hold::default())
    }

    fn read(intake: &mut Intake<Script>) -> Option<RxJsonRpcMessage<RoleClient>> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(intake.receive())
    }

    fn word(token: &str, progress: usize) -> Value {
        json!({"jsonrpc": "2.0", "method": "notifications/progress",
               "params": {"progressToken": token, "progress": progress}})
    }

    fn token(name: &str) -> rmcp::model::ProgressToken {
        serde_json::from_value(json!(name)).unwrap()
    }

    #[test]
    fn a_word_is_heard_before_the_answer_and_one_before_anybody_listened_is_kept() {
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": []}});
        let words =
            [word("a", 1), word("b", 9), word("a", 2), answer.clone(), word("a", 3), answer];
        let listeners = Listeners::default();
        let mut intake = intake(words, &listeners);
        let done = |listener: &mut super::super::progress::Listener| -> Vec<f64> {
            listener.rest().map(|progress| progress.done).collect()
        };
        assert!(matches!(read(&mut intake), Some(JsonRpcMessage::Response(_))));
        let mut first = listeners.listen(token("a"));
        assert_eq!(done(&mut first), [1.0, 2.0], "and nothing after the answer was read yet");
        assert!(read(&mut intake).is_some());
        assert_eq!(done(&mut first), [3.0]);
        assert_eq!(done(&mut listeners.listen(token("b"))), [9.0]);
    }

    #[test]
    fn who_sends_without_end_is_dropped_and_a_call_that_tells_much_is_not() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        let listeners = Listeners::default();
        let mut flooded = intake(vec![changed; 6_000], &listeners);
        let told = Arc::clone(&heard);
        flooded.watcher.set(Arc::new(move |changed| told.lock().unwrap().push(changed)));
        assert!(read(&mut flooded).is_none() && flooded.hold.dropped().is_some());
        let heard = heard.lock().unwrap();
        assert!(matches!(heard.last(), Some(Changed::Dropped { .. })), "{}", heard.len());
        assert!(heard.len() <= 5_100, "{}", heard.len());

        let listener = listeners.listen(token("a"));
        let mut busy = intake((0..20_000).map(|step| word("a", step)), &listeners);
        assert!(read(&mut busy).is_none() && busy.hold.dropped().is_none());
        drop(listener);
        let ask = |id| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        let mut asking = intake((0..70).map(ask), &listeners);
        let passed = std::iter::from_fn(|| read(&mut asking)).count();
        assert_eq!((passed, asking.hold.dropped().is_some()), (UNANSWERED, true));
    }

    #[test]
    fn what_was_spent_comes_back_with_time() {
        let mut allowance = Allowance::full();
        let begun = allowance.at;
        while allowance.spend(begun) {}
        assert!(!allowance.spend(begun + Duration::from_millis(1)));
        let later = begun + Duration::from_secs(1);
        assert_eq!((0..1_000).filter(|_| allowance.spend(later)).count(), 498);
    }
}
