//! `toolroute serve`: runs the HTTP API.

pub mod sources;

use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::args::{
    CatalogArgs, EngineArgs, FallbackArgs, Global, ListenArgs, PinArgs, RecordArgs, RightsArgs,
    ServeArgs, UsageArgs,
};
use super::exit;
use super::settings::ProfileSettings;
use super::words::LogFormat;
use super::{paths, render, servers, setup};
use sources::SourceFiles;
use toolroute_rank::feedback::StoreOptions;
use toolroute_serve::http::{self, App, Conduct, HttpOptions, Limits, Persist};
use toolroute_serve::{
    Assembly, Changes, CurrentService, LearnEvery, Notes, Profile, Profiles, Shutdown, Token,
    VectorFile, learn_every,
};
use toolroute_vectors::durable::{self, Readers};

pub fn run(args: &ServeArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let token = token(args.listen.token_file.as_deref(), args.addr)?;
    let _lock = args.persist.as_deref().map(lock).transpose()?;
    let changes = changes(args.persist.as_deref())?;
    let watched = args.watch.then_some(&args.catalog);
    let (mut assembly, read) = sources::of_serve(args, None, global)?;
    let sources = SourceFiles::new(sources::of_command, read, (watched, global));
    assembly.changes = changes;
    let service = assembly.build().map_err(failure)?;
    setup::warn_scanned(service.engine(), global);
    let options = HttpOptions {
        token,
        max_body: args.max_body,
        timeout: Duration::from_secs(args.request_timeout),
        sources: Some(Arc::new(sources)),
        persist: args.persist.as_deref().map(persist),
        conduct: conduct(args)?,
        ..listening(&args.listen)
    };
    servers::run(async {
        let listener = bind(args.addr, global).await?;
        let shutdown = Shutdown::default();
        shutdown.on_signals();
        let app = App::new(Arc::clone(&service), options);
        // In the background, because some servers are slow to list their tools.
        let starting = tokio::spawn(service.start());
        let learning = learning(&args.record, &args.select.usage, app.current())?;
        http::serve(listener, Arc::clone(&app), &shutdown).await?;
        starting.abort();
        learning.iter().for_each(JoinHandle::abort);
        app.service().close().await;
        Ok(ExitCode::SUCCESS)
    })
}

