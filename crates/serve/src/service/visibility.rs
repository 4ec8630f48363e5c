//! Which servers a client may see, and which of their tools are hidden from every client.
//!
//! If profile, permissions or pins leave no tool of a server, its prompts and resources are hidden
//! too, because they come from the same author.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, PoisonError};

use toolroute_catalog::{Tool, ToolId};
use toolroute_rank::engine::HeldTool;
use toolroute_run::execution::Verdict;
use toolroute_run::pins::{Screened, pins_option};

use super::{Error, ServerState, Service, ServiceOptions};
use crate::profile::View;

/// The tools of a server that are hidden from every client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HiddenTools {
    /// The tools that may run but that pins hold back, by id.
    pub held: BTreeMap<String, HeldTool>,
    /// Why pins hold back every tool, if they cannot be read or written.
    pub pins_fault: Option<String>,
    /// Ids of the tools that permissions forbid, with what they say.
    pub forbidden: BTreeMap<String, Verdict>,
}

impl HiddenTools {
    pub fn is_empty(&self) -> bool {
        self.held.is_empty() && self.forbidden.is_empty()
    }

    /// Sets the tools that pins hold back. Returns the accepted ones.
    pub fn hold(&mut self, screened: Screened, may_hold: impl Fn(&Tool) -> bool) -> Vec<Tool> {
        let Screened { accepted, held, error, .. } = screened;
        self.pins_fault = error.and_then(|_| held.first().map(|(_, because)| because.clone()));
        let held = held.into_iter().filter(|(tool, _)| may_hold(tool));
        let held = held.map(|(tool, because)| {
            (tool.id.to_string(), HeldTool { tool: Arc::new(tool), because })
        });
        self.held = held.collect();
        accepted
    }
}

/// The list of a server, split into admitted and hidden tools.
#[derive(Clone, Debug, Default)]
pub struct Admission {
    /// The tools that may be found and called.
    pub tools: Vec<Tool>,
    pub hidden: HiddenTools,
}

/// A name that no tool has. A pattern that matches it matches every tool of a server.
const ANY_NAME: &str = "\u{f8ff}\u{f8fe}\u{f8ff}\u{f8fd}\u{f8ff}";

fn any_id(server: &str) -> String {
    format!("{server}__{ANY_NAME}")
}

impl Service {
    /// Splits a server's list by permissions and pins. Every list passes through here before it
    /// enters a catalog, whether it is read from a file or received from the server.
    pub(crate) fn admit_tools(
        options: &ServiceOptions,
        server: &str,
        tools: Vec<Tool>,
    ) -> Admission {
        let may_run = |tool: &Tool| options.permissions.may_ever_run(tool);
        let verdict = |tool: &Tool| options.permissions.judge(tool, true);
        let forbidden = tools.iter().filter(|tool| !may_run(tool));
        let forbidden = forbidden.map(|tool| (tool.id.to_string(), verdict(tool))).collect();
        let mut hidden = HiddenTools { forbidden, ..HiddenTools::default() };
        let is_own = options.own_servers.contains(server);
        let mut tools = match options.screening.as_ref().filter(|_| !is_own) {
            Some(screening) => hidden.hold(screening.screen(server, tools), may_run),
            None => tools,
        };
        tools.retain(may_run);
        Admission { tools, hidden }
    }

    /// Replaces the hidden tools of these servers.
    pub(crate) fn set_hidden(&self, hidden: BTreeMap<String, HiddenTools>) {
        self.hidden.write().unwrap_or_else(PoisonError::into_inner).extend(hidden);
        self.hold_back();
    }

    /// Informs the engine which tools are held back, so that selections can name them.
    pub(super) fn hold_back(&self) {
        let hidden = self.hidden.read().unwrap_or_else(PoisonError::into_inner);
        let held = hidden.values().flat_map(|hidden| hidden.held.values().cloned()).collect();
        drop(hidden);
        self.engine.hold_back(held);
    }

