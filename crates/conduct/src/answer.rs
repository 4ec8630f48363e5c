//! The answer to a request: the outcome of every obligation, and the answer as text.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Error;
use super::inputs::asks_of;
use super::ledger::{Ledger, ObligationRow, Standing};
use super::lineage::{INPUT, Lineage};
use super::obligation::{Duty, ObligationType, Status};

/// The answer to a request. It contains no times and no row numbers, so the same request with the
/// same tools gives the same bytes, however often it was interrupted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What the user said.
    pub utterance: String,
    /// The answer in words.
    pub text: String,
    /// The obligations, in their order.
    #[serde(rename = "obligations")]
    pub entries: Vec<Entry>,
}

/// The outcome of one obligation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The name of the obligation in the request.
    pub id: String,
    /// What is to be done.
    #[serde(rename = "type")]
    pub what: ObligationType,
    /// How far it is.
    pub status: Status,
    /// The result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The source of the output, such as the id of a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
    /// Why the output is disputed; the output itself is then absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncertain: Option<String>,
    /// Why it is as it is, for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The names under which an open question can be answered: those of its inputs, and its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answer_as: Vec<String>,
    #[serde(skip)]
    pub say: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub brought_about: Vec<Entry>,
    /// Questions that were answered before this outcome, with their replies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<Exchange>,
}

/// A question and the reply to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// The name of the obligation that asks.
    pub id: String,
    /// The question.
    pub question: String,
    /// An object keyed by the names of the inputs, or a single value.
    pub reply: Value,
}

impl Answer {
    /// Returns `true` if every obligation is resolved and no output is disputed.
    pub fn is_complete(&self) -> bool {
        self.entries.iter().all(|e| e.status == Status::Resolved && e.uncertain.is_none())
    }

    /// Returns `true` if a question is open.
    pub fn asks(&self) -> bool {
        let all =
            self.entries.iter().flat_map(|entry| [entry].into_iter().chain(&entry.brought_about));
        all.into_iter().any(|entry| !entry.answer_as.is_empty())
    }

    /// Reads the answer to a request from the ledger. Its text is still empty.
    pub(super) fn gather(ledger: &Ledger, request: i64) -> Result<Self, Error> {
        let lineage = Lineage::read(ledger, request)?;
        let mut entries = Vec::new();
        for row in lineage.rows.iter().filter(|row| row.parent.is_none()) {
            entries.push(Gathering { ledger, lineage: &lineage }.whole(row)?);
        }
        let utterance = ledger.request(request)?.utterance.unwrap_or_default();
        Ok(Self { utterance, text: String::new(), entries })
    }
}

/// The ledger and the lineage of its obligations, from which entries are read.
struct Gathering<'a> {
    ledger: &'a Ledger,
    lineage: &'a Lineage,
}

impl Gathering<'_> {
    /// Returns the final state of an obligation, under the name of its first row.
    fn whole(&self, first: &ObligationRow) -> Result<Entry, Error> {
        let last = self.lineage.latest(first);
        let mut entry = self.entry(last)?;
        (entry.id, entry.say) = (first.name.clone(), first.say.clone().or(entry.say));
        let ancestors: Vec<&ObligationRow> = self.lineage.ancestors(last).collect();
        for row in ancestors.into_iter().rev() {
            let asked = self.lineage.continuation_child(row).unwrap_or(row);
            entry.answered.extend(self.exchange(asked)?);
        }
        for child in self.lineage.children(last.id) {
            match self.exchange(child)? {
                Some(exchange) => entry.answered.push(exchange),
                None => entry.brought_about.push(self.entry(child)?),
            }
        }
        Ok(entry)
    }

    fn entry(&self, row: &ObligationRow) -> Result<Entry, Error> {
        let is_question = row.what.duty == Duty::Clarify;
        let result = self.ledger.result(row.id)?;
        let result = result.filter(|_| is_question || row.status == Status::Resolved);
        let is_open = is_question && result.is_none() && row.status == Status::Escalated;
        let disputed = result.as_ref().filter(|result| result.standing == Standing::Disputed);
        let uncertain = disputed.map(|result| result.because.clone().unwrap_or_default());
        let inputs = asks_of(row).into_iter().map(|ask| ask.input).filter(|_| is_open);
        Ok(Entry {
            id: row.name.clone(),
            what: row.what.clone(),
            // A question stays escalated in the ledger, because settled rows never change. Its
            // answer resolves it.
            status: if is_question && result.is_some() { Status::Resolved } else { row.status },
            source: result.as_ref().map(|result| result.source.clone()),
            standing: result.as_ref().map(|result| result.standing),
            answer_as: inputs.chain(is_open.then(|| row.name.clone())).collect(),
            // A disputed output is left out; the ledger keeps it.
            output: result.filter(|_| uncertain.is_none()).map(|result| result.value),
            uncertain,
            note: row.note.clone(),
            say: row.say.clone(),
            brought_about: Vec::new(),
            answered: Vec::new(),
        })
    }

    /// Returns a question with the user's reply; `None` if there is no reply.
    fn exchange(&self, asked: &ObligationRow) -> Result<Option<Exchange>, Error> {
        if asked.what.duty != Duty::Clarify {
            return Ok(None);
        }
        let replies = self.ledger.replies(asked.id)?;
        let mut inputs = Map::new();
        let mut whole = None;
        for reply in replies {
            let fact = asks_of(asked).iter().any(|ask| ask.fact && ask.input == reply.kind);
            match reply.subject[INPUT].as_str() {
                Some(input) => drop(inputs.insert(input.to_owned(), reply.value)),
                None if fact => drop(inputs.insert(reply.kind, reply.value)),
                None => whole = Some(reply.value),
            }
        }
        let inputs = (!inputs.is_empty()).then(|| Value::Object(inputs));
        let question = asked.note.clone().unwrap_or_default();
        Ok(inputs.or(whole).map(|reply| Exchange { id: asked.name.clone(), question, reply }))
    }
}
