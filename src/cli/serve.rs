//! `toolroute serve`: the HTTP API.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use tokio::net::TcpListener;

use super::args::{Cli, Command, Global, LimitArgs, ListenArgs, RecordArgs, ServeArgs};
use super::exit::{self, Failure};
use super::setup::{self, Wanted};
use super::{call, config, environment, mcp, paths, pins, render, servers, stamp};
use crate::catalog::{Catalog, LoadOptions};
use crate::durable::{self, Readers};
use crate::embedding::Embedder;
use crate::engine::{CalledFor, Engine, fingerprint};
use crate::execution::{Executor, ServersFile};
use crate::feedback::{StoreOptions, UsageVectors};
use crate::server::http::{
    self, App, Changes, Conduct, Fresh, HttpOptions, Limits, Persist, Reload,
};
use crate::server::{Hidden, Keep, OnReport, Service, ServiceOptions, Shutdown, Token};

pub fn run(args: &ServeArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let token = token(&args.listen, args.addr)?;
    let changes = changes(args.persist.as_deref())?;
    let (catalog, broken) = catalog(args, None, global)?;
    let hidden = hidden(args, &catalog)?;
    let catalog = changes.applied(catalog)?;
    let embedder = setup::serving_embedder(&args.engine, args.select.strategy, global)?;
    let engine = engine(args, catalog, embedder.clone(), global)?;
    let behind = Behind { running: None, hidden };
    let service = service(args, Arc::new(engine), behind, global)?;
    let options = HttpOptions {
        token,
        changes,
        max_body: args.max_body,
        timeout: Duration::from_secs(args.request_timeout),
        reload: Some(reload(args, (embedder, broken), global)?),
        persist: args.persist.as_deref().map(persist),
        conduct: conduct(args)?,
        ..listening(&args.listen)
    };
    servers::run(async {
        let listener = bind(args.addr, global).await?;
        let shutdown = Shutdown::default();
        shutdown.on_signals();
        service.watch();
        let app = App::new(service, options);
        http::serve(listener, Arc::clone(&app), &shutdown).await?;
        app.service().close().await;
        Ok(ExitCode::SUCCESS)
    })
}

/// What `serve` and `proxy` share of their options.
pub fn listening(args: &ListenArgs) -> HttpOptions {
    let default = HttpOptions::default();
    let workers = args.workers.unwrap_or(default.workers);
    let queue = args.queue.unwrap_or(default.queue / default.workers.max(1) * workers);
    let connections = Limits {
        connections: args.connections,
        drain: Duration::from_secs(args.drain),
        ..default.connections
    };
    HttpOptions {
        workers,
        queue,
        connections,
        hosts: args.allowed_host.clone(),
        keep: args.keep,
        ..default
    }
}

/// Listens, and says where: on stdout as JSON for programs, else on stderr.
pub async fn bind(addr: SocketAddr, global: &Global) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(addr).await;
    let listener = listener.with_context(|| format!("cannot listen on {addr}"))?;
    let address = listener.local_addr().context("a listener has no address")?;
    if global.json {
        render::json(&json!({"listening": format!("http://{address}"), "port": address.port()}))?;
        render::flush()?;
    } else {
        render::warn(global, &format!("listening on http://{address}"));
    }
    Ok(listener)
}

/// The token, from a file or the environment. Where others can reach the address there must be one.
pub fn token(args: &ListenArgs, addr: SocketAddr) -> anyhow::Result<Option<Token>> {
    token_of(args.token_file.as_deref(), addr)
}

