//! Assembles engine, executor, pins and log, once for every long-running program.
//!
//! An [`Assembly`] holds plain values: tools, paths and options. [`Assembly::build`] makes a
//! running [`Service`] from them, and [`Sources`] makes a new assembly when files have changed. The
//! assembly must not know where its values come from: it reads no environment variables and no
//! configuration.

mod reload;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use toolroute_catalog::Catalog;
use toolroute_rank::engine::{Engine, EngineConfig};
use toolroute_rank::feedback::{self, StoreOptions, UsageVectors};
use toolroute_run::execution::{
    CallLimits, Executor, ExecutorOptions, McpOptions, Servers, ServersFile,
};
use toolroute_run::pins::{Pins, screen_catalog};
use toolroute_session::join;
use toolroute_vectors::embedding::Embedder;

use crate::service::{
    Changes, FirstLists, HiddenTools, Keep, Notes, Parts, Screening, Service, ServiceOptions,
    Sessions,
};
use crate::{Error, Profiles};

pub use reload::Sources;
pub(crate) use reload::{RebuildResult, rebuild};

/// The parts of a service. Each part has a default that leaves it out.
///
/// A program that serves a catalog of its own over HTTP, on a free port:
///
/// ```
/// # use toolroute_catalog::{Catalog, Tool};
/// # use toolroute_serve::http::{App, HttpOptions, serve};
/// # use toolroute_serve::{Assembly, Shutdown};
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// # runtime.block_on(async {
/// let tools = vec![
///     Tool::new(Some("fs"), "read_file", "Reads a file from disk"),
///     Tool::new(Some("mail"), "send_email", "Sends an email to a person"),
/// ];
/// let catalog = Catalog::from_tools(tools).catalog;
/// let service = Assembly { catalog, ..Assembly::default() }.build()?;
/// // Asks MCP servers for their tools in the background; this assembly names none.
/// tokio::spawn(service.start());
///
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
/// let address = listener.local_addr()?;
/// let (app, shutdown) = (App::new(service, HttpOptions::default()), Shutdown::default());
/// let serving = tokio::spawn({
///     let (app, shutdown) = (app.clone(), shutdown.clone());
///     async move { serve(listener, app, &shutdown).await }
/// });
///
/// // A client would send this to `address`.
/// # let answer = post(address, "/v1/select", r#"{"prompt": "send an email to Dana"}"#).await?;
/// # /*
/// let answer = client.post(format!("http://{address}/v1/select")).json(…).send().await?;
/// # */
/// assert!(answer.contains("mail__send_email"));
///
/// shutdown.begin();
/// serving.await??;
/// app.service().close().await;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # async fn post(to: std::net::SocketAddr, path: &str, body: &str) -> std::io::Result<String> {
/// #     use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
/// #     let mut stream = tokio::net::TcpStream::connect(to).await?;
/// #     let length = body.len();
/// #     let head = format!("POST {path} HTTP/1.1\r\nhost: {to}\r\ncontent-type: application/json\r\n");
/// #     let rest = format!("content-length: {length}\r\nconnection: close\r\n\r\n{body}");
/// #     stream.write_all(format!("{head}{rest}").as_bytes()).await?;
/// #     let mut answer = String::new();
/// #     stream.read_to_string(&mut answer).await?;
/// #     Ok(answer)
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Assembly {
    /// The tools at the start: those of files, and those that the servers listed last time. Tools
    /// of `servers` that permissions or pins forbid are removed.
    pub catalog: Catalog,
    /// Whether no source of tools is configured. Then an empty catalog is not an error: the service
    /// is ready, and requests that need a catalog get [`Error::NoCatalog`].
    pub without_sources: bool,
    /// The changes that clients made to the catalog over HTTP in an earlier run.
    #[doc(hidden)] // For our own crates: `toolroute serve` keeps them in a file.
    pub changes: Changes,
    /// The settings of the engine.
    pub config: EngineConfig,
    /// The embedding model. Without one the engine ranks by words alone.
    pub model: Option<Arc<dyn Embedder>>,
    /// Where the catalog's vectors are kept between two starts.
    pub vectors: VectorFile,
    /// The file of usage vectors ([`UsageVectors`]), which are learned from past prompts.
    pub usage: Option<PathBuf>,
    /// Whether `usage` may be missing, because this program writes it ([`crate::learn_every`]).
    pub usage_may_be_missing: bool,
    /// The log of executions.
    pub log: Option<(PathBuf, StoreOptions)>,
    /// The MCP servers and APIs that run the tools. Without them and `own_servers`, tools are found
    /// but not called.
    pub servers: Option<Upstreams>,
    /// Servers that this program makes itself: closures
    /// ([`Closures`](toolroute_run::execution::Closures)) and invokers of its own, by name. Their
    /// tools are in `catalog`. They go before servers of the file with the same names. Pins do not
    /// apply to them, because their tools are this program's own.
    pub own_servers: Servers,
    /// How tools are called. The permissions apply without `servers` too.
    pub executor: ExecutorOptions,
    /// Holds back tools whose definitions changed. Applies to the tools of `servers`.
    pub pins: Option<Pins>,
    /// What the clients of each profile may find and call; the empty name is the default profile.
    pub profiles: Profiles,
    /// The limits of the calls of one session.
    pub session_limits: CallLimits,
    /// Whether a failed call is never answered by another tool, not even by a declared fallback.
    pub no_fallback: bool,
    /// Whether a tool with a similar meaning may answer for one that failed, if both only read.
    pub fallback_by_meaning: bool,
    /// Receives lines for the user, such as warnings about pins.
    pub notes: Notes,
}

