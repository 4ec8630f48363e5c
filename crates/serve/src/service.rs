//! Finds, describes and calls tools for every kind of client, and tracks the state of the MCP
//! servers that run them (the upstream servers).
//!
//! The service must not know how a request came in (MCP or HTTP) nor how tools are ranked or
//! called: it asks the engine and the executor.

mod about;
mod approvals;
mod call;
mod changes;
mod find;
mod kept_vectors;
mod list_changes;
mod recent;
mod requests;
mod run;
mod screening;
mod sessions;
mod upstream;
mod visibility;
mod watch;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Instant, SystemTime};

use tokio::sync::broadcast;
use toolroute_catalog::{Catalog, Tool, ToolId};
use toolroute_rank::engine::Engine;
use toolroute_run::execution::{Executor, LeftOut, Neighbor, Permissions, Servers};
use toolroute_vectors::embedding::Embedder;

use crate::profile::View;
use crate::{Error, Profile, Profiles};

pub use about::About;
pub use call::CallRequest;
pub use changes::Changes;
pub(crate) use changes::differences;
pub(crate) use find::ManyResults;
pub use find::{FindRequest, FindResult, UnavailableServer};
pub(crate) use list_changes::LIST_WAIT;
pub use recent::RecentSelection;
pub use run::RunRequest;
pub use screening::{Notes, Screening};
pub use sessions::Sessions;
pub use upstream::{ServerState, Status};
pub(crate) use visibility::HiddenTools;

/// The parts of a service that [`Assembly`](crate::Assembly) adds to its engine.
#[derive(Clone, Default)]
pub(crate) struct ServiceOptions {
    /// Calls tools. Without an executor, tools are only found.
    pub executor: Option<Arc<Executor>>,
    /// The names of the servers that the program makes itself. They are not asked for their tools
    /// at the start, and pins do not apply to them.
    pub own_servers: BTreeSet<String>,
    /// The executor's permissions. A tool that may never run is not found either.
    pub permissions: Permissions,
    pub profiles: Profiles,
    /// Whether a failed call is never answered by another tool, not even by a declared fallback.
    pub no_fallback: bool,
    /// Whether a tool with a similar meaning may answer for one that failed, if both only read.
    pub fallback_by_meaning: bool,
    pub keep: Option<Keep>,
    pub screening: Option<Screening>,
    /// The servers of the file that cannot be started, each with the reason. They are still listed.
    pub left_out: BTreeMap<String, LeftOut>,
    /// The number of tools that each server lists only to clients with sampling or
    /// roots.
    pub withheld: BTreeMap<String, usize>,
    /// The hidden tools in each server's last known list.
    pub hidden: BTreeMap<String, HiddenTools>,
    /// The sessions of clients that name one. A service that replaces another takes over its
    /// sessions.
    pub sessions: Arc<Sessions>,
    /// The changes that clients made to the catalog. A service that replaces another takes them
    /// over.
    pub changes: Arc<Mutex<Changes>>,
    pub parts: Parts,
    pub first_lists: FirstLists,
    /// Whether no source of tools is configured.
    pub without_sources: bool,
}

/// Stores the tools that a server lists. Returns the tools to search, with the user's additions
/// such as tiers.
pub type Keep = Arc<dyn Fn(&str, Vec<Tool>) -> Vec<Tool> + Send + Sync>;

/// The lists of tools that [`Service::start`] requests first.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstLists {
    pub stale: Vec<String>,
    /// Those of which no list is known, whatever tools files have of them.
    pub unlisted: Vec<String>,
    pub vectors: Option<PathBuf>,
}

/// The parts that decide on a reload whether a service can take over a changed catalog or must be
/// rebuilt.
#[derive(Clone, Default)]
pub(crate) struct Parts {
    pub model: Option<Arc<dyn Embedder>>,
    pub usage: Option<(PathBuf, u64, Option<SystemTime>)>,
    pub servers: Option<(BTreeMap<String, String>, String)>,
    pub own_servers: Servers,
    pub without_sources: bool,
}

impl Parts {
    /// Whether the same servers run the tools, with the same options.
    pub fn have_same_servers(&self, other: &Self) -> bool {
        self.servers == other.servers && self.own_servers.are_same(&other.own_servers)
    }
}

impl PartialEq for Parts {
    fn eq(&self, other: &Self) -> bool {
        let is_same_model = match (&self.model, &other.model) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        };
        let is_same_kind = self.without_sources == other.without_sources;
        is_same_model && is_same_kind && self.usage == other.usage && self.have_same_servers(other)
    }
}

/// A change that clients may want to be notified of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The tools of the catalog changed.
    Tools,
    Prompts,
    Resources,
    /// The content of a resource changed.
    Resource {
        uri: String,
    },
    /// The state of a server changed.
    Server {
        name: String,
    },
}

type Near = HashMap<ToolId, Arc<Vec<Neighbor>>>;

/// The number of notices that a slow receiver may lag behind before it misses some.
const NOTICES: usize = 256;

