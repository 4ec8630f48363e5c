//! The fallback cascade: the candidates' turns, one after the other.

use std::sync::Arc;
use std::time::Instant;

use super::super::fallback::{Candidate, Origin, is_worse, map_arguments};
use super::super::invoker::{Arguments, Fault, FaultKind, Invoker, Output};
use super::super::message;
use super::super::params::{Change, Clarification, Prepared};
use super::super::permission::Verdict;
use super::super::report::{Attempt, Ending, Outcome, Skip};
use super::attempt::{AttemptResult, Dispatch};
use super::{Event, Executor, Request};
use toolroute_catalog::Tool;

/// One request while it is processed.
pub(super) struct Run<'a> {
    executor: &'a Executor,
    request: &'a Request<'a>,
    /// The idempotency key that each call carries.
    key: Option<&'a str>,
    /// When the request is abandoned, even if a call is running.
    deadline: Instant,
    attempts: Vec<Attempt>,
    /// The arguments, under the parameter names of the requested tool.
    arguments: Arguments,
    /// Whether a tool that may write may have received a call.
    written: bool,
    /// The first empty answer, which is returned if no other tool has more.
    empty_answer: Option<(&'a Candidate, Output, Vec<Change>)>,
    /// Whether a tool has answered, even with an error or an empty answer.
    has_answered: bool,
}

impl<'a> Run<'a> {
    pub fn new(executor: &'a Executor, request: &'a Request<'a>, key: Option<&'a str>) -> Self {
        Self {
            executor,
            request,
            key,
            deadline: Instant::now() + executor.options.timing.longest_request,
            attempts: Vec::new(),
            arguments: request.arguments.clone(),
            written: false,
            empty_answer: None,
            has_answered: false,
        }
    }

    pub async fn outcome(mut self) -> (Outcome, Vec<Attempt>) {
        let outcome = self.cascade().await;
        (outcome, self.attempts)
    }

    async fn cascade(&mut self) -> Outcome {
        let candidates = self.request.candidates;
        let Some(asked) = candidates.first() else {
            return Outcome::Failed { message: "No answer: no tool was named.".to_owned() };
        };
        let key = match self.request.guard.ask(&asked.tool, self.request.arguments) {
            Ok(key) => key,
            Err(exceeded) => {
                self.skip(asked, Skip::Limit { exceeded });
                return self.failed();
            }
        };
        let outcome = self.turns(candidates).await;
        let guard = self.request.guard;
        let is_sent = self.attempts.iter().any(|attempt| attempt.tries > 0);
        match outcome {
            Outcome::Answered(_) => guard.answered(key),
            // The same call gets the same question, so it still counts.
            Outcome::Clarify { .. } => {}
            _ if !is_sent => guard.unmade(key),
            _ => {}
        }
        if self.written {
            guard.changed(key);
        }
        outcome
    }

    async fn turns(&mut self, candidates: &'a [Candidate]) -> Outcome {
        for candidate in candidates {
            if self.has_answered && !candidate.follows_an_answer() {
                continue;
            }
            match self.turn(candidate).await {
                NextStep::End(outcome) => return *outcome,
                NextStep::Next => {}
                NextStep::Stop => break,
            }
        }
        match self.empty_answer.take() {
            Some((candidate, output, changes)) => self.answered(&candidate.tool, output, changes),
            None => self.failed(),
        }
    }

    async fn turn(&mut self, candidate: &'a Candidate) -> NextStep {
        let tool = candidate.tool.as_ref();
        let (invoker, prepared) = match self.prepare(candidate).await {
            Ok(ready) => ready,
            Err(turn) => return turn,
        };
        // Before the breaker: a half-open one admits a single probe, which must then be sent.
        if let Err(exceeded) = self.request.guard.spend(tool) {
            self.skip(candidate, Skip::Limit { exceeded });
            return NextStep::Stop;
        }
        if let Err(wait) = self.executor.breakers.admit(tool, Instant::now()) {
            self.request.guard.refund(tool);
            let for_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            return self.pass(candidate, Skip::BreakerOpen { for_ms });
        }
        // Only now is it certain that the candidate is tried.
        if let Some(last) = self.attempts.iter().rfind(|last| !is_skipped(last)) {
            let (from, to) = (last.tool.clone(), tool.id.clone());
            (self.request.on_event)(Event::FellBack { from, to });
        }
        let sent = Dispatch {
            tool,
            invoker,
            arguments: &prepared.arguments,
            key: self.key,
            deadline: self.deadline,
        };
        let tried = self.executor.attempt(self.request, &sent).await;
        self.written |= tried.reached && !tool.effects().reads_only();
        self.judge(candidate, tried, prepared.changes)
    }

