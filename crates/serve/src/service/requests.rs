//! Requests to upstream servers that are not calls of tools, such as `prompts/get`, passed through
//! as MCP defines them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolroute_run::execution::{Fault, FaultKind, Invoker, Pages, User};

use super::{Error, Service};

/// The time limit for a request to all servers. Slower servers are left out.
const LONGEST: Duration = Duration::from_secs(10);

/// How long the answer of one server waits for another server that asks the user.
const QUESTION_WAIT: Duration = Duration::from_secs(1);

/// The limit of pages that are read of one list, because a server could send pages without end.
const MOST_PAGES: usize = 50;

impl Service {
    /// Sends a request to one server, and starts the server if it is not running. The server may ask
    /// the user before it answers.
    ///
    /// # Errors
    /// [`Error::UnknownServer`]; [`Error::Refused`] with the server's own error;
    /// [`Error::Unavailable`].
    #[doc(hidden)] // For our own crates.
    pub async fn ask(
        &self,
        server: &str,
        (method, params): (&str, Value),
        user: Option<&User>,
    ) -> Result<Value, Error> {
        let executor = self.executor().ok_or(Error::NoExecutor)?;
        let Some(invoker) = executor.servers().get(server) else {
            let known = executor.servers().names().map(str::to_owned).collect();
            return Err(Error::UnknownServer { name: server.to_owned(), known });
        };
        let answered = invoker.ask(method, params, user).await;
        answered.map_err(|fault| self.failed(server, &fault))
    }

    /// Sends a request to all servers of a profile at the same time. The results are sorted by
    /// name. Servers that do not support the method or do not answer in time are left out, and so are
    /// those that still ask the user once another has answered; their questions are withdrawn.
    #[doc(hidden)] // For our own crates.
    pub async fn ask_all(
        self: &Arc<Self>,
        (method, params): (&str, &Value),
        user: Option<&User>,
        profile: Option<&str>,
    ) -> Result<Vec<(String, Result<Value, Error>)>, Error> {
        let ask = |invoker: Arc<dyn Invoker>| {
            let (method, params, user) = (method.to_owned(), params.clone(), user.cloned());
            async move { invoker.ask(&method, params, user.as_ref()).await }
        };
        let mut answers = Vec::new();
        for (name, answered) in self.ask_each(profile, user, ask).await? {
            match answered {
                Some(Ok(value)) => answers.push((name, Ok(value))),
                Some(Err(fault)) if fault.kind != FaultKind::Missing => {
                    let error = self.failed(&name, &fault);
                    answers.push((name, Err(error)));
                }
                _ => {}
            }
        }
        Ok(answers)
    }

    /// Reads all pages of a list from all servers of a profile. Each result has the server's name
    /// and the elements of `member`.
    #[doc(hidden)] // For our own crates.
    pub async fn list_all(
        self: &Arc<Self>,
        method: &str,
        member: &str,
        profile: Option<&str>,
    ) -> Result<Vec<(String, Vec<Value>)>, Error> {
        let list = |invoker: Arc<dyn Invoker>| {
            let (method, member) = (method.to_owned(), member.to_owned());
            async move { pages(&invoker, &method, &member).await }
        };
        let mut lists = Vec::new();
        for (name, listed) in self.ask_each(profile, None, list).await? {
            match listed {
                Some(Ok(listed)) => lists.push((name, listed)),
                Some(Err(fault)) if fault.kind != FaultKind::Missing => {
                    self.failed(&name, &fault);
                }
                Some(Err(_)) => {}
                None => tracing::warn!(server = name, method, "no answer in time"),
            }
        }
        Ok(lists)
    }

    /// Asks all servers of a profile at the same time, each within [`LONGEST`], not counting the time
    /// in which the user is asked. The answers are sorted by name; a missing one is `None`.
    async fn ask_each<T: Send + 'static, F>(
        self: &Arc<Self>,
        profile: Option<&str>,
        user: Option<&User>,
        ask: impl Fn(Arc<dyn Invoker>) -> F,
    ) -> Result<Vec<(String, Option<Result<T, Fault>>)>, Error>
    where
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        self.catch_up().await;
        let open = self.open_servers(profile)?;
        let mut asked = tokio::task::JoinSet::new();
        let servers = self.executor().map(|executor| executor.servers());
        for name in servers.iter().flat_map(|servers| servers.names()) {
            let invoker = servers.and_then(|servers| servers.get(name));
            let Some(invoker) = invoker.filter(|_| open.contains(name)) else { continue };
            let (name, answer, user) = (name.to_owned(), ask(Arc::clone(invoker)), user.cloned());
            asked.spawn(async move { (name, User::within(user.as_ref(), LONGEST, answer).await) });
        }
        let (mut answers, mut has_answer) = (Vec::new(), false);
        loop {
            let next = tokio::time::timeout(QUESTION_WAIT, asked.join_next()).await;
            let Ok(next) = next else {
                if has_answer && user.is_some_and(User::is_asked) {
                    break;
                }
                continue;
            };
            let Some(answered) = next else { break };
            has_answer |= matches!(&answered, Ok((_, Some(Ok(_)))));
            answers.extend(answered);
        }
        answers.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(answers)
    }

    /// The error for a client. A server's own error is passed through. The details of any other
    /// fault go only to the log.
    fn failed(&self, server: &str, fault: &Fault) -> Error {
        let detail = self.executor().map(|executor| executor.clean(&fault.detail));
        let detail = detail.unwrap_or_default();
        if fault.kind == FaultKind::Refused {
            return Error::Refused { code: fault.code.unwrap_or(INTERNAL), message: detail };
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
    let (mut all, mut params) = (Pages::default(), json!({}));
    for _ in 0..MOST_PAGES {
        let mut page = invoker.ask(method, params, None).await?;
        if let Value::Array(elements) = page[member].take() {
            all.add(elements)?;
        }
        let Some(cursor) = page["nextCursor"].as_str() else { break };
        params = json!({ "cursor": cursor });
    }
    Ok(all.elements)
}
