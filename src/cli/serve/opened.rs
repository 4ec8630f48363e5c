//! From arguments to a service, before any server behind was asked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::super::args::{Global, ServeArgs};
use super::super::lists::{self, Lists};
use super::super::setup::{self, Wanted};
use super::super::{call, mcp, pins, servers};
use crate::catalog::{Catalog, LoadOptions, Problem};
use crate::embedding::Embedder;
use crate::engine::{Engine, SnapshotState};
use crate::execution::{Executor, ServersFile};
use crate::server::{Hidden, Service, ServiceOptions, Sessions, Status};
use crate::session::join;

/// What the sources say.
pub struct Opened {
    pub catalog: Catalog,
    /// Files in directories of which nothing was understood.
    pub broken: BTreeSet<PathBuf>,
    pub behind: Behind,
}

/// What is known of the servers.
pub struct Behind {
    file: Option<ServersFile>,
    lists: Lists,
    /// What their lists are looked over with.
    looks: ServiceOptions,
    hidden: BTreeMap<String, Hidden>,
    /// Those that are running already; else new ones.
    pub running: Option<Arc<Executor>>,
    /// Those of clients that name one.
    pub sessions: Arc<Sessions>,
    pub asking: Asking,
}

/// Who is asked for tools while the program answers already, and where the new vectors are kept.
#[derive(Clone)]
pub struct Asking {
    stale: Vec<String>,
    vectors: Option<PathBuf>,
}

impl Asking {
    /// Asks them. What one of them lists is taken in, and kept for the next start, as it comes. Whoever
    /// looks at the service from now on knows that they are asked, also before the work is begun.
    pub fn ask(self, service: Arc<Service>) -> impl Future<Output = ()> + Send + 'static {
        let mut asking = self;
        let states = service.servers().into_iter();
        // An earlier reload may be asking them still.
        let asked = states.filter(|state| state.status == Status::Starting);
        let asked: BTreeSet<String> = asked.map(|state| state.name).collect();
        asking.stale.retain(|name| !asked.contains(name));
        service.announce(&asking.stale);
        asking.asked(service)
    }

    async fn asked(self, service: Arc<Service>) {
        if self.stale.is_empty() {
            return;
        }
        service.connect(self.stale).await;
        let Some(path) = self.vectors else { return };
        let engine = Arc::clone(service.engine());
        let keep =
            move || engine.vectors().map_or(Ok(SnapshotState::Unused), |all| all.save(&path));
        let kept = tokio::task::spawn_blocking(keep).await;
        if let Ok(Err(error)) = kept {
            tracing::warn!("the next start will take longer: {error:#}");
        }
    }
}

impl Opened {
    /// The catalog of files and of what servers listed the last time. Of files of which nothing is
    /// understood those at the start are told and left out, and so are they from then on. One that was
    /// understood `before` is an error, and a reason to keep the catalog that is there: it may be in the
    /// middle of being written.
    pub fn of(
        args: &ServeArgs,
        before: Option<&BTreeSet<PathBuf>>,
        global: &Global,
    ) -> anyhow::Result<Self> {
        let from = &args.catalog;
        setup::expect_sources(from)?;
        let file = servers_file(args)?;
        let lists = file.as_ref().map(|file| Lists::of(file, from.live.refresh));
        let lists = lists.unwrap_or_default();
        let paths: Vec<PathBuf> = from.tools.iter().cloned().chain(lists.there()).collect();
        let (strict, author_signals) = (from.strict, from.author_signals);
        let options = LoadOptions { strict, overlays: from.overlay.clone(), author_signals };
        let loaded = Catalog::load(&paths, &options)?;
        let broken = broken(&loaded.problems, &from.overlay, before)?;
        setup::tell_problems(&loaded.problems, global);
        let looks = looks(args, file.as_ref())?;
        let (catalog, hidden) = match &file {
            Some(file) => lists::callable(loaded.catalog, file, &looks),
            None => (loaded.catalog, BTreeMap::new()),
        };
        if lists.stale.is_empty() {
            setup::tell_empty(from, &catalog, global);
        }
        let stale = lists.stale.clone();
        let asking = Asking { stale, vectors: setup::snapshot_path(from, &args.engine) };
        let sessions = Arc::new(Sessions::new(args.limits.rights.session.limits()));
        let behind = Behind { file, lists, looks, hidden, running: None, sessions, asking };
        Ok(Self { catalog, broken, behind })
    }
}

