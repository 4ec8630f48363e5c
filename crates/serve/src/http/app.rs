//! What all requests share.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use axum::Extension;
use axum::http::HeaderMap;
use tokio::sync::broadcast;

use super::changes::Changes;
use super::log_limit::LogLimit;
use super::watch::Happening;
use super::{ApiError, Client, Conduct, Limits, Persist, Reload};
use crate::bodies::{BODY_BUDGET, Bodies};
use crate::engine::{Engine, Map};
use crate::filter::DEFAULT_KEEP;
use crate::guard::{Gate, Token};
use crate::session::Session;
use crate::{Find, Found, Service};

/// How the API works. The default is for tests and for programs that embed it.
#[derive(Clone)]
pub struct HttpOptions {
    /// Selections and other work for the processor at a time.
    pub workers: usize,
    /// Requests that may wait for their turn; those beyond it are turned away.
    pub queue: usize,
    /// Bytes of a body.
    pub max_body: usize,
    /// How long an answer may take; calls of tools have limits of their own.
    pub timeout: Duration,
    pub connections: Limits,
    /// Names under which the server is reached, beside the loopback ones.
    pub hosts: Vec<String>,
    pub token: Option<Token>,
    /// Tools that `POST /v1/tools/filter` keeps for the prompt where the request does not say.
    pub keep: usize,
    pub reload: Option<Reload>,
    /// Where changes of tools are kept; without it they end with the program.
    pub persist: Option<Persist>,
    /// Changes of an earlier time, which the service's catalog has already.
    pub changes: Changes,
    pub conduct: Option<Conduct>,
}

/// Requests that wait for each one that is at work: as many as keep the 99th percentile under ten times
/// the load of `scripts/load.sh` within twice that under the load.
const QUEUE_PER_WORKER: usize = 1;

impl Default for HttpOptions {
    fn default() -> Self {
        let workers = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            workers,
            queue: workers * QUEUE_PER_WORKER,
            max_body: 4 << 20,
            timeout: Duration::from_secs(30),
            connections: Limits::default(),
            hosts: Vec::new(),
            token: None,
            keep: DEFAULT_KEEP,
            reload: None,
            persist: None,
            changes: Changes::default(),
            conduct: None,
        }
    }
}

/// Names the session that a request belongs to, where its body does not.
pub const SESSION_HEADER: &str = "x-toolroute-session";

/// The session that a header names.
fn named_by(headers: &HeaderMap) -> Option<Result<&str, ApiError>> {
    let name = headers.get(SESSION_HEADER)?.to_str();
    let said = "expected the header `x-toolroute-session` with printable ASCII characters";
    Some(name.map_err(|_| ApiError::bad_request(said)))
}

/// The state of the API.
pub struct App {
    service: RwLock<Arc<Service>>,
    pub(super) options: HttpOptions,
    pub(super) gate: Gate,
    pub(super) bodies: Bodies,
    pub(super) log_limit: LogLimit,
    pub(super) changes: Arc<Mutex<Changes>>,
    /// One reload, or one change of tools, at a time.
    pub(super) changing: tokio::sync::Mutex<()>,
    /// One conducted request at a time: the ledger has one writer.
    pub(super) conducting: tokio::sync::Mutex<()>,
    /// What the present engine is made of beside catalog and configuration, once that was asked.
    pub(super) rest: Mutex<Option<String>>,
    pub(super) happenings: broadcast::Sender<Happening>,
    /// The map that was asked for last, and the engine that it is of.
    map: Mutex<Option<(Arc<Engine>, Arc<Map>)>>,
}

/// Happenings that a slow listener may lag behind before it misses some.
const HAPPENINGS: usize = 256;

impl App {
    pub fn new(service: Arc<Service>, options: HttpOptions) -> Arc<Self> {
        let changes = Arc::new(Mutex::new(options.changes.clone()));
        let made = Arc::clone(&changes);
        service.edited_by(Arc::new(move |server: &str, listed| {
            made.lock().unwrap_or_else(PoisonError::into_inner).over(server, listed)
        }));
        Arc::new(Self {
            service: RwLock::new(service),
            gate: Gate::new(options.workers, options.queue),
            bodies: Bodies::new(BODY_BUDGET.max(options.max_body)),
            log_limit: LogLimit::default(),
            changes,
            options,
            changing: tokio::sync::Mutex::default(),
            conducting: tokio::sync::Mutex::default(),
            rest: Mutex::default(),
            happenings: broadcast::Sender::new(HAPPENINGS),
            map: Mutex::default(),
        })
    }

    /// The service as it is now. Who holds one from before goes on with it.
    pub fn service(&self) -> Arc<Service> {
        self.service.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn replace_service(&self, service: Arc<Service>) {
        *self.service.write().unwrap_or_else(PoisonError::into_inner) = service;
    }

    /// Work for the processor, in its turn and off the threads that connections share.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let permit = self.gate.enter().await?;
        let working = tokio::task::spawn_blocking(move || {
            // Held until the work is done, also where the client has gone.
            let _permit = permit;
            work()
        });
        working.await.map_err(|_| ApiError::internal(&"a panic; it is told above"))
    }

    /// The session that a request of a profile names in its body or its header; one of its own where it
    /// names none.
    pub(super) fn session(
        &self,
        (profile, name): (Option<&str>, Option<&str>),
        headers: &HeaderMap,
    ) -> Result<Arc<Session>, ApiError> {
        let service = self.service();
        match name.map(Ok).or_else(|| named_by(headers)) {
            Some(name) => Ok(service.sessions().named(profile, name?)?),
            None => Ok(service.sessions().of_request()),
        }
    }

    /// [`App::session`] of a request that is logged: where it names none, it is one of its sender's.
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
        Ok(self.service().sessions().of_sender(&client))
    }

    /// A selection, in its turn.
    pub(super) async fn find(&self, find: Find) -> Result<Found, ApiError> {
        let permit = self.gate.enter().await?;
        let service = self.service();
        let finding = tokio::spawn(async move {
            let _permit = permit;
            service.find(find).await
        });
        let found = finding.await.map_err(|_| ApiError::internal(&"a panic; it is told above"))?;
        Ok(found?)
    }

    /// The map of the engine's present catalog, made once a version.
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