/// [`token`] for those with options of their own.
pub fn token_of(file: Option<&Path>, addr: SocketAddr) -> anyhow::Result<Option<Token>> {
    let text = match file {
        Some(path) => {
            let read = std::fs::read_to_string(path);
            Some(read.with_context(|| format!("cannot read the token at {}", path.display()))?)
        }
        None => std::env::var("TOOLROUTE_TOKEN").ok().filter(|token| !token.is_empty()),
    };
    let refused = |said: String| Failure { code: exit::BAD_ARGUMENTS, said };
    match text {
        Some(text) => Ok(Some(Token::new(&text).map_err(refused)?)),
        None if addr.ip().is_loopback() => Ok(None),
        None => Err(refused(format!(
            "others can reach {addr}: expected a token, by --token-file FILE or the variable \
             TOOLROUTE_TOKEN; 127.0.0.1 does without"
        ))
        .into()),
    }
}

fn wanted(args: &ServeArgs) -> Wanted {
    Wanted { lives_long: true, ..Wanted::new(&args.select, args.limit) }
}

fn engine(
    args: &ServeArgs,
    catalog: Catalog,
    embedder: Option<Arc<dyn Embedder>>,
    global: &Global,
) -> anyhow::Result<Engine> {
    let wanted = wanted(args);
    let mut builder = Engine::builder(catalog).config(setup::config(&args.engine, &wanted, global));
    if let Some(embedder) = embedder {
        builder = setup::snapshot(builder.embedder(embedder), &args.catalog, &args.engine);
        if let Some(path) = &wanted.usage {
            builder = builder.usage(UsageVectors::load(path)?);
        }
    }
    if let Some((path, options)) = log(&args.record) {
        builder = builder.feedback(path, options);
    }
    Ok(builder.build()?)
}

/// Where it is written what came of calls, if anywhere.
pub fn log(args: &RecordArgs) -> Option<(&Path, StoreOptions)> {
    let path = args.log.feedback.as_deref()?;
    Some((path, StoreOptions { keep_prompts: args.keep_prompts, ..StoreOptions::default() }))
}

/// What is there of the servers before the service is.
struct Behind {
    /// Those that are running already; else new ones.
    running: Option<Arc<Executor>>,
    hidden: BTreeMap<String, Hidden>,
}

/// What servers listed the last time and pins keep out of a catalog.
fn hidden(args: &ServeArgs, catalog: &Catalog) -> anyhow::Result<BTreeMap<String, Hidden>> {
    let live = &args.catalog.live;
    // Without servers pins need no folder: a user may have no home.
    let Some(file) = file(args)? else { return Ok(BTreeMap::new()) };
    if live.pinning.open()?.is_none() {
        return Ok(BTreeMap::new());
    }
    let options = LoadOptions { strict: false, overlays: Vec::new() };
    let lists = servers::kept(&file).into_iter().filter_map(|list| {
        let listed = Catalog::load(&[list.path], &options).ok()?.catalog;
        let ids = listed.iter().map(|tool| tool.id.as_str());
        let held = ids.filter(|id| catalog.get(id).is_none_or(|tool| tool.id.as_str() != *id));
        let held = held.map(str::to_owned).collect();
        Some((list.name, Hidden { held, ..Hidden::default() }))
    });
    Ok(lists.collect())
}

/// The service over an engine.
fn service(
    args: &ServeArgs,
    engine: Arc<Engine>,
    Behind { running, hidden }: Behind,
    global: &Global,
) -> anyhow::Result<Arc<Service>> {
    let (file, rights) = (file(args)?, &args.limits.rights);
    let executor = match (&file, running) {
        (None, _) => None,
        (Some(_), Some(running)) => Some(running),
        (Some(file), None) => {
            Some(Arc::new(Executor::new(servers::open(file), call::options(rights, file)?)))
        }
    };
    if let Some(executor) = &executor {
        engine.join(executor);
    }
    let keep = file.as_ref().map(|file| keeper(args, file));
    let screen = match &file {
        Some(file) => pins::screen_of(&args.catalog.live.pinning, file)?,
        None => None,
    };
    let permissions = call::permissions(rights, &file.unwrap_or_default())?;
    let options = ServiceOptions {
        executor,
        permissions,
        profiles: mcp::configured(global),
        keep,
        screen,
        hidden,
        approved_only: mcp::is_strict(&args.catalog.live.pinning),
        on_report: Some(recorder(Arc::clone(&engine))),
        ..ServiceOptions::default()
    };
    Ok(Service::new(engine, options)?)
}

