//! The upstream servers: their state, and the lists of tools that they return.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use toolroute_catalog::{Catalog, Tool};
use toolroute_run::execution::LeftOut;
use toolroute_vectors::durable::now_ms;

use super::changes::differences;
use super::kept_vectors;
use super::visibility::Admission;
use super::{Error, FirstLists, Notice, Service, ServiceOptions, off_thread};

/// The state of a server that runs tools.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ServerState {
    /// The name of the server.
    pub name: String,
    /// Whether it is available.
    pub status: Status,
    /// The number of its tools in the catalog.
    pub tools: usize,
    /// Whether its list is known, from an earlier run or from this one. Tools of its name in files are no list.
    is_listed: bool,
    /// The number of its tools that pins hold back.
    pub held_back: usize,
    /// Why pins hold back every tool, if they cannot be read or written.
    pub(super) pins_fault: Option<String>,
    /// The number of tools that it lists only to clients with capabilities that the gateway lacks.
    pub withheld: usize,
    /// The reason for which it was last unavailable, while it is tried again.
    failed: Option<String>,
    /// How many times it was dropped because it sent too much.
    drops: usize,
    /// The time of the latest change of `status`, in milliseconds since 1970.
    pub since_ms: u64,
}

/// Whether a server is available.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// It has not been asked yet; its tools are those that it listed in an earlier run. A call
    /// starts it.
    Idle,
    /// It was asked for its tools and has not answered yet.
    Starting,
    /// It has listed its tools.
    Ready,
    /// It did not list its tools when it was last asked.
    Unavailable { because: String },
    /// Its entry in the servers file is disabled or invalid.
    LeftOut { because: LeftOut },
}

impl ServerState {
    fn new(name: &str, status: Status, tools: usize) -> Self {
        Self {
            name: name.to_owned(),
            status,
            tools,
            is_listed: tools > 0,
            held_back: 0,
            pins_fault: None,
            withheld: 0,
            failed: None,
            drops: 0,
            since_ms: now_ms().unsigned_abs(),
        }
    }

    /// Why tools of the server may be missing from an answer; `None` if none are.
    pub(super) fn lacking(&self) -> Option<String> {
        let because = match &self.status {
            Status::LeftOut { because: LeftOut::Disabled } => None,
            _ if self.is_awaited() => Some("starting; ask again in a few seconds".to_owned()),
            _ => self.fault(),
        };
        joined([because, self.held()])
    }

    /// What a person should know about the server in addition to its status, in a few words.
    pub fn reason(&self) -> Option<String> {
        let withheld = (self.withheld > 0).then(|| {
            format!(
                "without {} that it lists only to clients with sampling or roots",
                tools(self.withheld)
            )
        });
        joined([self.fault(), self.held(), withheld])
    }

    /// Whether the server's first list is awaited. A server that failed before and is tried again
    /// is not awaited.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.is_listed && self.status == Status::Starting && self.failed.is_none()
    }

    /// Why the server is not started, if the servers file disables it.
    pub(super) fn disabled(&self) -> Option<String> {
        let Status::LeftOut { because: because @ LeftOut::Disabled } = &self.status else {
            return None;
        };
        Some(because.to_string())
    }

    /// Whether the server is down or disabled, and none of its tools are known from before.
    pub(crate) fn is_lost(&self) -> bool {
        self.tools == 0 && (self.fault().is_some() || self.disabled().is_some())
    }

    /// Whether the server should have listed tools and has not, or cannot run them.
    pub(crate) fn is_missing(&self) -> bool {
        self.is_awaited() || self.fault().is_some()
    }

    fn fault(&self) -> Option<String> {
        match &self.status {
            Status::Unavailable { because } => Some(because.clone()),
            Status::Starting => self.failed.clone(),
            Status::LeftOut { because: LeftOut::Disabled } => None,
            Status::LeftOut { because } => Some(because.to_string()),
            _ => None,
        }
    }

    fn held(&self) -> Option<String> {
        let held = (self.held_back > 0).then(|| tools(self.held_back))?;
        Some(match &self.pins_fault {
            Some(fault) => format!("{held} held back: {fault}"),
            None => format!("{held} held back by pins"),
        })
    }
}

/// The reasons in one line; `None` without any.
fn joined<const N: usize>(reasons: [Option<String>; N]) -> Option<String> {
    let said: Vec<String> = reasons.into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join("; "))
}

fn tools(count: usize) -> String {
    if count == 1 { "1 tool".to_owned() } else { format!("{count} tools") }
}

