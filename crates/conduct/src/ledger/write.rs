//! Writes to the ledger: one transaction for each step.

use std::time::Duration;

use rusqlite::{Transaction, params};
use serde_json::{Value, json};

use super::{Ledger, Origin, Purpose, RequestStatus, RunRow, RunStatus, Standing};
use crate::Error;
use crate::json::canonical;
use crate::obligation::{NewObligation, Request, Status};
use toolroute_rank::engine::fingerprint;
use toolroute_vectors::durable::now_ms;

/// A run that is about to start.
#[derive(Clone, Copy, Debug)]
pub struct NewRun<'a> {
    pub request: i64,
    pub obligation: i64,
    pub purpose: Purpose,
    pub tool: &'a str,
    pub inputs: &'a Value,
    /// Whether the run may be repeated if its outcome is unknown.
    pub repeatable: bool,
}

/// A change to the ledger. The changes of one step are applied together.
#[derive(Clone, Debug)]
pub enum Change {
    Finish(RunEnd),
    Assert(NewAssertion),
    Settle {
        obligation: i64,
        status: Status,
        note: Option<String>,
    },
    Judge {
        assertion: i64,
        standing: Standing,
        because: Option<String>,
    },
    /// Adds a child obligation.
    Owe {
        parent: i64,
        obligation: NewObligation,
    },
}

#[derive(Clone, Debug)]
pub struct RunEnd {
    pub run: i64,
    pub obligation: i64,
    pub status: RunStatus,
    pub outputs: Option<Value>,
    pub said: Option<String>,
    pub took: Duration,
}

/// A new assertion with its source.
#[derive(Clone, Debug)]
pub struct NewAssertion {
    pub obligation: Option<i64>,
    pub origin: Origin,
    pub source: String,
    pub run: Option<i64>,
    pub kind: String,
    pub subject: Value,
    pub value: Value,
    pub standing: Standing,
    pub because: Option<String>,
}

impl Ledger {
    /// Records a document before it is translated.
    pub(crate) fn receive(&mut self, digest: &str, document: &str) -> Result<i64, Error> {
        self.write("take the request", |tx| {
            tx.execute(
                "INSERT INTO requests (digest, document, status, created_ms) VALUES (?1, ?2, ?3, ?4)",
                params![digest, document, RequestStatus::Received, now_ms()],
            )?;
            let request = tx.last_insert_rowid();
            log(tx, request, None, None, "user_utterance", &json!({ "document": document }))?;
            Ok(request)
        })
    }

    /// Records the facts and obligations of a request.
    pub(crate) fn plan(&mut self, request: i64, wanted: &Request) -> Result<(), Error> {
        self.write("take the obligations", |tx| {
            for fact in &wanted.facts {
                assert(tx, request, &user_fact(fact))?;
            }
            for obligation in &wanted.obligations {
                owe(tx, request, None, obligation)?;
            }
            tx.execute(
                "UPDATE requests SET status = ?1, utterance = ?2 WHERE id = ?3",
                params![RequestStatus::Planned, wanted.utterance, request],
            )?;
            let counted =
                json!({"obligations": wanted.obligations.len(), "facts": wanted.facts.len()});
            log(tx, request, None, None, "obligations_planned", &counted)
        })
    }

    pub(crate) fn refuse(&mut self, request: i64, said: &str) -> Result<(), Error> {
        self.write("take the refusal", |tx| {
            let set = "UPDATE requests SET status = ?1 WHERE id = ?2";
            tx.execute(set, params![RequestStatus::Refused, request])?;
            log(tx, request, None, None, "request_refused", &json!({ "said": said }))
        })
    }

    /// Records a run before the tool is called.
    pub(crate) fn start(&mut self, start: &NewRun<'_>) -> Result<RunRow, Error> {
        let purpose = format!("{:?}", start.purpose);
        let obligation = start.obligation.to_string();
        let key = fingerprint(&[&self.id()?, &obligation, &purpose, start.tool]);
        let id = self.write("take the start of a run", |tx| {
            tx.execute(
                "INSERT INTO runs (key, obligation, purpose, tool, inputs, status, repeatable, \
                 attempts, started_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ?8)",
                params![
                    &key[..32],
                    start.obligation,
                    start.purpose,
                    start.tool,
                    canonical(start.inputs),
                    RunStatus::Started,
                    start.repeatable,
                    now_ms()
                ],
            )?;
            let run = tx.last_insert_rowid();
            let detail = json!({"tool": start.tool, "purpose": start.purpose});
            log(tx, start.request, Some(start.obligation), Some(run), "run_started", &detail)?;
            Ok(run)
        })?;
        self.run(id)?.ok_or_else(|| self.failed("keep a run")(rusqlite::Error::QueryReturnedNoRows))
    }

    /// Records that a run with an unknown outcome is repeated.
    pub(crate) fn repeat(&mut self, request: i64, run: &RunRow) -> Result<(), Error> {
        self.write("take the repetition of a run", |tx| {
            let set = "UPDATE runs SET attempts = attempts + 1, started_ms = ?1 WHERE id = ?2";
            tx.execute(set, params![now_ms(), run.id])?;
            let detail = json!({"tool": run.tool, "attempt": run.attempts + 1});
            log(tx, request, Some(run.obligation), Some(run.id), "run_repeated", &detail)
        })
    }

