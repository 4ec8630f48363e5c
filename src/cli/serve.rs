//! `toolroute serve`: the HTTP API.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use tokio::net::TcpListener;

use super::args::{Cli, Command, Global, ListenArgs, ServeArgs};
use super::exit::{self, Failure};
use super::setup::{self, Wanted};
use super::{config, environment, paths, render, servers, stamp};
use crate::catalog::Catalog;
use crate::conductor::Runner;
use crate::embedding::Embedder;
use crate::engine::{Engine, fingerprint};
use crate::execution::{Executor, ExecutorOptions, Patterns, Permissions};
use crate::feedback::{StoreOptions, UsageVectors};
use crate::server::http::{
    self, App, Changes, Conduct, Fresh, HttpOptions, Limits, Persist, Reload,
};
use crate::server::{Service, ServiceOptions, Shutdown, Token};

pub fn run(args: &ServeArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let token = token(&args.listen, args.addr)?;
    let changes = changes(args.persist.as_deref())?;
    let catalog = changes.applied(setup::catalog(&args.catalog, global)?)?;
    let embedder = setup::embedder(&args.engine, args.select.strategy, global)?;
    let engine = engine(args, catalog, embedder.clone(), global)?;
    let service = Service::new(Arc::new(engine), service_options(args)?)?;
    let options = HttpOptions {
        token,
        changes,
        max_body: args.max_body,
        timeout: Duration::from_secs(args.timeout),
        reload: Some(reload(args, embedder, global)?),
        persist: args.persist.as_deref().map(persist),
        conduct: conduct(args)?,
        ..listening(&args.listen)
    };
    servers::runtime()?.block_on(async {
        let listener = bind(args.addr, global).await?;
        let shutdown = Shutdown::default();
        shutdown.on_signals();
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
    if let Some(path) = &args.feedback {
        let options = StoreOptions { keep_prompts: args.keep_prompts, ..StoreOptions::default() };
        builder = builder.feedback(path, options);
    }
    Ok(builder.build()?)
}

fn service_options(args: &ServeArgs) -> anyhow::Result<ServiceOptions> {
    let mut permissions = Permissions {
        allow: Patterns::new(&args.allow)?,
        deny: Patterns::new(&args.deny)?,
        read_only: args.read_only,
        ..Permissions::default()
    };
    let executor = match args.catalog.live.servers() {
        Some(path) => {
            let file = servers::read(path)?;
            permissions.offers = file.offers.clone();
            let options = ExecutorOptions {
                permissions: permissions.clone(),
                redactor: file.redactor.clone(),
                ..ExecutorOptions::default()
            };
            Some(Arc::new(Executor::new(servers::open(&file), options)))
        }
        None => None,
    };
    Ok(ServiceOptions { executor, permissions, ..ServiceOptions::default() })
}

fn conduct(args: &ServeArgs) -> anyhow::Result<Option<Conduct>> {
    if !args.conduct {
        return Ok(None);
    }
    let ledger = paths::ledger(args.ledger.ledger.as_deref())?;
    let runner: Arc<dyn Runner> = Arc::new(super::conduct::runners(args.runners.as_deref())?);
    Ok(Some(Conduct { ledger, runner }))
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
    Arc::new(move |text| write(&path, text).map_err(|error| format!("{error:#}")))
}

/// Whoever reads the file meanwhile sees the old one or the new one.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let failed = || format!("cannot write {}", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(failed)?;
    file.write_all(text.as_bytes()).with_context(failed)?;
    file.as_file().sync_all().with_context(failed)?;
    file.persist(path).with_context(failed)?;
    Ok(())
}

/// How the sources are read again: as at the start, with the files as they are then.
fn reload(
    args: &ServeArgs,
    embedder: Option<Arc<dyn Embedder>>,
    global: &Global,
) -> anyhow::Result<Reload> {
    let rest = rest(args)?;
    let at_start = rest.clone();
    let fresh = move || {
        let read = again(embedder.clone(), &at_start);
        read.map_err(|error| format!("{error:#}"))
    };
    let sources = stamp::Sources::of(&args.catalog, global);
    let stamp: Arc<dyn Fn() -> u64 + Send + Sync> = Arc::new(move || sources.stamp());
    Ok(Reload { fresh: Arc::new(fresh), rest, stamp: args.watch.then_some(stamp) })
}

/// What was typed, with what environment and files say now.
fn again(loaded: Option<Arc<dyn Embedder>>, at_start: &str) -> anyhow::Result<Fresh> {
    let Cli { mut command, global } = config::parse().map_err(|refused| match refused {
        config::Refused::Typed(error) => anyhow::anyhow!("{}", error.render()),
        config::Refused::Configured(failure) => failure.into(),
    })?;
    environment::fill(&mut command);
    let Command::Serve(args) = command else {
        anyhow::bail!("expected the command `serve` to be read again")
    };
    let catalog = setup::catalog(&args.catalog, &global)?;
    let config = setup::config(&args.engine, &wanted(&args), &global);
    let rest = rest(&args)?;
    // The model is loaded anew only where something else than the catalog is new.
    let embedder = match rest == at_start {
        true => loaded,
        false => setup::embedder(&args.engine, args.select.strategy, &global)?,
    };
    let build = move |catalog: Catalog, present: &Service| {
        let built = || {
            let engine = Arc::new(engine(&args, catalog, embedder, &global)?);
            Ok::<_, anyhow::Error>(Service::new(engine, options_beside(&args, present)?)?)
        };
        built().map_err(|error| format!("{error:#}"))
    };
    Ok(Fresh { catalog, config, rest, build: Box::new(build) })
}

/// A service beside the present one: servers that are running go on where their file is the same.
fn options_beside(args: &ServeArgs, present: &Service) -> anyhow::Result<ServiceOptions> {
    let options = service_options(args)?;
    let same = |executor: &Arc<Executor>| {
        let names = |executor: &Executor| -> Vec<String> {
            executor.servers().names().map(str::to_owned).collect()
        };
        options.executor.as_ref().is_some_and(|new| names(new) == names(executor))
    };
    match present.executor().filter(|executor| same(executor)) {
        Some(running) => Ok(ServiceOptions { executor: Some(Arc::clone(running)), ..options }),
        None => Ok(options),
    }
}

/// What an engine and its service are made of, beside the catalog and the configuration.
fn rest(args: &ServeArgs) -> anyhow::Result<String> {
    let servers = match args.catalog.live.servers() {
        Some(path) => format!("{:?}", servers::read(path)?.fingerprints),
        None => String::new(),
    };
    let usage = args.select.usage.usage.as_deref().map(stamp::of_file).unwrap_or_default();
    let model = format!("{:?} {:?}", args.engine.choice.model, args.engine.precision);
    let rights = format!("{:?} {:?} {}", args.allow, args.deny, args.read_only);
    Ok(fingerprint(&[&servers, &usage.to_string(), &model, &rights]))
}
