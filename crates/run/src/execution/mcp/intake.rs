//! The intake of a connection: every message from a server passes here first, in order.
//!
//! rmcp spawns a task for each notification and each request, without a bound. Notifications are
//! therefore handled here: progress arrives before the answer that follows it, and changes go to
//! the watcher. The messages that are passed to rmcp are bounded, and a server that floods the
//! connection is dropped.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use rmcp::model::{JsonRpcMessage, RequestId, ServerNotification};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

use super::super::invoker::{Changed, OnChange};
use super::super::spawn::GroupLease;
use super::progress::{self, Listeners};
use super::questions::{self, Questions};

/// The limits of unsolicited messages, other than the progress of calls: a burst, and a rate per
/// second. A server that logs some thousand files stays within them; a server that repeats a
/// message in a loop sends 50,000 per second. A long message counts as several.
const BURST: f64 = 5_000.0;
const PER_SECOND: f64 = 500.0;

/// The block size in bytes: a message counts once for each block that it starts. A log line is
/// shorter than one block.
const PART: usize = 4_096;

/// The most requests of a server whose answers are not sent yet, because the server does not read
/// them.
const UNANSWERED: usize = 64;

/// The current watcher for changes that a server announces.
#[derive(Clone, Default)]
pub(super) struct Watcher {
    on_change: Arc<Mutex<Option<OnChange>>>,
}

impl Watcher {
    pub fn set(&self, on_change: OnChange) {
        *self.on_change.lock().unwrap_or_else(PoisonError::into_inner) = Some(on_change);
    }

    pub fn tell(&self, changed: Changed) {
        let on_change = self.on_change.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(on_change) = on_change {
            on_change(changed);
        }
    }
}

/// Kills a connection's server on demand, and stores the reason if the server was dropped.
#[derive(Default)]
pub(super) struct ServerHandle {
    /// Kills what is left of the server's processes.
    lease: Mutex<Option<GroupLease>>,
    dropped: OnceLock<String>,
}

impl ServerHandle {
    pub fn of(lease: GroupLease) -> Self {
        Self { lease: Mutex::new(Some(lease)), dropped: OnceLock::new() }
    }

    /// Kills the server's processes.
    pub fn end(&self) {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Why the server was dropped, if it was.
    pub fn dropped(&self) -> Option<&str> {
        self.dropped.get().map(String::as_str)
    }
}

/// Where messages of running calls go.
pub(super) struct Routes {
    pub listeners: Listeners,
    pub questions: Questions,
}

/// A transport that bounds incoming messages.
pub(super) struct Intake<T> {
    transport: T,
    routes: Routes,
    watcher: Watcher,
    server_handle: Arc<ServerHandle>,
    allowance: Allowance,
    /// The number of our requests without an answer. Any further answer is unsolicited.
    awaited: usize,
    /// Requests of the server whose answers are not sent yet, by id.
    unanswered: Arc<Mutex<HashSet<RequestId>>>,
}

impl<T> Intake<T> {
    pub fn new(
        transport: T,
        routes: Routes,
        watcher: Watcher,
        server_handle: Arc<ServerHandle>,
    ) -> Self {
        Self {
            transport,
            routes,
            watcher,
            server_handle,
            allowance: Allowance::full(),
            awaited: 0,
            unanswered: Arc::default(),
        }
    }

    /// Returns whether to pass the message to rmcp, or the reason why the server must be dropped.
    fn take(&mut self, message: &RxJsonRpcMessage<RoleClient>) -> Result<bool, String> {
        let is_passed = match message {
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) if self.awaited > 0 => {
                self.awaited -= 1;
                return Ok(true);
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => true,
            JsonRpcMessage::Request(request) => {
                self.open(&request.id)?;
                if questions::is_question(&request.request) {
                    self.routes.questions.open(&request.id);
                }
                true
            }
            JsonRpcMessage::Notification(told) => {
                match self.handle_notification(&told.notification) {
                    Disposition::CallProgress => return Ok(false),
                    Disposition::Consumed => false,
                    Disposition::Forwarded => true,
                }
            }
        };
        match self.allowance.spend(parts(message), Instant::now()) {
            true => Ok(is_passed),
            false => Err(format!(
                "it sent more than {BURST} messages that nobody asked for, and {PER_SECOND} a second; \
                 one of more than {PART} bytes counts as several"
            )),
        }
    }

