//! Which servers are there for a client, and which of their tools are kept from all.
//!
//! A profile, a right or a pin that leaves nothing of a server's tools leaves nothing of the server:
//! its prompts and resources come from the same author.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::PoisonError;

use super::super::profile::View;
use super::{Error, Screened, ServerState, Service, ServiceOptions};
use crate::catalog::{Tool, ToolId};
use crate::engine::HeldTool;

/// The tools of a server that nobody gets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hidden {
    /// Ids of those that could run and were held back by the screen.
    pub held: BTreeSet<String>,
    /// Those tools, as far as the screen says why.
    pub tools: Vec<HeldTool>,
    /// How many may never run.
    pub forbidden: usize,
}

impl Hidden {
    pub fn is_empty(&self) -> bool {
        self.held.is_empty() && self.forbidden == 0
    }
}

/// What a server lists, parted.
#[derive(Clone, Debug, Default)]
pub struct Admitted {
    /// What may be found and called at all.
    pub tools: Vec<Tool>,
    pub hidden: Hidden,
}

/// The name of a tool that no server has: a pattern that matches it matches all of a server's.
const ANY_NAME: &str = "\u{f8ff}\u{f8fe}\u{f8ff}\u{f8fd}\u{f8ff}";

fn any_id(server: &str) -> String {
    format!("{server}__{ANY_NAME}")
}

impl Service {
    /// The tools of a list that may be found and called at all. What a catalog is made of passes
    /// through here first, whether it comes from a file or from a server.
    pub fn admitted(options: &ServiceOptions, server: &str, tools: Vec<Tool>) -> Admitted {
        let may_run = |tool: &Tool| options.permissions.may_ever_run(tool);
        let mut hidden = Hidden::default();
        let listed = tools.len();
        let mut tools = match &options.screen {
            Some(screen) => {
                let runs = tools.iter().filter(|tool| may_run(tool));
                let runs: Vec<ToolId> = runs.map(|tool| tool.id.clone()).collect();
                hidden.forbidden = listed - runs.len();
                let Screened { free: screened, held: mut tools } = screen(server, tools);
                let free: HashSet<&ToolId> = screened.iter().map(|tool| &tool.id).collect();
                let held = runs.iter().filter(|id| !free.contains(id));
                hidden.held = held.map(ToString::to_string).collect();
                tools.retain(|held| hidden.held.contains(held.tool.id.as_str()));
                hidden.tools = tools;
                screened
            }
            None => tools,
        };
        tools.retain(may_run);
        if options.screen.is_none() {
            hidden.forbidden = listed - tools.len();
        }
        Admitted { tools, hidden }
    }

    /// Has answers name the tools that are held back now.
    pub(super) fn hold_back(&self) {
        let hidden = self.hidden.read().unwrap_or_else(PoisonError::into_inner);
        let held = hidden.values().flat_map(|hidden| hidden.tools.iter().cloned()).collect();
        drop(hidden);
        self.engine.hold_back(held);
    }

    /// The states of those servers that clients of a profile may hear of.
    ///
    /// # Errors
    /// [`Error::UnknownProfile`].
    pub fn seen_servers(&self, profile: Option<&str>) -> Result<Vec<ServerState>, Error> {
        let named = self.named(self.view(profile)?);
        Ok(self.servers().into_iter().filter(|state| named(&state.name)).collect())
    }

    /// The servers whose prompts and resources clients of a profile get.
    ///
    /// # Errors
    /// [`Error::UnknownProfile`].
    pub fn open_servers(&self, profile: Option<&str>) -> Result<BTreeSet<String>, Error> {
        let view = self.view(profile)?;
        let tools = self.by_tools(view);
        let (options, allow) = (&self.options, &self.options.permissions.allow);
        let may_be_told = |name: &str| {
            !options.approved_only && (allow.is_empty() || allow.matches(&any_id(name)))
        };
        let is_open = |name: &str| match tools.get(name) {
            Some(is_open) => *is_open,
            None => may_be_told(name) && !self.hides(name) && self.may_be_named(view, name),
        };
        let names = self.servers().into_iter().map(|state| state.name);
        Ok(names.filter(|name| is_open(name)).collect())
    }

    /// Tells which servers may be named within a view.
    pub(super) fn named(&self, view: &View) -> impl Fn(&str) -> bool {
        let tools = self.by_tools(view);
        move |name: &str| match tools.get(name) {
            Some(is_open) => *is_open,
            None => self.may_be_named(view, name),
        }
    }

    /// Of each server with tools in the catalog, whether the view lets one of them through.
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

    /// Whether a server without a tool in the catalog may be named: one that was not heard yet, that
    /// has no tools at all, or whose tools wait for somebody to approve them.
    fn may_be_named(&self, view: &View, server: &str) -> bool {
        let hidden = self.hidden.read().unwrap_or_else(PoisonError::into_inner);
        let hidden = hidden.get(server);
        let is_forbidden = hidden.is_some_and(|of| of.held.is_empty() && of.forbidden > 0);
        !is_forbidden
            && view.may_admit(server)
            && !self.options.permissions.deny.matches(&any_id(server))
    }

    /// Whether anything that the server lists is kept from all.
    fn hides(&self, server: &str) -> bool {
        let hidden = self.hidden.read().unwrap_or_else(PoisonError::into_inner);
        hidden.get(server).is_some_and(|hidden| !hidden.is_empty())
    }