    /// The states of the servers that clients of a profile may know of.
    pub(crate) fn visible_servers(&self, profile: Option<&str>) -> Result<Vec<ServerState>, Error> {
        let named = self.named(self.view(profile)?);
        Ok(self.servers().into_iter().filter(|state| named(&state.name)).collect())
    }

    /// What pins hold back of the servers that clients of a profile may know of, and the cure;
    /// `None` if they hold back nothing.
    pub(crate) fn all_held(&self, profile: Option<&str>) -> Option<String> {
        let mut states = self.visible_servers(profile).ok()?;
        states.retain(|state| state.held_back > 0);
        let fault = states.first()?.pins_fault.clone();
        let servers: Vec<String> = states.into_iter().map(|state| state.name).collect();
        let pins = self.options.screening.as_ref()?.pins.file_in_commands();
        let because = fault.unwrap_or_else(|| {
            let pins = pins_option(pins);
            format!(
                "`toolroute pins list --held{pins}` shows them, `toolroute pins approve` lets them in"
            )
        });
        Some(format!(
            "pins hold back the tools of {}. Tell the user: {because}",
            servers.join(", ")
        ))
    }

    /// The names of the servers whose prompts and resources clients of a profile get.
    pub(crate) fn open_servers(&self, profile: Option<&str>) -> Result<BTreeSet<String>, Error> {
        let view = self.view(profile)?;
        let tools = self.by_tools(view);
        let (options, allow) = (&self.options, &self.options.permissions.allow);
        let needs_approval =
            options.screening.as_ref().is_some_and(|screening| screening.needs_approval());
        let may_be_open =
            |name: &str| !needs_approval && (allow.is_empty() || allow.matches(&any_id(name)));
        let is_open = |name: &str| match tools.get(name) {
            Some(is_open) => *is_open,
            None => {
                may_be_open(name) && !self.has_hidden_tools(name) && self.may_be_named(view, name)
            }
        };
        let names = self.servers().into_iter().map(|state| state.name);
        Ok(names.filter(|name| is_open(name)).collect())
    }

    /// A predicate on names of servers: whether clients of a view may know of the server.
    pub(super) fn named(&self, view: &View) -> impl Fn(&str) -> bool {
        let tools = self.by_tools(view);
        move |name: &str| match tools.get(name) {
            Some(is_open) => *is_open,
            None => self.may_be_named(view, name),
        }
    }

    /// For each server with tools in the catalog, whether the view admits one of them.
    fn by_tools(&self, view: &View) -> HashMap<String, bool> {
        let permissions = &self.options.permissions;
        let is_open = |tool: &Tool| view.admits(tool) && permissions.may_ever_run(tool);
        let mut servers: HashMap<String, bool> = HashMap::new();
        for tool in self.engine.catalog().iter() {
            let Some(server) = tool.server.as_deref() else { continue };
            match servers.get_mut(server) {
                Some(true) => {}
                Some(open) => *open = is_open(tool),
                None => _ = servers.insert(server.to_owned(), is_open(tool)),
            }
        }
        servers
    }

    /// Whether clients of a view may know of a server without tools in the catalog: its list is not
    /// known yet, or it is empty, or its tools wait for approval.
    fn may_be_named(&self, view: &View, server: &str) -> bool {
        let hidden = self.hidden.read().unwrap_or_else(PoisonError::into_inner);
        let hidden = hidden.get(server);
        let is_forbidden = hidden.is_some_and(|of| of.held.is_empty() && !of.forbidden.is_empty());
        !is_forbidden
            && view.may_admit(server)
            && ![server, &any_id(server)]
                .iter()
                .any(|name| self.options.permissions.deny.matches(name))
    }

