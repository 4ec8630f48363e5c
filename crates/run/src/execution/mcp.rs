//! MCP servers: one connection for each, shared by all calls and opened when first needed.
//!
//! A server that dies is restarted, at first immediately and later after a growing pause, during
//! which calls fail immediately. After an abandoned call the server is pinged. If it does not reply,
//! it gets no new calls, and it is killed as soon as no other call waits for its answer.

mod connection;
mod intake;
mod lines;
mod offers;
mod pipes;
mod progress;
mod questions;
mod translate;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::{Mutex, OwnedMutexGuard, watch};

pub use self::connection::{Announced, Pages};
use self::connection::{ConnectFault, Connection, Handler};
use self::intake::Watcher;
use self::offers::Offers;
use self::questions::Questions;
use super::elicitation::User;
use super::invoker::{Call, Changed, Fault, FaultKind, Invoker, OnChange, Output, Pending};
use super::redact::{self, Redactor};
use super::servers::{Program, Remote, tools_of};
use super::spawn::ProcessOptions;
use toolroute_catalog::Tool;

/// How connections are made and kept.
#[derive(Clone, Debug)]
pub struct McpOptions {
    /// The time limit for a program's first answer. `npx`, `uvx` and `docker` may have to download
    /// the program, and start over if they are interrupted.
    pub start_timeout: Duration,
    /// The time limit for answers to requests other than calls: a handshake over HTTP, lists.
    pub answer_timeout: Duration,
    /// The time limit for the answer to a ping.
    pub check_timeout: Duration,
    /// How programs are started.
    pub process: ProcessOptions,
    /// Which client capabilities are announced.
    pub announced: Announced,
    /// The file of each server that keeps what it has besides tools, by server. Without one, the
    /// server is started for each question about its prompts and resources.
    pub offers: BTreeMap<String, PathBuf>,
}

impl Default for McpOptions {
    fn default() -> Self {
        Self {
            start_timeout: Duration::from_secs(180),
            answer_timeout: Duration::from_secs(60),
            check_timeout: Duration::from_secs(3),
            process: ProcessOptions::default(),
            announced: Announced::default(),
            offers: BTreeMap::new(),
        }
    }
}

/// How a server is reached.
#[derive(Clone, Debug)]
enum Reach {
    Stdio(Program),
    Http(Remote),
}

impl Reach {
    /// A redactor for the secrets that are passed to the server.
    fn redactor(&self) -> Redactor {
        let mut redactor = Redactor::default();
        redactor.hide(match self {
            Self::Stdio(program) => redact::of_program(program),
            Self::Http(remote) => redact::of_remote(remote),
        });
        redactor
    }
}

/// One MCP server.
#[derive(Clone)]
pub struct McpServer {
    shared: Arc<ServerState>,
}

struct ServerState {
    name: String,
    reach: Reach,
    options: McpOptions,
    /// Removes secrets from log lines, because a server may write them to stderr.
    redactor: Redactor,
    state: Arc<Mutex<State>>,
    born: Instant,
    /// The arrival of the server's latest message, in milliseconds since `born`.
    last_message: AtomicU64,
    watcher: Watcher,
    offers: Offers,
    /// Set when the server is closed, so that nothing waits for its start any longer.
    closing: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    up: Option<Arc<Connection>>,
    /// Failed starts and broken connections since the last successful call.
    failures: u32,
    not_before: Option<Instant>,
    /// What may be said of the last failure, if it was a start.
    failed: Option<String>,
    /// Why the server was dropped, if that is why it is paused.
    dropped: Option<String>,
}

/// The number of restarts without a pause. Two, so that a server that one call has killed twice (at
/// first and when it was retried) is available for the next tool immediately.
const FREE_STARTS: u32 = 2;

/// The pause before the next restart; it doubles with each further one, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The time without a message after which the server is pinged before the next call.
const IDLE_BEFORE_CHECK: Duration = Duration::from_secs(60);

/// The time for a server to exit before it is killed.
const CLOSE_GRACE: Duration = Duration::from_millis(500);

/// How long a server stays paused after it was dropped because it sent too much.
const DROPPED_PAUSE: Duration = Duration::from_secs(300);

impl McpServer {
    pub fn stdio(name: &str, program: Program, options: McpOptions) -> Self {
        Self::new(name, Reach::Stdio(program), options)
    }

    pub fn http(name: &str, remote: Remote, options: McpOptions) -> Self {
        Self::new(name, Reach::Http(remote), options)
    }

    fn new(name: &str, reach: Reach, options: McpOptions) -> Self {
        let shared = ServerState {
            name: name.to_owned(),
            redactor: reach.redactor(),
            watcher: Watcher::default(),
            offers: Offers::read(options.offers.get(name)),
            reach,
            options,
            state: Arc::default(),
            born: Instant::now(),
            last_message: AtomicU64::new(0),
            closing: watch::Sender::new(false),
        };
        Self { shared: Arc::new(shared) }
    }
}

