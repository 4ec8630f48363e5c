//! The servers of tools, each with its invoker.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

#[cfg(feature = "mcp")]
use super::http::HttpOperations;
use super::invoker::{Fault, Invoker};
#[cfg(feature = "mcp")]
use super::mcp::{McpOptions, McpServer};
#[cfg(feature = "mcp")]
use super::process::ProcessTools;
#[cfg(feature = "mcp")]
use super::servers::{Entry, ServersFile};
use toolroute_catalog::Tool;

/// The tools that servers list, by server name.
pub type Listed = BTreeMap<String, Result<Vec<Tool>, Fault>>;

/// Servers by name. A tool without a server belongs to the one with the empty name.
#[derive(Clone, Default)]
pub struct Servers {
    by_name: BTreeMap<String, Arc<dyn Invoker>>,
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}

impl Servers {
    /// Creates a collection without servers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the servers of a file. Each is started when it is first needed.
    ///
    /// Also returns the problems. An unusable entry is left out.
    #[cfg(feature = "mcp")]
    pub fn open(file: &ServersFile, options: &McpOptions) -> (Self, Vec<String>) {
        let mut servers = Self::new();
        let mut problems = file.problems.clone();
        for (name, entry) in &file.entries {
            match invoker(name, entry, options) {
                Ok(invoker) => servers.insert(name, invoker),
                Err(error) => problems.push(format!("server `{name}`: {error}")),
            }
        }
        (servers, problems)
    }

    /// Adds a server. It replaces a server of the same name.
    pub fn insert(&mut self, name: &str, invoker: Arc<dyn Invoker>) {
        self.by_name.insert(name.to_owned(), invoker);
    }

    /// Like [`Servers::insert`], for method chaining.
    #[must_use]
    pub fn with(mut self, name: &str, invoker: impl Invoker + 'static) -> Self {
        self.insert(name, Arc::new(invoker));
        self
    }

    /// Adds all servers of another collection.
    #[doc(hidden)] // For our own crates.
    pub fn insert_all(&mut self, others: &Self) {
        self.by_name.extend(others.clone().by_name);
    }

    /// Whether both have the same names with the same invokers.
    #[doc(hidden)] // For our own crates.
    pub fn are_same(&self, others: &Self) -> bool {
        self.names().eq(others.names())
            && self.by_name.values().zip(others.by_name.values()).all(|(a, b)| Arc::ptr_eq(a, b))
    }

    /// Returns the names of all servers, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// The server with this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Invoker>> {
        self.by_name.get(name)
    }

    /// The server of this tool.
    #[doc(hidden)] // For our own crates.
    pub fn of(&self, tool: &Tool) -> Option<&Arc<dyn Invoker>> {
        self.by_name.get(tool.server.as_deref().unwrap_or_default())
    }

    /// Asks the named servers concurrently for their tools. Each answers or fails independently.
    ///
    /// A tool whose id belongs to another server is left out, even if that server has no such tool
    /// yet: an id must not change its meaning between selection and call.
    pub async fn list(&self, names: impl IntoIterator<Item = String>) -> Listed {
        let mut asked = tokio::task::JoinSet::new();
        for name in names {
            if let Some(invoker) = self.by_name.get(&name).map(Arc::clone) {
                asked.spawn(async move { (name, invoker.tools().await) });
            }
        }
        let mut listed = Listed::new();
        while let Some(answered) = asked.join_next().await {
            // The panic of a task is already logged. Its server is missing in the result.
            listed.extend(answered.ok());
        }
        for (server, tools) in &mut listed {
            if let Ok(tools) = tools {
                tools.retain(|tool| self.is_own(server, tool));
            }
        }
        listed
    }

    /// Whether the tool's id belongs to its server. If an id begins with the names of two servers,
    /// it belongs to the one with the longer name. The user chooses the names of servers, and
    /// servers those of tools, so no server can take an id from another.
    #[doc(hidden)] // For our own crates.
    pub fn is_own(&self, server: &str, tool: &Tool) -> bool {
        let id = tool.id.as_str();
        let begins =
            |other: &&str| id.strip_prefix(other).is_some_and(|rest| rest.starts_with("__"));
        let longer = self.names().filter(|other| other.len() > server.len());
        let Some(owner) = longer.filter(begins).max_by_key(|other| other.len()) else {
            return true;
        };
        tracing::warn!(
            "the tool `{}` of the server `{server}` is left out: its id {id} is one of the server \
             `{owner}`; rename one of the two servers",
            tool.name
        );
        false
    }

    /// Stops all servers that were started, concurrently.
    pub async fn close(&self) {
        let mut closing = tokio::task::JoinSet::new();
        for invoker in self.by_name.values().map(Arc::clone) {
            closing.spawn(async move { invoker.close().await });
        }
        closing.join_all().await;
    }
}

#[cfg(feature = "mcp")]
fn invoker(
    name: &str,
    entry: &Entry,
    options: &McpOptions,
) -> Result<Arc<dyn Invoker>, super::Error> {
    Ok(match entry {
        Entry::Stdio(program) => Arc::new(McpServer::stdio(name, program.clone(), options.clone())),
        Entry::Http(remote) => Arc::new(McpServer::http(name, remote.clone(), options.clone())),
        Entry::Process(program, tools) => {
            let parts = (program.clone(), tools.as_slice());
            Arc::new(ProcessTools::new(name, parts, options.process.clone()))
        }
        Entry::OpenApi(remote) => Arc::new(HttpOperations::new(remote.clone())?),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::closures::Closures;
    use super::*;

    #[test]
    fn an_id_is_that_of_one_server_whoever_is_heard_first() {
        let server = |name: &str, tools: &[&str]| {
            let tools = tools.iter().map(|tool| Tool::new(Some(name), tool, ""));
            tools.fold(Closures::new(), |known, tool| known.with(tool, |_| Ok(json!("done"))))
        };
        let servers = Servers::new()
            .with("a", server("a", &["b__c", "b_c", "_d", "x__y"]))
            .with("a_", server("a_", &["d"]))
            .with("a__b", server("a__b", &["c"]));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let ids = |name: &str| {
            let listed = runtime.block_on(servers.list([name.to_owned()])).remove(name);
            let tools = listed.unwrap().unwrap();
            tools.into_iter().map(|tool| tool.id.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(ids("a"), ["a__b_c", "a__x__y"]);
        assert_eq!(ids("a_"), ["a___d"]);
        assert_eq!(ids("a__b"), ["a__b__c"]);
    }
}