/// Files of which nothing was understood.
fn broken(
    problems: &[Problem],
    overlays: &[PathBuf],
    before: Option<&BTreeSet<PathBuf>>,
) -> anyhow::Result<BTreeSet<PathBuf>> {
    let suspect = problems.iter().filter(|problem| problem.is_error() && problem.tool.is_none());
    let suspect = suspect.filter_map(|problem| problem.file.clone());
    let suspect: BTreeSet<PathBuf> = suspect.filter(|file| !overlays.contains(file)).collect();
    let mut broken = BTreeSet::new();
    for file in suspect {
        let options = LoadOptions::default();
        // By itself, such a file is an error.
        let Err(error) = Catalog::load(std::slice::from_ref(&file), &options) else { continue };
        if before.is_some_and(|before| !before.contains(&file)) {
            return Err(error.into());
        }
        broken.insert(file);
    }
    Ok(broken)
}

/// What the lists of servers are looked over with.
fn looks(args: &ServeArgs, file: Option<&ServersFile>) -> anyhow::Result<ServiceOptions> {
    let (pinning, rights) = (&args.catalog.live.pinning, &args.limits.rights);
    // Without servers pins need no folder: a user may have no home.
    let Some(file) = file else {
        let permissions = call::permissions(rights, &ServersFile::default())?;
        return Ok(ServiceOptions { permissions, ..ServiceOptions::default() });
    };
    Ok(ServiceOptions {
        permissions: call::permissions(rights, file)?,
        left_out: servers::left_out(file),
        withheld: servers::withheld(file),
        screen: pins::screen_of(pinning, file)?,
        approved_only: mcp::is_strict(pinning),
        ..ServiceOptions::default()
    })
}

pub fn servers_file(args: &ServeArgs) -> anyhow::Result<Option<ServersFile>> {
    args.catalog.live.servers().map(|path| servers::read(path)).transpose()
}

pub fn wanted(args: &ServeArgs) -> anyhow::Result<Wanted> {
    let mut wanted = Wanted { lives_long: true, ..Wanted::new(&args.select, args.limit)? };
    setup::guard(&mut wanted, &args.catalog);
    Ok(wanted)
}

pub fn engine(
    args: &ServeArgs,
    catalog: Catalog,
    embedder: Option<Arc<dyn Embedder>>,
    global: &Global,
) -> anyhow::Result<Engine> {
    let wanted = wanted(args)?;
    let mut builder = Engine::builder(catalog).config(setup::config(&args.engine, &wanted, global));
    if let Some(embedder) = embedder {
        builder = setup::snapshot(builder.embedder(embedder), &args.catalog, &args.engine);
        if let Some(usage) = super::usage(wanted.usage.as_deref(), &args.record)? {
            builder = builder.usage(usage);
        }
    }
    if let Some((path, options)) = super::log(&args.record) {
        builder = builder.feedback(path, options);
    }
    let engine = builder.build()?;
    setup::tell_scanned(&engine, global);
    Ok(engine)
}

/// The service over an engine.
pub fn service(
    args: &ServeArgs,
    engine: Arc<Engine>,
    Behind { file, lists, looks, hidden, running, sessions, .. }: Behind,
    global: &Global,
) -> anyhow::Result<Arc<Service>> {
    let mut options = ServiceOptions {
        profiles: mcp::configured(global),
        no_fallback: args.stand_ins.no_fallback,
        fallback_by_meaning: args.stand_ins.fallback_by_meaning,
        hidden,
        sessions,
        ..looks
    };
    if let Some(file) = &file {
        let new = || {
            let options = call::options(&args.limits.rights, file)?;
            anyhow::Ok(Arc::new(Executor::new(servers::open(file), options)))
        };
        let executor = running.map_or_else(new, Ok)?;
        join(&engine, &executor);
        options.executor = Some(executor);
        options.keep = Some(lists.keeper(&args.catalog.overlay));
    }
    Ok(Service::new(engine, options)?)
}