    /// Records a request that needs an answer. Returns an error if there are too many of them, or
    /// if the id is too long or already in use.
    fn open(&self, id: &RequestId) -> Result<(), String> {
        if progress::is_too_long(id) {
            return Err(format!(
                "it sent the id of a request in more than {} bytes",
                progress::LONGEST
            ));
        }
        let mut unanswered = lock(&self.unanswered);
        if unanswered.len() >= UNANSWERED {
            return Err(format!("it asked {UNANSWERED} times and read no answer"));
        }
        // rmcp answers only one of two requests with one id.
        match unanswered.insert(id.clone()) {
            true => Ok(()),
            false => Err("it sent a request with the id of one that has no answer yet".to_owned()),
        }
    }

    fn handle_notification(&self, notification: &ServerNotification) -> Disposition {
        match notification {
            ServerNotification::ProgressNotification(told) => {
                return if self.routes.listeners.note(&told.params) {
                    Disposition::CallProgress
                } else {
                    Disposition::Consumed
                };
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
            // Log messages are ignored, because the client does not request them.
            ServerNotification::LoggingMessageNotification(_) => {}
            ServerNotification::CancelledNotification(told) => {
                // A cancellation of a request without an answer is not passed on, because rmcp
                // would then send no answer, and only an answer removes the request from
                // `unanswered`. A question that is withdrawn is answered with `cancel`; every other
                // request is answered or refused at once, so there is nothing to cancel.
                let id = told.params.request_id.as_ref();
                match id.filter(|id| lock(&self.unanswered).contains(id)) {
                    Some(id) => self.routes.questions.close(id),
                    None => return Disposition::Forwarded,
                }
            }
            _ => return Disposition::Forwarded,
        }
        Disposition::Consumed
    }

    /// Kills the server immediately, because it would continue to send as long as its output is
    /// read.
    fn drop_server(&self, because: String) {
        tracing::warn!(because, "a server was dropped");
        self.server_handle.dropped.set(because.clone()).ok();
        self.server_handle.end();
        self.watcher.tell(Changed::Dropped { because });
    }
}

/// How a notification is handled.
enum Disposition {
    /// It was handled and does not count, because it belongs to a running call.
    CallProgress,
    Consumed,
    Forwarded,
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
        answered.iter().for_each(|id| self.routes.questions.close(id));
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
            if self.server_handle.dropped().is_some() {
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

/// A token bucket, which refills with time up to a burst.
struct Allowance {
    left: f64,
    at: Instant,
}

impl Allowance {
    fn full() -> Self {
        Self { left: BURST, at: Instant::now() }
    }

    /// Takes tokens for a message; false if there are not enough.
    fn spend(&mut self, count: f64, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + since * PER_SECOND).min(BURST) - count;
        self.at = now;
        self.left >= 0.0
    }
}

/// The number of messages that one counts as.
fn parts(message: &RxJsonRpcMessage<RoleClient>) -> f64 {
    // A message that cannot be serialised counts as the largest.
    let bytes = serde_json::to_vec(message).map_or(usize::MAX, |text| text.len());
    u32::try_from(bytes.div_ceil(PART).max(1)).map_or(f64::INFINITY, f64::from)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;

    /// Returns the given messages, one after the other.
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

    fn routes(listeners: &Listeners) -> Routes {
        Routes { listeners: listeners.clone(), questions: Questions::new("s") }
    }

    fn intake(words: impl IntoIterator<Item = Value>, listeners: &Listeners) -> Intake<Script> {
        let script = Script(words.into_iter().collect());
        Intake::new(script, routes(listeners), Watcher::default(), Arc::default())
    }

    fn read(intake: &mut Intake<Script>) -> Option<RxJsonRpcMessage<RoleClient>> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(intake.receive())
    }

    fn word(token: &str, progress: usize) -> Value {
        json!({"jsonrpc": "2.0", "method": "notifications/progress",
               "params": {"progressToken": token, "progress": progress}})
    }

    fn ask(id: usize) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
    }