/// The options that `serve` and `proxy` share.
pub fn listening(args: &ListenArgs) -> HttpOptions {
    let default = HttpOptions::default();
    let workers = args.workers.unwrap_or(default.workers);
    let queue = args.queue.unwrap_or(default.queue);
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

/// Starts listening, and prints the address: on stdout as JSON for programs, else on stderr.
pub async fn bind(addr: SocketAddr, global: &Global) -> anyhow::Result<TcpListener> {
    let listener =
        TcpListener::bind(addr).await.map_err(|error| not_bound(addr, "--addr", error))?;
    let address = listener.local_addr().context("a listener has no address")?;
    if global.json {
        render::json(&json!({"listening": format!("http://{address}"), "port": address.port()}))?;
        render::flush()?;
    }
    if !global.json || global.log_format == LogFormat::Json {
        render::warn(global, &format!("listening on http://{address}"));
    }
    Ok(listener)
}

/// The error of an address that cannot be listened on. `flag` is how the command names it.
pub fn not_bound(addr: SocketAddr, flag: &str, error: std::io::Error) -> anyhow::Error {
    let any_port = SocketAddr::new(addr.ip(), 0);
    let cure = match error.kind() {
        std::io::ErrorKind::AddrInUse => format!(
            "another program listens there: stop it, or name another port ({flag} {any_port} takes a free one)"
        ),
        _ => format!("name another address with {flag} ADDR:PORT"),
    };
    anyhow::Error::from(error).context(format!("cannot listen on {addr}; {cure}"))
}

/// Reads the token from a file or the environment. A token is required if other machines can reach
/// the address.
pub fn token(file: Option<&Path>, addr: SocketAddr) -> anyhow::Result<Option<Token>> {
    let text = match file {
        Some(path) => {
            let read = std::fs::read_to_string(path);
            Some(read.with_context(|| format!("cannot read the token at {}", path.display()))?)
        }
        None => std::env::var("TOOLROUTE_TOKEN").ok().filter(|token| !token.is_empty()),
    };
    match text {
        Some(text) => {
            Ok(Some(Token::new(&text).map_err(|error| exit::bad_arguments(error.to_string()))?))
        }
        None if addr.ip().is_loopback() => Ok(None),
        None => Err(exit::bad_arguments(format!(
            "others can reach {addr}: expected a token, by --token-file FILE or the variable \
             TOOLROUTE_TOKEN; 127.0.0.1 does without"
        ))),
    }
}

/// Sets what `serve` and `mcp` have in common. Without `pinning`, no pins are opened, because they
/// need a folder and a user may have no home.
pub fn shared(
    record: &RecordArgs,
    stand_ins: &FallbackArgs,
    (rights, pinning): (&RightsArgs, Option<&PinArgs>),
) -> anyhow::Result<Assembly> {
    let options = StoreOptions { keep_prompts: record.keep_prompts, ..StoreOptions::default() };
    Ok(Assembly {
        usage_may_be_missing: record.learn_every.is_some(),
        log: record.log.feedback.clone().map(|path| (path, options)),
        pins: pinning.map(PinArgs::open).transpose()?.flatten(),
        session_limits: rights.session.limits(),
        no_fallback: stand_ins.no_fallback,
        fallback_by_meaning: stand_ins.fallback_by_meaning,
        notes: Notes::new(servers::warn),
        ..Assembly::default()
    })
}

/// Returns the profiles of the configuration.
pub fn profiles(global: &Global) -> Profiles {
    let profile = |about| {
        let ProfileSettings { tools, servers, pinned, limit, query } = about;
        Profile { tools, servers, pinned, limit, query }
    };
    let configured = global.settings.profiles().into_iter();
    configured.map(|(name, about)| (name, profile(about))).collect()
}

pub fn vectors(catalog: &CatalogArgs, args: &EngineArgs) -> VectorFile {
    match (&args.index, setup::snapshot_path(catalog, args)) {
        (_, None) => VectorFile::None,
        (Some(_), Some(path)) => VectorFile::Snapshot(path),
        (None, Some(path)) => VectorFile::Cache(path),
    }
}

/// Converts an error; the cause that has an exit code of its own is kept.
pub fn failure(error: toolroute_serve::Error) -> anyhow::Error {
    match error {
        toolroute_serve::Error::Engine(error) => error.into(),
        toolroute_serve::Error::Usage(error) => error.into(),
        toolroute_serve::Error::Execution(error) => error.into(),
        other => other.into(),
    }
}

/// The task for `--learn-every`, which learns from the log at intervals.
pub fn learning(
    record: &RecordArgs,
    usage: &UsageArgs,
    present: CurrentService,
) -> anyhow::Result<Option<JoinHandle<()>>> {
    if record.keep_prompts && record.log.feedback.is_none() {
        return Err(exit::bad_arguments(
            "--keep-prompts needs --feedback, the log to keep them in",
        ));
    }
    let Some(every) = record.learn_every else { return Ok(None) };
    let (Some(log), Some(usage)) = (&record.log.feedback, &usage.usage) else {
        return Err(exit::bad_arguments(
            "--learn-every needs --feedback, the log to learn from, and --usage, the file \
                    that keeps what was learned",
        ));
    };
    let plan = LearnEvery { every, log: log.clone(), usage: usage.clone() };
    Ok(Some(tokio::spawn(learn_every(present, plan))))
}

fn conduct(args: &ServeArgs) -> anyhow::Result<Option<Conduct>> {
    if !args.conduct {
        return Ok(None);
    }
    let ledger = paths::ledger(args.ledger.ledger.as_deref())?;
    let builtins = super::conduct::builtins(args.runners.as_deref())?;
    Ok(Some(Conduct { ledger, builtins, confirmed: args.limits.yes }))
}

/// The expected value in errors of `--persist`.
const PERSISTED: &str =
    "expected --persist with a file in a folder that exists and may be written to";

/// Locks the file of changes for this program: two that write it would each lose the other's changes.
fn lock(path: &Path) -> anyhow::Result<File> {
    let unlocked = |found: String| {
        let said = format!("{PERSISTED}, found {}: {found}", path.display());
        exit::io(said)
    };
    if path.parent().is_some_and(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        return Err(unlocked("its folder does not exist".to_owned()));
    }
    let locked = durable::try_lock(path).map_err(|error| unlocked(error.to_string()))?;
    let in_use = || "another `toolroute serve` uses it; give each a file of its own".to_owned();
    locked.ok_or_else(|| unlocked(in_use()))
}

/// Reads the changes of earlier runs. A file that does not exist is created empty, because a path
/// that cannot be written must be refused at the start.
fn changes(path: Option<&Path>) -> anyhow::Result<Changes> {
    let Some(path) = path else { return Ok(Changes::default()) };
    match std::fs::read_to_string(path) {
        Ok(text) => Changes::parse(&text).map_err(|said| {
            let said = format!("{}: {said}", path.display());
            exit::bad_data(said)
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let none = Changes::default();
            persist(path)(&none.to_json())
                .map_err(|said| exit::io(format!("{said}; {PERSISTED}")))?;
            Ok(none)
        }
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