/// The states of all servers of the servers file, before any is asked.
pub(super) fn at_first(
    options: &ServiceOptions,
    catalog: &Catalog,
) -> BTreeMap<String, ServerState> {
    let mut states = BTreeMap::new();
    let known = options.executor.iter().flat_map(|executor| executor.servers().names());
    for name in known {
        let tools = catalog.iter().filter(|tool| tool.server.as_deref() == Some(name)).count();
        let withheld = options.withheld.get(name).copied().unwrap_or_default();
        let is_own = options.own_servers.contains(name);
        let status = if is_own { Status::Ready } else { Status::Idle };
        let mut state = ServerState { withheld, ..ServerState::new(name, status, tools) };
        state.is_listed &= !options.first_lists.unlisted.iter().any(|unlisted| unlisted == name);
        states.insert(name.to_owned(), state);
    }
    for (name, because) in &options.left_out {
        let status = Status::LeftOut { because: because.clone() };
        states.insert(name.clone(), ServerState::new(name, status, 0));
    }
    states
}

/// How long after the start requests wait for servers whose tools are not known yet. A server that
/// must be downloaded first takes longer; answers then name it instead of waiting.
const FIRST_LISTS: Duration = Duration::from_secs(5);

impl Service {
    /// Waits for the first lists of servers whose tools are not known from an earlier run, at most
    /// during the first seconds of the service. Otherwise an agent that asks immediately would find
    /// no tools.
    pub(crate) async fn first_lists(&self) {
        if self.began.elapsed() >= FIRST_LISTS {
            return;
        }
        let mut notices = self.notices();
        let end = tokio::time::Instant::from_std(self.began + FIRST_LISTS);
        while !self.is_listed() {
            match tokio::time::timeout_at(end, notices.recv()).await {
                Ok(Ok(_) | Err(RecvError::Lagged(_))) => {}
                Ok(Err(RecvError::Closed)) | Err(_) => return,
            }
        }
    }

    /// Whether requests do not have to wait: the first seconds are over, or no first list is
    /// awaited.
    #[doc(hidden)] // For our own crates.
    pub fn is_listed(&self) -> bool {
        let states = self.upstreams.read().unwrap_or_else(PoisonError::into_inner);
        self.began.elapsed() >= FIRST_LISTS || !states.values().any(ServerState::is_awaited)
    }

    /// Whether the first seconds are over, or no server is being asked. Otherwise more changes
    /// follow soon.
    pub(crate) fn is_settled(&self) -> bool {
        let states = self.upstreams.read().unwrap_or_else(PoisonError::into_inner);
        let is_asked = |state: &ServerState| state.status == Status::Starting;
        self.began.elapsed() >= FIRST_LISTS || !states.values().any(is_asked)
    }

    /// The state of every server, by name.
    pub fn servers(&self) -> Vec<ServerState> {
        let states = self.upstreams.read().unwrap_or_else(PoisonError::into_inner);
        let mut states: Vec<ServerState> = states.values().cloned().collect();
        let hidden = self.hidden.read().unwrap_or_else(PoisonError::into_inner);
        for state in &mut states {
            let Some(hidden) = hidden.get(&state.name) else { continue };
            state.held_back = hidden.held.len();
            state.pins_fault = hidden.pins_fault.clone();
        }
        states
    }

    /// Watches the servers for changes, and asks servers whose lists are missing or old for their
    /// tools. Their state is [`Status::Starting`] as soon as this function is called. The future
    /// ends when each has answered or failed and the new vectors are stored. Call this function
    /// once, within a runtime.
    pub fn start(self: &Arc<Self>) -> impl Future<Output = ()> + Send + use<> {
        self.watch();
        self.ask_first(self.options.first_lists.clone())
    }

    pub(crate) fn ask_first(
        self: &Arc<Self>,
        lists: FirstLists,
    ) -> impl Future<Output = ()> + Send + use<> {
        let FirstLists { mut stale, vectors, .. } = lists;
        // An earlier start or reload may still be asking some of them.
        let states = self.servers().into_iter();
        let asked = states.filter(|state| state.status == Status::Starting);
        let asked: BTreeSet<String> = asked.map(|state| state.name).collect();
        stale.retain(|name| !asked.contains(name));
        self.announce(&stale);
        let service = Arc::clone(self);
        async move {
            let is_new = !stale.is_empty();
            let connecting = service.connect(stale);
            match vectors.filter(|_| is_new) {
                Some(path) => kept_vectors::keep(&service.engine, &path, connecting).await,
                None => connecting.await,
            }
            for pattern in service.unmatched_patterns() {
                tracing::warn!(pattern, "a pattern of --allow or --deny matches no tool");
            }
        }
    }

    /// Marks servers as starting. All are marked before the first is asked, so that a client that
    /// reads the states meanwhile knows which lists may still come.
    fn announce(&self, names: &[String]) {
        names.iter().for_each(|name| drop(self.set_status(name, Status::Starting)));
    }

