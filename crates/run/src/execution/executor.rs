//! Calls a tool and returns one answer or one message.

mod attempt;
mod run;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::breaker::{BreakerOptions, BreakerState, Breakers};
use super::elicitation::User;
use super::fallback::Candidate;
use super::invoker::{Arguments, Output, Progress};
use super::loop_guard::LoopGuard;
use super::output::{
    self, AnswerStatistics, AnswerStore, Estimate, Extractive, Page, Shape, Truncation, tokens_of,
};
use super::params::{Change, Parameters};
use super::permission::Permissions;
use super::redact::{Redactor, map_texts};
use super::registry::Servers;
use super::report::{Answer, Report};
use super::timing::Timing;
use toolroute_catalog::{Tool, ToolId, visible};
use toolroute_vectors::durable::unique_id;

/// The default limit of an answer in characters: about 10,000 tokens.
pub const DEFAULT_MAX_CHARS: usize = 40_000;

/// The memory for complete answers in bytes. They are kept so that the rest of a truncated answer
/// can be read.
const KEPT_BYTES: usize = 64 << 20;

/// Members of MCP's content blocks that hold binary data.
const BYTES: [&str; 2] = ["data", "blob"];

/// A callback for raw errors.
pub type OnFailure = Arc<dyn Fn(&Failure) + Send + Sync>;

/// A raw error for the log, with secrets removed.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// The id that the message to the caller names.
    pub id: String,
    /// The tool that failed.
    pub tool: ToolId,
    /// What it or its server said.
    pub detail: String,
}

/// How an executor works.
#[derive(Clone)]
pub struct ExecutorOptions {
    /// Which tools may run, and which need a person's agreement.
    pub permissions: Permissions,
    /// Timeouts, retries and pauses.
    pub timing: Timing,
    /// When a tool or server that fails is left alone for a while.
    pub breakers: BreakerOptions,
    /// The limit of an answer in characters.
    pub max_chars: usize,
    /// Keeps the answers that were truncated, so that the rest can be read.
    pub kept: Arc<AnswerStore>,
    /// Removes secrets from texts of tools and servers.
    pub redactor: Redactor,
    /// Receives failures in addition to the log of this process.
    pub on_failure: Option<OnFailure>,
    /// The file in which `on_failure` keeps them, for messages that name it.
    pub failure_log: Option<PathBuf>,
}

impl fmt::Debug for ExecutorOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecutorOptions")
            .field("permissions", &self.permissions)
            .field("timing", &self.timing)
            .field("breakers", &self.breakers)
            .field("max_chars", &self.max_chars)
            .field("failure_log", &self.failure_log)
            .finish_non_exhaustive()
    }
}

impl Default for ExecutorOptions {
    fn default() -> Self {
        Self {
            permissions: Permissions::default(),
            timing: Timing::default(),
            breakers: BreakerOptions::default(),
            max_chars: DEFAULT_MAX_CHARS,
            kept: Arc::new(AnswerStore::in_memory(KEPT_BYTES)),
            redactor: Redactor::default(),
            on_failure: None,
            failure_log: None,
        }
    }
}

/// An event during a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A tool has been running long enough for the user to be informed.
    Working { tool: ToolId, said: String },
    /// The tool reports its progress.
    Progress {
        tool: ToolId,
        #[serde(flatten)]
        progress: Progress,
    },
    /// A tool did not answer, and the next candidate is tried.
    FellBack { from: ToolId, to: ToolId },
}

/// A request to call the first of some candidates, or the next ones if it fails.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// In the order in which they are tried. The first is the requested tool.
    pub candidates: &'a [Candidate],
    /// The arguments of the requested tool. A fallback gets those that it has parameters for.
    pub arguments: &'a Arguments,
    /// Counts the calls of the session and limits them.
    pub guard: &'a LoopGuard,
    /// Whether a person agreed to destructive calls.
    pub confirmed: bool,
    /// The user's question, for summaries.
    pub question: &'a str,
    /// The limit of the answer in tokens, for a context window that is nearly full.
    pub budget_tokens: Option<usize>,
    /// The user whom servers may ask.
    pub user: Option<&'a User>,
    /// Receives the events while the tools run. It must not block.
    pub on_event: &'a (dyn Fn(Event) + Send + Sync),
}

impl<'a> Request<'a> {
    /// A request that nobody confirmed, for any length of answer, whose events are not observed.
    pub fn new(
        candidates: &'a [Candidate],
        arguments: &'a Arguments,
        guard: &'a LoopGuard,
    ) -> Self {
        Self {
            candidates,
            arguments,
            guard,
            confirmed: false,
            question: "",
            budget_tokens: None,
            user: None,
            on_event: &|_| {},
        }
    }
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids = self.candidates.iter().map(|candidate| candidate.tool.id.as_str());
        f.debug_struct("Request")
            .field("candidates", &ids.collect::<Vec<_>>())
            .field("arguments", &self.arguments.keys().collect::<Vec<_>>())
            .field("confirmed", &self.confirmed)
            .field("budget_tokens", &self.budget_tokens)
            .finish_non_exhaustive()
    }
}

