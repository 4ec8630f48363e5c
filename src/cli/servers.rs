//! Reads the servers file and the tool lists of its servers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use tokio::runtime::Runtime;

use super::args::LiveArgs;
use super::exit::{self, Failure};
use super::{paths, render, secrets};
use toolroute_catalog::{Catalog, Tool};
use toolroute_run::execution::{
    BASE_VARIABLES, Fault, FaultKind, Listed, McpOptions, ProcessOptions, Servers, ServersFile,
};
use toolroute_vectors::durable::sha256_hex;

/// How long a stored tool list is used before the server is asked again.
const FRESH: Duration = Duration::from_secs(3_600);

/// Threads for connections: two, so that a long answer of one server does not delay the others.
const THREADS: usize = 2;

/// How long to wait at exit for threads that cannot be interrupted, such as one that reads stdin or
/// executes a plan. Ledger and log are consistent without them.
#[cfg(feature = "server")]
const LAST_THREADS: Duration = Duration::from_millis(200);

/// Runs a server until it ends, without waiting for work on other threads.
#[cfg(feature = "server")]
pub fn run<T>(served: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = runtime()?;
    let done = runtime.block_on(served);
    runtime.shutdown_timeout(LAST_THREADS);
    done
}

pub fn runtime() -> anyhow::Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(THREADS).enable_all().build().context("cannot start threads")
}

/// The error if a command needs servers and no servers file is named.
pub fn none_named() -> Failure {
    let default = paths::servers().map(|path| format!(", and there is no {}", path.display()));
    let said = format!(
        "no servers are named; expected --servers FILE or the variable TOOLROUTE_SERVERS{}; \
         `toolroute import` makes one of those of other programs",
        default.unwrap_or_default()
    );
    Failure { code: exit::BAD_ARGUMENTS, said }
}

/// Reads the servers file and prints its problems.
pub fn read(path: &Path) -> anyhow::Result<ServersFile> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the servers file {}", path.display()))?;
    let read = ServersFile::parse(&text, &|name| std::env::var(name).ok());
    let read = read.inspect(|file| {
        secrets::hide(&file.redactor);
        let names = file.fingerprints.keys().chain(file.left_out.keys());
        secrets::keep(names.map(String::as_str).chain(path.to_str()));
    });
    read.map_err(|error| {
        let said = format!("{}: {error}", path.display());
        Failure { code: exit::BAD_DATA, said }.into()
    })
}

/// Creates the file's servers, without starting them.
pub fn open(file: &ServersFile) -> Servers {
    open_with(file, options())
}

/// The same as [`open`], after [`catalogs`] has printed the problems of the file.
pub fn open_again(file: &ServersFile) -> Servers {
    let (servers, problems) = Servers::open(file, &options());
    let new = problems.iter().filter(|problem| !file.problems.contains(problem));
    new.for_each(|problem| render::note(&render::plain(problem)));
    servers
}

/// The same as [`open`], with other options.
pub fn open_with(file: &ServersFile, options: McpOptions) -> Servers {
    let (servers, problems) = Servers::open(file, &options);
    problems.iter().for_each(|problem| render::note(&render::plain(problem)));
    servers
}

/// How servers are started.
pub fn options() -> McpOptions {
    McpOptions { process: process_options(), ..McpOptions::default() }
}

/// Which environment variables servers inherit.
pub fn process_options() -> ProcessOptions {
    let base = BASE_VARIABLES
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
    ProcessOptions { base_env: base.collect() }
}

/// The number of tools that each server lists only to clients with sampling, elicitation and roots.
/// `doctor` determines and stores it.
#[cfg(feature = "server")]
pub fn withheld(file: &ServersFile) -> BTreeMap<String, usize> {
    let count = |(name, print): (&String, &String)| {
        let text = std::fs::read_to_string(withheld_path(name, print)).ok()?;
        Some((name.clone(), serde_json::from_str::<Vec<String>>(&text).ok()?.len()))
    };
    file.fingerprints.iter().filter_map(count).collect()
}

/// The file with the names of those tools.
pub fn withheld_path(name: &str, fingerprint: &str) -> PathBuf {
    cached(name, fingerprint).with_extension("withheld.json")
}

