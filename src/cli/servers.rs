//! Reads the servers file and the tool lists of its servers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use super::args::LiveArgs;
use super::exit;
use super::{logging, paths, render, secrets};
use toolroute_catalog::{Catalog, Tool};
use toolroute_run::execution::{
    Announced, BASE_VARIABLES, Fault, FaultKind, Listed, McpOptions, ProcessOptions, Servers,
    ServersFile,
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

/// Waits for ctrl-c. Without threads for that it returns `false`, and ctrl-c ends the program silently.
pub fn is_interrupted() -> bool {
    runtime().is_ok_and(|runtime| runtime.block_on(tokio::signal::ctrl_c()).is_ok())
}

/// The error if a command needs servers and no servers file is named.
pub fn none_named() -> anyhow::Error {
    let default = paths::servers().map(|path| format!(", and there is no {}", path.display()));
    let said = format!(
        "no servers are named; expected --servers FILE or the variable TOOLROUTE_SERVERS{}; \
         `toolroute import` makes one of those of other programs",
        default.unwrap_or_default()
    );
    exit::bad_arguments(said)
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
    read.map_err(|error| exit::bad_data(format!("{}: {error}", path.display())))
}

/// The same as [`open`], after [`catalogs`] has printed the problems of the file.
pub fn open_again(file: &ServersFile) -> Servers {
    let (servers, problems) = Servers::open(file, &options(file));
    let new = problems.iter().filter(|problem| !file.problems.contains(problem));
    new.for_each(|problem| warn(problem));
    servers
}

/// The same as [`open`], with other options.
pub fn open_with(file: &ServersFile, options: McpOptions) -> Servers {
    let (servers, problems) = Servers::open(file, &options);
    problems.iter().for_each(|problem| warn(problem));
    servers
}

/// Warns of what is wrong with a server. It is no error: a command answers without the server.
pub fn warn(said: &str) {
    logging::warn(&render::plain(said));
}

/// How the servers of a file are started.
pub fn options(file: &ServersFile) -> McpOptions {
    let place = |(name, print): (&String, &String)| {
        (name.clone(), cached(name, print).with_extension("offers.json"))
    };
    let offers = file.fingerprints.iter().map(place).collect();
    McpOptions { process: process_options(), offers, ..McpOptions::default() }
}

/// How servers are started by the gateway, and by commands that store lists of tools for it: a server
/// may list more tools to clients whose user can be asked.
pub fn gateway_options(file: &ServersFile) -> McpOptions {
    McpOptions { announced: Announced::Elicitation, ..options(file) }
}

/// Which environment variables servers inherit.
pub fn process_options() -> ProcessOptions {
    let base = BASE_VARIABLES
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
    ProcessOptions { base_env: base.collect() }
}

/// The number of tools that each server lists only to clients with sampling and roots.
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

/// How long a command waits for the tools of a server. It is less than the time that a start may
/// take, because one server that never answers must not keep the tools of the others back.
const FOR_UNKNOWN: Duration = Duration::from_secs(30);

/// How long a command waits for a server whose tools are known, or that failed the last time although it
/// had [`FOR_UNKNOWN`].
const FOR_KNOWN: Duration = Duration::from_secs(10);

/// How long `call` waits for the tools of servers other than the called one, which are only needed
/// if the called tool fails.
const FOR_OTHERS: Duration = Duration::from_secs(5);

/// How long a server that did not answer in time is not waited for again, unless a command gives it more
/// time than it had.
const ASKED_AGAIN: Duration = Duration::from_secs(300);

const LATE: &str = "; it is asked again after 5 minutes, by a command that waits longer, or with --refresh; \
    `toolroute doctor` gives it more time, for a first download, and says what is wrong; \"disabled\": true in \
    its entry leaves it out";

/// Asks servers for their tools and stops them. Each has the time beside its name, or as long as it
/// takes. Prints which servers have not answered yet, because one that is downloaded first may take
/// minutes.
pub fn list(
    servers: &Servers,
    names: impl IntoIterator<Item = (String, Option<Duration>)>,
) -> anyhow::Result<Listed> {
    runtime()?.block_on(async {
        let (mut waiting, mut asked) = (BTreeSet::new(), tokio::task::JoinSet::new());
        for (name, most) in names {
            waiting.insert(name.clone());
            asked.spawn(list_one(servers.clone(), name, most));
        }
        let (began, mut listed) = (Instant::now(), Listed::new());
        let mut tell = tokio::time::interval_at((began + TELL_EVERY).into(), TELL_EVERY);
        loop {
            tokio::select! {
                answered = asked.join_next() => match answered {
                    Some(answered) => listed.extend(answered.unwrap_or_default()),
                    None => break,
                },
                // The last one may have answered just now.
                _ = tell.tick(), if !waiting.is_empty() => {
                    let names: Vec<&str> = waiting.iter().map(String::as_str).collect();
                    let seconds = began.elapsed().as_secs();
                    tracing::warn!("after {seconds} s still starting: {}", names.join(", "));
                }
            }
            waiting.retain(|name| !listed.contains_key(name));
        }
        servers.close().await;
        Ok(listed)
    })
}

async fn list_one(servers: Servers, name: String, most: Option<Duration>) -> Listed {
    let asked = servers.list([name.clone()]);
    let Some(most) = most else { return asked.await };
    let late = || Fault::before(FaultKind::Timeout, format!("no answer after {most:?}"));
    let answered = tokio::time::timeout(most, asked).await;
    answered.unwrap_or_else(|_| Listed::from([(name, Err(late()))]))
}

/// The servers that did not list their tools to this command.
static UNANSWERED: Mutex<Vec<Unanswered>> = Mutex::new(Vec::new());

/// A server that did not list its tools, for JSON.
#[derive(Clone, Serialize)]
pub struct Unanswered {
    server: String,
    because: String,
    /// How long ago it was asked; it is not asked again so soon.
    seconds_ago: u64,
    last_known_tools: bool,
}

/// Returns the servers that did not list their tools to this command.
pub fn unanswered() -> Vec<Unanswered> {
    UNANSWERED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

#[derive(Default)]
pub struct ServerTools {
    pub files: Vec<PathBuf>,
    /// Tools of servers whose list could not be stored.
    pub unkept: Vec<Tool>,
}

/// Loads the tools of all servers. If a server does not answer, its last stored list is used, if
/// any.
pub fn catalogs(live: &LiveArgs) -> anyhow::Result<ServerTools> {
    let Some(path) = &live.servers else { return Ok(ServerTools::default()) };
    let file = read(path)?;
    let mut known = stored_lists(&file);
    let mut waits = Vec::new();
    for kept in known.iter().filter(|kept| kept.is_stale(live.refresh)) {
        match kept.silence(live) {
            Some(failed) => warn(&kept.not_asked(failed)),
            None => waits.push((kept.name.clone(), kept.wait(live))),
        }
    }
    let mut unkept = BTreeMap::new();
    if waits.is_empty() {
        file.problems.iter().for_each(|problem| warn(problem));
    } else {
        let listed = list(&open_with(&file, gateway_options(&file)), waits.clone())?;
        unkept = keep_answers(&file, &mut known, &listed, &waits);
    }
    let stale = known.iter().filter(|kept| kept.is_stale(live.refresh));
    let without = stale.filter_map(StoredList::unanswered).collect();
    *UNANSWERED.lock().unwrap_or_else(PoisonError::into_inner) = without;
    let files = known.iter().filter(|kept| !unkept.contains_key(&kept.name));
    let files = files.map(|kept| kept.path.clone()).filter(|path| has_tools(path)).collect();
    Ok(ServerTools { files, unkept: unkept.into_values().flatten().collect() })
}

/// Stores the answers of servers, and prints why others did not answer. Returns the tools that could
/// not be stored, by server.
fn keep_answers(
    file: &ServersFile,
    known: &mut [StoredList],
    listed: &Listed,
    waits: &[(String, Option<Duration>)],
) -> BTreeMap<String, Vec<Tool>> {
    let mut unkept = BTreeMap::new();
    for kept in known {
        let Some(answered) = listed.get(&kept.name) else { continue };
        let waited = waits.iter().find(|(name, _)| *name == kept.name);
        let stored = kept.keep(answered, file, waited.and_then(|(_, most)| *most));
        let name = &kept.name;
        let said = match (answered, stored) {
            (Ok(_), Ok(())) => continue,
            (Ok(tools), Err(error)) => {
                unkept.insert(name.clone(), tools.clone());
                format!("the tools of `{name}` are not kept: {error:#}")
            }
            // If the fault is not stored, the next command asks again.
            (Err(fault), _) => {
                let (instead, said) = (kept.instead(), file.redactor.clean(&fault.detail));
                let cure = if fault.kind == FaultKind::Timeout { LATE } else { "" };
                format!("server `{name}` did not list its tools{instead}: {said}{cure}")
            }
        };
        warn(&said);
    }
    unkept
}

/// Whether a server's stored list has any tools.
pub fn has_tools(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.len() > 0)
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
    /// The last failure, if the server has not answered since.
    failed: Option<Failed>,
}

impl StoredList {
    /// Whether the server should be asked again; always with `refresh`.
    pub fn is_stale(&self, refresh: bool) -> bool {
        refresh || !self.is_fresh
    }

    /// The failure because of which the server is not asked now: it kept a command waiting moments
    /// ago, which waited as long as this one would. A called server is asked if its tools are not
    /// known, and only then.
    fn silence(&self, live: &LiveArgs) -> Option<&Failed> {
        let is_called = self.is_called(live);
        if live.refresh || (is_called && !self.path.exists()) {
            return None;
        }
        let wait = self.wait(live);
        let failed = self.failed.as_ref().filter(|failed| failed.is_late);
        failed.filter(|failed| failed.ago < ASKED_AGAIN && (is_called || failed.had(wait)))
    }

    /// Stores the server's answer, or why there is none after the time that it had.
    pub fn keep(
        &mut self,
        answered: &Result<Vec<Tool>, Fault>,
        file: &ServersFile,
        waited: Option<Duration>,
    ) -> anyhow::Result<()> {
        // A server that had more time before is not quicker now.
        let before = self.failed.as_ref().filter(|before| before.is_late);
        let most = match before {
            Some(before) if before.had(waited) => before.waited,
            _ => waited.map(|waited| waited.as_secs()),
        };
        self.failed = answered.as_ref().err().map(|fault| Failed {
            because: file.redactor.clean(&fault.detail),
            is_late: fault.kind == FaultKind::Timeout,
            waited: most,
            ago: Duration::ZERO,
        });
        match answered {
            Ok(tools) => keep(&self.path, &Catalog::from_tools(tools.clone()).catalog),
            Err(_) => paths::put(&failure_of(&self.path), &serde_json::to_vec(&self.failed)?),
        }
    }

    fn is_called(&self, live: &LiveArgs) -> bool {
        live.called.as_deref() == Some(&*self.name)
    }

    /// How long to wait for the server; `None` for a called one.
    fn wait(&self, live: &LiveArgs) -> Option<Duration> {
        let has_failed = |failed: &Failed| !failed.is_late || failed.had(Some(FOR_UNKNOWN));
        let is_known = self.path.exists() || self.failed.as_ref().is_some_and(has_failed);
        match &live.called {
            Some(_) if self.is_called(live) => None,
            Some(_) => Some(FOR_OTHERS),
            None if is_known && !live.refresh => Some(FOR_KNOWN),
            None => Some(FOR_UNKNOWN),
        }
    }

    fn unanswered(&self) -> Option<Unanswered> {
        let Failed { because, ago, .. } = self.failed.as_ref()?;
        Some(Unanswered {
            server: self.name.clone(),
            because: because.clone(),
            seconds_ago: ago.as_secs(),
            last_known_tools: self.path.exists(),
        })
    }

    /// What is used in place of the server's answer, for messages.
    fn instead(&self) -> &'static str {
        if self.path.exists() { "; its last known tools are used" } else { "" }
    }

    fn not_asked(&self, Failed { because, ago, .. }: &Failed) -> String {
        let (name, instead, ago) = (&self.name, self.instead(), ago.as_secs());
        format!(
            "server `{name}` did not list its tools {ago} s ago and is not asked again so \
             soon{instead}: {because}; --refresh asks it now"
        )
    }
}

