//! Connects an engine and an executor. The outcome of a call goes to the session and to the log,
//! and what the log and the circuit breakers record is used by the next selection and the next
//! call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use super::Session;
use super::object::object_of;
use toolroute_catalog::{Tool, ToolId, split_identifier};
use toolroute_rank::engine::{Engine, Offer, OpenBreakers, SelectRequest, Strategy, fingerprint};
use toolroute_rank::feedback::{CallAttempt, EMPTY, Execution, PromptHash};
use toolroute_run::execution::{
    Attempt, Ending, Executor, Extractive, Neighbor, Outcome, Phase, Report,
};
use toolroute_vectors::embedding::{Embedder, Role};

/// Connects an executor to an engine. From then on, answers leave out tools whose circuit breaker
/// is open, the executor estimates the duration and the size of each tool's answers from the log,
/// and the engine's model makes the executor's summaries.
pub fn join(engine: &Engine, executor: &Arc<Executor>) {
    let observations = engine.observed();
    for tool in engine.catalog().iter() {
        let Some(observed) = observations.tool(tool.id.as_str()) else { continue };
        if let Some(latency_ms) = observed.latency_ms {
            // A run that another program reports has no answer size.
            let guessed = || executor.estimate(tool).chars;
            let chars = observed.chars.map_or_else(guessed, |chars| chars.round() as usize);
            executor.learn(tool, latency_ms, chars);
        }
    }
    if let Some(model) = engine.embedder() {
        let score =
            move |question: &str, sentences: &[&str]| cosines(model.as_ref(), question, sentences);
        executor.summarize_with(Arc::new(Extractive::new(score)));
    }
    // A weak reference, because the engine must not keep servers running that nobody calls any
    // more.
    let executor = Arc::downgrade(executor);
    engine.watch(move || executor.upgrade().map_or_else(OpenBreakers::default, |e| blocked(&e)));
}

/// Returns the tools nearest in meaning to a tool, nearest first, at most 12; empty without a
/// model.
pub fn neighbors(engine: &Engine, tool: &ToolId) -> Vec<Neighbor> {
    let Ok(vectors) = engine.vectors() else { return Vec::new() };
    let near = vectors.neighbors(tool).into_iter();
    near.map(|(tool, similarity)| Neighbor { tool, similarity }).collect()
}

/// Names in a report the other tools that help: those that give the ids that are missing, or if the
/// tool is out of reach, the nearest ones. Only tools that the executor can call and that `admits`
/// admits are named.
pub fn name_others(
    report: &mut Report,
    (engine, executor): (&Engine, &Executor),
    tool: &Tool,
    admits: impl Fn(&Tool) -> bool,
) {
    let is_open = |tool: &Tool| executor.can_call(tool) && admits(tool);
    if report.is_question() {
        let catalog = engine.catalog();
        let needs = catalog.needs_from(tool, |row| is_open(&catalog.tools()[row as usize]));
        report.name_suppliers(&needs);
    }
    if report.is_out_of_reach() {
        // Instead of a tool that only reads, none that may change something, and none that destroys instead of another.
        let is_kind = |near: &Tool| {
            let (own, other) = (tool.effects(), near.effects());
            (!own.reads_only() || other.reads_only()) && (own.destroys() || !other.destroys())
        };
        report.name_nearest(nearest(engine, tool, |near| is_open(near) && is_kind(near)));
    }
}

/// Returns the ids of the tools nearest to a tool, nearest first, at most three. Tools are compared
/// by meaning, or without a model by the words of their names and descriptions.
fn nearest(engine: &Engine, tool: &Tool, is_open: impl Fn(&Tool) -> bool) -> Vec<ToolId> {
    const MOST: usize = 3;
    /// More than are returned, because some of them may not be open.
    const COMPARED: usize = 12;
    /// The least cosine of a tool that may do the same: below, it has only the subject in common.
    const LIKE: f32 = 0.6;
    let near: Vec<Arc<Tool>> = match engine.vectors() {
        Ok(vectors) => {
            let near = vectors.neighbors(&tool.id).into_iter().filter(|(_, like)| *like >= LIKE);
            near.map(|(near, _)| near).collect()
        }
        Err(_) => {
            let text = format!("{} {}", split_identifier(&tool.name), tool.description);
            let request = SelectRequest::new(text).strategy(Strategy::Keyword).limit(COMPARED);
            let found = engine.select(&request).map(|found| found.tools).unwrap_or_default();
            found.into_iter().map(|found| found.tool).collect()
        }
    };
    let near = near.iter().filter(|near| near.id != tool.id && is_open(near));
    near.take(MOST).map(|near| near.id.clone()).collect()
}