    /// The patterns of `--allow` and `--deny` that match no tool of the servers that answered.
    pub fn unmatched_patterns(&self) -> Vec<String> {
        let mut tools = self.catalog().tools().to_vec();
        let hidden = self.hidden.read().unwrap_or_else(PoisonError::into_inner);
        for (server, hidden) in &*hidden {
            let prefix = format!("{server}__");
            let name = |id: &'_ String| id.strip_prefix(&prefix).unwrap_or(id).to_owned();
            let names = hidden.forbidden.keys().map(name);
            tools.extend(names.map(|name| Arc::new(Tool::new(Some(server), &name, ""))));
        }
        drop(hidden);
        let patterns = self.options.permissions.unmatched(&tools).into_iter();
        patterns.map(str::to_owned).collect()
    }

    fn has_hidden_tools(&self, server: &str) -> bool {
        let hidden = self.hidden.read().unwrap_or_else(PoisonError::into_inner);
        hidden.get(server).is_some_and(|hidden| !hidden.is_empty())
    }

    /// The error that states why a view has no tool with this id.
    pub(super) fn missing(&self, id: &str, view: &View) -> Error {
        let spelled = id.replacen(':', "__", 1);
        let ids = [id, &spelled];
        if let Some(held) = self.hidden(&ids, view, |hidden, id| hidden.held.get(id).cloned()) {
            return Error::HeldBack { id: held.tool.id.to_string(), because: held.because };
        }
        let reason = |hidden: &HiddenTools, id: &str| {
            let because = hidden.forbidden.get(id)?.reason();
            Some(Error::Forbidden { id: id.to_owned(), because })
        };
        if let Some(forbidden) = self.hidden(&ids, view, reason) {
            return forbidden;
        }
        let named = self.named(view);
        let servers = self.servers().into_iter();
        let own = servers.filter(|state| {
            let rest = spelled.strip_prefix(&state.name);
            rest.is_some_and(|rest| rest.starts_with("__")) && named(&state.name)
        });
        // The longest name is used, because the name of one server may begin with that of another.
        if let Some(state) = own.max_by_key(|state| state.name.len())
            && let Some(because) = state.lacking()
            && state.tools == 0
        {
            return Error::NotListed { id: id.to_owned(), server: state.name, because };
        }
        let catalog = self.engine.catalog();
        let is_visible =
            |id: &&ToolId| catalog.get(id.as_str()).is_some_and(|tool| view.admits(tool));
        // The catalog returns more than the error names, because the view may hide some.
        let near = catalog.near(id, 12).into_iter().filter(is_visible).take(3);
        Error::UnknownTool { id: id.to_owned(), near: near.map(ToString::to_string).collect() }
    }

    /// How many tools of a profile and a server read-only mode hides from every client.
    pub(crate) fn hidden_by_read_only(&self, profile: Option<&str>, server: Option<&str>) -> usize {
        let Ok(view) = self.view(profile) else { return 0 };
        let hidden = self.hidden.read().unwrap_or_else(PoisonError::into_inner);
        let is_meant = |name: &str| server.is_none_or(|server| server == name);
        let meant = hidden.iter().filter(|(name, _)| is_meant(name));
        let tools =
            meant.flat_map(|(name, hidden)| hidden.forbidden.iter().map(move |of| (name, of)));
        tools
            .filter(|(name, (id, verdict))| {
                verdict.is_of_read_only_mode() && view.admits_id(name, id)
            })
            .count()
    }

    /// What `find` says of the first of the ids that a server hides and the view admits.
    fn hidden<T>(
        &self,
        ids: &[&str],
        view: &View,
        find: impl Fn(&HiddenTools, &str) -> Option<T>,
    ) -> Option<T> {
        let hidden = self.hidden.read().unwrap_or_else(PoisonError::into_inner);
        let find = |id: &&str| {
            let mut servers = hidden.iter().filter(|(name, _)| view.admits_id(name, id));
            servers.find_map(|(_, hidden)| find(hidden, id))
        };
        ids.iter().find_map(find)
    }