impl Invoker for McpServer {
    fn invoke<'a>(&'a self, call: Call<'a>) -> Pending<'a, Result<Output, Fault>> {
        Box::pin(async move {
            let connection = self.shared.connection().await?;
            let unfinished = CallWatch::new(&self.shared, &connection);
            let answered = connection.call(call).await;
            unfinished.done();
            match &answered {
                Err(fault) if is_loss(fault.kind) => {
                    self.shared.record_loss(&connection).await;
                }
                _ => self.shared.record_success().await,
            }
            answered
        })
    }

    fn prepare(&self) -> Pending<'_, Result<(), Fault>> {
        Box::pin(async { self.shared.connection().await.map(drop) })
    }

    fn tools(&self) -> Pending<'_, Result<Vec<Tool>, Fault>> {
        Box::pin(async {
            let connection = self.shared.connection().await?;
            let limit = self.shared.options.answer_timeout;
            let listed = tokio::time::timeout(limit, connection.list()).await;
            let listed = listed.unwrap_or_else(|_| {
                Err(Fault::before(FaultKind::Timeout, "no answer to tools/list"))
            })?;
            Ok(tools_of(&self.shared.name, &listed))
        })
    }

    fn ask<'a>(
        &'a self,
        method: &'a str,
        params: Value,
        user: Option<&'a User>,
    ) -> Pending<'a, Result<Value, Fault>> {
        Box::pin(async move {
            if self.shared.offers.lacks(method) {
                return Err(Fault::before(FaultKind::Missing, format!("no {method} here")));
            }
            let connection = self.shared.connection().await?;
            let limit = self.shared.options.answer_timeout;
            let asked = User::within(user, limit, connection.ask(method, params, user)).await;
            let said = || Err(Fault::after(FaultKind::Timeout, format!("no answer to {method}")));
            let answered = asked.unwrap_or_else(said);
            if answered.is_ok() {
                self.shared.record_message();
            }
            answered
        })
    }

    fn offers(&self, method: &str) -> bool {
        self.shared.offers.has(method)
    }

    fn watch(&self, told: OnChange) {
        self.shared.watcher.set(told);
    }

    fn close(&self) -> Pending<'_, ()> {
        Box::pin(async {
            self.shared.closing.send_replace(true);
            let taken = self.shared.state.lock().await.up.take();
            if let Some(connection) = taken {
                connection.close(CLOSE_GRACE).await;
            }
        })
    }
}

impl ServerState {
    /// Returns the connection, and opens it if needed. It is opened in a task of its own, so that a
    /// caller that stops waiting does not cancel it for the next one.
    async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, Fault> {
        let mut state = Arc::clone(&self.state).lock_owned().await;
        if let Some(up) = state.up.clone() {
            if up.is_open() && self.is_responsive(&up).await {
                return Ok(up);
            }
            state.up = None;
            match up.dropped() {
                Some(because) => pause_after_drop(&mut state, because),
                None => self.count_failure(&mut state, "the connection is gone"),
            }
            drop(up);
        }
        if let Some(left) =
            state.not_before.and_then(|at| at.checked_duration_since(Instant::now()))
        {
            return Err(match &state.dropped {
                Some(because) => {
                    let said = format!("{because}; next start in {left:.0?}");
                    Fault::before(FaultKind::Flooding, said)
                }
                None => {
                    let said =
                        format!("it failed {} times; next start in {left:?}", state.failures);
                    let public_message = state.failed.clone();
                    Fault { public_message, ..Fault::before(FaultKind::Unreachable, said) }
                }
            });
        }
        let started = tokio::spawn(Arc::clone(self).start(state)).await;
        started.unwrap_or_else(|error| Err(Fault::before(FaultKind::Unreachable, error)))
    }