impl Session {
    /// Remembers the outcome of a call. Logs every attempt that was sent, with the prompt that it
    /// was made for and the tools that were offered for that prompt. `question` is the prompt; if
    /// it is empty, the latest prompt for which the session was offered the tool is used. Without a
    /// log, the attempts are only counted.
    pub fn record_report(&self, engine: &Engine, report: &Report, question: &str) {
        self.note_report(report);
        self.note_object(engine, report);
        let first = report.attempts.first().map(|attempt| &attempt.tool);
        let offer = match question.trim() {
            "" => first.and_then(|tool| self.offer_with_tool(tool)),
            question => Some(self.offer_for_prompt(question)),
        };
        let request = request_id();
        for (place, attempt) in (0..).zip(&report.attempts) {
            if attempt.tries == 0 {
                continue;
            }
            let called = CallAttempt {
                request: request.clone(),
                place,
                tries: attempt.tries,
                estimated_ms: attempt.estimate.latency_ms,
                estimated_chars: Some(attempt.estimate.chars as u64),
                chars: is_answer(attempt).then_some(attempt.chars as u64),
                truncated: is_truncated(report, attempt),
            };
            let execution = execution(attempt, offer.as_ref());
            log(
                engine,
                Execution {
                    session: self.name().map(str::to_owned),
                    called: Some(called),
                    ..execution
                },
            );
        }
    }
}

impl Session {
    /// Remembers what an answered call made or changed.
    fn note_object(&self, engine: &Engine, report: &Report) {
        let Outcome::Answered(answer) = &report.outcome else { return };
        let catalog = engine.catalog();
        let tool = catalog.get(answer.tool.as_str());
        let text = || serde_json::from_str(&answer.output.text).ok();
        let result = answer.output.data.clone().or_else(text).unwrap_or_default();
        self.memory().last_object = tool.and_then(|tool| object_of(tool, &result));
    }
}

/// Counts an execution, and logs it if the engine keeps a log.
fn log(engine: &Engine, execution: Execution) {
    if engine.recorder().is_none() {
        engine.metrics().count_execution(&execution);
    } else if let Err(error) = engine.record(execution) {
        tracing::warn!("a run is not logged: {error}");
    }
}

fn blocked(executor: &Executor) -> OpenBreakers {
    let mut blocked = OpenBreakers::default();
    for state in executor.breakers() {
        if state.phase == Phase::Open {
            let names =
                if state.kind == "server" { &mut blocked.servers } else { &mut blocked.tools };
            names.insert(state.of);
        }
    }
    blocked
}

fn is_answer(attempt: &Attempt) -> bool {
    attempt.ending == Ending::Answered
}

fn is_truncated(report: &Report, attempt: &Attempt) -> bool {
    let Outcome::Answered(answer) = &report.outcome else { return false };
    answer.tool == attempt.tool && answer.truncation.is_some()
}

fn execution(attempt: &Attempt, offer: Option<&Offer>) -> Execution {
    let (tool, success) = (&attempt.tool, is_answer(attempt));
    let execution = match offer {
        Some(offer) => offer.execution(tool, success),
        // Without a prompt there is nothing to embed.
        None => Execution {
            prompt: None,
            prompt_hash: Some(PromptHash::of("")),
            ..Execution::new(tool.clone(), "", success)
        },
    };
    Execution {
        duration_ms: Some(attempt.took_ms.round() as u64),
        error_kind: error_kind(&attempt.ending),
        ..execution
    }
}

/// Returns a word for the kind of failure of an attempt.
fn error_kind(ending: &Ending) -> Option<String> {
    let word = |value: serde_json::Value| value.as_str().map(str::to_owned);
    match ending {
        Ending::Empty => Some(EMPTY.to_owned()),
        Ending::ToolError { hint } => word(serde_json::to_value(hint).ok()?),
        Ending::Failed { fault } => word(serde_json::to_value(fault).ok()?),
        _ => None,
    }
}

/// Returns an id that no other process that writes to the same log gives to its requests.
pub(super) fn request_id() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let nth = COUNTER.fetch_add(1, Ordering::Relaxed);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let parts = [u128::from(std::process::id()), u128::from(nth), since.as_nanos()];
    let parts = parts.map(|part| part.to_string());
    let mut id = fingerprint(&parts.each_ref().map(String::as_str));
    id.truncate(16);
    id
}