/// The interval of messages about servers that have not answered yet.
const TELL_EVERY: Duration = Duration::from_secs(5);

/// How long a command waits for the tools of servers. It is less than the time that a start may
/// take, because one server that never answers must not keep the tools of the others back.
const FOR_ALL: Duration = Duration::from_secs(30);

/// How long `call` waits for the tools of servers other than the called one, which are only needed
/// if the called tool fails.
const FOR_OTHERS: Duration = Duration::from_secs(5);

/// How long to wait for servers.
#[derive(Clone, Copy)]
struct Patience<'a> {
    most: Duration,
    /// The server that is waited for without this limit.
    called: Option<&'a str>,
}

impl<'a> Patience<'a> {
    fn of(called: Option<&'a str>) -> Self {
        Self { most: if called.is_some() { FOR_OTHERS } else { FOR_ALL }, called }
    }
}

/// What to do about a server that takes longer.
const LATE: &str = "`toolroute doctor` gives it more time, for a first download, and says what is \
    wrong; \"disabled\": true in its entry leaves it out";

/// Asks servers for their tools and stops them. Prints which servers have not answered yet, because
/// one that is downloaded first may take minutes.
pub fn list(servers: &Servers, names: Vec<String>) -> anyhow::Result<Listed> {
    list_within(None, servers, names)
}

/// Like [`list`], with a limit for all servers together.
fn list_within(
    patience: Option<Patience<'_>>,
    servers: &Servers,
    names: Vec<String>,
) -> anyhow::Result<Listed> {
    runtime()?.block_on(async {
        let mut waiting: BTreeSet<String> = names.iter().cloned().collect();
        let mut asked = tokio::task::JoinSet::new();
        for name in names {
            let servers = servers.clone();
            asked.spawn(async move { servers.list([name]).await });
        }
        let (began, mut listed) = (Instant::now(), Listed::new());
        let most = patience.map_or(Duration::ZERO, |patience| patience.most);
        let mut tell = tokio::time::interval_at((began + TELL_EVERY).into(), TELL_EVERY);
        loop {
            let is_limited = patience.is_some_and(|patience| {
                patience.called.is_none_or(|called| !waiting.contains(called))
            });
            tokio::select! {
                answered = asked.join_next() => match answered {
                    Some(answered) => listed.extend(answered.unwrap_or_default()),
                    None => break,
                },
                () = tokio::time::sleep_until((began + most).into()), if is_limited => break,
                _ = tell.tick() => {
                    let names: Vec<&str> = waiting.iter().map(String::as_str).collect();
                    let seconds = began.elapsed().as_secs();
                    tracing::warn!("after {seconds} s still starting: {}", names.join(", "));
                }
            }
            waiting.retain(|name| !listed.contains_key(name));
        }
        asked.abort_all();
        servers.close().await;
        let late =
            || Fault::before(FaultKind::Timeout, format!("no answer after {most:?}; {LATE}"));
        listed.extend(waiting.into_iter().map(|name| (name, Err(late()))));
        Ok(listed)
    })
}

/// The tools of all servers of a servers file.
#[derive(Default)]
pub struct ServerTools {
    /// A file of tools per server.
    pub files: Vec<PathBuf>,
    /// Tools of servers whose list could not be stored.
    pub unkept: Vec<Tool>,
}