/// Calls tools. Share it by `Arc`: it holds the connections, and the measured latencies and answer
/// lengths of the tools.
pub struct Executor {
    servers: Servers,
    options: ExecutorOptions,
    breakers: Breakers,
    parameters: Arc<Parameters>,
    statistics: AnswerStatistics,
    summarizer: RwLock<Option<Arc<Extractive>>>,
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("servers", &self.servers).finish_non_exhaustive()
    }
}

impl Executor {
    /// Creates an executor. No server is started before the first call of one of its tools.
    pub fn new(servers: Servers, options: ExecutorOptions) -> Self {
        let breakers = Breakers::new(options.breakers.clone());
        let (parameters, statistics) = (Arc::default(), AnswerStatistics::default());
        let summarizer = RwLock::default();
        Self { servers, options, breakers, parameters, statistics, summarizer }
    }

    /// Sets the summarizer for long texts of tools whose call hints ask for it; other long texts are
    /// truncated.
    #[doc(hidden)] // For our own crates.
    pub fn summarize_with(&self, summarizer: Arc<Extractive>) {
        *self.summarizer.write().unwrap_or_else(PoisonError::into_inner) = Some(summarizer);
    }

    /// Calls the first candidate that can be called and answers, and reports every attempt.
    ///
    /// It always ends: each candidate has one turn, with a bounded number of tries and a timeout
    /// for each. Dropping the future cancels the current call.
    pub async fn call(&self, request: &Request<'_>) -> Report {
        self.call_with_key(request, None).await
    }

    /// Like [`Executor::call`], and passes an idempotency key to the tool. The key is the same for
    /// each repetition of this request, and different for every other request.
    #[doc(hidden)] // For our own crates.
    pub async fn call_with_key(&self, request: &Request<'_>, key: Option<&str>) -> Report {
        let began = Instant::now();
        let nobody = User::nobody();
        let request = Request { user: request.user.or(Some(&nobody)), ..*request };
        let (outcome, attempts) = run::Run::new(self, &request, key).outcome().await;
        let (took_ms, unasked) = (millis(began), nobody.unasked());
        Report { outcome, attempts, took_ms, nearest: Vec::new(), unasked }
    }

    /// Returns the servers that the executor was created with.
    pub fn servers(&self) -> &Servers {
        &self.servers
    }

    /// The breakers with recent failures.
    pub fn breakers(&self) -> Vec<BreakerState> {
        self.breakers.states(Instant::now())
    }

    /// Whether the tool's breaker, or its server's, is open.
    pub fn is_open(&self, tool: &Tool) -> bool {
        self.breakers.is_open(tool, Instant::now())
    }

    /// Whether a call of the tool would be sent, possibly after a confirmation: its server is
    /// here, permissions admit it, and no breaker is open.
    #[doc(hidden)] // For our own crates.
    pub fn can_call(&self, tool: &Tool) -> bool {
        self.servers.of(tool).is_some()
            && self.options.permissions.may_ever_run(tool)
            && !self.is_open(tool)
    }

    /// The expected latency and length of an answer of the tool.
    #[doc(hidden)] // For our own crates.
    pub fn estimate(&self, tool: &Tool) -> Estimate {
        self.statistics.estimate(tool)
    }

    /// Updates the estimate from a past call, for example one from a log. `latency_ms` is in
    /// milliseconds; `chars` is the length of the answer in characters.
    #[doc(hidden)] // For our own crates.
    pub fn learn(&self, tool: &Tool, latency_ms: f64, chars: usize) {
        self.statistics.learn(tool, latency_ms, chars);
    }

    /// Replaces secrets in a text: those that this executor knows, and text that looks like a
    /// secret.
    #[doc(hidden)] // For our own crates.
    pub fn clean(&self, text: &str) -> String {
        self.options.redactor.clean(text)
    }

    /// Returns at most `most` characters of a stored answer, from character `offset` on. `handle`
    /// is the one in the marker of the truncated answer. Returns `None` if the answer is no longer
    /// stored.
    pub fn read_more(&self, handle: &str, offset: usize, most: usize) -> Option<Page> {
        self.options.kept.get(handle, offset, most)
    }

    /// Stops all servers that were started.
    pub async fn close(&self) {
        self.servers.close().await;
    }