    /// Checks that the candidate may be called, and prepares its arguments. Returns them with what
    /// sends the call.
    async fn prepare(
        &mut self,
        candidate: &'a Candidate,
    ) -> Result<(&'a Arc<dyn Invoker>, Prepared), NextStep> {
        let tool = candidate.tool.as_ref();
        let is_asked = candidate.origin == Origin::Asked;
        if self.written && !candidate.safe_after_write {
            return Err(self.pass(candidate, Skip::WriteElsewhere));
        }
        if !self.request.confirmed && is_worse(tool, &self.request.candidates[0].tool) {
            self.skip(candidate, Skip::Worse);
            return Err(NextStep::Next);
        }
        let verdict = self.executor.options.permissions.judge(tool, self.request.confirmed);
        let needs_confirmation = is_asked && verdict == Verdict::NeedsConfirmation;
        if verdict != Verdict::Allowed && !needs_confirmation {
            return Err(self.pass(candidate, Skip::Permission { verdict }));
        }
        // Nobody is asked about a call that cannot be made.
        let Some(invoker) = self.executor.servers.of(tool) else {
            return Err(self.pass(candidate, Skip::NoServer));
        };
        let mapped = if is_asked {
            Some(self.arguments.clone())
        } else {
            map_arguments(&self.request.candidates[0].tool, tool, &self.arguments)
        };
        let Some(given) = mapped else { return Err(self.pass(candidate, Skip::Parameters)) };
        match self.executor.prepare(&candidate.tool, given, self.deadline).await {
            // Nobody is asked to agree to arguments that do not fit.
            Ok(_) if needs_confirmation => {
                let (tool, message) = (tool.id.clone(), message::confirmation(tool));
                Err(NextStep::end(Outcome::Confirm { tool, message }))
            }
            Ok(prepared) => {
                if is_asked {
                    self.arguments = without_defaults(&prepared);
                }
                Ok((invoker, prepared))
            }
            Err(Unprepared::Unfit(clarification)) if is_asked => {
                let message = message::clarification(tool, &clarification);
                let tool = tool.id.clone();
                Err(NextStep::end(Outcome::Clarify { tool, clarification, message }))
            }
            Err(Unprepared::Unfit(_)) => Err(self.pass(candidate, Skip::Parameters)),
            Err(Unprepared::Unchecked(because)) => {
                Err(self.pass(candidate, Skip::Unchecked { because }))
            }
        }
    }

    /// Records a turn and decides how the request continues.
    fn judge(
        &mut self,
        candidate: &'a Candidate,
        tried: AttemptResult,
        changes: Vec<Change>,
    ) -> NextStep {
        let tool = candidate.tool.as_ref();
        let mut attempt = self.new_attempt(candidate, Ending::Answered);
        attempt.tries = tried.tries;
        attempt.reached = tried.reached;
        attempt.took_ms = tried.took_ms;
        attempt.error_ids = tried.error_ids;
        match tried.result {
            Ok(output) if output.is_error => {
                self.has_answered = true;
                attempt.error_ids.push(self.executor.log(tool, &output.text));
                attempt.ending = Ending::ToolError { hint: message::hint(&output.text) };
                attempt.error_text = self.executor.error_text(&output.text);
                attempt.error_answer = self.executor.error_answer(self.request, tool, output);
                self.attempts.push(attempt);
                NextStep::Next
            }
            Ok(output) => {
                attempt.chars = output.text.chars().count();
                self.executor.statistics.learn(tool, attempt.took_ms, attempt.chars);
                if output.is_empty() && tool.effects().reads_only() {
                    self.has_answered = true;
                    attempt.ending = Ending::Empty;
                    self.attempts.push(attempt);
                    self.empty_answer.get_or_insert((candidate, output, changes));
                    return NextStep::Next;
                }
                self.attempts.push(attempt);
                NextStep::end(self.answered(tool, output, changes))
            }
            // It was refused here, before anything was sent.
            Err(Fault { kind: FaultKind::Refused, reached: false, detail, .. }) => {
                self.request.guard.refund(tool);
                attempt.tries = 0;
                let because = self.executor.error_text(&detail).unwrap_or_default();
                attempt.ending = Ending::Skipped { because: Skip::Refused { because } };
                self.attempts.push(attempt);
                NextStep::Next
            }
            Err(Fault { kind, detail, .. }) => {
                if kind == FaultKind::Refused {
                    attempt.error_text = self.executor.error_text(&detail);
                }
                attempt.ending = Ending::Failed { fault: kind };
                self.attempts.push(attempt);
                NextStep::Next
            }
        }
    }