/// Loads the tools of all servers. If a server does not answer, its last stored list is used, if
/// any.
pub fn catalogs(live: &LiveArgs) -> anyhow::Result<ServerTools> {
    let Some(path) = &live.servers else { return Ok(ServerTools::default()) };
    let file = read(path)?;
    let known = stored_lists(&file);
    let stale = known.iter().filter(|kept| kept.is_stale(live.refresh));
    let stale: Vec<String> = stale.map(|kept| kept.name.clone()).collect();
    let mut unkept: BTreeMap<&str, Vec<Tool>> = BTreeMap::new();
    if stale.is_empty() {
        file.problems.iter().for_each(|problem| render::note(&render::plain(problem)));
    } else {
        let servers = open(&file);
        let patience = Patience::of(live.called.as_deref());
        let listed = list_within(Some(patience), &servers, stale)?;
        for StoredList { name, path, .. } in &known {
            match listed.get(name) {
                None => {}
                Some(Ok(tools)) => {
                    let kept = keep(path, &Catalog::from_tools(tools.clone()).catalog);
                    if let Err(error) = kept {
                        let said =
                            format!("warning: the tools of `{name}` are not kept: {error:#}");
                        render::note(&render::plain(&said));
                        unkept.insert(name, tools.clone());
                    }
                }
                Some(Err(fault)) => {
                    let instead =
                        if path.exists() { "; its last known tools are used" } else { "" };
                    let said = file.redactor.clean(&fault.detail);
                    let said = format!("server `{name}` did not list its tools{instead}: {said}");
                    render::note(&render::plain(&said));
                }
            }
        }
    }
    let files = known.iter().filter(|kept| !unkept.contains_key(kept.name.as_str()));
    let files = files.map(|kept| kept.path.clone()).filter(|path| has_tools(path)).collect();
    Ok(ServerTools { files, unkept: unkept.into_values().flatten().collect() })
}

/// Whether a server's stored list has any tools.
pub fn has_tools(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.len() > 0)
}

/// Returns the name of a tool's server in the file.
pub fn home<'a>(tool: &'a Tool, file: &ServersFile) -> Option<&'a str> {
    tool.server.as_deref().filter(|server| file.entries.contains_key(*server))
}

/// Removes tools from the catalog that the servers file does not offer, so that every tool that is
/// found can be called.
pub fn offered(catalog: Catalog, live: &LiveArgs) -> anyhow::Result<Catalog> {
    let Some(path) = live.servers() else { return Ok(catalog) };
    let offers = read(path)?.offers;
    if catalog.iter().all(|tool| offers.admits(tool)) {
        return Ok(catalog);
    }
    let left = catalog.iter().filter(|tool| offers.admits(tool)).cloned().collect();
    Ok(Catalog::from_tools(left).catalog)
}

/// A server's stored tool list.
pub struct StoredList {
    pub name: String,
    pub path: PathBuf,
    /// Whether the list is recent.
    pub is_fresh: bool,
}

impl StoredList {
    /// Whether the server should be asked again; always with `refresh`.
    pub fn is_stale(&self, refresh: bool) -> bool {
        refresh || !self.is_fresh
    }
}

/// Returns the list of each server of the file, whether it exists or not.
pub fn stored_lists(file: &ServersFile) -> Vec<StoredList> {
    let place = |(name, print): (&String, &String)| {
        let path = cached(name, print);
        if !is_whole(&path) {
            render::note(&format!(
                "the kept list of the server `{name}` is damaged; it is left out"
            ));
            std::fs::remove_file(&path).ok();
        }
        StoredList { name: name.clone(), is_fresh: is_fresh(&path), path }
    };
    file.fingerprints.iter().map(place).collect()
}

/// The file of a server's tools. It depends on the server's entry: a changed entry is a different
/// server.
fn cached(name: &str, fingerprint: &str) -> PathBuf {
    let name: String = name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    paths::cache("servers").join(format!("{}-{fingerprint}.jsonl", render::cut(&name, 40)))
}

/// Whether a list matches the hash that is stored beside it.
fn is_whole(path: &Path) -> bool {
    let (list, hash) = (std::fs::read(path), std::fs::read_to_string(hash_of(path)));
    list.ok().zip(hash.ok()).is_none_or(|(list, hash)| sha256_hex(&list) == hash)
}

fn hash_of(path: &Path) -> PathBuf {
    path.with_extension("sha256")
}

fn is_fresh(path: &Path) -> bool {
    let age = std::fs::metadata(path).and_then(|about| about.modified());
    age.is_ok_and(|at| SystemTime::now().duration_since(at).unwrap_or_default() < FRESH)
}

/// Stores a list of tools atomically.
pub fn keep(path: &Path, catalog: &Catalog) -> anyhow::Result<()> {
    let text = catalog.to_jsonl();
    // A crash before the new hash is written must not leave a list with an old hash.
    std::fs::remove_file(hash_of(path)).ok();
    paths::put(path, text.as_bytes())?;
    paths::put(&hash_of(path), sha256_hex(text.as_bytes()).as_bytes())
}
