//! `toolroute mcp`: runs the MCP gateway.

mod hints;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use serde_json::json;
use tokio::net::TcpListener;

use super::args::{Global, McpArgs};
use super::command::Command;
use super::exit;
use super::limit::Limit;
use super::serve::sources::{LastRead, SourceFiles};
use super::setup::{self, EngineRequirements};
use super::tool_lists::Lists;
use super::{call, models, render, secrets, serve, servers};
use hints::KeptHints;
use toolroute_catalog::{Catalog, LoadOptions, LoadedCatalog, Tool};
use toolroute_rank::engine::{self, DEFAULT_LIMIT, NEAR_BEST};
use toolroute_rank::query::says_nothing;
use toolroute_run::execution::{ExecutorOptions, Permissions, ServersFile};
use toolroute_serve::http::{App, HttpOptions};
use toolroute_serve::{
    Assembly, Expose, Gateway, GatewayOptions, McpHttpOptions, Profiles, SELECTED, Service,
    Shutdown, Upstreams, serve_mcp,
};

/// Default maximum number of tools of one server in an answer if tools of other servers score
/// nearly as well (docs/security.md): the servers of a gateway have many authors.
const MOST_PER_SERVER: usize = 3;

/// A gateway that has not asked any server yet.
struct Setup {
    service: Arc<Service>,
    hints: KeptHints,
    gateway: GatewayOptions,
    /// The files that SIGHUP reads again.
    sources: SourceFiles,
}

pub fn run(args: &McpArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let token = match args.http {
        Some(address) => serve::token(args.token_file.as_deref(), address)?,
        None => None,
    };
    let opened = open(args, global)?;
    servers::run(async {
        let shutdown = Shutdown::default();
        shutdown.on_signals();
        let options =
            HttpOptions { sources: Some(Arc::new(opened.sources)), ..HttpOptions::default() };
        let app = App::new(opened.service, options);
        let starting = tokio::spawn(start(app.service(), opened.hints));
        let learning = serve::learning(&args.record, &args.select.usage, app.current())?;
        let served = match args.http {
            None => {
                let gateway = Gateway::new(app.service(), &opened.gateway);
                let serving = async { gateway?.serve_stdio(shutdown.begun()).await };
                serving.await.map_err(anyhow::Error::from)
            }
            Some(address) => {
                let options = McpHttpOptions {
                    gateway: opened.gateway,
                    hosts: args.allowed_host.clone(),
                    token,
                    guarded: false,
                    shutdown: shutdown.clone(),
                };
                http(Arc::clone(&app), address, options, global).await
            }
        };
        starting.abort();
        learning.iter().for_each(tokio::task::JoinHandle::abort);
        app.service().close().await;
        served.map(|()| ExitCode::SUCCESS)
    })
}

async fn http(
    app: Arc<App>,
    address: SocketAddr,
    options: McpHttpOptions,
    global: &Global,
) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|error| serve::not_bound(address, "--http", error))?;
    let bound = listener.local_addr().context("a listener has no address")?;
    if global.json {
        render::json(&json!({"listening": format!("http://{bound}/mcp"), "port": bound.port()}))?;
        render::flush()?;
    } else {
        render::warn(global, &format!("listening on http://{bound}/mcp"));
    }
    Ok(serve_mcp(listener, app, options).await?)
}

/// Asks the servers whose lists are missing or old, and stores the results for the next start.
async fn start(service: Arc<Service>, hints: KeptHints) {
    service.start().await;
    let kept = tokio::task::spawn_blocking(move || hints.keep(&service)).await;
    if let Ok(Err(error)) = kept {
        tracing::warn!("the next start will take longer: {error:#}");
    }
}

fn open(args: &McpArgs, global: &Global) -> anyhow::Result<Setup> {
    let profiles = profiles(args, global)?;
    tell_exposed(args, &profiles, global);
    let (assembly, read) = assembly(args, None, global)?;
    let file = assembly.servers.as_ref().map(|servers| servers.file.clone()).unwrap_or_default();
    let hints = KeptHints::of(args, &file, &profiles);
    let gateway =
        GatewayOptions { expose: args.expose, profile: args.profile.clone(), hints: hints.read() };
    let service = assembly.build().map_err(serve::failure)?;
    setup::warn_scanned(service.engine(), global);
    let sources = SourceFiles::new(of_command, read, (None, global));
    Ok(Setup { service, hints, gateway, sources })
}

/// [`assembly`] for the command `mcp`.
fn of_command(
    command: &Command,
    before: Option<&LastRead>,
    global: &Global,
) -> anyhow::Result<(Assembly, LastRead)> {
    let Command::Mcp(args) = command else {
        anyhow::bail!("expected the typed arguments of `mcp`. This is a bug.")
    };
    assembly(args, before, global)
}

