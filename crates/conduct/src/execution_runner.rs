//! A [`Runner`] that calls tools of MCP servers, HTTP APIs and programs through an executor.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::builtin::Builtins;
use super::runner::{Call, Effect, Outcome, Runner};
use toolroute_run::execution::{
    Answer, Blocking, Candidate, Ending, Hint, Order, Outcome as ExecutionOutcome, Output, Report,
};

/// Runs built-in tools in this process, and all other tools on their servers.
///
/// It uses no fallbacks, because the conductor chooses the next tool and records each run. Retries
/// use the same idempotency key.
pub struct ExecutionRunner<'a> {
    first: Builtins,
    calls: Blocking,
    confirmed: bool,
    on_report: Option<&'a (dyn Fn(&Report) + Send + Sync)>,
    /// The report of an answer that was not checked yet.
    unchecked: Mutex<Option<Report>>,
}

impl<'a> ExecutionRunner<'a> {
    /// Creates a runner: built-in tools first, all others by calls.
    pub fn new(first: Builtins, calls: Blocking) -> Self {
        Self { first, calls, confirmed: false, on_report: None, unchecked: Mutex::default() }
    }

    /// Sets whether a person has agreed to destructive calls.
    #[must_use]
    pub fn confirmed(mut self, confirmed: bool) -> Self {
        self.confirmed = confirmed;
        self
    }

    /// Sets a callback that receives the report of each call. If an answer does not fulfil what its tool promises, the
    /// report says that the tool failed.
    #[must_use]
    pub fn on_report(mut self, told: &'a (dyn Fn(&Report) + Send + Sync)) -> Self {
        self.on_report = Some(told);
        self
    }

    fn tell(&self, report: &Report) {
        if let Some(told) = self.on_report {
            told(report);
        }
    }
}

impl Runner for ExecutionRunner<'_> {
    fn run(&self, call: &Call<'_>) -> Outcome {
        let has_server = || self.calls.executor().servers().of(call.tool).is_some();
        if self.first.has(call.tool) || !has_server() {
            return self.first.run(call);
        }
        let order = Order {
            candidates: vec![Candidate::asked(Arc::new(call.tool.clone()))],
            arguments: call.arguments.as_object().cloned().unwrap_or_default(),
            key: Some(call.key.to_owned()),
            confirmed: self.confirmed,
            ..Order::default()
        };
        let Some(report) = self.calls.call(order) else {
            let said = "the program ended before the answer".to_owned();
            return Outcome::Failed { said, effect: Effect::Unknown };
        };
        match report.outcome {
            ExecutionOutcome::Answered(_) => {
                let mut unchecked = self.unchecked.lock().unwrap_or_else(PoisonError::into_inner);
                *unchecked = Some(report.clone());
            }
            _ => self.tell(&report),
        }
        outcome(report)
    }

    fn checked(&self, fulfils: bool) {
        let unchecked = self.unchecked.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut report) = unchecked else { return };
        let last = report.attempts.iter_mut().rfind(|attempt| attempt.ending == Ending::Answered);
        if let (Some(attempt), false) = (last, fulfils) {
            attempt.ending = Ending::ToolError { hint: Hint::Other };
        }
        self.tell(&report);
    }
}

fn outcome(report: Report) -> Outcome {
    let effect = if report.reached() { Effect::Unknown } else { Effect::None };
    match report.outcome {
        ExecutionOutcome::Answered(answer) => Outcome::Done(value(*answer)),
        ExecutionOutcome::Confirm { tool, .. } => {
            let said = format!(
                "{tool} may change or delete something, and nobody agreed to that; make the request anew with --yes, or \
                 over HTTP with a service that was started with --yes"
            );
            Outcome::Failed { said, effect }
        }
        other => {
            let said = other.message().unwrap_or_default().to_owned();
            Outcome::Failed { said, effect }
        }
    }
}

/// Converts an answer to the value that conditions and templates read, which is always an object or
/// an array.
fn value(answer: Answer) -> Value {
    let Output { text, data, attachments, .. } = answer.output;
    let parsed = || serde_json::from_str(&text).ok().filter(is_structured);
    let mut value = match data.or_else(parsed) {
        Some(data) if is_structured(&data) => data,
        Some(Value::String(text)) => json!({"text": text}),
        Some(other) => json!({"result": other}),
        None => json!({"text": text}),
    };
    if let (false, Value::Object(members)) = (attachments.is_empty(), &mut value) {
        let told = attachments.iter().map(|a| json!({"kind": a.kind, "mime_type": a.mime_type}));
        members.entry("attachments").or_insert_with(|| told.collect());
    }
    value
}

fn is_structured(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use toolroute_catalog::Tool;
    use toolroute_run::execution::{Closures, Executor, ExecutorOptions, Servers};

    fn answer(output: Output) -> Value {
        let tool = "t".into();
        value(Answer { tool, output, truncation: None, changes: Vec::new() })
    }

    #[test]
    fn every_answer_has_something_to_ask_for() {
        assert_eq!(answer(Output::text("hello")), json!({"text": "hello"}));
        assert_eq!(answer(Output::text("{\"rows\": []}")), json!({"rows": []}));
        assert_eq!(answer(Output::text("42")), json!({"text": "42"}));
        assert_eq!(answer(Output::data(json!(42))), json!({"result": 42}));
        assert_eq!(answer(Output::data(json!("x"))), json!({"text": "x"}));
        assert_eq!(answer(Output::data(json!([1]))), json!([1]));
    }

    #[test]
    fn what_was_not_sent_changed_nothing_and_what_was_may_have() {
        let tool = |name: &str| Tool::new(Some("s"), name, "");
        let closures = Closures::new()
            .with(tool("good"), |_| Ok(json!({"n": 1})))
            .with(tool("bad"), |_| Err("no".to_owned()))
            .with(tool("delete_all"), |_| Ok(json!({})));
        let servers = Servers::new().with("s", closures);
        let executor = Arc::new(Executor::new(servers, ExecutorOptions::default()));
        let told = Mutex::new(Vec::new());
        let note = |report: &Report| {
            let endings = report.attempts.iter().map(|attempt| attempt.ending == Ending::Answered);
            told.lock().unwrap().push(endings.collect::<Vec<_>>());
        };
        let calls = Blocking::with_threads(executor).unwrap();
        let runner = ExecutionRunner::new(Builtins::default(), calls).on_report(&note);
        let run = |tool: &Tool| {
            let outcome = runner.run(&Call { tool, arguments: &json!({}), key: "k" });
            runner.checked(true);
            outcome
        };
        assert_eq!(run(&tool("good")), Outcome::Done(json!({"n": 1})));
        let effect = |tool: &Tool| match run(tool) {
            Outcome::Failed { effect, .. } => effect,
            done => panic!("{done:?}"),
        };
        assert_eq!(effect(&tool("bad")), Effect::Unknown);
        assert_eq!(effect(&tool("delete_all")), Effect::None, "nobody agreed");
        assert_eq!(effect(&Tool::new(Some("none"), "x", "")), Effect::None);
        // An answer that breaks what the tool promises is no success.
        let arguments = json!({});
        runner.run(&Call { tool: &tool("good"), arguments: &arguments, key: "l" });
        runner.checked(false);
        let told = told.lock().unwrap();
        assert_eq!(*told, [vec![true], vec![false], vec![], vec![false]]);
    }
}
