//! The plan loop: one obligation, from its candidates to its end.

use std::time::Instant;

use serde_json::{Value, json};

use super::inputs::{Known, Lack};
use super::ledger::{
    Assert, Change, Finish, ObligationRow, Origin, Purpose, RunRow, RunStatus, Settle, Standing,
    Start,
};
use super::obligation::{Duty, NewObligation, ObligationType, Status};
use super::runner::{Call, Effect, Outcome};
use super::{Conductor, Error};
use crate::catalog::Tool;

impl Conductor<'_> {
    /// Takes the obligation one step on: calls one tool, or settles it.
    pub(super) fn satisfy(&mut self, obligation: &ObligationRow) -> Result<(), Error> {
        let tried = self.ledger.runs_for(obligation.id, Purpose::Plan)?;
        if let Some(run) = tried.iter().find(|run| run.status == RunStatus::Started) {
            return self.recover(obligation, run);
        }
        let untried = |tool: &Tool| tried.iter().all(|run| run.tool != tool.id.as_str());
        let mut candidates = self.engine.satisfying(&obligation.what.names());
        candidates.retain(|tool| untried(tool));
        let mut short = Vec::new();
        let known = Known::new(self.ledger, obligation);
        for tool in candidates {
            match known.arguments(&tool)? {
                Ok(inputs) => return self.attempt(obligation, &tool, &inputs),
                Err(lack) => short.push((tool, lack)),
            }
        }
        let short: Vec<(&Tool, Lack)> =
            short.iter().map(|(tool, lack)| (tool.as_ref(), lack.clone())).collect();
        self.give_up(obligation, &tried, &short)
    }

    fn attempt(
        &mut self,
        obligation: &ObligationRow,
        tool: &Tool,
        inputs: &Value,
    ) -> Result<(), Error> {
        let run = self.ledger.start(&Start {
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
            Change::Finish(Finish { run, obligation, status, outputs, said, took })
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
                let known = Known::new(self.ledger, obligation);
                let unmet = known.unmet(&tool.postconditions, &run.inputs, &output)?;
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

    /// Goes on after a process that ended between the start of a run and its completion.
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

    /// No candidate is left: asks, looks for a tool, or says why.
    fn give_up(
        &mut self,
        obligation: &ObligationRow,
        tried: &[RunRow],
        short: &[(&Tool, Lack)],
    ) -> Result<(), Error> {
        if obligation.what.duty != Duty::Report {
            return self.answer_ourselves(obligation);
        }
        let (status, note, owed) = if !short.is_empty() {
            let note = question(short);
            (Status::Escalated, note.clone(), clarify(obligation, &note, short))
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

/// A tool that may have changed something did not do what was wanted: no other is tried.
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
    debug_assert!(obligation.status.may_become(status), "{obligation:?}");
    Change::Settle(Settle { obligation: obligation.id, status, note })
}

fn ended(obligation: &ObligationRow, run: &RunRow, status: RunStatus, said: &str) -> Change {
    Change::Finish(Finish {
        run: run.id,
        obligation: obligation.id,
        status,
        outputs: None,
        said: Some(said.to_owned()),
        took: std::time::Duration::ZERO,
    })
}

/// What a tool said, as an assertion with its source.
fn found(
    obligation: &ObligationRow,
    run: &RunRow,
    value: Value,
    against: Option<String>,
) -> Change {
    let kind = obligation.what.kind.clone().unwrap_or_else(|| obligation.what.to_string());
    Change::Assert(Assert {
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

/// What to ask, and for the best tool first.
fn question(short: &[(&Tool, Lack)]) -> String {
    let told: Vec<String> =
        short.iter().map(|(tool, lack)| format!("`{}` {}", tool.id, lack.told())).collect();
    let example = short.iter().find_map(|(tool, _)| tool.examples.first());
    let example = example.map(|example| format!("; for example: {example}")).unwrap_or_default();
    format!("more is needed: {}{example}", told.join("; or "))
}

/// An obligation that another brings about; the dot keeps its name apart from those of requests.
pub(super) fn brought_about(
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

fn clarify(obligation: &ObligationRow, question: &str, short: &[(&Tool, Lack)]) -> NewObligation {
    let lacking = short.iter().map(|(tool, lack)| {
        json!({"tool": tool.id, "missing": lack.missing, "wrong": lack.wrong, "unmet": lack.unmet})
    });
    let payload = json!({
        "of": obligation.name, "question": question, "tools": lacking.collect::<Vec<_>>(),
    });
    brought_about(obligation, "clarify", ObligationType::new(Duty::Clarify, "input"), payload)
}

fn discover(obligation: &ObligationRow) -> NewObligation {
    let payload = json!({"of": obligation.name, "for": obligation.what});
    let kind = obligation.what.kind.as_deref().unwrap_or("any");
    brought_about(obligation, "discover", ObligationType::new(Duty::DiscoverOp, kind), payload)
}

fn justify(obligation: &ObligationRow) -> NewObligation {
    let payload = json!({"of": obligation.name});
    brought_about(obligation, "justify", ObligationType::new(Duty::Justify, "failure"), payload)
}
