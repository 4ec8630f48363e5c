//! What both faces of the server share: find, describe, call, and the state of the servers behind.

mod about;
mod ask;
mod call;
mod find;
mod recent;
mod run;
mod seen;
mod sessions;
mod upstream;
mod watch;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use tokio::sync::broadcast;

use super::profile::View;
use super::{Error, Profile, Profiles};
use crate::catalog::{Catalog, Tool, ToolId};
use crate::engine::{Engine, HeldTool};
use crate::execution::{Executor, LeftOut, Neighbor, Permissions};

pub use about::About;
pub use call::CallTool;
pub use find::{Find, Found, Unavailable};
pub use recent::Recent;
pub use run::RunPrompt;
pub use seen::{Admitted, Hidden};
pub use sessions::Sessions;
pub use upstream::{ServerState, Status};

/// Keeps the tools that a server lists, and gives back those to search: with what the user adds
/// to them, such as tiers.
pub type Keep = Arc<dyn Fn(&str, Vec<Tool>) -> Vec<Tool> + Send + Sync>;

/// Looks over a server's tools before anybody may find them.
pub type Screen = Arc<dyn Fn(&str, Vec<Tool>) -> Screened + Send + Sync>;

/// A server's tools, looked over.
#[derive(Clone, Debug, Default)]
pub struct Screened {
    pub free: Vec<Tool>,
    /// Those that nobody may find or call.
    pub held: Vec<HeldTool>,
}

/// Makes the user's own changes to what a server lists: what was taken out stays out, what was put in
/// stays in.
pub type Edit = Arc<dyn Fn(&str, Vec<Tool>) -> Vec<Tool> + Send + Sync>;

/// What a service is made of, beside its engine.
#[derive(Clone, Default)]
pub struct ServiceOptions {
    /// Calls tools. Without one they are only found.
    pub executor: Option<Arc<Executor>>,
    /// The executor's permissions: what may never run is not found either.
    pub permissions: Permissions,
    pub profiles: Profiles,
    /// No other tool answers for one that fails, not even one that is declared to.
    pub no_fallback: bool,
    /// A tool near in meaning may answer for one that fails, where both only read.
    pub fallback_by_meaning: bool,
    pub keep: Option<Keep>,
    pub screen: Option<Screen>,
    /// The servers of the file that cannot be started, and why: they are listed all the same.
    pub left_out: BTreeMap<String, LeftOut>,
    /// By server, how many tools it is known to list only to clients that offer what it may ask of them.
    pub withheld: BTreeMap<String, usize>,
    /// By server, what is known to be hidden of the tools that it listed another time.
    pub hidden: BTreeMap<String, Hidden>,
    /// Nothing of a server is given out before one of its tools was admitted.
    pub approved_only: bool,
    /// Those of clients that name one; the same ones when a service takes another's place.
    pub sessions: Arc<Sessions>,
}

/// Something that clients may want to hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The catalog has other tools now.
    Tools,
    /// A server has other prompts now.
    Prompts,
    /// A server has other resources now.
    Resources,
    /// The content of a resource is another now.
    Resource { uri: String },
    /// The state of a server is another now.
    Server { name: String },
}

/// Who is near each tool that was asked about.
type Near = HashMap<ToolId, Arc<Vec<Neighbor>>>;

/// Notices that a slow listener may lag behind before it misses some.
const NOTICES: usize = 256;

/// Finds, describes and calls tools for all clients of a program. Share it by `Arc`.
pub struct Service {
    engine: Arc<Engine>,
    options: ServiceOptions,
    views: BTreeMap<String, View>,
    /// What is known of each server, by name.
    upstreams: RwLock<BTreeMap<String, ServerState>>,
    /// By server, what it lists and nobody gets.
    hidden: RwLock<BTreeMap<String, Hidden>>,
    edit: RwLock<Option<Edit>>,
    /// One change of the catalog at a time: each is made from what the one before left.
    refreshing: tokio::sync::Mutex<()>,
    recent: Mutex<recent::Ring>,
    notices: broadcast::Sender<Notice>,
    /// When it began: who is asked for its tools for the first time has a while from then.
    began: Instant,
    /// Who can stand in for a tool, of one version of the catalog.
    near: Mutex<(u64, Near)>,
}

impl Service {
    /// A service over a catalog that is known already, as from the last time. No server is asked
    /// before [`Service::connect`].
    ///
    /// # Errors
    /// A profile with a pattern that cannot be read.
    pub fn new(engine: Arc<Engine>, options: ServiceOptions) -> Result<Arc<Self>, Error> {
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
            edit: RwLock::default(),
            refreshing: tokio::sync::Mutex::default(),
            recent: Mutex::default(),
            notices: broadcast::Sender::new(NOTICES),
            began: Instant::now(),
            near: Mutex::default(),
        });
        service.hold_back();
        Ok(service)
    }

    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub fn executor(&self) -> Option<&Arc<Executor>> {
        self.options.executor.as_ref()
    }

    /// The catalog as it is now.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.engine.catalog()
    }

    /// One tool in full.
    ///
    /// # Errors
    /// [`Error::UnknownTool`], with ids that may have been meant; [`Error::HeldBack`] and
    /// [`Error::NotListed`], which say why it is not there; [`Error::UnknownProfile`].
    pub fn describe(&self, id: &str, profile: Option<&str>) -> Result<Arc<Tool>, Error> {
        let view = self.view(profile)?;
        let catalog = self.engine.catalog();
        let found = catalog.row(id).map(|row| &catalog.tools()[row as usize]);
        if let Some(tool) = found.filter(|tool| view.admits(tool)) {
            return Ok(Arc::clone(tool));
        }
        Err(self.missing(id, view))
    }

    /// The profile of a name; the nameless one where none is asked for.
    ///
    /// # Errors
    /// [`Error::UnknownProfile`].
    pub fn profile(&self, name: Option<&str>) -> Result<&Profile, Error> {
        Ok(&self.view(name)?.profile)
    }

    /// Names of profiles that can be asked for.
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

    /// Whether clients of a profile may see the tool.
    ///
    /// # Errors
    /// [`Error::UnknownProfile`].
    pub fn sees(&self, tool: &Tool, profile: Option<&str>) -> Result<bool, Error> {
        Ok(self.view(profile)?.admits(tool))
    }

    /// Has the user's changes made to every list of a server from now on.
    pub fn edited_by(&self, edit: Edit) {
        *self.edit.write().unwrap_or_else(PoisonError::into_inner) = Some(edit);
    }

    /// Who makes the user's changes, if anybody.
    pub fn edit(&self) -> Option<Edit> {
        self.edit.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps servers' lists from being taken in as long as it is held.
    pub async fn still(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.refreshing.lock().await
    }

    /// What changes from now on.
    pub fn notices(&self) -> broadcast::Receiver<Notice> {
        self.notices.subscribe()
    }

    fn tell(&self, notice: Notice) {
        // Nobody may be listening, which is fine.
        self.notices.send(notice).ok();
    }

    /// The latest answers, newest first.
    pub fn recent(&self) -> Vec<Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).newest_first()
    }

    /// Ends all servers that were started, and writes what the engine has not written yet.
    pub async fn close(&self) {
        if let Some(executor) = &self.options.executor {
            executor.close().await;
        }
        let engine = Arc::clone(&self.engine);
        tokio::task::spawn_blocking(move || engine.close()).await.ok();
    }

    /// The sessions of clients that name one.
    pub fn sessions(&self) -> &Arc<Sessions> {
        &self.options.sessions
    }
}

/// Work for the processor, off the threads that connections share.
pub(super) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::Unfinished)
}