/// Tells the log of every call.
pub fn recorder(engine: Arc<Engine>) -> OnReport {
    Arc::new(move |handed| {
        let prompt = Some(handed.question).filter(|question| !question.is_empty());
        engine.record_report(handed.report, CalledFor { prompt, ..CalledFor::default() });
    })
}

/// What a server lists anew is kept for the next start, and overlays hold for it.
fn keeper(args: &ServeArgs, file: &ServersFile) -> Keep {
    let lists = servers::kept(file);
    let overlays = args.catalog.overlay.clone();
    Arc::new(move |server: &str, tools| {
        let Some(list) = lists.iter().find(|list| list.name == server) else { return tools };
        mcp::known::keep_list(&list.path, &tools, &overlays).unwrap_or_else(|error| {
            tracing::warn!(server, "its tools are not kept: {error:#}");
            tools
        })
    })
}

fn conduct(args: &ServeArgs) -> anyhow::Result<Option<Conduct>> {
    if !args.conduct {
        return Ok(None);
    }
    let ledger = paths::ledger(args.ledger.ledger.as_deref())?;
    let builtins = super::conduct::builtins(args.runners.as_deref())?;
    Ok(Some(Conduct { ledger, builtins, confirmed: args.limits.yes }))
}

/// The changes of an earlier time; none where there is no file yet.
fn changes(path: Option<&Path>) -> anyhow::Result<Changes> {
    let Some(path) = path else { return Ok(Changes::default()) };
    match std::fs::read_to_string(path) {
        Ok(text) => Changes::parse(&text).map_err(|said| {
            let said = format!("{}: {said}", path.display());
            Failure { code: exit::BAD_DATA, said }.into()
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Changes::default()),
        Err(error) => {
            Err(error).with_context(|| format!("cannot read the changes at {}", path.display()))
        }
    }
}

fn persist(path: &Path) -> Persist {
    let path = path.to_owned();
    Arc::new(move |text| {
        let written = durable::replace(&path, Readers::AsBefore, text.as_bytes());
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))
    })
}

/// How the sources are read again: as at the start, with the files as they are then.
fn reload(
    args: &ServeArgs,
    (embedder, broken): (Option<Arc<dyn Embedder>>, BTreeSet<PathBuf>),
    global: &Global,
) -> anyhow::Result<Reload> {
    let rest = rest(args)?;
    let loaded = Loaded { rest: rest.clone(), embedder, servers: servers_print(args)?, broken };
    let loaded = Arc::new(Mutex::new(loaded));
    let fresh = move || again(&loaded).map_err(|error| format!("{error:#}"));
    let sources = stamp::Sources::of(&args.catalog, global);
    let stamp: Arc<dyn Fn() -> u64 + Send + Sync> = Arc::new(move || sources.stamp());
    Ok(Reload { fresh: Arc::new(fresh), rest, stamp: args.watch.then_some(stamp) })
}

/// What need not be loaded anew while its sources are the same.
struct Loaded {
    rest: String,
    embedder: Option<Arc<dyn Embedder>>,
    /// Of the servers that are running.
    servers: String,
    /// Files in directories of which nothing was understood.
    broken: BTreeSet<PathBuf>,
}