    async fn start(
        self: Arc<Self>,
        mut state: OwnedMutexGuard<State>,
    ) -> Result<Arc<Connection>, Fault> {
        tracing::info!(server = %self.name, "starting");
        let limit = match &self.reach {
            Reach::Stdio(_) => self.options.start_timeout,
            Reach::Http(_) => self.options.answer_timeout,
        };
        let questions = Questions::new(&self.name);
        let handler = Handler { announced: self.options.announced, questions };
        let (process, watcher) = (&self.options.process, self.watcher.clone());
        let opening = async {
            match &self.reach {
                Reach::Stdio(program) => {
                    program.check(process).map_err(ConnectFault::Missing)?;
                    Connection::stdio(program, process, handler, watcher).await
                }
                Reach::Http(remote) => Connection::http(remote, handler, watcher).await,
            }
        };
        let mut closing = self.closing.subscribe();
        let opened = tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => {
                Err(Fault::before(FaultKind::Unreachable, "it is being closed"))
            }
            opened = tokio::time::timeout(limit, opening) => match opened {
                Ok(opened) => opened.map_err(|unopened| self.not_opened(unopened)),
                Err(_) => {
                    let said = format!("no handshake in {limit:?}");
                    Err(Fault::before(FaultKind::Timeout, &said).with_public_message(said))
                }
            },
        };
        match opened {
            Ok(connection) => {
                let connection = Arc::new(connection);
                state.up = Some(Arc::clone(&connection));
                state.dropped = None;
                self.record_message();
                self.tell_connected(&connection);
                Ok(connection)
            }
            Err(fault) => {
                match fault.kind {
                    FaultKind::Flooding => pause_after_drop(&mut state, &fault.detail),
                    _ => {
                        self.count_failure(&mut state, &fault.detail);
                        state.failed.clone_from(&fault.public_message);
                    }
                }
                Err(fault)
            }
        }
    }

    /// Reports the connection, and changes of the lists that the server has or had before.
    fn tell_connected(&self, connection: &Connection) {
        let lists = self.offers.replace(|kind| connection.has(kind));
        self.watcher.tell(Changed::Connected);
        lists.into_iter().for_each(|changed| self.watcher.tell(changed));
    }

    fn not_opened(&self, unopened: ConnectFault) -> Fault {
        let (kind, said, told) = match unopened {
            ConnectFault::Missing(said) => (FaultKind::Unreachable, said.clone(), Some(said)),
            ConnectFault::Flooding(said) => (FaultKind::Flooding, said, None),
            ConnectFault::Failed(said) => {
                let told = translate::reason(&said);
                (FaultKind::Unreachable, said, told)
            }
        };
        let fault = Fault::before(kind, self.redactor.clean(&said));
        match told {
            Some(told) => fault.with_public_message(self.redactor.clean(&told)),
            None => fault,
        }
    }

    fn count_failure(&self, state: &mut State, said: &str) {
        // Earlier reasons do not explain this failure.
        (state.dropped, state.failed) = (None, None);
        state.failures = state.failures.saturating_add(1);
        let doublings = state.failures.saturating_sub(FREE_STARTS + 1).min(16);
        let pause = (FIRST_PAUSE * (1 << doublings)).min(LONGEST_PAUSE);
        state.not_before = (state.failures > FREE_STARTS).then(|| Instant::now() + pause);
        let said = self.redactor.clean(said);
        tracing::debug!(server = %self.name, failures = state.failures, said, "lost");
    }

    async fn record_loss(&self, connection: &Arc<Connection>) {
        let mut state = self.state.lock().await;
        if state.up.as_ref().is_some_and(|up| Arc::ptr_eq(up, connection)) {
            state.up = None;
            match connection.dropped() {
                Some(because) => pause_after_drop(&mut state, because),
                None => self.count_failure(&mut state, "the connection broke"),
            }
        }
    }

    async fn record_success(&self) {
        self.record_message();
        let mut state = self.state.lock().await;
        state.failures = 0;
        if state.dropped.is_none() {
            state.not_before = None;
        }
    }

    fn record_message(&self) {
        let now = u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_message.store(now, Ordering::Relaxed);
    }

    /// Whether the server sent a message recently or answers a ping.
    async fn is_responsive(&self, connection: &Connection) -> bool {
        let heard = Duration::from_millis(self.last_message.load(Ordering::Relaxed));
        if self.born.elapsed().saturating_sub(heard) < IDLE_BEFORE_CHECK {
            return true;
        }
        self.answers(connection).await
    }

    async fn answers(&self, connection: &Connection) -> bool {
        let asked = tokio::time::timeout(self.options.check_timeout, connection.ping()).await;
        let is_there = asked.unwrap_or(false);
        if is_there {
            self.record_message();
        }
        is_there
    }
}

/// Whether a call that failed so says that the connection is gone.
fn is_loss(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Broken | FaultKind::Flooding | FaultKind::Unreachable)
}

/// Pauses the server for [`DROPPED_PAUSE`], because it would flood the connection again.
fn pause_after_drop(state: &mut State, because: &str) {
    state.dropped = Some(because.to_owned());
    state.not_before = Some(Instant::now() + DROPPED_PAUSE);
}

/// Pings the server if a call is dropped before it ends, for example by a timeout. One that does not answer gets no new
/// calls and is ended, but not before the calls of others have ended: it may work on one call at a time.
struct CallWatch<'a> {
    shared: &'a Arc<ServerState>,
    connection: &'a Arc<Connection>,
    is_done: bool,
}

impl<'a> CallWatch<'a> {
    fn new(shared: &'a Arc<ServerState>, connection: &'a Arc<Connection>) -> Self {
        connection.running.send_modify(|calls| *calls += 1);
        Self { shared, connection, is_done: false }
    }

    fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for CallWatch<'_> {
    fn drop(&mut self) {
        self.connection.running.send_modify(|calls| *calls -= 1);
        if self.is_done {
            return;
        }
        let (shared, connection) = (Arc::clone(self.shared), Arc::clone(self.connection));
        // Outside a runtime there is nothing to check.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            if !shared.answers(&connection).await {
                tracing::info!(server = %shared.name, "does not answer at all; ending it");
                shared.record_loss(&connection).await;
                let mut running = connection.running.subscribe();
                // It fails only without a sender, and the connection is one.
                running.wait_for(|calls| *calls == 0).await.ok();
                connection.close(Duration::ZERO).await;
            }
        });
    }
}

#[cfg(all(test, unix))]
mod tests;