    /// Why there is no tool of this id within a view.
    pub(super) fn missing(&self, id: &str, view: &View) -> Error {
        let spelled = id.replacen(':', "__", 1);
        if let Some(held) = self.held(&[id, &spelled], view) {
            return Error::HeldBack { id: held };
        }
        let named = self.named(view);
        let servers = self.servers().into_iter();
        let own = servers.filter(|state| {
            let rest = spelled.strip_prefix(&state.name);
            rest.is_some_and(|rest| rest.starts_with("__")) && named(&state.name)
        });
        // One server's name may begin with another's.
        if let Some(state) = own.max_by_key(|state| state.name.len())
            && let Some(because) = state.lacking()
            && state.tools == 0
        {
            return Error::NotListed { id: id.to_owned(), server: state.name, because };
        }
        let catalog = self.engine.catalog();
        let seen = |id: &&ToolId| catalog.get(id.as_str()).is_some_and(|tool| view.admits(tool));
        // More than are told, since some of them may be hidden here.
        let near = catalog.near(id, 12).into_iter().filter(seen).take(3);
        Error::UnknownTool { id: id.to_owned(), near: near.map(ToString::to_string).collect() }
    }

    /// The first of the ids that pins hold back.
    fn held(&self, ids: &[&str], view: &View) -> Option<String> {
        let hidden = self.hidden.read().unwrap_or_else(PoisonError::into_inner);
        let is_held = |id: &&&str| {
            let mut servers = hidden.iter();
            servers.any(|(name, known)| known.held.contains(**id) && view.admits_id(name, id))
        };
        ids.iter().find(is_held).map(ToString::to_string)
    }

    /// Whether anything is known of the server's tools, and whether any of them is there.
    pub(super) fn standing(&self, server: &str) -> (bool, bool) {
        let hidden = self.hidden.read().unwrap_or_else(PoisonError::into_inner);
        let is_there = |tool: &Tool| tool.server.as_deref() == Some(server);
        (hidden.contains_key(server), self.engine.catalog().iter().any(is_there))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Profile;
    use crate::catalog::Catalog;
    use crate::engine::Engine;
    use crate::execution::{Patterns, Permissions};

    fn service(mut options: ServiceOptions) -> Arc<Service> {
        let tool = |server, name| Tool::new(Some(server), name, "Reads a file of notes");
        let catalog = Catalog::from_tools(vec![tool("fs", "read"), tool("web", "read")]).catalog;
        let engine = Arc::new(Engine::builder(catalog).build().unwrap());
        let reads =
            Profile { tools: vec!["fs__read".into(), "ne*__x".into()], ..Profile::default() };
        options.profiles.insert("reads".into(), reads);
        Service::new(engine, options).unwrap()
    }

    fn seen(service: &Service, profile: Option<&str>) -> Vec<&'static str> {
        let all = ["fs", "web", "new", "held"];
        let view = service.view(profile).unwrap();
        let named = service.named(view);
        let seen = |name: &&str| named(name);
        all.into_iter().filter(seen).collect()
    }

    #[test]
    fn a_server_is_there_where_one_of_its_tools_is_or_may_come() {
        let held = Hidden { held: ["held__x".to_owned()].into(), ..Hidden::default() };
        let hidden = [("held".to_owned(), held)].into();
        let open = service(ServiceOptions { hidden, ..ServiceOptions::default() });
        assert_eq!(seen(&open, None), ["fs", "web", "new", "held"]);
        assert!(open.hides("held"));
        assert_eq!(seen(&open, Some("reads")), ["fs", "new"]);
        let deny = Patterns::new(["fs__*", "n*"]).unwrap();
        let permissions = Permissions { deny, ..Permissions::default() };
        let denied = service(ServiceOptions { permissions, ..ServiceOptions::default() });
        assert_eq!(seen(&denied, None), ["web", "held"]);
        assert_eq!(seen(&denied, Some("reads")), [] as [&str; 0]);
    }

    #[test]
    fn what_is_held_back_is_told_from_what_may_never_run() {
        let names = ["read", "new", "delete"];
        let tools = names.map(|name| Tool::new(Some("fs"), name, "")).to_vec();
        let deny = Patterns::new(["*__delete"]).unwrap();
        let mut options = ServiceOptions {
            permissions: Permissions { deny, ..Permissions::default() },
            ..ServiceOptions::default()
        };
        let all = Service::admitted(&options, "fs", tools.clone());
        assert_eq!((all.tools.len(), all.hidden.held.len(), all.hidden.forbidden), (2, 0, 1));
        options.screen = Some(Arc::new(|_: &str, tools: Vec<Tool>| {
            let held =
                |tool: &Tool| HeldTool { tool: Arc::new(tool.clone()), because: "new".to_owned() };
            Screened { free: tools[..1].to_vec(), held: tools[1..].iter().map(held).collect() }
        }));
        let some = Service::admitted(&options, "fs", tools);
        assert_eq!((some.tools.len(), some.hidden.forbidden), (1, 1));
        assert_eq!(some.hidden.held, ["fs__new".to_owned()].into());
        assert_eq!(some.hidden.tools.len(), 1);
    }
}
