//! `toolroute serve`: the HTTP API.

mod again;
mod opened;

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::args::{Global, ListenArgs, LogFormat, RecordArgs, ServeArgs, UsageArgs};
use super::exit::{self, Failure};
use super::{models, paths, render, servers};
use crate::durable::{self, Readers};
use crate::feedback::{self, StoreOptions, UsageVectors};
use crate::server::http::{self, App, Changes, Conduct, HttpOptions, Limits, Persist};
use crate::server::{LearnEvery, Present, Shutdown, Token, learn_every};

use opened::Opened;

pub fn run(args: &ServeArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let token = token(&args.listen, args.addr)?;
    let changes = changes(args.persist.as_deref())?;
    let Opened { catalog, broken, behind } = Opened::of(args, None, global)?;
    let catalog = changes.applied(catalog)?;
    let embedder = models::serving_embedder(&args.engine, args.select.strategy, global)?;
    let engine = opened::engine(args, catalog, embedder.clone(), global)?;
    let asking = behind.asking.clone();
    let service = opened::service(args, Arc::new(engine), behind, global)?;
    let options = HttpOptions {
        token,
        changes,
        max_body: args.max_body,
        timeout: Duration::from_secs(args.request_timeout),
        reload: Some(again::reload(args, (embedder, broken), global)?),
        persist: args.persist.as_deref().map(persist),
        conduct: conduct(args)?,
        ..listening(&args.listen)
    };
    servers::run(async {
        let listener = bind(args.addr, global).await?;
        let shutdown = Shutdown::default();
        shutdown.on_signals();
        // The changes of an earlier time before any list.
        let app = App::new(Arc::clone(&service), options);
        service.watch();
        // Nobody waits for servers that are slow to list their tools.
        let asking = tokio::spawn(asking.ask(service));
        let present: Present = {
            let app = Arc::clone(&app);
            Arc::new(move || app.service())
        };
        let learning = learning(&args.record, &args.select.usage, present)?;
        http::serve(listener, Arc::clone(&app), &shutdown).await?;
        asking.abort();
        learning.iter().for_each(JoinHandle::abort);
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
    }
    if !global.json || global.log_format == LogFormat::Json {
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

/// Where it is written what came of calls, if anywhere.
pub fn log(args: &RecordArgs) -> Option<(&Path, StoreOptions)> {
    let path = args.log.feedback.as_deref()?;
    Some((path, StoreOptions { keep_prompts: args.keep_prompts, ..StoreOptions::default() }))
}

/// The task that learns from the log again and again, where that was asked for.
pub fn learning(
    record: &RecordArgs,
    usage: &UsageArgs,
    present: Present,
) -> anyhow::Result<Option<JoinHandle<()>>> {
    if record.keep_prompts && record.log.feedback.is_none() {
        let said = "--keep-prompts needs --feedback, the log to keep them in";
        return Err(Failure { code: exit::BAD_ARGUMENTS, said: said.to_owned() }.into());
    }
    let Some(every) = record.learn_every else { return Ok(None) };
    let (Some(log), Some(usage)) = (&record.log.feedback, &usage.usage) else {
        let said = "--learn-every needs --feedback, the log to learn from, and --usage, the file \
                    that keeps what was learned";
        return Err(Failure { code: exit::BAD_ARGUMENTS, said: said.to_owned() }.into());
    };
    let plan = LearnEvery { every, log: log.clone(), usage: usage.clone() };
    Ok(Some(tokio::spawn(learn_every(present, plan))))
}

/// What was learned from past prompts. The file may be missing where it is still to be made.
pub fn usage(
    path: Option<&Path>,
    record: &RecordArgs,
) -> Result<Option<UsageVectors>, feedback::Error> {
    let Some(path) = path else { return Ok(None) };
    match UsageVectors::load(path) {
        Err(feedback::Error::Missing { .. }) if record.learn_every.is_some() => Ok(None),
        loaded => loaded.map(Some),
    }
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
