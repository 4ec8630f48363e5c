//! The plan loop, which takes one obligation from its candidates to its end.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use super::inputs::{Ask, InputContext, Lack};
use super::json::canonical;
use super::ledger::{
    Change, NewAssertion, NewRun, ObligationRow, Origin, Purpose, RunEnd, RunRow, RunStatus,
    Standing,
};
use super::lineage::{INPUT, Lineage};
use super::obligation::{Duty, NewObligation, ObligationType, Status};
use super::runner::{Call, Effect, Outcome};
use super::{Conductor, Error};
use toolroute_catalog::Tool;

/// The suffix in the name of a question that an obligation asks.
pub(super) const CLARIFY: &str = "clarify";

/// The choice among the candidate tools of an obligation.
pub(super) enum Choice {
    /// The first tool that can run, with its arguments.
    Ready(Arc<Tool>, Value),
    /// No tool can run; contains the tools with what each lacks.
    Short(Vec<(Arc<Tool>, Lack)>),
}

impl Conductor<'_> {
    /// Advances the obligation by one step: calls one tool, or settles it.
    pub(super) fn satisfy(&mut self, obligation: &ObligationRow) -> Result<(), Error> {
        self.verify_sources(obligation)?;
        let mut tried = self.ledger.runs_for(obligation.id, Purpose::Plan)?;
        if let Some(run) = tried.iter().find(|run| run.status == RunStatus::Started) {
            return self.recover(obligation, run);
        }
        let mut before = match obligation.parent {
            None => Vec::new(),
            Some(_) => {
                self.tried_before(&Lineage::read(self.ledger, obligation.request)?, obligation)?
            }
        };
        match self.choose(obligation, &tried, &before)? {
            Choice::Ready(tool, inputs) => self.attempt(obligation, &tool, &inputs),
            Choice::Short(short) => {
                before.append(&mut tried);
                self.give_up(obligation, &before, &short)
            }
        }
    }

    /// Returns the first tool that satisfies the obligation and can run. A tool that was already
    /// tried for it is skipped, and so is one that would get the same inputs as in a run of
    /// `before`.
    pub(super) fn choose(
        &self,
        obligation: &ObligationRow,
        tried: &[RunRow],
        before: &[RunRow],
    ) -> Result<Choice, Error> {
        let known = InputContext::new(self.ledger, obligation, self.scope);
        let mut short = Vec::new();
        for tool in self.engine.satisfying(&obligation.what.to_string()) {
            let of_tool = |run: &&RunRow| run.tool == tool.id.as_str();
            if tried.iter().any(|run| of_tool(&run)) {
                continue;
            }
            match known.arguments(&tool)? {
                Ok(inputs) => {
                    let given = canonical(&inputs);
                    if !before.iter().filter(of_tool).any(|run| canonical(&run.inputs) == given) {
                        return Ok(Choice::Ready(tool, inputs));
                    }
                }
                Err(lack) => short.push((tool, lack)),
            }
        }
        Ok(Choice::Short(short))
    }

    /// Returns the runs for the obligations that this one continues.
    pub(super) fn tried_before(
        &self,
        lineage: &Lineage,
        obligation: &ObligationRow,
    ) -> Result<Vec<RunRow>, Error> {
        let mut runs = Vec::new();
        for row in lineage.ancestors(obligation) {
            runs.extend(self.ledger.runs_for(row.id, Purpose::Plan)?);
        }
        runs.sort_by_key(|run| run.id);
        Ok(runs)
    }

    fn attempt(
        &mut self,
        obligation: &ObligationRow,
        tool: &Tool,
        inputs: &Value,
    ) -> Result<(), Error> {
        let run = self.ledger.start(&NewRun {
            request: obligation.request,
            obligation: obligation.id,
            purpose: Purpose::Plan,
            tool: tool.id.as_str(),
            inputs,
            repeatable: tool.effects().idempotent,
        })?;
        self.run(obligation, tool, &run)
    }

    fn run(&mut self, obligation: &ObligationRow, tool: &Tool, run: &RunRow) -> Result<(), Error> {
        let begun = Instant::now();
        let call = Call { tool, arguments: &run.inputs, key: &run.key };
        let outcome = self.runner.run(&call);
        let took = begun.elapsed();
        let finish = |status, outputs, said| {
            let (run, obligation) = (run.id, obligation.id);
            Change::Finish(RunEnd { run, obligation, status, outputs, said, took })
        };
        let changes = match outcome {
            Outcome::Failed { said, effect } => {
                let mut changes = vec![finish(RunStatus::Failed, None, Some(said.clone()))];
                if effect == Effect::Unknown && !tool.effects().reads_only() {
                    changes.extend(stop(obligation, tool, &said));
                }
                changes
            }
            Outcome::Done(output) => {
                let known = InputContext::new(self.ledger, obligation, self.scope);
                let unmet = known.unmet(&tool.postconditions, &run.inputs, &output)?;
                self.runner.checked(unmet.is_empty());
                let said = (!unmet.is_empty()).then(|| unmet.join("; "));
                let finished = finish(RunStatus::Completed, Some(output.clone()), said.clone());
                let mut changes = vec![finished, found(obligation, run, output, said.clone())];
                match said {
                    None => changes.push(settle(obligation, Status::Resolved, None)),
                    Some(why) if !tool.effects().reads_only() => {
                        changes.extend(stop(obligation, tool, &format!("postcondition {why}")));
                    }
                    Some(_) => {}
                }
                changes
            }
        };
        self.ledger.commit(obligation.request, &changes)
    }

    /// Recovers after a process ended during a run.
    fn recover(&mut self, obligation: &ObligationRow, run: &RunRow) -> Result<(), Error> {
        if run.repeatable {
            if let Some(tool) = self.engine.catalog().get(&run.tool).cloned() {
                self.ledger.repeat(obligation.request, run)?;
                return self.run(obligation, &tool, run);
            }
            let gone = "the tool is no longer in the catalog";
            let changes = [ended(obligation, run, RunStatus::Failed, gone)];
            return self.ledger.commit(obligation.request, &changes);
        }
        let said = format!(
            "`{}` was called, and the program ended before its answer; nobody knows whether it was \
             done, and it must not be done twice: look whether it was, and ask again if not",
            run.tool
        );
        let changes = [
            ended(obligation, run, RunStatus::Uncertain, &said),
            settle(obligation, Status::Escalated, Some(said)),
        ];
        self.ledger.commit(obligation.request, &changes)
    }

    /// Handles an obligation without any candidate left: asks the user, searches for a tool, or
    /// gives the reasons.
    fn give_up(
        &mut self,
        obligation: &ObligationRow,
        tried: &[RunRow],
        short: &[(Arc<Tool>, Lack)],
    ) -> Result<(), Error> {
        if obligation.what.duty != Duty::Report {
            return self.answer_ourselves(obligation);
        }
        let (status, note, owed) = if !short.is_empty() {
            let asks = asks(short);
            let note = question(obligation, short, &asks);
            (Status::Escalated, note.clone(), clarify(obligation, &note, short, &asks))
        } else if tried.is_empty() {
            let note = format!("no tool of the catalog satisfies {}", obligation.what);
            (Status::Escalated, note, discover(obligation))
        } else {
            let tries: Vec<String> = tried.iter().map(why_not).collect();
            (Status::Failed, format!("tried {}", tries.join(", then ")), justify(obligation))
        };
        let changes = [
            settle(obligation, status, Some(note)),
            Change::Owe { parent: obligation.id, obligation: owed },
        ];
        self.ledger.commit(obligation.request, &changes)
    }
}

