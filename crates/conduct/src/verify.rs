//! The verify loop: every result is checked a second time before it is reported.

use std::time::Instant;

use serde_json::json;

use super::facts::{FactQuery, Scope, source_name};
use super::inputs::referred;
use super::json::{canonical, contradict, shown};
use super::ledger::{
    AssertionRow, Change, NewRun, ObligationRow, Origin, Purpose, RunEnd, RunRow, RunStatus,
    Standing,
};
use super::lineage::CONTRADICTION;
use super::obligation::{Duty, NewObligation, ObligationType, reference};
use super::plan::{CLARIFY, child_obligation};
use super::runner::{Call, Outcome};
use super::{Conductor, Error};
use toolroute_catalog::{Reliability, Tool};

/// A tag of tools whose answer changes with time, so that calling them again proves nothing.
const VOLATILE: &str = "volatile";

/// Evidence against an assertion.
enum Doubt {
    /// Another source contradicts it.
    Contradicted { by: Box<AssertionRow>, why: String },
    /// Its source does not confirm it.
    Unfounded(String),
}

impl Conductor<'_> {
    /// Verifies one assertion of a report. If there is a doubt, adds an obligation to resolve it.
    pub(super) fn verify(&mut self, request: i64, found: &AssertionRow) -> Result<(), Error> {
        let mut changes = Vec::new();
        let doubt = match self.doubt_of_the_facts(request, found)? {
            Some(doubt) => Some(doubt),
            None => self.doubt_of_the_tool(request, found, &mut changes)?,
        };
        let (standing, because) = match &doubt {
            None => (Standing::Verified, None),
            Some(Doubt::Contradicted { why, .. } | Doubt::Unfounded(why)) => {
                (Standing::Disputed, Some(why.clone()))
            }
        };
        changes.push(Change::Judge { assertion: found.id, standing, because });
        if let (Some(doubt), Some(parent)) = (doubt, self.owner(found)?) {
            let obligation = cleared_up(&parent, found, doubt);
            changes.push(Change::Owe { parent: parent.id, obligation });
        }
        self.ledger.commit(request, &changes)
    }

    /// Verifies the results that an obligation takes its inputs from, so that nothing rests on one that is doubtful.
    pub(super) fn verify_sources(&mut self, obligation: &ObligationRow) -> Result<(), Error> {
        let request = obligation.request;
        let mut sources = Vec::new();
        for to in obligation.payload.values().filter_map(reference) {
            sources.extend(referred(self.ledger, request, to.id)?);
        }
        for tool in self.engine.satisfying(&obligation.what.to_string()) {
            for kind in &tool.consumes {
                let query =
                    FactQuery { request, scope: Scope::Request, kind: Some(kind), subject: None };
                sources.extend(self.ledger.facts(&query)?.into_iter().next());
            }
        }
        sources.retain(|found| found.standing == Standing::Held && found.origin == Origin::Tool);
        sources.sort_by_key(|found| found.id);
        sources.dedup_by_key(|found| found.id);
        sources.iter().try_for_each(|found| self.verify(request, found))
    }

    fn owner(&self, found: &AssertionRow) -> Result<Option<ObligationRow>, Error> {
        let owner = found.obligation.map(|id| self.ledger.obligation_at(id));
        Ok(owner.transpose()?.flatten())
    }

    /// Checks an assertion against the ledger: its run must be recorded, and no other fact may
    /// contradict it.
    fn doubt_of_the_facts(
        &self,
        request: i64,
        found: &AssertionRow,
    ) -> Result<Option<Doubt>, Error> {
        let run = found.run.map(|run| self.ledger.run(run)).transpose()?.flatten();
        let founded = run.is_some_and(|run| {
            let outputs = run.outputs.as_ref().map(canonical);
            run.status == RunStatus::Completed && outputs == Some(canonical(&found.value))
        });
        if !founded {
            let why = format!("the ledger has no run of `{}` that said so", found.source);
            return Ok(Some(Doubt::Unfounded(why)));
        }
        let against = self
            .others_on(request, found)?
            .into_iter()
            .find(|other| other.id != found.id && contradict(&other.value, &found.value));
        Ok(against.map(|by| {
            let (value, other) = (shown(&found.value), shown(&by.value));
            let why =
                format!("`{}` says {value}, and {} says {other}", found.source, source_name(&by));
            Doubt::Contradicted { by: Box::new(by), why }
        }))
    }

    /// Returns the facts about the same subject. If the answer changes with time, facts of other
    /// requests are not evidence.
    fn others_on(&self, request: i64, found: &AssertionRow) -> Result<Vec<AssertionRow>, Error> {
        let tool = self.engine.catalog().get(&found.source).cloned();
        let scope =
            if tool.is_some_and(|tool| is_volatile(&tool)) { Scope::Request } else { self.scope };
        let subject = canonical(&found.subject);
        let (kind, subject) = (Some(found.kind.as_str()), Some(subject.as_str()));
        self.ledger.facts(&FactQuery { request, scope, kind, subject })
    }

    /// Calls a deterministic tool again and compares the results.
    fn doubt_of_the_tool(
        &mut self,
        request: i64,
        found: &AssertionRow,
        changes: &mut Vec<Change>,
    ) -> Result<Option<Doubt>, Error> {
        let tool = self.engine.catalog().get(&found.source).cloned();
        let (Some(tool), Some(obligation)) = (tool, found.obligation) else { return Ok(None) };
        if !is_deterministic(&tool) {
            return Ok(None);
        }
        let run = self.begin_again(request, obligation, &tool, found)?;
        let begun = Instant::now();
        let outcome = self.runner.run(&Call { tool: &tool, arguments: &run.inputs, key: &run.key });
        self.runner.checked(true);
        let mut finish = RunEnd {
            run: run.id,
            obligation,
            status: RunStatus::Completed,
            outputs: None,
            said: None,
            took: begun.elapsed(),
        };
        let doubt = match outcome {
            Outcome::Done(output) if canonical(&output) == canonical(&found.value) => {
                finish.outputs = Some(output);
                None
            }
            Outcome::Done(output) => {
                let (before, now) = (shown(&found.value), shown(&output));
                finish.outputs = Some(output);
                Some(format!("`{}` said {before} at first and then {now}", tool.id))
            }
            Outcome::Failed { said, .. } => {
                finish.status = RunStatus::Failed;
                finish.said = Some(said.clone());
                Some(format!("`{}` could not say it again: {said}", tool.id))
            }
        };
        changes.push(Change::Finish(finish));
        Ok(doubt.map(Doubt::Unfounded))
    }

    /// Starts the verification run, or continues one that a killed process started.
    fn begin_again(
        &mut self,
        request: i64,
        obligation: i64,
        tool: &Tool,
        found: &AssertionRow,
    ) -> Result<RunRow, Error> {
        let begun = self.ledger.runs_for(obligation, Purpose::Verify)?;
        if let Some(run) = begun.into_iter().find(|run| run.status == RunStatus::Started) {
            self.ledger.repeat(request, &run)?;
            return Ok(run);
        }
        self.ledger.start(&NewRun {
            request,
            obligation,
            purpose: Purpose::Verify,
            tool: tool.id.as_str(),
            inputs: &found.subject,
            repeatable: true,
        })
    }
}

