//! `toolroute mcp`: the gateway.

pub mod known;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use serde_json::json;
use tokio::net::TcpListener;

use super::args::{ConfirmChoice, ExposeChoice, Global, McpArgs};
use super::exit::{self, Failure};
use super::limit::Limit;
use super::pins::{self, PinArgs, Pinning};
use super::setup::{self, Wanted};
use super::{call, lists, models, paths, render, serve, servers};
use crate::catalog::Catalog;
use crate::embedding::Embedder;
use crate::engine::{self, DEFAULT_LIMIT, Engine, NEAR_BEST};
use crate::execution::{Confirm, Executor, ExecutorOptions, Permissions, ServersFile};
use crate::server::{
    Expose, Gateway, GatewayOptions, Hidden, McpHttpOptions, Present, Profile, Profiles, SELECTED,
    Service, ServiceOptions, Sessions, Shutdown, serve_mcp,
};

use known::Known;

/// Tools of one server in an answer where another server's come near (docs/security.md): behind a
/// gateway stand servers of many authors.
const MOST_PER_SERVER: usize = 3;

/// What is known before any server was asked.
struct Opened {
    service: Arc<Service>,
    known: Known,
    options: GatewayOptions,
}

pub fn run(args: &McpArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let token = match args.http {
        Some(address) => serve::token_of(args.token_file.as_deref(), address)?,
        None => None,
    };
    let opened = open(args, global)?;
    servers::run(async {
        let shutdown = Shutdown::default();
        shutdown.on_signals();
        let service = Arc::clone(&opened.service);
        service.watch();
        service.announce(&opened.known.lists.stale);
        let connecting = tokio::spawn(connect(Arc::clone(&service), opened.known));
        let present: Present = {
            let service = Arc::clone(&service);
            Arc::new(move || Arc::clone(&service))
        };
        let learning = serve::learning(&args.record, &args.select.usage, present)?;
        let served = match args.http {
            None => stdio(&service, opened.options, &shutdown).await,
            Some(address) => {
                let options = McpHttpOptions {
                    gateway: opened.options,
                    hosts: args.allowed_host.clone(),
                    token,
                    guarded: false,
                    shutdown: shutdown.clone(),
                };
                http(&service, address, options, global).await
            }
        };
        connecting.abort();
        learning.iter().for_each(tokio::task::JoinHandle::abort);
        service.close().await;
        served.map(|()| ExitCode::SUCCESS)
    })
}

async fn stdio(
    service: &Arc<Service>,
    options: GatewayOptions,
    shutdown: &Shutdown,
) -> anyhow::Result<()> {
    let gateway = Gateway::new(Arc::clone(service), &options)?;
    Ok(gateway.serve_stdio(shutdown.begun()).await?)
}

async fn http(
    service: &Arc<Service>,
    address: SocketAddr,
    options: McpHttpOptions,
    global: &Global,
) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
    let bound = listener.local_addr().context("a listener has no address")?;
    if global.json {
        render::json(&json!({"listening": format!("http://{bound}/mcp"), "port": bound.port()}))?;
        render::flush()?;
    } else {
        render::warn(global, &format!("listening on http://{bound}/mcp"));
    }
    Ok(serve_mcp(listener, service, options).await?)
}

/// Asks the servers whose tools are not known or are old, and keeps what came of it for the next
/// start: their tools (each as it comes), the vectors, and what is said of the catalog.
async fn connect(service: Arc<Service>, known: Known) {
    service.connect(known.lists.stale.clone()).await;
    let kept = tokio::task::spawn_blocking(move || known.keep(&service)).await;
    if let Ok(Err(error)) = kept {
        tracing::warn!("the next start will take longer: {error:#}");
    }
}

fn open(args: &McpArgs, global: &Global) -> anyhow::Result<Opened> {
    let Some(path) = args.catalog.live.servers() else {
        return Err(servers::none_named().into());
    };
    let file = servers::read(path)?;
    let profiles = profiles(args, global)?;
    let mut options = service_options(args, &file)?;
    options.profiles = profiles;
    tell_exposed(args, &options.profiles, global);
    let known = Known::of(args, &file, &options.profiles)?;
    options.keep = Some(known.keeper());
    // The model does not wait for the tools.
    let (catalog, model) = std::thread::scope(|scope| {
        let loading =
            scope.spawn(|| models::serving_embedder(&args.engine, args.select.strategy, global));
        let catalog = known.catalog(global);
        let catalog = catalog.map(|catalog| callable(catalog, &file, &options, global));
        (catalog, setup::joined(loading))
    });
    let (catalog, hidden) = catalog?;
    options.hidden = hidden;
    let engine = engine(args, catalog, (model?, known.snapshot.as_deref()), global)?;
    let options_of_gateway = GatewayOptions {
        expose: match args.expose {
            ExposeChoice::Search => Expose::Search,
            ExposeChoice::Selected => Expose::Selected,
        },
        profile: args.profile.clone(),
        hints: known.hints(),
    };
    let engine = Arc::new(engine);
    if let Some(executor) = &options.executor {
        engine.join(executor);
    }
    let service = Service::new(engine, options)?;
    Ok(Opened { service, known, options: options_of_gateway })
}