/// Returns the cosine of each sentence with the question. Returns `None` if the model fails; the
/// text is then cut without a summary.
fn cosines(model: &dyn Embedder, question: &str, sentences: &[&str]) -> Option<Vec<f32>> {
    let query = model.embed(&[question], Role::Query).ok()?.vectors;
    let documents = model.embed(sentences, Role::Document).ok()?.vectors;
    Some(documents.rows().into_iter().map(|row| row.dot(&query.row(0))).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use toolroute_catalog::{Catalog, Tool};
    use toolroute_rank::feedback::{ExecutionStore, StoreOptions, SuccessMetrics};
    use toolroute_run::execution::{
        Blocking, BreakerOptions, Candidate, Closures, ExecutorOptions, Order, Servers,
    };

    /// Creates an executor with a tool that fails, a tool that answers with a list of 200 numbers,
    /// and a server without tools.
    fn executor() -> Arc<Executor> {
        let tool = |name: &str| Tool::new(Some("s"), name, "");
        let closures = Closures::new()
            .with(tool("bad"), |_| Err("no such thing".to_owned()))
            .with(tool("good"), |_| Ok(json!((0..200).collect::<Vec<_>>())));
        let options = ExecutorOptions {
            max_chars: 300,
            breakers: BreakerOptions { tool_failures: 1, ..BreakerOptions::default() },
            ..ExecutorOptions::default()
        };
        let servers = Servers::new().with("s", closures).with("gone", Closures::new());
        Arc::new(Executor::new(servers, options))
    }

    fn call(executor: &Arc<Executor>, tools: &[&Arc<Tool>]) -> Report {
        let candidates = tools.iter().map(|tool| Candidate::asked(Arc::clone(tool))).collect();
        let calls = Blocking::with_threads(Arc::clone(executor)).unwrap();
        calls.call(Order { candidates, ..Order::default() }).unwrap()
    }

    fn engine(log: &std::path::Path) -> Engine {
        let mut tools = ["bad", "good"].map(|name| Tool::new(Some("s"), name, "moves data"));
        tools.iter_mut().for_each(|tool| tool.hints.read_only = Some(true));
        let catalog = Catalog::from_tools(tools.to_vec()).catalog;
        Engine::builder(catalog).feedback(log, StoreOptions::default()).build().unwrap()
    }

    #[test]
    fn attempts_are_logged_and_read_back_by_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log.db");
        let (engine, first) = (engine(&log), executor());
        let catalog = engine.catalog();
        let [bad, good] = [0, 1].map(|row: usize| &catalog.tools()[row]);
        let selection = engine.select(&SelectRequest::new("moves data")).unwrap();
        let report = call(&first, &[bad, good]);
        let session = Session::new("s");
        session.note_selection("moves data", &selection);
        session.record_report(&engine, &report, "");
        Session::default().record_report(&engine, &call(&first, &[good]), "");
        engine.recorder().unwrap().flush().unwrap();

        let store = ExecutionStore::open(&log, StoreOptions::default()).unwrap();
        let facts = store.facts().unwrap();
        let kinds: Vec<_> = facts.iter().map(|run| run.error_kind.as_deref()).collect();
        assert_eq!(kinds, [Some("not_found"), None, None]);
        assert_eq!(facts[0].choice.rank, Some(1));
        let found = SuccessMetrics::of(&facts);
        assert_eq!((found.calls, found.failed, found.requests), (3, 1, 2));
        assert_eq!((found.first_failed, found.recovered, found.truncated), (1, 1, 2));

        let next = executor();
        assert!(!next.estimate(good).learned);
        join(&engine, &next);
        let estimate = next.estimate(good);
        assert!(estimate.learned && estimate.chars == report.attempts[1].chars, "{estimate:?}");
    }

    #[test]
    fn an_open_breaker_leaves_its_tools_out_of_answers() {
        let tools = ["gone", "s"].map(|server| Tool::new(Some(server), "good", "moves data"));
        let mut tools = tools.to_vec();
        tools.iter_mut().for_each(|tool| tool.satisfies = vec!["move".to_owned()]);
        let engine = Engine::builder(Catalog::from_tools(tools).catalog).build().unwrap();
        let executor = executor();
        join(&engine, &executor);
        let names = || -> Vec<String> {
            let found = engine.select(&SelectRequest::new("moves data")).unwrap();
            found.tools.iter().map(|found| found.tool.id.to_string()).collect()
        };
        let discharging = || -> Vec<String> {
            let found = engine.satisfying("move");
            found.iter().map(|tool| tool.id.to_string()).collect()
        };
        assert_eq!(names().len(), 2);
        assert_eq!(discharging()[0], "gone__good");
        engine.watch(|| OpenBreakers {
            servers: ["gone".to_owned()].into(),
            ..OpenBreakers::default()
        });
        assert_eq!(names(), ["s__good"]);
        assert_eq!(discharging(), ["s__good", "gone__good"], "last, and still there");
        let answer = engine.select(&SelectRequest::new("moves data")).unwrap();
        assert_eq!(
            answer.excluded[0].because.to_string(),
            "its server `gone` failed lately and is left alone for a while"
        );
        let found = engine.candidates_for("move", &[]);
        assert_eq!((found.chosen.unwrap().id.as_str(), found.excluded.len()), ("s__good", 1));
        join(&engine, &executor);
        assert_eq!(names().len(), 2, "it is asked anew each time");
    }
}