    /// Asks servers for their tools at the same time, and takes in each list as it arrives. A
    /// server that does not answer keeps its known tools.
    pub(super) async fn connect(self: &Arc<Self>, names: impl IntoIterator<Item = String>) {
        let is_used = |name: &String| !self.options.left_out.contains_key(name);
        let names: Vec<String> = names.into_iter().filter(is_used).collect();
        self.announce(&names);
        let asked = names.into_iter().map(|name| Arc::clone(self).refresh(name));
        asked.collect::<tokio::task::JoinSet<_>>().join_all().await;
    }

    /// Asks a server for its tools, replaces its tools in the catalog and sets its status.
    async fn refresh(self: Arc<Self>, name: String) -> Result<(), Error> {
        let name = name.as_str();
        let executor = self.executor().ok_or(Error::NoExecutor)?;
        if executor.servers().get(name).is_some_and(|invoker| !invoker.lists_tools()) {
            // An API does not list its tools: they come from its description, with the catalog.
            return self.set_status(name, Status::Ready);
        }
        let (announced, drops) = (self.list_changes.made(name), self.drops(name));
        let listed = executor.servers().list([name.to_owned()]).await.remove(name);
        let (mut count, mut is_changed) = (None, false);
        let taken = match listed {
            Some(Ok(tools)) => match self.take_in(name, tools).await {
                Ok((taken, changed)) => {
                    (count, is_changed) = (Some(taken), changed);
                    self.callable(name).await
                }
                Err(error) => Err(error.to_string()),
            },
            Some(Err(fault)) => {
                // The details are for the log, because a client must not read the server's text.
                tracing::warn!(server = name, detail = executor.clean(&fault.detail), "no tools");
                Err(fault.public_message())
            }
            None => Err("it could not be asked".to_owned()),
        };
        let unavailable = |because| Status::Unavailable { because };
        let status = taken.map_or_else(unavailable, |()| Status::Ready);
        // Status and number are set together: a starting server has no new tools yet.
        self.set_state(name, status, count, Some(drops))?;
        self.list_changes.note_read(name, announced, is_changed);
        Ok(())
    }

    /// Checks that calls can reach a server that listed its tools. The tools of a program that runs
    /// once for each call are in the servers file, even if the program is missing.
    async fn callable(&self, name: &str) -> Result<(), String> {
        match self.executor().and_then(|executor| executor.servers().get(name)) {
            Some(invoker) => invoker.prepare().await.map_err(|fault| fault.public_message()),
            None => Ok(()),
        }
    }

    /// Replaces the server's tools, one server at a time, and sends notices of the changes. Returns
    /// their number, and whether the catalog changed.
    async fn take_in(
        self: &Arc<Self>,
        name: &str,
        tools: Vec<Tool>,
    ) -> Result<(usize, bool), Error> {
        let _one_at_a_time = self.refreshing.lock().await;
        let (service, server) = (Arc::clone(self), name.to_owned());
        let before = self.presence(name);
        let (count, changed) = off_thread(move || service.replace_tools(&server, tools)).await??;
        if changed {
            self.notify(Notice::Tools);
        }
        self.notify_of_presence(name, before);
        Ok((count, changed))
    }

    /// Sends notices of the server's prompts and resources, which are visible only if tools are.
    pub(super) fn notify_of_presence(&self, name: &str, before: (bool, bool)) {
        if self.presence(name) == before {
            return;
        }
        let invoker = self.executor().and_then(|executor| executor.servers().get(name));
        let offers = |method| invoker.as_ref().is_some_and(|invoker| invoker.offers(method));
        let lists = [("prompts/list", Notice::Prompts), ("resources/list", Notice::Resources)];
        let offered = lists.into_iter().filter(|(method, _)| offers(method));
        offered.for_each(|(_, notice)| self.notify(notice));
    }

    /// Replaces the server's tools in the catalog. Returns their number, and whether the catalog
    /// changed.
    fn replace_tools(&self, server: &str, tools: Vec<Tool>) -> Result<(usize, bool), Error> {
        let tools = match &self.options.keep {
            Some(keep) => keep(server, tools),
            None => tools,
        };
        let Admission { mut tools, hidden } = Self::admit_tools(&self.options, server, tools);
        let made = self.changes();
        tools.retain(|tool| !made.removes(tool));
        drop(made);
        let loaded = Catalog::from_tools(tools);
        for problem in &loaded.problems {
            tracing::warn!(server, "{problem}");
        }
        let changes = differences(&self.catalog(), &loaded.catalog, Some(server));
        let is_other = !changes.is_empty();
        if is_other {
            self.engine.change(changes)?;
        }
        let mut known = self.hidden.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(server.to_owned(), hidden);
        drop(known);
        self.hold_back();
        Ok((loaded.catalog.len(), is_other))
    }

    /// Counts the server's tools in the catalog again.
    pub(super) fn count_tools(&self, name: &str) {
        let catalog = self.catalog();
        let own = catalog.iter().filter(|tool| tool.server.as_deref() == Some(name));
        let mut states = self.upstreams.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = states.get_mut(name) {
            state.tools = own.count();
        }
    }