/// The file that keeps the catalog's vectors between two starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum VectorFile {
    /// Vectors are computed at each start.
    #[default]
    None,
    /// A file that the user named. Anything else at this path is an error.
    Snapshot(PathBuf),
    /// A file in a cache folder. Anything else at this path is moved aside.
    Cache(PathBuf),
}

impl VectorFile {
    fn path(&self) -> Option<&Path> {
        match self {
            Self::None => None,
            Self::Snapshot(path) | Self::Cache(path) => Some(path),
        }
    }
}

impl fmt::Debug for Assembly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers = self.servers.as_ref().map(|servers| servers.file.entries.keys());
        f.debug_struct("Assembly")
            .field("tools", &self.catalog.len())
            .field("model", &self.model.as_ref().map(|model| &model.identity().name))
            .field("servers", &servers.map(Vec::from_iter))
            .finish_non_exhaustive()
    }
}

/// The servers of a servers file, and what is known about them before they are asked.
#[derive(Clone)]
pub struct Upstreams {
    /// The servers, as the file declares them.
    pub file: ServersFile,
    /// How the servers are started and connected.
    pub options: McpOptions,
    /// Names of the servers that [`Service::start`] asks for their tools. The tools of the others
    /// are in the assembly's catalog.
    pub stale: Vec<String>,
    /// Those of them of which no list is known from before, although the catalog may have tools of their names. Requests of
    /// the first seconds wait for their lists.
    pub unlisted: Vec<String>,
    /// The number of tools that each server lists only to clients with sampling or
    /// roots.
    pub withheld: BTreeMap<String, usize>,
    /// Stores each list of tools that a server returns, for the next start.
    pub keep: Option<Keep>,
    /// Identifies the executor's options. A reload keeps the servers running if this text and their
    /// entries in the file are unchanged.
    pub revision: String,
}

impl Upstreams {
    /// All servers of a file. [`Service::start`] asks each of them for its tools.
    pub fn new(file: ServersFile) -> Self {
        let stale = file.fingerprints.keys().cloned().collect();
        Self {
            file,
            options: McpOptions::default(),
            stale,
            unlisted: Vec::new(),
            withheld: BTreeMap::new(),
            keep: None,
            revision: String::new(),
        }
    }
}

/// The state that a service takes over from the one that it replaces.
#[derive(Default)]
struct Inheritance {
    executor: Option<Arc<Executor>>,
    sessions: Option<Arc<Sessions>>,
    changes: Option<Arc<Mutex<Changes>>>,
}

impl Assembly {
    /// Builds the engine, and the service on top of it. Blocks while tools are embedded. No server
    /// is started before [`Service::start`] or the first call.
    ///
    /// # Errors
    /// The errors of building an engine, an invalid profile, and unreadable usage vectors.
    pub fn build(self) -> Result<Arc<Service>, Error> {
        let screened = self.screened()?;
        self.build_over(screened, Inheritance::default())
    }

    /// Builds only the engine, for a program that calls no tools.
    ///
    /// # Errors
    /// Those of [`Assembly::build`].
    pub fn engine(&self) -> Result<Engine, Error> {
        let catalog = self.changes.applied(self.catalog.clone(), |server| self.runs(server));
        self.engine_over(catalog.map_err(toolroute_rank::engine::Error::from)?)
    }

    fn build_over(
        self,
        (catalog, hidden): (Catalog, BTreeMap<String, HiddenTools>),
        inheritance: Inheritance,
    ) -> Result<Arc<Service>, Error> {
        let engine = Arc::new(self.engine_over(catalog)?);
        let Inheritance { executor, sessions, changes } = inheritance;
        let mut options = ServiceOptions {
            hidden,
            profiles: self.profiles.clone(),
            no_fallback: self.no_fallback,
            fallback_by_meaning: self.fallback_by_meaning,
            sessions: sessions
                .unwrap_or_else(|| Arc::new(Sessions::new(self.session_limits.clone()))),
            changes: changes.unwrap_or_else(|| Arc::new(Mutex::new(self.changes.clone()))),
            without_sources: self.without_sources,
            parts: self.parts(),
            first_lists: self.first_lists(),
            ..self.screening_options()
        };
        if self.servers.is_some() || self.own_servers.names().next().is_some() {
            let executor = executor.unwrap_or_else(|| Arc::new(self.open()));
            join(&engine, &executor);
            options.executor = Some(executor);
            options.keep = self.servers.as_ref().and_then(|servers| servers.keep.clone());
        }
        Service::new(engine, options)
    }

