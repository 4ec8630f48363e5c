//! The state that all requests share.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use axum::Extension;
use axum::http::HeaderMap;
use tokio::sync::{OwnedSemaphorePermit, broadcast};
use toolroute_rank::engine::{Engine, Map};
use toolroute_rank::feedback::client_session;
use toolroute_session::Session;

use super::bodies::{BODY_BUDGET, BodyBudget};
use super::guard::{RETRY_AFTER, Token, WorkQueue};
use super::log_limit::LogLimit;
use super::watch::StreamEvent;
use super::{ApiError, Client, Conduct, Limits};
use crate::filter::DEFAULT_KEEP;
use crate::{CurrentService, FindRequest, FindResult, Service, Sources};

/// Stores the text of [`Changes`](crate::Changes) for the next start.
pub type Persist = Arc<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

/// Options of the HTTP API. The defaults suit tests and programs that embed the API.
#[derive(Clone)]
pub struct HttpOptions {
    /// The number of CPU-bound tasks, such as selections, that run at the same time.
    pub workers: usize,
    /// The number of requests that may wait for a worker. Further ones are answered with 503.
    pub queue: usize,
    /// The limit of a request body in bytes.
    pub max_body: usize,
    /// The time limit of an answer. Calls of tools have limits of their own.
    pub timeout: Duration,
    /// Limits of connections.
    pub connections: Limits,
    /// Host names of the server, in addition to the loopback ones.
    pub hosts: Vec<String>,
    /// The token that clients must send. It is necessary if other machines can reach the server.
    pub token: Option<Token>,
    /// The default number of tools that `POST /v1/tools/filter` keeps for the prompt.
    pub keep: usize,
    /// The files that a reload reads. Without them a reload is refused.
    pub sources: Option<Arc<dyn Sources>>,
    /// Stores changes of the catalog. Without it they are lost when the program ends.
    pub persist: Option<Persist>,
    /// The conductor of `POST /v1/conduct`. Without it, such requests are refused.
    pub conduct: Option<Conduct>,
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOptions")
            .field("workers", &self.workers)
            .field("queue", &self.queue)
            .field("max_body", &self.max_body)
            .field("timeout", &self.timeout)
            .field("connections", &self.connections)
            .field("hosts", &self.hosts)
            .field("token", &self.token)
            .field("keep", &self.keep)
            .finish_non_exhaustive()
    }
}

/// Waiting requests. A handful of clients that ask at the same time are answered one after the other,
/// also on one core; dozens of selections take less than a second.
const QUEUE: usize = 64;

/// How long a request waits for a worker before it is answered with 503: less than the time limit of
/// an answer, because a request that has only waited can be sent again.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

impl Default for HttpOptions {
    fn default() -> Self {
        let workers = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            workers,
            queue: QUEUE,
            max_body: 4 << 20,
            timeout: Duration::from_secs(30),
            connections: Limits::default(),
            hosts: Vec::new(),
            token: None,
            keep: DEFAULT_KEEP,
            sources: None,
            persist: None,
            conduct: None,
        }
    }
}

/// The header that names the session of a request, if the body does not.
pub const SESSION_HEADER: &str = "x-toolroute-session";

/// The session name in the headers.
fn named_by(headers: &HeaderMap) -> Option<Result<&str, ApiError>> {
    let name = headers.get(SESSION_HEADER)?.to_str();
    let said = "expected the header `x-toolroute-session` with printable ASCII characters";
    Some(name.map_err(|_| ApiError::bad_request(said)))
}

/// The state of the API.
pub struct App {
    pub(super) service: RwLock<Arc<Service>>,
    pub(super) options: HttpOptions,
    pub(super) queue: WorkQueue,
    pub(super) bodies: BodyBudget,
    pub(super) log_limit: LogLimit,
    /// Held during a reload and during a change of the catalog.
    pub(super) changing: tokio::sync::Mutex<()>,
    /// Held during a conducted request: the ledger has one writer.
    pub(super) conducting: Arc<tokio::sync::Mutex<()>>,
    pub(super) stream_events: broadcast::Sender<StreamEvent>,
    /// The latest map, and the engine whose tools it shows.
    map: Mutex<Option<(Arc<Engine>, Arc<Map>)>>,
}