    pub(super) fn set_status(&self, name: &str, status: Status) -> Result<(), Error> {
        self.set_state(name, status, None, None)
    }

    /// How many times the server was dropped.
    fn drops(&self, name: &str) -> usize {
        let states = self.upstreams.read().unwrap_or_else(PoisonError::into_inner);
        states.get(name).map_or(0, |state| state.drops)
    }

    pub(super) fn set_dropped(&self, name: &str, because: String) {
        let mut states = self.upstreams.write().unwrap_or_else(PoisonError::into_inner);
        states.get_mut(name).into_iter().for_each(|state| state.drops += 1);
        drop(states);
        self.set_status(name, Status::Unavailable { because }).ok();
    }

    /// Sets the status, and the number of tools if it is given. A server that was dropped more than `drops` times keeps its
    /// status: its list came before the drop, and nothing would report the drop again.
    fn set_state(
        &self,
        name: &str,
        status: Status,
        tools: Option<usize>,
        drops: Option<usize>,
    ) -> Result<(), Error> {
        let mut states = self.upstreams.write().unwrap_or_else(PoisonError::into_inner);
        let known: Vec<String> = states.keys().cloned().collect();
        let state = states
            .get_mut(name)
            .ok_or_else(|| Error::UnknownServer { name: name.to_owned(), known })?;
        state.tools = tools.unwrap_or(state.tools);
        if state.status != status && drops.is_none_or(|drops| drops == state.drops) {
            match &status {
                Status::Ready => (state.failed, state.is_listed) = (None, true),
                Status::Unavailable { because } => state.failed = Some(because.clone()),
                _ => {}
            }
            (state.status, state.since_ms) = (status, now_ms().unsigned_abs());
            drop(states);
            self.notify(Notice::Server { name: name.to_owned() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use toolroute_run::execution::{Closures, Servers, ServersFile};

    use super::*;
    use crate::{Assembly, Upstreams};

    #[test]
    fn an_own_server_is_ready_though_the_file_disables_one_of_its_name() {
        let entry = r#"{"command": "x", "disabled": true}"#;
        let text = format!(r#"{{"mcpServers": {{"math": {entry}, "off": {entry}}}}}"#);
        let file = ServersFile::parse(&text, &|_| None).unwrap();
        let own_servers = Servers::new().with("math", Closures::new());
        let servers = Some(Upstreams::new(file));
        let service = Assembly { servers, own_servers, ..Assembly::default() }.build().unwrap();
        let states = service.servers().into_iter();
        let statuses: Vec<(String, Status)> =
            states.map(|state| (state.name, state.status)).collect();
        let disabled = Status::LeftOut { because: LeftOut::Disabled };
        let wanted = [("math".to_owned(), Status::Ready), ("off".to_owned(), disabled)];
        assert_eq!(statuses, wanted);
    }

    #[test]
    fn a_server_that_is_dropped_while_it_lists_stays_unavailable_until_it_is_asked_again() {
        let own_servers = Servers::new().with("s", Closures::new());
        let service = Assembly { own_servers, ..Assembly::default() }.build().unwrap();
        let dropped = Status::Unavailable { because: "it sent too much".to_owned() };
        let set = |status: Status, drops| {
            service.set_state("s", status, None, drops).unwrap();
            service.servers()[0].status.clone()
        };
        service.set_dropped("s", "it sent too much".to_owned());
        assert_eq!(set(Status::Ready, Some(0)), dropped, "its list came before");
        assert_eq!(set(Status::Starting, None), Status::Starting);
        assert_eq!(set(Status::Ready, Some(1)), Status::Ready);
    }

    #[test]
    fn a_server_that_is_tried_again_says_why_it_failed() {
        let state = |status, failed: Option<&str>| ServerState {
            failed: failed.map(str::to_owned),
            ..ServerState::new("s", status, 0)
        };
        let first = state(Status::Starting, None);
        assert_eq!(first.lacking().unwrap(), "starting; ask again in a few seconds");
        assert_eq!(first.reason(), None);
        let again = state(Status::Starting, Some("no handshake in 180s"));
        assert_eq!(again.lacking().unwrap(), "no handshake in 180s");
        assert!(!again.is_awaited());
        let held = ServerState { held_back: 1, withheld: 2, ..state(Status::Ready, None) };
        assert_eq!(held.lacking().unwrap(), "1 tool held back by pins");
        let fault = ServerState { pins_fault: Some("no disk".to_owned()), ..held.clone() };
        assert_eq!(fault.lacking().unwrap(), "1 tool held back: no disk");
        assert_eq!(
            held.reason().unwrap(),
            "1 tool held back by pins; without 2 tools that it lists only to clients with sampling or roots"
        );
    }
}