/// Returns `true` if a tool is deterministic and safe to call again: it is declared read-only, has
/// high reliability and is not volatile.
fn is_deterministic(tool: &Tool) -> bool {
    tool.effects().declares_reads_only()
        && tool.reliability == Some(Reliability::High)
        && !is_volatile(tool)
}

fn is_volatile(tool: &Tool) -> bool {
    tool.tags.iter().any(|tag| tag == VOLATILE)
}

fn cleared_up(parent: &ObligationRow, found: &AssertionRow, doubt: Doubt) -> NewObligation {
    match doubt {
        Doubt::Contradicted { by, why } => {
            let name = format!("{}.{CLARIFY}", parent.name);
            let question = format!(
                "which is right? {why}; answer as `{name}` with 1 for the first, 2 for the second, or with what is right"
            );
            let choice = |fact: &AssertionRow| json!({"source": fact.source, "value": fact.value, "assertion": fact.id});
            let payload = json!({
                "of": parent.name, "question": question, "kind": found.kind,
                "subject": found.subject, "choices": [choice(found), choice(&by)],
            });
            child_obligation(
                parent,
                CLARIFY,
                ObligationType::new(Duty::Clarify, CONTRADICTION),
                payload,
            )
        }
        Doubt::Unfounded(why) => {
            let payload = json!({"of": parent.name, "because": why});
            let what = ObligationType::new(Duty::Justify, "verification");
            child_obligation(parent, "justify", what, payload)
        }
    }
}
