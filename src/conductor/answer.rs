//! What comes back: every obligation with what became of it, and the words for it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Error;
use super::ledger::{Ledger, ObligationRow, Standing};
use super::obligation::{ObligationType, Status};

/// The answer to a request. It holds no times and no numbers of rows: the same request over the
/// same tools gives the same bytes, however often it was interrupted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub utterance: String,
    /// In words.
    pub text: String,
    #[serde(rename = "obligations")]
    pub entries: Vec<Entry>,
}

/// One obligation, settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub id: String,
    #[serde(rename = "type")]
    pub what: ObligationType,
    pub status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The tool that said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
    /// Why the output is not to be relied on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncertain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(skip)]
    pub say: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub brought_about: Vec<Entry>,
}

impl Answer {
    /// All settled without a question, a failure or a doubt.
    pub fn is_complete(&self) -> bool {
        self.entries.iter().all(|e| e.status == Status::Resolved && e.uncertain.is_none())
    }

    /// What the ledger holds of a request; its words are yet to come.
    pub(super) fn gather(ledger: &Ledger, request: i64) -> Result<Self, Error> {
        let rows = ledger.obligations(Some(request))?;
        let mut entries = Vec::new();
        for row in rows.iter().filter(|row| row.parent.is_none()) {
            let mut entry = entry(ledger, row)?;
            for child in rows.iter().filter(|child| child.parent == Some(row.id)) {
                entry.brought_about.push(self::entry(ledger, child)?);
            }
            entries.push(entry);
        }
        let utterance = ledger.request(request)?.utterance.unwrap_or_default();
        Ok(Self { utterance, text: String::new(), entries })
    }
}

fn entry(ledger: &Ledger, row: &ObligationRow) -> Result<Entry, Error> {
    let result = ledger.result(row.id)?.filter(|_| row.status == Status::Resolved);
    let disputed = result.as_ref().filter(|result| result.standing == Standing::Disputed);
    let uncertain = disputed.map(|result| result.because.clone().unwrap_or_default());
    Ok(Entry {
        id: row.name.clone(),
        what: row.what.clone(),
        status: row.status,
        source: result.as_ref().map(|result| result.source.clone()),
        standing: result.as_ref().map(|result| result.standing),
        // What is in doubt is replaced by the doubt; the ledger keeps it.
        output: result.filter(|_| uncertain.is_none()).map(|result| result.value),
        uncertain,
        note: row.note.clone(),
        say: row.say.clone(),
        brought_about: Vec::new(),
    })
}