/// Reads the servers file, the tools and the other parts.
fn assembly(
    args: &McpArgs,
    before: Option<&LastRead>,
    global: &Global,
) -> anyhow::Result<(Assembly, LastRead)> {
    let Some(path) = args.catalog.live.servers() else {
        return Err(servers::none_named());
    };
    let file = servers::read(path)?;
    if file.entries.is_empty() {
        let said = format!(
            "warning: {} names no server to start, so there are no tools; `toolroute import` adds \
             the servers of other programs",
            path.display()
        );
        render::warn(global, &said);
    }
    let pinning = Some(&args.catalog.live.pinning);
    let shared = serve::shared(&args.record, &args.stand_ins, (&args.rights, pinning))?;
    let lists = Lists::of(&file, args.catalog.live.refresh);
    // The model is loaded while the tools are read.
    let (catalog, model) = std::thread::scope(|scope| {
        let loading = scope.spawn(|| match before.and_then(|before| before.model(&args.engine)) {
            Some(model) => Ok(model),
            None => {
                models::embedder(&args.engine, args.select.strategy, models::load_to_serve, global)
            }
        });
        (catalog(args, (&lists, &file), global), setup::joined(loading))
    });
    let model = model?;
    let limit = args.limit.unwrap_or(Limit::of(DEFAULT_LIMIT));
    let mut wanted =
        EngineRequirements { lives_long: true, ..EngineRequirements::new(&args.select, limit)? };
    wanted.config.policy.near_best.get_or_insert(NEAR_BEST);
    let mut config = setup::config(&args.engine, &wanted, global);
    config.policy.max_per_server = config.policy.max_per_server.or(Some(MOST_PER_SERVER));
    let revision = format!("{:?} {:?}", args.rights, args.confirm);
    let assembly = Assembly {
        catalog: catalog?,
        config,
        model: model.clone(),
        vectors: serve::vectors(&args.catalog, &args.engine),
        usage: wanted.usage,
        executor: executor_options(args, &file)?,
        servers: Some(Upstreams { revision, ..lists.upstreams(file, &args.catalog) }),
        profiles: profiles(args, global)?,
        ..shared
    };
    Ok((assembly, LastRead::of(&args.engine, model)))
}

/// Loads the tools of files and the stored lists of servers, except those of servers that are not
/// in the servers file.
fn catalog(
    args: &McpArgs,
    (lists, file): (&Lists, &ServersFile),
    global: &Global,
) -> anyhow::Result<Catalog> {
    let from = &args.catalog;
    let paths: Vec<PathBuf> = from.tools.iter().cloned().chain(lists.there()).collect();
    let (overlays, author_signals) = (from.overlay.clone(), from.author_signals);
    let options = LoadOptions { strict: false, overlays, author_signals };
    let LoadedCatalog { catalog, problems, .. } = Catalog::load(&paths, &options)?;
    setup::expect_sound_overlays(from, &problems)?;
    secrets::keep_ids(catalog.iter());
    for problem in &problems {
        render::warn(global, &render::plain(&problem.to_string()));
    }
    let is_at_home =
        |tool: &&Tool| tool.server.as_ref().is_some_and(|server| file.entries.contains_key(server));
    let homeless = catalog.len() - catalog.iter().filter(is_at_home).count();
    if homeless == 0 {
        return Ok(catalog);
    }
    let said = format!("{homeless} tools are of no server of the servers file; left out");
    render::warn(global, &said);
    Ok(Catalog::from_tools(catalog.iter().filter(is_at_home).cloned().collect()).catalog)
}

/// Notes what `--expose selected` lists if there is no query.
fn tell_exposed(args: &McpArgs, profiles: &Profiles, global: &Global) {
    let profile = profiles.get(args.profile.as_deref().unwrap_or_default());
    let (query, limit) = match profile {
        Some(profile) => (profile.query.as_deref(), profile.limit),
        None => (None, None),
    };
    let is_asked = query.is_some_and(|query| !says_nothing(query));
    if args.expose == Expose::Selected && !is_asked {
        let most = limit.unwrap_or(SELECTED);
        let said = format!(
            "--expose selected without --query lists the first {most} tools in the order of the catalog; \
             --query TEXT chooses those for what the work is about, --limit N lists more"
        );
        render::warn(global, &said);
    }
}

/// Returns the profiles of the configuration; the flags change the default profile.
fn profiles(args: &McpArgs, global: &Global) -> anyhow::Result<Profiles> {
    let mut profiles = serve::profiles(global);
    let named = args.profile.clone().unwrap_or_default();
    if !named.is_empty() && !profiles.contains_key(&named) {
        let known = profiles.keys().cloned().collect();
        return Err(exit::bad_arguments(
            engine::Error::UnknownProfile { name: named, known }.to_string(),
        ));
    }
    let profile = profiles.entry(named).or_default();
    profile.pinned.extend(args.pinned.iter().cloned());
    profile.limit = args.limit.map(|limit| limit.most).or(profile.limit);
    profile.query = args.query.clone().or(profile.query.take());
    Ok(profiles)
}

fn executor_options(args: &McpArgs, file: &ServersFile) -> anyhow::Result<ExecutorOptions> {
    let options = call::options(&args.rights, file)?;
    let permissions = Permissions { confirm: args.confirm, ..options.permissions };
    Ok(ExecutorOptions { permissions, ..options })
}