    /// Whether the server's list is known, and whether the catalog contains a tool of it.
    pub(super) fn presence(&self, server: &str) -> (bool, bool) {
        let hidden = self.hidden.read().unwrap_or_else(PoisonError::into_inner);
        let is_there = |tool: &Tool| tool.server.as_deref() == Some(server);
        (hidden.contains_key(server), self.engine.catalog().iter().any(is_there))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use toolroute_catalog::Catalog;
    use toolroute_rank::engine::Engine;
    use toolroute_run::execution::{Patterns, Permissions};
    use toolroute_run::pins::{Approve, Mode, Pins};

    use super::*;
    use crate::Profile;
    use crate::{Notes, Screening};

    fn service(mut options: ServiceOptions) -> Arc<Service> {
        let tool = |server, name| Tool::new(Some(server), name, "Reads a file of notes");
        let catalog = Catalog::from_tools(vec![tool("fs", "read"), tool("web", "read")]).catalog;
        let engine = Arc::new(Engine::builder(catalog).build().unwrap());
        let reads =
            Profile { tools: vec!["fs__read".into(), "ne*__x".into()], ..Profile::default() };
        options.profiles.insert("reads".into(), reads);
        Service::new(engine, options).unwrap()
    }

    fn visible(service: &Service, profile: Option<&str>) -> Vec<&'static str> {
        let all = ["fs", "web", "new", "held"];
        let view = service.view(profile).unwrap();
        let named = service.named(view);
        all.into_iter().filter(|name| named(name)).collect()
    }

    #[test]
    fn a_server_is_visible_where_one_of_its_tools_is_or_may_come() {
        let tool = Arc::new(Tool::new(Some("held"), "x", ""));
        let one = HeldTool { tool, because: "it is new".to_owned() };
        let held = [("held__x".to_owned(), one)].into();
        let held = HiddenTools { held, ..HiddenTools::default() };
        let hidden = [("held".to_owned(), held)].into();
        let open = service(ServiceOptions { hidden, ..ServiceOptions::default() });
        assert_eq!(visible(&open, None), ["fs", "web", "new", "held"]);
        assert!(open.has_hidden_tools("held"));
        assert_eq!(visible(&open, Some("reads")), ["fs", "new"]);
        let deny = Patterns::new(["fs__*", "n*"]).unwrap();
        let permissions = Permissions { deny, ..Permissions::default() };
        let denied = service(ServiceOptions { permissions, ..ServiceOptions::default() });
        assert_eq!(visible(&denied, None), ["web", "held"]);
        assert_eq!(visible(&denied, Some("reads")), [] as [&str; 0]);
    }

    #[test]
    fn tools_that_are_held_back_are_told_from_those_that_may_never_run() {
        let names = ["read", "new", "delete"];
        let tools = names.map(|name| Tool::new(Some("fs"), name, "")).to_vec();
        let deny = Patterns::new(["*__delete"]).unwrap();
        let mut options = ServiceOptions {
            permissions: Permissions { deny, ..Permissions::default() },
            ..ServiceOptions::default()
        };
        let all = Service::admit_tools(&options, "fs", tools.clone());
        assert_eq!((all.tools.len(), all.hidden.held.len(), all.hidden.forbidden.len()), (2, 0, 1));
        let folder = tempfile::tempdir().unwrap();
        let pins = Pins::new(folder.path().join("pins.json"), Mode::Strict);
        let (fingerprints, notes) = (Default::default(), Notes::new(|_| {}));
        options.screening = Some(Screening { pins: pins.clone(), fingerprints, notes });
        Service::admit_tools(&options, "fs", tools.clone());
        pins.approve(&Approve::Tool { id: "fs__read".into(), sha256: None }).unwrap();
        let some = Service::admit_tools(&options, "fs", tools);
        assert_eq!((some.tools.len(), some.hidden.forbidden.len()), (1, 1));
        assert_eq!(some.hidden.held.into_keys().collect::<Vec<_>>(), ["fs__new"]);
    }
}