/// Settles an obligation whose tool failed and may have changed something. No other tool is tried.
fn stop(obligation: &ObligationRow, tool: &Tool, why: &str) -> Vec<Change> {
    let note = format!(
        "`{}` failed ({why}), and as it may have changed something no other tool was tried",
        tool.id
    );
    let mut changes = vec![settle(obligation, Status::Failed, Some(note))];
    if obligation.what.duty == Duty::Report {
        changes.push(Change::Owe { parent: obligation.id, obligation: justify(obligation) });
    }
    changes
}

pub(super) fn settle(obligation: &ObligationRow, status: Status, note: Option<String>) -> Change {
    Change::Settle { obligation: obligation.id, status, note }
}

fn ended(obligation: &ObligationRow, run: &RunRow, status: RunStatus, said: &str) -> Change {
    Change::Finish(RunEnd {
        run: run.id,
        obligation: obligation.id,
        status,
        outputs: None,
        said: Some(said.to_owned()),
        took: std::time::Duration::ZERO,
    })
}

/// Returns the result of a tool as an assertion with its source.
fn found(
    obligation: &ObligationRow,
    run: &RunRow,
    value: Value,
    against: Option<String>,
) -> Change {
    let kind = obligation.what.kind.clone().unwrap_or_else(|| obligation.what.to_string());
    Change::Assert(NewAssertion {
        obligation: Some(obligation.id),
        origin: Origin::Tool,
        source: run.tool.clone(),
        run: Some(run.id),
        kind,
        subject: run.inputs.clone(),
        value,
        standing: if against.is_some() { Standing::Rejected } else { Standing::Held },
        because: against,
    })
}