    fn answered(&self, tool: &Tool, output: Output, changes: Vec<Change>) -> Outcome {
        let answer = self.executor.answer(self.request, tool, output, changes);
        Outcome::Answered(Box::new(answer))
    }

    fn failed(&self) -> Outcome {
        let tools: Vec<&Tool> =
            self.request.candidates.iter().map(|candidate| candidate.tool.as_ref()).collect();
        let log = self.executor.options.failure_log.as_deref();
        Outcome::Failed { message: message::failure(&tools, &self.attempts, log) }
    }

    fn skip(&mut self, candidate: &Candidate, because: Skip) {
        let attempt = self.new_attempt(candidate, Ending::Skipped { because });
        self.attempts.push(attempt);
    }

    /// Skips a candidate, and goes on to the next.
    fn pass(&mut self, candidate: &Candidate, because: Skip) -> NextStep {
        self.skip(candidate, because);
        NextStep::Next
    }

    fn new_attempt(&self, candidate: &Candidate, ending: Ending) -> Attempt {
        Attempt {
            tool: candidate.tool.id.clone(),
            origin: candidate.origin,
            ending,
            tries: 0,
            reached: false,
            took_ms: 0.0,
            estimate: self.executor.statistics.estimate(&candidate.tool),
            chars: 0,
            error_text: None,
            error_answer: None,
            error_ids: Vec::new(),
        }
    }
}

/// Why there are no arguments for a call.
enum Unprepared {
    Unfit(Box<Clarification>),
    /// They could not be checked, for this reason.
    Unchecked(String),
}

impl Executor {
    /// Prepares arguments on a thread that does not serve connections and with a time limit, because
    /// a server chooses its schema and checking may be slow.
    async fn prepare(
        &self,
        tool: &Arc<Tool>,
        given: Arguments,
        deadline: Instant,
    ) -> Result<Prepared, Unprepared> {
        let limit = deadline.min(Instant::now() + self.options.timing.timeout(tool));
        let (parameters, tool) = (Arc::clone(&self.parameters), Arc::clone(tool));
        let checking = tokio::task::spawn_blocking(move || {
            let admitted = parameters.admit(&tool, &given);
            admitted.map_err(|refused| Unprepared::Unchecked(refused.to_string()))?;
            parameters.prepare(&tool, &given).map_err(Unprepared::Unfit)
        });
        let refused = |because: &str| Err(Unprepared::Unchecked(because.to_owned()));
        match tokio::time::timeout_at(limit.into(), checking).await {
            Ok(Ok(checked)) => checked,
            Ok(Err(_)) => refused(
                "checking its arguments failed by a fault of toolroute; report it with its schema",
            ),
            Err(_) => refused("checking its arguments took longer than a call of it may"),
        }
    }
}

enum NextStep {
    End(Box<Outcome>),
    Next,
    Stop,
}

impl NextStep {
    fn end(outcome: Outcome) -> Self {
        Self::End(Box::new(outcome))
    }
}

fn is_skipped(attempt: &Attempt) -> bool {
    matches!(attempt.ending, Ending::Skipped { .. })
}

/// Returns the arguments under the schema's names, without its defaults, because another tool has
/// its own.
fn without_defaults(prepared: &Prepared) -> Arguments {
    let mut arguments = prepared.arguments.clone();
    for change in &prepared.changes {
        if let Change::Default { name, .. } = change {
            arguments.shift_remove(name);
        }
    }
    arguments
}