    fn engine_over(&self, catalog: Catalog) -> Result<Engine, Error> {
        let mut builder = Engine::builder(catalog).config(self.config.clone());
        if let Some(model) = &self.model {
            builder = builder.embedder(Arc::clone(model));
            builder = match &self.vectors {
                VectorFile::None => builder,
                VectorFile::Snapshot(path) => builder.snapshot(path),
                VectorFile::Cache(path) => builder.cache(path),
            };
            if let Some(usage) = self.usage_vectors()? {
                builder = builder.usage(usage);
            }
        }
        if let Some((path, options)) = &self.log {
            builder = builder.feedback(path, options.clone());
        }
        Ok(builder.build()?)
    }

    fn usage_vectors(&self) -> Result<Option<UsageVectors>, Error> {
        let Some(path) = &self.usage else { return Ok(None) };
        match UsageVectors::load(path) {
            Err(feedback::Error::Missing { .. }) if self.usage_may_be_missing => Ok(None),
            loaded => Ok(Some(loaded?)),
        }
    }

    fn open(&self) -> Executor {
        let open = |servers: &Upstreams| Servers::open(&servers.file, &servers.options);
        let (mut opened, problems) = self.servers.as_ref().map(open).unwrap_or_default();
        problems.iter().for_each(|problem| self.notes.tell(problem));
        opened.insert_all(&self.own_servers);
        Executor::new(opened, self.executor.clone())
    }

    /// The options for screening the lists of servers.
    fn screening_options(&self) -> ServiceOptions {
        let permissions = self.executor.permissions.clone();
        let own_servers: BTreeSet<String> = self.own_servers.names().map(str::to_owned).collect();
        let Some(Upstreams { file, withheld, .. }) = &self.servers else {
            return ServiceOptions { permissions, own_servers, ..ServiceOptions::default() };
        };
        let screening = self.pins.clone().map(|pins| Screening {
            pins,
            fingerprints: file.fingerprints.clone(),
            notes: self.notes.clone(),
        });
        let mut left_out = file.shown_left_out();
        // An own server runs in place of an entry of its name.
        left_out.retain(|name, _| !own_servers.contains(name));
        ServiceOptions {
            permissions,
            left_out,
            withheld: withheld.clone(),
            screening,
            own_servers,
            ..ServiceOptions::default()
        }
    }

    /// Whether tools of this server can be called.
    fn runs(&self, server: Option<&str>) -> bool {
        let name = server.unwrap_or_default();
        let servers = self.servers.as_ref();
        self.own_servers.get(name).is_some()
            || servers.is_some_and(|servers| servers.file.entries.contains_key(name))
    }

    /// The tools that can be found and called, with the changes applied, and the hidden tools of
    /// each server.
    fn screened(&self) -> Result<(Catalog, BTreeMap<String, HiddenTools>), Error> {
        let (mut catalog, mut hidden) = (self.catalog.clone(), BTreeMap::new());
        let options = self.screening_options();
        let is_screened = |server: &str| self.runs(Some(server));
        if self.servers.is_some() || !options.own_servers.is_empty() {
            catalog = screen_catalog(catalog, is_screened, |server, tools| {
                let admitted = Service::admit_tools(&options, server, tools);
                hidden.insert(server.to_owned(), admitted.hidden);
                admitted.tools
            });
        }
        let catalog = self.changes.applied(catalog, |server| self.runs(server));
        Ok((catalog.map_err(toolroute_rank::engine::Error::from)?, hidden))
    }

    fn parts(&self) -> Parts {
        let usage = self.usage.as_ref().map(|path| {
            let about = std::fs::metadata(path).ok();
            let modified = about.as_ref().and_then(|about| about.modified().ok());
            (path.clone(), about.map_or(0, |about| about.len()), modified)
        });
        let servers = self.servers.as_ref();
        let servers =
            servers.map(|servers| (servers.file.fingerprints.clone(), servers.revision.clone()));
        Parts {
            model: self.model.clone(),
            usage,
            servers,
            own_servers: self.own_servers.clone(),
            without_sources: self.without_sources,
        }
    }

    fn first_lists(&self) -> FirstLists {
        let servers = self.servers.as_ref();
        let lists = servers.map(|servers| (servers.stale.clone(), servers.unlisted.clone()));
        let (stale, unlisted) = lists.unwrap_or_default();
        FirstLists { stale, unlisted, vectors: self.vectors.path().map(Path::to_owned) }
    }
}