pub(super) fn why_not(run: &RunRow) -> String {
    let why = run.said.as_deref().unwrap_or("no reason is recorded");
    match run.status {
        RunStatus::Completed => format!("`{}` (postcondition {why})", run.tool),
        _ => format!("`{}` ({why})", run.tool),
    }
}

/// Returns the values to ask for, without duplicates.
fn asks(short: &[(Arc<Tool>, Lack)]) -> Vec<Ask> {
    let mut asks: Vec<Ask> = Vec::new();
    for ask in short.iter().flat_map(|(_, lack)| &lack.asks) {
        if asks.iter().all(|known| known.input != ask.input) {
            asks.push(ask.clone());
        }
    }
    asks
}

/// Returns the question, for the best tool first, with the names to answer it under.
fn question(obligation: &ObligationRow, short: &[(Arc<Tool>, Lack)], asks: &[Ask]) -> String {
    let told: Vec<String> =
        short.iter().map(|(tool, lack)| format!("`{}` {}", tool.id, lack.message())).collect();
    let example = short.iter().find_map(|(tool, _)| tool.examples.first());
    let example = example.map(|example| format!("; for example: {example}")).unwrap_or_default();
    let names = answer_names(&format!("{}.{CLARIFY}", obligation.name), asks);
    format!("more is needed: {}{example}; answer as {names}", told.join("; or "))
}

/// Returns the names under which a question can be answered: its own, or those of the inputs.
fn answer_names(question: &str, asks: &[Ask]) -> String {
    let inputs: Vec<String> = asks.iter().map(|ask| format!("`{}`", ask.input)).collect();
    match &inputs[..] {
        [] => format!("`{question}`"),
        [input] => format!("{input} or `{question}`"),
        inputs => format!("{}, or all of them as `{question}`", inputs.join(", ")),
    }
}

/// Creates a child obligation. The dot distinguishes its name from those in requests.
pub(super) fn child_obligation(
    parent: &ObligationRow,
    word: &str,
    what: ObligationType,
    payload: Value,
) -> NewObligation {
    let payload = match payload {
        Value::Object(fields) => fields,
        _ => serde_json::Map::new(),
    };
    NewObligation { id: format!("{}.{word}", parent.name), what, payload, say: None }
}

fn clarify(
    obligation: &ObligationRow,
    question: &str,
    short: &[(Arc<Tool>, Lack)],
    asks: &[Ask],
) -> NewObligation {
    let lacking = short.iter().map(|(tool, lack)| {
        json!({"tool": tool.id, "missing": lack.missing, "wrong": lack.wrong, "unmet": lack.unmet})
    });
    let payload = json!({
        "of": obligation.name, "question": question, "asks": asks,
        "tools": lacking.collect::<Vec<_>>(),
    });
    child_obligation(obligation, CLARIFY, ObligationType::new(Duty::Clarify, INPUT), payload)
}

fn discover(obligation: &ObligationRow) -> NewObligation {
    let payload = json!({"of": obligation.name, "for": obligation.what});
    let kind = obligation.what.kind.as_deref().unwrap_or("any");
    child_obligation(obligation, "discover", ObligationType::new(Duty::DiscoverOp, kind), payload)
}

fn justify(obligation: &ObligationRow) -> NewObligation {
    let payload = json!({"of": obligation.name});
    child_obligation(obligation, "justify", ObligationType::new(Duty::Justify, "failure"), payload)
}