/// Why a server did not list its tools when it was last asked. It is stored beside the list, so that
/// the next command need not wait for the server too.
#[derive(Deserialize, Serialize)]
struct Failed {
    because: String,
    /// Whether it did not answer in time. Other failures cost no time, so the server is asked again.
    is_late: bool,
    /// The seconds that it had; `None` for as many as it may take to start.
    #[serde(default)]
    waited: Option<u64>,
    /// The age of the file.
    #[serde(skip)]
    ago: Duration,
}

impl Failed {
    /// Whether the server had as much time.
    fn had(&self, wait: Option<Duration>) -> bool {
        self.waited.is_none_or(|had| wait.is_some_and(|wait| wait.as_secs() <= had))
    }

    fn read(list: &Path) -> Option<Self> {
        let path = failure_of(list);
        let failed: Self = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        Some(Self { ago: age(&path)?, ..failed })
    }
}

/// Returns the list of each server of the file, whether it exists or not.
pub fn stored_lists(file: &ServersFile) -> Vec<StoredList> {
    let place = |(name, print): (&String, &String)| {
        let path = cached(name, print);
        if !is_whole(&path) {
            warn(&format!("the kept list of the server `{name}` is damaged; it is left out"));
            std::fs::remove_file(&path).ok();
        }
        let is_fresh = age(&path).is_some_and(|age| age < FRESH);
        StoredList { name: name.clone(), is_fresh, failed: Failed::read(&path), path }
    };
    file.fingerprints.iter().map(place).collect()
}