    /// Applies all changes or none.
    pub(crate) fn commit(&mut self, request: i64, changes: &[Change]) -> Result<(), Error> {
        self.write("take a step", |tx| {
            changes.iter().try_for_each(|change| apply(tx, request, change))
        })
    }

    pub(crate) fn reopen(&mut self, request: i64, changes: &[Change]) -> Result<(), Error> {
        self.write("take up the request again", |tx| {
            log(tx, request, None, None, "request_resumed", &json!({}))?;
            changes.iter().try_for_each(|change| apply(tx, request, change))?;
            let set = "UPDATE requests SET status = ?1, answer = NULL WHERE id = ?2";
            tx.execute(set, params![RequestStatus::Planned, request])?;
            Ok(())
        })
    }

    pub(crate) fn answer(&mut self, request: i64, answer: &Value) -> Result<(), Error> {
        self.write("take the answer", |tx| {
            tx.execute(
                "UPDATE requests SET status = ?1, answer = ?2 WHERE id = ?3",
                params![RequestStatus::Answered, answer.to_string(), request],
            )?;
            log(tx, request, None, None, "final_response", &json!({"text": answer["text"]}))
        })
    }
}

fn apply(tx: &Transaction<'_>, request: i64, change: &Change) -> rusqlite::Result<()> {
    match change {
        Change::Finish(finish) => end_run(tx, request, finish),
        Change::Assert(made) => assert(tx, request, made),
        Change::Settle { obligation, status, note } => {
            let set = "UPDATE obligations SET status = ?1, note = ?2 WHERE id = ?3";
            tx.execute(set, params![status, note, obligation])?;
            let detail = json!({"status": status, "note": note});
            log(tx, request, Some(*obligation), None, "obligation_settled", &detail)
        }
        Change::Judge { assertion, standing, because } => {
            let set = "UPDATE assertions SET standing = ?1, because = ?2 WHERE id = ?3";
            tx.execute(set, params![standing, because, assertion])?;
            let detail = json!({"assertion": assertion, "standing": standing, "because": because});
            log(tx, request, None, None, "assertion_judged", &detail)
        }
        Change::Owe { parent, obligation } => owe(tx, request, Some(*parent), obligation),
    }
}

fn end_run(tx: &Transaction<'_>, request: i64, finish: &RunEnd) -> rusqlite::Result<()> {
    let took = i64::try_from(finish.took.as_micros()).unwrap_or(i64::MAX);
    tx.execute(
        "UPDATE runs SET status = ?1, outputs = ?2, said = ?3, duration_us = ?4 WHERE id = ?5",
        params![
            finish.status,
            finish.outputs.as_ref().map(canonical),
            finish.said,
            took,
            finish.run
        ],
    )?;
    let kind = match finish.status {
        RunStatus::Completed => "run_completed",
        RunStatus::Failed => "run_failed",
        RunStatus::Uncertain | RunStatus::Started => "run_uncertain",
    };
    let detail = json!({ "said": finish.said });
    log(tx, request, Some(finish.obligation), Some(finish.run), kind, &detail)
}

fn assert(tx: &Transaction<'_>, request: i64, made: &NewAssertion) -> rusqlite::Result<()> {
    tx.execute(
        "INSERT INTO sources (request, run, kind, name) VALUES (?1, ?2, ?3, ?4)",
        params![request, made.run, made.origin, made.source],
    )?;
    let source = tx.last_insert_rowid();
    tx.execute(
        "INSERT INTO assertions (request, obligation, source, kind, subject, value, standing, \
         because) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            request,
            made.obligation,
            source,
            made.kind,
            canonical(&made.subject),
            canonical(&made.value),
            made.standing,
            made.because
        ],
    )?;
    let detail =
        json!({"assertion": tx.last_insert_rowid(), "kind": made.kind, "standing": made.standing});
    log(tx, request, made.obligation, made.run, "assertion_made", &detail)
}

fn user_fact(fact: &crate::Fact) -> NewAssertion {
    NewAssertion {
        obligation: None,
        origin: Origin::User,
        source: "the request".to_owned(),
        run: None,
        kind: fact.kind.clone(),
        subject: Value::Object(fact.subject.clone()),
        value: fact.value.clone(),
        standing: Standing::Held,
        because: None,
    }
}

fn owe(
    tx: &Transaction<'_>,
    request: i64,
    parent: Option<i64>,
    obligation: &NewObligation,
) -> rusqlite::Result<()> {
    tx.execute(
        "INSERT INTO obligations (request, parent, name, type, payload, say, status) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            request,
            parent,
            obligation.id,
            obligation.what.to_string(),
            Value::Object(obligation.payload.clone()).to_string(),
            obligation.say,
            Status::Active
        ],
    )?;
    let id = tx.last_insert_rowid();
    let detail = json!({"name": obligation.id, "type": obligation.what});
    log(tx, request, Some(id), None, "obligation_made", &detail)
}

fn log(
    tx: &Transaction<'_>,
    request: i64,
    obligation: Option<i64>,
    run: Option<i64>,
    kind: &str,
    detail: &Value,
) -> rusqlite::Result<()> {
    let said = "INSERT INTO events (request, obligation, run, kind, detail, at_ms) \
                VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    tx.execute(said, params![request, obligation, run, kind, detail.to_string(), now_ms()])?;
    Ok(())
}