/// Says what `--expose selected` lists where nobody says what the work is about.
fn tell_exposed(args: &McpArgs, profiles: &Profiles, global: &Global) {
    let profile = profiles.get(args.profile.as_deref().unwrap_or_default());
    let (query, limit) = match profile {
        Some(profile) => (profile.query.as_deref(), profile.limit),
        None => (None, None),
    };
    let is_asked = query.is_some_and(|query| !query.trim().is_empty());
    if args.expose == ExposeChoice::Selected && !is_asked {
        let most = limit.unwrap_or(SELECTED);
        let said = format!(
            "--expose selected without --query lists the first {most} tools in the order of the catalog; \
             --query TEXT chooses those for what the work is about, --limit N lists more"
        );
        render::warn(global, &said);
    }
}

/// The profiles of the configuration.
pub fn configured(global: &Global) -> Profiles {
    let configured = global.settings.profiles();
    configured
        .into_iter()
        .map(|(name, about)| {
            let profile = Profile {
                tools: about.tools,
                servers: about.servers,
                pinned: about.pinned,
                limit: about.limit,
                query: about.query,
            };
            (name, profile)
        })
        .collect()
}

/// The profiles of the configuration, and what the flags say of the one that counts by itself.
fn profiles(args: &McpArgs, global: &Global) -> anyhow::Result<Profiles> {
    let mut profiles = configured(global);
    let named = args.profile.clone().unwrap_or_default();
    if !named.is_empty() && !profiles.contains_key(&named) {
        let known = profiles.keys().cloned().collect();
        let said = engine::Error::UnknownProfile { name: named, known }.to_string();
        return Err(Failure { code: exit::BAD_ARGUMENTS, said }.into());
    }
    let profile = profiles.entry(named).or_default();
    profile.pinned.extend(args.pinned.iter().cloned());
    profile.limit = args.limit.map(|limit| limit.most).or(profile.limit);
    profile.query = args.query.clone().or(profile.query.take());
    Ok(profiles)
}

fn service_options(args: &McpArgs, file: &ServersFile) -> anyhow::Result<ServiceOptions> {
    let options = call::options(&args.rights, file)?;
    let confirm = match args.confirm {
        ConfirmChoice::Never => Confirm::Never,
        ConfirmChoice::Destructive => Confirm::Destructive,
        ConfirmChoice::Writes => Confirm::Writes,
    };
    let permissions = Permissions { confirm, ..options.permissions };
    let options = ExecutorOptions { permissions: permissions.clone(), ..options };
    Ok(ServiceOptions {
        executor: Some(Arc::new(Executor::new(servers::open(file), options))),
        permissions,
        no_fallback: args.stand_ins.no_fallback,
        fallback_by_meaning: args.stand_ins.fallback_by_meaning,
        screen: pins::screen_of(&args.catalog.live.pinning, file)?,
        approved_only: is_strict(&args.catalog.live.pinning),
        sessions: Arc::new(Sessions::new(args.rights.session.limits())),
        left_out: servers::left_out(file),
        withheld: servers::withheld(file),
        ..ServiceOptions::default()
    })
}

/// Whether a person must approve a tool of a server before anything of it is given out.
pub fn is_strict(pinning: &PinArgs) -> bool {
    pinning.pin_mode == Some(Pinning::Strict)
}

/// The tools of the servers, without those that nobody could call.
fn callable(
    catalog: Catalog,
    file: &ServersFile,
    options: &ServiceOptions,
    global: &Global,
) -> (Catalog, BTreeMap<String, Hidden>) {
    let homeless = catalog.iter().filter(|tool| servers::home(tool, file).is_none()).count();
    let catalog = if homeless == 0 {
        catalog
    } else {
        let said = format!("{homeless} tools are of no server of the servers file; left out");
        render::warn(global, &said);
        let at_home = catalog.iter().filter(|tool| servers::home(tool, file).is_some());
        Catalog::from_tools(at_home.cloned().collect()).catalog
    };
    lists::callable(catalog, file, options)
}

fn engine(
    args: &McpArgs,
    catalog: Catalog,
    (embedder, snapshot): (Option<Arc<dyn Embedder>>, Option<&Path>),
    global: &Global,
) -> anyhow::Result<Engine> {
    let limit = args.limit.unwrap_or(Limit::of(DEFAULT_LIMIT));
    let mut wanted = Wanted { lives_long: true, ..Wanted::new(&args.select, limit)? };
    wanted.policy.near_best.get_or_insert(NEAR_BEST);
    let mut config = setup::config(&args.engine, &wanted, global);
    config.policy.max_per_server = config.policy.max_per_server.or(Some(MOST_PER_SERVER));
    let mut builder = Engine::builder(catalog).config(config);
    if let Some((path, options)) = serve::log(&args.record) {
        builder = builder.feedback(path, options);
    }
    if let Some(embedder) = embedder {
        builder = builder.embedder(embedder);
        if let Some(path) = snapshot {
            builder = builder.cache(path);
        }
        if let Some(usage) = serve::usage(wanted.usage.as_deref(), &args.record)? {
            builder = builder.usage(usage);
        }
    }
    let engine = builder.build()?;
    setup::tell_scanned(&engine, global);
    Ok(engine)
}

/// Where the words on the catalog are kept for a configuration as it is.
fn hints_path(key: &str) -> std::path::PathBuf {
    paths::cache("gateway").join(format!("{key}.json"))
}