    /// The error text of a tool, truncated for an agent, without secrets and invisible characters;
    /// `None` if it says nothing.
    fn error_text(&self, text: &str) -> Option<String> {
        const MOST_CHARS: usize = 2_000;
        let text: String = text.chars().take(MOST_CHARS).collect();
        let text = self.options.redactor.clean(&visible(&text));
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Returns the tool's own error answer without secrets, which callers pass on to an agent, or
    /// `None` if it is empty or too long to search it for secrets.
    fn error_answer(
        &self,
        request: &Request<'_>,
        tool: &Tool,
        mut output: Output,
    ) -> Option<Box<Answer>> {
        const MOST_BYTES: usize = 1 << 20;
        if output.is_empty() || output.text.len() > MOST_BYTES {
            return None;
        }
        let redactor = &self.options.redactor;
        output.text = redactor.clean(&output.text);
        let mut clean = |text: &mut String| *text = redactor.clean(text);
        output.data.iter_mut().for_each(|data| map_texts(data, &[], &mut clean));
        output.blocks.iter_mut().for_each(|block| map_texts(block, &BYTES, &mut clean));
        Some(Box::new(self.answer(request, tool, output, Vec::new())))
    }

    /// Logs an error and returns its id in the log.
    fn log(&self, tool: &Tool, detail: &str) -> String {
        const MOST_CHARS: usize = 4_000;
        let detail: String = detail.chars().take(MOST_CHARS).collect();
        let detail = self.options.redactor.clean(&detail);
        let failure = Failure { id: error_id(), tool: tool.id.clone(), detail };
        tracing::info!(id = failure.id, tool = %tool.id, detail = failure.detail, "a call failed");
        if let Some(told) = &self.options.on_failure {
            told(&failure);
        }
        failure.id
    }

    /// Builds the answer from a tool's output, truncated to the limits of the request.
    fn answer(
        &self,
        request: &Request<'_>,
        tool: &Tool,
        whole: Output,
        changes: Vec<Change>,
    ) -> Answer {
        let room = request.budget_tokens.map_or(usize::MAX, |tokens| tokens.saturating_mul(4));
        let timing = &self.options.timing;
        let declared = timing.max_tokens(tool).map_or(usize::MAX, output::chars_of);
        let most = self.options.max_chars.min(room).min(declared).max(output::LEAST_CHARS);
        let question = Some(request.question.trim()).filter(|asked| !asked.is_empty());
        let question = question.filter(|_| timing.summarizes(tool));
        let (output, truncation) = self.fitted(question, whole, most);
        Answer { tool: tool.id.clone(), output, truncation, changes }
    }

    fn fitted(
        &self,
        question: Option<&str>,
        mut whole: Output,
        most: usize,
    ) -> (Output, Option<Truncation>) {
        let of_chars = whole.text.chars().count();
        let long_data = whole.data.as_ref().is_some_and(|data| {
            // Data that equals the text has the text's length, which is known.
            (of_chars > most || *data != whole.text) && data.to_string().chars().count() > most
        });
        if of_chars <= most && !long_data {
            return (whole, None);
        }
        whole.blocks.clear();
        let whole_data = whole.data.take_if(|_| long_data);
        // Of a long value beside a short text, the text says little.
        let stored = whole_data.as_ref().filter(|_| of_chars <= most).map(Value::to_string);
        let stored = stored.as_deref().unwrap_or(&whole.text);
        let handle = self.options.kept.put(stored);
        if let Some(data) = &whole_data {
            let room = if of_chars > most { most } else { most - of_chars };
            whole.data = Some(output::truncate_value(data, room, stored, handle.as_deref()));
        }
        let shape = output::shape(&whole.text);
        let summarizer = self.summarizer.read().unwrap_or_else(PoisonError::into_inner).clone();
        let summary = summarizer.filter(|_| shape == Shape::Text);
        let summary =
            summary.filter(|_| of_chars > most).zip(question).and_then(|(summarizer, asked)| {
                run_blocking(|| summarizer.summarize(&whole.text, asked, most - 100))
            });
        let summarized = summary.is_some();
        whole.text = match summary {
            Some(summary) => {
                let about = tokens_of(of_chars);
                let rest = handle.as_ref().map_or(String::new(), |h| format!(" under handle {h}"));
                format!("{summary}\n[summary of about {about} tokens{rest}]")
            }
            None => output::truncate(&whole.text, most, handle.as_deref()),
        };
        (whole, Some(Truncation { shape, of_chars, summarized, handle, whole_data }))
    }
}

/// Runs CPU-bound work without blocking other tasks, if the runtime has other threads.
fn run_blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1_000.0
}

/// A new error id.
fn error_id() -> String {
    format!("e-{}", &unique_id()[..8])
}