/// The file of a server's tools. It depends on the server's entry: a changed entry is a different
/// server.
fn cached(name: &str, fingerprint: &str) -> PathBuf {
    let name: String = name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    paths::cache("servers").join(format!("{}-{fingerprint}.jsonl", render::shortened(&name, 40)))
}

/// Whether a list matches the hash that is stored beside it.
fn is_whole(path: &Path) -> bool {
    let (list, hash) = (std::fs::read(path), std::fs::read_to_string(hash_of(path)));
    list.ok().zip(hash.ok()).is_none_or(|(list, hash)| sha256_hex(&list) == hash)
}

fn hash_of(path: &Path) -> PathBuf {
    path.with_extension("sha256")
}

fn failure_of(path: &Path) -> PathBuf {
    path.with_extension("failed.json")
}

/// The time since a file was written; `None` if it does not exist.
fn age(path: &Path) -> Option<Duration> {
    let written = std::fs::metadata(path).and_then(|about| about.modified()).ok()?;
    Some(SystemTime::now().duration_since(written).unwrap_or_default())
}

/// Stores a list of tools atomically, and forgets that the server failed before.
pub fn keep(path: &Path, catalog: &Catalog) -> anyhow::Result<()> {
    let text = catalog.to_jsonl();
    // A crash before the new hash is written must not leave a list with an old hash.
    std::fs::remove_file(hash_of(path)).ok();
    std::fs::remove_file(failure_of(path)).ok();
    paths::put(path, text.as_bytes())?;
    paths::put(&hash_of(path), sha256_hex(text.as_bytes()).as_bytes())
}

#[cfg(test)]
mod tests;
