//! Requests to upstream servers that are not calls of tools, such as `prompts/get`, passed through
//! as MCP defines them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolroute_run::execution::{Fault, FaultKind, Invoker};

use super::{Error, Service};

/// The time limit for a request to all servers. Slower servers are left out.
const LONGEST: Duration = Duration::from_secs(10);

/// The limit of pages that are read of one list, because a server could send pages without end.
const MOST_PAGES: usize = 50;

impl Service {
    /// Sends a request to one server, and starts the server if it is not running.
    ///
    /// # Errors
    /// [`Error::UnknownServer`]; [`Error::Refused`] with the server's own error;
    /// [`Error::Unavailable`].
    pub async fn ask(&self, server: &str, method: &str, params: Value) -> Result<Value, Error> {
        let executor = self.executor().ok_or(Error::NoExecutor)?;
        let Some(invoker) = executor.servers().get(server) else {
            let known = executor.servers().names().map(str::to_owned).collect();
            return Err(Error::UnknownServer { name: server.to_owned(), known });
        };
        let answered = invoker.ask(method, params).await;
        answered.map_err(|fault| self.failed(server, &fault))
    }

    /// Sends a request to all servers of a profile at the same time. The results are sorted by
    /// name. Servers that do not support the method or do not answer in time are left out.
    ///
    /// # Errors
    /// [`Error::UnknownProfile`].
    pub async fn ask_all(
        self: &Arc<Self>,
        method: &str,
        params: &Value,
        profile: Option<&str>,
    ) -> Result<Vec<(String, Result<Value, Error>)>, Error> {
        self.first_lists().await;
        let open = self.open_servers(profile)?;
        let mut asked = tokio::task::JoinSet::new();
        for (name, invoker) in self.invokers(|name| open.contains(name)) {
            let (method, params) = (method.to_owned(), params.clone());
            asked.spawn(async move {
                let answered = tokio::time::timeout(LONGEST, invoker.ask(&method, params)).await;
                (name, answered)
            });
        }
        let mut answers = Vec::new();
        while let Some(answered) = asked.join_next().await {
            match answered {
                Ok((name, Ok(Ok(value)))) => answers.push((name, Ok(value))),
                Ok((name, Ok(Err(fault)))) if fault.kind != FaultKind::Missing => {
                    let error = self.failed(&name, &fault);
                    answers.push((name, Err(error)));
                }
                _ => {}
            }
        }
        answers.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(answers)
    }

    /// Reads all pages of a list from all servers of a profile. Each result has the server's name
    /// and the elements of `member`.
    ///
    /// # Errors
    /// [`Error::UnknownProfile`].
    pub async fn list_all(
        self: &Arc<Self>,
        method: &str,
        member: &str,
        profile: Option<&str>,
    ) -> Result<Vec<(String, Vec<Value>)>, Error> {
        self.first_lists().await;
        let open = self.open_servers(profile)?;
        let mut asked = tokio::task::JoinSet::new();
        for (name, invoker) in self.invokers(|name| open.contains(name)) {
            let (method, member) = (method.to_owned(), member.to_owned());
            asked.spawn(async move {
                let listed = tokio::time::timeout(LONGEST, pages(&invoker, &method, &member)).await;
                (name, listed)
            });
        }
        let mut lists = Vec::new();
        while let Some(listed) = asked.join_next().await {
            match listed {
                Ok((name, Ok(Ok(listed)))) => lists.push((name, listed)),
                Ok((name, Ok(Err(fault)))) if fault.kind != FaultKind::Missing => {
                    self.failed(&name, &fault);
                }
                Ok((server, Err(_))) => tracing::warn!(server, method, "no answer in time"),
                _ => {}
            }
        }
        lists.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(lists)
    }

    fn invokers(&self, meant: impl Fn(&str) -> bool) -> Vec<(String, Arc<dyn Invoker>)> {
        let servers = self.executor().map(|executor| executor.servers());
        let names = servers.iter().flat_map(|servers| servers.names()).filter(|name| meant(name));
        let found = names.filter_map(|name| Some((name, servers?.get(name)?)));
        found.map(|(name, invoker)| (name.to_owned(), Arc::clone(invoker))).collect()
    }

    /// The error for a client. A server's own error is passed through. The details of any other
    /// fault go only to the log.
    fn failed(&self, server: &str, fault: &Fault) -> Error {
        let detail = self.executor().map(|executor| executor.clean(&fault.detail));
        let detail = detail.unwrap_or_default();
        if fault.kind == FaultKind::Refused {
            // `execution/mcp/translate.rs` writes the code of a protocol error before its message.
            let (code, message) = match detail.split_once(' ') {
                Some((code, message)) => (code.parse().unwrap_or(INTERNAL), message.to_owned()),
                None => (INTERNAL, detail),
            };
            return Error::Refused { code, message };
        }
        tracing::warn!(server, detail, "no answer");
        Error::Unavailable { server: server.to_owned(), because: fault.kind.to_string() }
    }
}

/// The JSON-RPC code of an internal error.
const INTERNAL: i32 = -32_603;

async fn pages(
    invoker: &Arc<dyn Invoker>,
    method: &str,
    member: &str,
) -> Result<Vec<Value>, Fault> {
    let (mut all, mut params) = (Vec::new(), json!({}));
    for _ in 0..MOST_PAGES {
        let mut page = invoker.ask(method, params).await?;
        if let Value::Array(elements) = page[member].take() {
            all.extend(elements);
        }
        let Some(cursor) = page["nextCursor"].as_str() else { break };
        params = json!({ "cursor": cursor });
    }
    Ok(all)
}
