//! `tools/list`: the tools that an agent sees without a search.

use std::sync::{Arc, PoisonError};

use rmcp::model::Tool as McpTool;
use toolroute_catalog::{Tool, ToolId};
use toolroute_rank::query::says_nothing;
use toolroute_rank::selection::Exclusion;

use super::definition::{Definition, to_json};
use super::meta::READ_MORE;
use super::{Expose, Gateway, GatewayState};
use crate::{Error, FindRequest, Service, Status};

/// The default number of tools of [`Expose::Selected`].
pub const SELECTED: usize = 10;

/// The result of `tools/list`, shared by all clients of a profile until the catalog changes.
#[derive(Clone, PartialEq)]
pub(super) struct ToolList(Arc<Vec<McpTool>>);

impl ToolList {
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|tool| tool.name == name)
    }

    pub fn tools(&self) -> Vec<McpTool> {
        self.0.as_ref().clone()
    }
}

/// The lists of tools that a client knows.
#[derive(Default)]
pub(super) struct ClientLists {
    /// The latest list that the client received.
    latest: Option<ToolList>,
    /// The list at the latest notification, or the first list that the client received.
    announced: Option<ToolList>,
}

impl ClientLists {
    pub fn received(&mut self, listed: &ToolList) {
        self.latest = Some(listed.clone());
        self.announced.get_or_insert_with(|| listed.clone());
    }

    /// Whether to notify the client that its list is `now` this one; `known` is the list of a
    /// client that has received none. A client that received the changed list already is notified
    /// too: some MCP libraries list the tools on their own, and the program around them learns of
    /// the change only from the notification.
    pub fn announce(&mut self, now: Option<&ToolList>, known: Option<&ToolList>) -> bool {
        let is_known = |list: &Option<ToolList>| list.as_ref().or(known) == now;
        // A client that has received no list is told of each change once.
        let is_outdated = self.latest.is_some() && !is_known(&self.latest);
        let differs = is_outdated || !is_known(&self.announced);
        if differs {
            self.announced = now.cloned();
        }
        differs
    }
}

impl Gateway {
    /// Waits for the servers' first lists if `tools/list` depends on them.
    pub(super) async fn tools_are_known(&self) {
        let service = &self.shared.service;
        let profile = service.profile(self.shared.profile.as_deref());
        let is_pinned = profile.is_ok_and(|profile| !profile.pinned.is_empty());
        if is_pinned || self.shared.expose == Expose::Selected {
            service.catch_up().await;
        }
    }

    /// The current list.
    pub(super) async fn listed(&self) -> Result<ToolList, Error> {
        let shared = Arc::clone(&self.shared);
        crate::service::off_thread(move || shared.listed()).await?
    }
}

impl GatewayState {
    fn listed(&self) -> Result<ToolList, Error> {
        let version = self.service.engine().version();
        let known = self.listed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, listed)) = known.filter(|(of, _)| *of == version) {
            return Ok(listed);
        }
        let mut tools = match self.expose {
            Expose::Search => self.meta.clone(),
            // An answer may be truncated, and only this tool returns the rest.
            Expose::Selected => {
                let is_more = |tool: &&McpTool| tool.name == READ_MORE;
                self.meta.iter().filter(is_more).cloned().collect()
            }
        };
        tools.extend(self.direct()?.iter().filter_map(|tool| defined(tool)));
        let listed = ToolList(Arc::new(tools));
        let kept = (version, listed.clone());
        *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        Ok(listed)
    }

    /// The tools that are listed under their own ids: the pinned ones in their order, and then,
    /// with [`Expose::Selected`], the best ones.
    fn direct(&self) -> Result<Vec<Arc<Tool>>, Error> {
        let profile = self.service.profile(self.profile.as_deref())?;
        let mut tools: Vec<Arc<Tool>> = Vec::new();
        for id in &profile.pinned {
            match self.service.describe(id, self.profile.as_deref()) {
                Ok(tool) => tools.push(tool),
                Err(error) if self.is_settled() => {
                    tracing::warn!(%error, "a pinned tool is not listed");
                }
                Err(_) => {}
            }
        }
        if self.expose == Expose::Selected {
            let most = profile.limit.unwrap_or(SELECTED);
            for tool in self.best(profile.query.as_deref(), most)? {
                if tools.len() < most.max(profile.pinned.len()) {
                    tools.push(tool);
                    tools = without_doubles(tools);
                }
            }
        }
        Ok(without_doubles(tools))
    }

    /// Whether no server can still list its tools.
    fn is_settled(&self) -> bool {
        self.service.servers().iter().all(|server| server.status != Status::Starting)
    }

    /// The best tools for the profile's query. Without a query, all tools in the order of the
    /// catalog.
    fn best(&self, query: Option<&str>, most: usize) -> Result<Vec<Arc<Tool>>, Error> {
        let profile = self.profile.as_deref();
        let Some(query) = query.filter(|query| !says_nothing(query)) else {
            let catalog = self.service.catalog();
            let sees = |tool: &&Arc<Tool>| self.service.sees(tool, profile).unwrap_or(false);
            return Ok(catalog.tools().iter().filter(sees).cloned().collect());
        };
        let mut find = FindRequest::new(query);
        find.request.limit = Some(most);
        find.profile = self.profile.clone();
        let found = self.service.select(&find)?;
        // A profile's query is broad, so the nearest tools are listed if no tool is sure to fit.
        let nearest =
            found.excluded.iter().filter(|held| matches!(held.because, Exclusion::Unfit { .. }));
        let nearest = nearest.filter_map(|near| self.describe(&self.service, &near.id));
        Ok(found.tools.iter().map(|found| Arc::clone(&found.tool)).chain(nearest).collect())
    }

    fn describe(&self, service: &Service, id: &ToolId) -> Option<Arc<Tool>> {
        service.describe(id.as_str(), self.profile.as_deref()).ok()
    }
}

fn without_doubles(tools: Vec<Arc<Tool>>) -> Vec<Arc<Tool>> {
    let mut kept: Vec<Arc<Tool>> = Vec::with_capacity(tools.len());
    for tool in tools {
        if !kept.iter().any(|known| known.id == tool.id) {
            kept.push(tool);
        }
    }
    kept
}

/// The tool in rmcp's type, under a name that models' APIs take: a client passes the list on to one, and one
/// bad name fails the whole request. A definition that rmcp cannot represent, such as one with a schema that
/// is not an object, is not listed; the tool can still be found.
fn defined(tool: &Tool) -> Option<McpTool> {
    let read = serde_json::from_str(&to_json(&Definition::of(tool)));
    let read = read.inspect_err(|error| tracing::debug!(%error, id = %tool.id, "not listed"));
    let mut listed: McpTool = read.ok()?;
    listed.name = tool.id.model_name().into_owned().into();
    Some(listed)
}