/// The catalog, and the files of which nothing is understood. At the start these are told and left out,
/// and so are they from then on. One that was understood before is a reason to keep the catalog that is
/// there: it may be in the middle of being written.
fn catalog(
    args: &ServeArgs,
    before: Option<&BTreeSet<PathBuf>>,
    global: &Global,
) -> anyhow::Result<(Catalog, BTreeSet<PathBuf>)> {
    let from = &args.catalog;
    let (catalog, problems) = setup::catalog_with_problems(from, from.strict)?;
    let suspect = problems.iter().filter(|problem| problem.is_error() && problem.tool.is_none());
    let suspect = suspect.filter_map(|problem| problem.file.clone());
    let suspect: BTreeSet<PathBuf> = suspect.filter(|file| !from.overlay.contains(file)).collect();
    let mut broken = BTreeSet::new();
    for file in suspect {
        let options = LoadOptions { strict: false, overlays: Vec::new() };
        // By itself, such a file is an error.
        let Err(error) = Catalog::load(std::slice::from_ref(&file), &options) else { continue };
        if before.is_some_and(|before| !before.contains(&file)) {
            return Err(error.into());
        }
        broken.insert(file);
    }
    setup::tell(from, &catalog, &problems, global);
    Ok((catalog, broken))
}

/// What was typed, with what environment and files say now.
fn again(loaded: &Arc<Mutex<Loaded>>) -> anyhow::Result<Fresh> {
    let Cli { mut command, global } = config::parse().map_err(|refused| match refused {
        config::Refused::Typed(error) => anyhow::anyhow!("{}", error.render()),
        config::Refused::Configured(failure) => failure.into(),
    })?;
    environment::fill(&mut command);
    let Command::Serve(args) = command else {
        anyhow::bail!("expected the command `serve` to be read again")
    };
    let present = || loaded.lock().unwrap_or_else(PoisonError::into_inner);
    let before = present().broken.clone();
    let (catalog, broken) = catalog(&args, Some(&before), &global)?;
    present().broken = broken;
    let hidden = hidden(&args, &catalog)?;
    let config = setup::config(&args.engine, &wanted(&args), &global);
    let rest = rest(&args)?;
    let loaded = Arc::clone(loaded);
    let build = move |catalog: Catalog, present: &Service| {
        let mut loaded = loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let next = replacement(&args, (catalog, hidden), present, (&mut loaded, &global));
        next.map_err(|error| format!("{error:#}"))
    };
    Ok(Fresh { catalog, config, rest, build: Box::new(build) })
}

/// A service in the place of the present one. Servers go on where their entries are the same.
fn replacement(
    args: &ServeArgs,
    (catalog, hidden): (Catalog, BTreeMap<String, Hidden>),
    present: &Service,
    (loaded, global): (&mut Loaded, &Global),
) -> anyhow::Result<Arc<Service>> {
    let (rest, print) = (rest(args)?, servers_print(args)?);
    let embedder = match rest == loaded.rest {
        true => loaded.embedder.clone(),
        false => setup::serving_embedder(&args.engine, args.select.strategy, global)?,
    };
    let running = present.executor().filter(|_| print == loaded.servers).cloned();
    let engine = Arc::new(engine(args, catalog, embedder.clone(), global)?);
    let next = service(args, engine, Behind { running, hidden }, global)?;
    // Before it hears of any list.
    if let Some(edit) = present.edit() {
        next.edited_by(edit);
    }
    next.watch();
    (loaded.rest, loaded.embedder, loaded.servers) = (rest, embedder, print);
    Ok(next)
}

fn file(args: &ServeArgs) -> anyhow::Result<Option<ServersFile>> {
    args.catalog.live.servers().map(|path| servers::read(path)).transpose()
}

/// Tells servers apart, and what may be called on them.
fn servers_print(args: &ServeArgs) -> anyhow::Result<String> {
    let servers = file(args)?.map(|file| format!("{:?}", file.fingerprints)).unwrap_or_default();
    let LimitArgs { yes, rights } = &args.limits;
    Ok(fingerprint(&[&servers, &format!("{rights:?} {yes}")]))
}

/// What an engine and its service are made of, beside the catalog and the configuration.
fn rest(args: &ServeArgs) -> anyhow::Result<String> {
    let usage = args.select.usage.usage.as_deref().map(stamp::of_file).unwrap_or_default();
    let model = format!("{:?} {:?}", args.engine.choice.model, args.engine.precision);
    Ok(fingerprint(&[&servers_print(args)?, &usage.to_string(), &model]))
}