    fn cancel(id: usize) -> Value {
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
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
        assert!(read(&mut flooded).is_none() && flooded.server_handle.dropped().is_some());
        let heard = heard.lock().unwrap();
        assert!(matches!(heard.last(), Some(Changed::Dropped { .. })), "{}", heard.len());
        assert!(heard.len() < 6_000, "{}", heard.len());

        let listener = listeners.listen(token("a"));
        let mut busy = intake((0..20_000).map(|step| word("a", step)), &listeners);
        assert!(read(&mut busy).is_none() && busy.server_handle.dropped().is_none());
        drop(listener);
        let mut asking = intake((0..70).map(ask), &listeners);
        let passed = std::iter::from_fn(|| read(&mut asking)).count();
        assert_eq!((passed, asking.server_handle.dropped().is_some()), (UNANSWERED, true));
    }

    #[test]
    fn what_was_spent_comes_back_with_time() {
        let mut allowance = Allowance::full();
        let begun = allowance.at;
        while allowance.spend(1.0, begun) {}
        assert!(!allowance.spend(1.0, begun + Duration::from_millis(1)));
        let later = begun + Duration::from_secs(1);
        assert_eq!((0..1_000).filter(|_| allowance.spend(1.0, later)).count(), 498);
    }

    #[test]
    fn a_long_message_counts_as_several() {
        let log = |length: usize| {
            json!({"jsonrpc": "2.0", "method": "notifications/message",
                   "params": {"level": "info", "data": "x".repeat(length)}})
        };
        let counts = |value| parts(&serde_json::from_value(value).unwrap());
        assert_eq!((counts(log(1)), counts(log(4_000)), counts(log(10_000))), (1.0, 1.0, 3.0));
        let early = (0..64).map(|step| {
            let mut word = word("early", step);
            word["params"]["message"] = Value::from("m".repeat(1 << 20));
            word
        });
        let mut flooded = intake(early, &Listeners::default());
        assert!(read(&mut flooded).is_none() && flooded.server_handle.dropped().is_some());
        let left = flooded.transport.0.len();
        assert!((1..50).contains(&left), "{left}");
    }

    #[test]
    fn a_request_counts_until_it_is_answered_whatever_its_id_and_though_it_is_cancelled() {
        let listeners = Listeners::default();
        let passed = |words: Vec<Value>| {
            let mut intake = intake(words, &listeners);
            let passed = std::iter::from_fn(|| read(&mut intake)).count();
            (passed, intake.server_handle.dropped().is_some())
        };
        assert_eq!(passed(vec![ask(1); 70]), (1, true));
        assert_eq!(passed((0..70).flat_map(|id| [ask(id), cancel(id)]).collect()), (64, true));
        let long = json!({"jsonrpc": "2.0", "id": "i".repeat(5_000), "method": "ping"});
        assert_eq!(passed(vec![long]), (0, true));
        assert_eq!(passed(vec![cancel(1)]), (1, false), "what it did not ask is for rmcp");
    }

    #[tokio::test]
    async fn a_server_that_cancels_what_it_asked_is_answered_all_the_same() {
        use rmcp::ServiceExt as _;
        use rmcp::transport::async_rw::AsyncRwTransport;
        use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (read, write) = tokio::io::split(ours);
        let transport = AsyncRwTransport::new_client(read, write);
        let server_handle = Arc::<ServerHandle>::default();
        let intake = Intake::new(
            transport,
            routes(&Listeners::default()),
            Watcher::default(),
            Arc::clone(&server_handle),
        );
        let server = async {
            let (read, mut write) = tokio::io::split(theirs);
            let mut lines = BufReader::new(read).lines();
            let asked: Value =
                serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
            let about = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {
                "protocolVersion": "2025-06-18", "capabilities": {},
                "serverInfo": {"name": "x", "version": "1"}}});
            write.write_all(format!("{about}\n").as_bytes()).await.unwrap();
            lines.next_line().await.unwrap().unwrap();
            for id in 0..3 * UNANSWERED {
                let (ask, cancel) = (ask(id), cancel(id));
                write.write_all(format!("{ask}\n{cancel}\n").as_bytes()).await.unwrap();
                let answer: Value =
                    serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
                assert_eq!(answer["id"], id);
            }
        };
        let (service, ()) = tokio::join!(().serve(intake), server);
        assert!(server_handle.dropped().is_none());
        drop(service.unwrap());
    }
}
