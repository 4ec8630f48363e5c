//! Continues obligations after they were settled: a report whose question was answered or for which
//! a tool exists now, a check of such a report, and an utterance that the user rephrased.

use serde_json::{Map, Value};

use super::inputs::asks_of;
use super::ledger::{Change, ObligationRow, Purpose};
use super::lineage::{INPUT, Lineage, UTTERANCE};
use super::obligation::{Duty, NewObligation, Status};
use super::plan::Choice;
use super::{Conductor, Error};

impl Conductor<'_> {
    /// Returns new obligations for everything that can continue now.
    pub(super) fn continuations(&self, request: i64) -> Result<Vec<Change>, Error> {
        let lineage = Lineage::read(self.ledger, request)?;
        let mut found = Vec::new();
        for row in &lineage.rows {
            if row.status != Status::Escalated || lineage.next(row).is_some() {
                continue;
            }
            let next = match row.what.duty {
                Duty::Report => self.report_again(&lineage, row)?,
                Duty::Clarify => self.translated_again(row)?.map(|next| (row.id, next)),
                Duty::Verify => self.check_again(&lineage, row)?.map(|next| (row.id, next)),
                Duty::DiscoverOp | Duty::Justify => None,
            };
            found.extend(next.map(|(parent, next)| {
                let obligation = NewObligation { id: lineage.next_name(row), ..next };
                Change::Owe { parent, obligation }
            }));
        }
        Ok(found)
    }

    /// Continues a report below its answered question or its failed search.
    fn report_again(
        &self,
        lineage: &Lineage,
        row: &ObligationRow,
    ) -> Result<Option<(i64, NewObligation)>, Error> {
        let Some(child) = lineage.continuation_child(row) else { return Ok(None) };
        let mut next = row.clone();
        let goes_on = if child.what.duty == Duty::DiscoverOp {
            !self.engine.satisfying(&row.what.to_string()).is_empty()
        } else {
            let replies = self.ledger.replies(child.id)?;
            for reply in &replies {
                let input = reply.subject[INPUT].as_str();
                next.payload.extend(input.map(|name| (name.to_owned(), reply.value.clone())));
            }
            if replies.is_empty() && child.status == Status::Resolved {
                // A tool that satisfies `CLARIFY(input)` answered the question.
                let said = self.ledger.result(child.id)?.map(|result| result.value);
                next.payload.extend(inputs_of_a_tool(child, said));
            }
            !replies.is_empty() || self.can_run(lineage, row, &next)?
        };
        Ok(goes_on.then(|| (child.id, anew(&next))))
    }

    /// Returns `true` if a tool can run that was not tried with the same inputs before.
    fn can_run(
        &self,
        lineage: &Lineage,
        row: &ObligationRow,
        next: &ObligationRow,
    ) -> Result<bool, Error> {
        let mut tried = self.tried_before(lineage, row)?;
        tried.extend(self.ledger.runs_for(row.id, Purpose::Plan)?);
        Ok(matches!(self.choose(next, &[], &tried)?, Choice::Ready(..)))
    }

    /// Translates an utterance that matched no tool again, with the words of the reply.
    fn translated_again(&self, row: &ObligationRow) -> Result<Option<NewObligation>, Error> {
        if row.what.kind.as_deref() != Some(UTTERANCE) {
            return Ok(None);
        }
        let replies = self.ledger.replies(row.id)?;
        let Some(reply) = replies.last() else { return Ok(None) };
        self.obligation_for_reply(&row.payload, &reply.value).map(Some)
    }

    /// Repeats a check that waited for a report, unless a tool has already run for it.
    fn check_again(
        &self,
        lineage: &Lineage,
        row: &ObligationRow,
    ) -> Result<Option<NewObligation>, Error> {
        let of = row.payload.get("of").and_then(Value::as_str);
        let Some(of) = of.and_then(|name| lineage.named(name)) else { return Ok(None) };
        let untouched = self.ledger.runs_for(row.id, Purpose::Plan)?.is_empty();
        Ok((untouched && !lineage.is_open(of)).then(|| anew(row)))
    }
}

/// Copies an obligation without its name.
fn anew(row: &ObligationRow) -> NewObligation {
    let ObligationRow { what, payload, say, .. } = row.clone();
    NewObligation { id: String::new(), what, payload, say }
}

/// Returns the arguments in the answer of a tool that satisfies `CLARIFY(input)`: by name, or a
/// single one as `result` or `text`.
fn inputs_of_a_tool(question: &ObligationRow, said: Option<Value>) -> Map<String, Value> {
    let asks = asks_of(question);
    let Some(Value::Object(said)) = said else { return Map::new() };
    let named = said.iter().filter(|(name, _)| asks.iter().any(|ask| ask.is_called(name)));
    let named: Map<String, Value> = named.map(|(name, v)| (name.clone(), v.clone())).collect();
    match (&asks[..], named.is_empty()) {
        ([ask], true) => {
            let text = || Some(Value::String(said.get("text")?.as_str()?.trim().to_owned()));
            let value = said.get("result").cloned().or_else(text);
            value.map(|value| (ask.input.clone(), value)).into_iter().collect()
        }
        _ => named,
    }
}