/// The number of events that a slow client may lag behind before it misses some.
const STREAM_EVENTS: usize = 256;

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App")
            .field("service", &self.service())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl App {
    /// Creates the state of an API for a service.
    pub fn new(service: Arc<Service>, options: HttpOptions) -> Arc<Self> {
        Arc::new(Self {
            service: RwLock::new(service),
            queue: WorkQueue::new(options.workers, options.queue),
            bodies: BodyBudget::new(BODY_BUDGET.max(options.max_body)),
            log_limit: LogLimit::default(),
            options,
            changing: tokio::sync::Mutex::default(),
            conducting: Arc::default(),
            stream_events: broadcast::Sender::new(STREAM_EVENTS),
            map: Mutex::default(),
        })
    }

    /// The current service. A reload may replace it; requests in progress keep the one that they
    /// hold.
    pub fn service(&self) -> Arc<Service> {
        self.service.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The current service for those who ask for it again and again.
    #[doc(hidden)] // For our own crates.
    pub fn current(self: &Arc<Self>) -> CurrentService {
        let app = Arc::clone(self);
        Arc::new(move || app.service())
    }

    /// Waits for a worker. 503 if the queue is full or moves too slowly.
    async fn worker(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        let entered = tokio::time::timeout(LONGEST_WAIT, self.queue.enter()).await;
        entered.unwrap_or_else(|_| Err(ApiError::busy(RETRY_AFTER)))
    }

    /// Runs CPU-bound work on the runtime's blocking pool, once a worker is free.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let permit = self.worker().await?;
        let working = tokio::task::spawn_blocking(move || {
            // Held until the work is done, even if the client has disconnected.
            let _permit = permit;
            work()
        });
        Ok(working.await?)
    }

    /// The session that a request names in its body or its header for its profile, or else a new
    /// session.
    pub(super) fn session(
        &self,
        (profile, name): (Option<&str>, Option<&str>),
        headers: &HeaderMap,
    ) -> Result<Arc<Session>, ApiError> {
        let service = self.service();
        match name.map(Ok).or_else(|| named_by(headers)) {
            Some(name) => Ok(service.sessions().named(profile, name?)?),
            None => Ok(service.sessions().limited(Session::default())),
        }
    }

    /// Like [`App::session`], for a request that is logged. If it names no session, the log uses
    /// its sender's address.
    pub(super) fn logged_session(
        &self,
        client: Option<Extension<Client>>,
        (profile, name): (Option<&str>, Option<&str>),
        headers: &HeaderMap,
    ) -> Result<Arc<Session>, ApiError> {
        if name.is_some() || headers.contains_key(SESSION_HEADER) {
            return self.session((profile, name), headers);
        }
        let client = client.map_or_else(|| "unknown".to_owned(), |client| client.0.to_string());
        Ok(self.service().sessions().limited(Session::new(client_session(&client))))
    }

    /// Selects tools, once a worker is free.
    pub(super) async fn find(&self, find: FindRequest) -> Result<FindResult, ApiError> {
        let service = self.service();
        service.announced_lists(&find).await;
        let permit = self.worker().await?;
        let finding = tokio::spawn(async move {
            let _permit = permit;
            service.find(find).await
        });
        Ok(finding.await??)
    }

    /// The map of the engine's catalog, computed once for each version.
    pub(super) fn map(&self, engine: &Arc<Engine>) -> Result<Arc<Map>, ApiError> {
        let known = || self.map.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, map)) = &*known()
            && Arc::ptr_eq(of, engine)
            && map.version == engine.version()
        {
            return Ok(Arc::clone(map));
        }
        let map = Arc::new(engine.vectors()?.map());
        *known() = Some((Arc::clone(engine), Arc::clone(&map)));
        Ok(map)
    }
}