/// Finds, describes and calls tools for all clients of a program. Share it by `Arc`.
pub struct Service {
    engine: Arc<Engine>,
    pub(crate) options: ServiceOptions,
    views: BTreeMap<String, View>,
    /// The state of each server, by name.
    upstreams: RwLock<BTreeMap<String, ServerState>>,
    /// The listed tools of each server that no client gets.
    hidden: RwLock<BTreeMap<String, HiddenTools>>,
    list_changes: Arc<list_changes::ListChanges>,
    /// The stamp of the pins whose approvals are in the catalog; 0 before the first request.
    pins_stamp: AtomicU64,
    /// When approvals are looked for again after they could not be taken in.
    retry_approvals: Mutex<Option<Instant>>,
    /// Held during a change of the catalog, because each change starts from the result of the
    /// previous one.
    refreshing: tokio::sync::Mutex<()>,
    recent: Mutex<recent::Ring>,
    notices: broadcast::Sender<Notice>,
    /// The start of the service. Servers have some seconds after it to return their first lists.
    began: Instant,
    /// The neighbors of called tools, for one version of the catalog.
    near: Mutex<(u64, Near)>,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl Service {
    /// A service over an engine whose catalog is known already. No server is asked before
    /// [`Service::start`].
    pub(crate) fn new(engine: Arc<Engine>, options: ServiceOptions) -> Result<Arc<Self>, Error> {
        let view = |(name, profile): (&String, &Profile)| {
            Ok::<_, Error>((name.clone(), View::new(profile.clone())?))
        };
        let views: Result<BTreeMap<_, _>, _> = options.profiles.iter().map(view).collect();
        let upstreams = upstream::at_first(&options, &engine.catalog());
        let service = Arc::new(Self {
            engine,
            views: views?,
            hidden: RwLock::new(options.hidden.clone()),
            options,
            upstreams: RwLock::new(upstreams),
            list_changes: Arc::default(),
            pins_stamp: AtomicU64::new(0),
            retry_approvals: Mutex::default(),
            refreshing: tokio::sync::Mutex::default(),
            recent: Mutex::default(),
            notices: broadcast::Sender::new(NOTICES),
            began: Instant::now(),
            near: Mutex::default(),
        });
        service.hold_back();
        Ok(service)
    }

    /// The engine that finds the tools.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The executor that calls the tools; `None` if there are no servers that run them.
    pub fn executor(&self) -> Option<&Arc<Executor>> {
        self.options.executor.as_ref()
    }

    /// The current catalog.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.engine.catalog()
    }

    /// Checks that there is a catalog.
    pub(crate) fn expect_catalog(&self) -> Result<(), Error> {
        match self.options.without_sources && self.engine.catalog().is_empty() {
            true => Err(Error::NoCatalog),
            false => Ok(()),
        }
    }

    /// Returns the tool with this id, as `server__tool` or `server:tool`, or with this name if only
    /// one tool has it.
    ///
    /// # Errors
    /// [`Error::UnknownTool`] with similar ids; [`Error::HeldBack`] or [`Error::NotListed`], which
    /// state why the tool is missing; [`Error::NoCatalog`]; [`Error::UnknownProfile`].
    pub fn describe(&self, id: &str, profile: Option<&str>) -> Result<Arc<Tool>, Error> {
        self.expect_catalog()?;
        let view = self.view(profile)?;
        let catalog = self.engine.catalog();
        let found = catalog.row(id).map(|row| &catalog.tools()[row as usize]);
        if let Some(tool) = found.filter(|tool| view.admits(tool)) {
            return Ok(Arc::clone(tool));
        }
        Err(self.missing(id, view))
    }

    /// The profile with this name, or the nameless profile for `None`.
    ///
    /// # Errors
    /// [`Error::UnknownProfile`].
    #[doc(hidden)] // For our own crates.
    pub fn profile(&self, name: Option<&str>) -> Result<&Profile, Error> {
        Ok(&self.view(name)?.profile)
    }

    /// The names of all profiles, without the nameless one.
    pub fn profiles(&self) -> impl Iterator<Item = &str> {
        self.views.keys().map(String::as_str).filter(|name| !name.is_empty())
    }

    fn view(&self, name: Option<&str>) -> Result<&View, Error> {
        static OPEN: std::sync::LazyLock<View> = std::sync::LazyLock::new(View::default);
        match (self.views.get(name.unwrap_or_default()), name) {
            (Some(view), _) => Ok(view),
            (None, None | Some("")) => Ok(&OPEN),
            (None, Some(name)) => Err(Error::UnknownProfile {
                name: name.to_owned(),
                known: self.profiles().map(str::to_owned).collect(),
            }),
        }
    }

    /// Whether clients of a profile may find and call the tool.
    ///
    /// # Errors
    /// [`Error::UnknownProfile`].
    #[doc(hidden)] // For our own crates.
    pub fn sees(&self, tool: &Tool, profile: Option<&str>) -> Result<bool, Error> {
        Ok(self.view(profile)?.admits(tool))
    }

    /// The changes that clients made to the catalog. They are applied to every list of a server.
    pub(crate) fn changes(&self) -> MutexGuard<'_, Changes> {
        self.options.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// While the guard is held, no list of a server is taken in.
    pub(crate) async fn pause_lists(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.refreshing.lock().await
    }

    /// A receiver of all changes from now on.
    #[doc(hidden)] // For our own crates.
    pub fn notices(&self) -> broadcast::Receiver<Notice> {
        self.notices.subscribe()
    }

    fn notify(&self, notice: Notice) {
        // An error means that there is no receiver.
        self.notices.send(notice).ok();
    }

    /// The latest selections, newest first.
    #[doc(hidden)] // For our own crates.
    pub fn recent(&self) -> Vec<RecentSelection> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).newest_first()
    }

    /// Stops all servers that were started, and flushes the engine's log.
    pub async fn close(&self) {
        if let Some(executor) = &self.options.executor {
            executor.close().await;
        }
        let engine = Arc::clone(&self.engine);
        tokio::task::spawn_blocking(move || engine.close()).await.ok();
    }

    /// The sessions of clients that name one.
    #[doc(hidden)] // For our own crates.
    pub fn sessions(&self) -> &Arc<Sessions> {
        &self.options.sessions
    }
}

/// Runs CPU-bound work on the runtime's blocking pool, so that connections are served meanwhile.
pub(super) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::Unfinished)
}
