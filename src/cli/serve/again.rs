//! How the sources are read again, and when something new is built of them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;

use super::super::args::{Global, LimitArgs, ServeArgs};
use super::super::{models, setup, stamp};
use super::opened::{self, Behind, Opened};
use crate::catalog::Catalog;
use crate::embedding::Embedder;
use crate::engine::fingerprint;
use crate::server::Service;
use crate::server::http::{Fresh, Reload};

/// What need not be loaded anew while its sources are the same.
struct Loaded {
    rest: String,
    embedder: Option<Arc<dyn Embedder>>,
    /// Of the servers that are running.
    servers: String,
    /// Files in directories of which nothing was understood.
    broken: BTreeSet<PathBuf>,
}

/// How the sources are read again: as at the start, with the files as they are then.
pub fn reload(
    args: &ServeArgs,
    (embedder, broken): (Option<Arc<dyn Embedder>>, BTreeSet<PathBuf>),
    global: &Global,
) -> anyhow::Result<Reload> {
    let rest = rest(args)?;
    let loaded = Loaded { rest: rest.clone(), embedder, servers: servers_print(args)?, broken };
    let loaded = Arc::new(Mutex::new(loaded));
    let typed = global.clone();
    let fresh = move || again(&loaded, &typed).map_err(|error| format!("{error:#}"));
    let sources = stamp::Sources::of(&args.catalog, global);
    let stamp: Arc<dyn Fn() -> u64 + Send + Sync> = Arc::new(move || sources.stamp());
    Ok(Reload { fresh: Arc::new(fresh), rest, stamp: args.watch.then_some(stamp) })
}

/// What was typed, with what environment and files say now.
fn again(loaded: &Arc<Mutex<Loaded>>, global: &Global) -> anyhow::Result<Fresh> {
    let (args, global) = global.read_again::<ServeArgs>()?;
    let present = || loaded.lock().unwrap_or_else(PoisonError::into_inner);
    let before = present().broken.clone();
    let Opened { catalog, broken, behind } = Opened::of(&args, Some(&before), &global)?;
    present().broken = broken;
    let config = setup::config(&args.engine, &opened::wanted(&args)?, &global);
    let rest = rest(&args)?;
    let asking = behind.asking.clone();
    let loaded = Arc::clone(loaded);
    let build = move |catalog: Catalog, present: &Service| {
        let mut loaded = loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let next = replacement(&args, (catalog, behind), present, (&mut loaded, &global));
        next.map_err(|error| format!("{error:#}"))
    };
    let same = move |service: Arc<Service>| _ = Handle::current().spawn(asking.ask(service));
    Ok(Fresh { catalog, config, rest, build: Box::new(build), same: Box::new(same) })
}

/// A service in the place of the present one. Servers go on where their entries are the same; of those
/// that are new the first lists are waited for, since the present service answers meanwhile.
fn replacement(
    args: &ServeArgs,
    (catalog, mut behind): (Catalog, Behind),
    present: &Service,
    (loaded, global): (&mut Loaded, &Global),
) -> anyhow::Result<Arc<Service>> {
    let (rest, print) = (rest(args)?, servers_print(args)?);
    let embedder = match rest == loaded.rest {
        true => loaded.embedder.clone(),
        false => models::serving_embedder(&args.engine, args.select.strategy, global)?,
    };
    behind.running = present.executor().filter(|_| print == loaded.servers).cloned();
    behind.sessions = Arc::clone(present.sessions());
    let asking = behind.asking.clone();
    let engine = Arc::new(opened::engine(args, catalog, embedder.clone(), global)?);
    let next = opened::service(args, engine, behind, global)?;
    // Before it hears of any list.
    if let Some(edit) = present.edit() {
        next.edited_by(edit);
    }
    next.watch();
    let runtime = Handle::current();
    runtime.spawn(asking.ask(Arc::clone(&next)));
    runtime.block_on(next.first_lists());
    (loaded.rest, loaded.embedder, loaded.servers) = (rest, embedder, print);
    Ok(next)
}

/// Tells servers apart, and what may be called on them.
fn servers_print(args: &ServeArgs) -> anyhow::Result<String> {
    let file = opened::servers_file(args)?;
    let servers = file.map(|file| format!("{:?}", file.fingerprints)).unwrap_or_default();
    let LimitArgs { yes, rights } = &args.limits;
    Ok(fingerprint(&[&servers, &format!("{rights:?} {yes}")]))
}

/// What an engine and its service are made of, beside the catalog and the configuration.
fn rest(args: &ServeArgs) -> anyhow::Result<String> {
    let usage = args.select.usage.usage.as_deref().map(stamp::of_file).unwrap_or_default();
    let model = format!("{:?} {:?}", args.engine.choice.model, args.engine.precision);
    Ok(fingerprint(&[&servers_print(args)?, &usage.to_string(), &model]))
}
