//! The facts of a ledger that are relevant to a request: its own, and those of earlier requests.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::Error;
use super::json::canonical;
use super::ledger::{AssertionRow, Ledger, Origin, Standing};

/// The maximum number of facts of earlier requests that are read, because a ledger may grow for
/// years.
const MOST_EARLIER: usize = 1_000;

/// Which requests facts are taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// All requests of the ledger.
    #[default]
    Ledger,
    /// The current request only.
    Request,
}

#[derive(Clone, Copy, Debug)]
pub struct FactQuery<'a> {
    pub request: i64,
    pub scope: Scope,
    /// If present, only facts of this kind are returned.
    pub kind: Option<&'a str>,
    /// If present, only facts about this subject are returned. It is written in canonical JSON.
    pub subject: Option<&'a str>,
}

impl Ledger {
    /// Returns the relevant facts. Those of the request come first; within the request and within
    /// the others, the latest comes first.
    ///
    /// Facts that a postcondition rejected are left out. Other requests contribute only facts of
    /// users and verified facts, and only the latest of each source about a subject. A disputed
    /// fact is relevant only in its own request, where the user may have to decide.
    #[doc(hidden)] // For our own crates.
    pub fn facts(&self, query: &FactQuery<'_>) -> Result<Vec<AssertionRow>, Error> {
        let mut facts = self.facts_of_request(query)?;
        if query.scope == Scope::Request {
            return Ok(facts);
        }
        let name = |fact: &AssertionRow| {
            (fact.origin, fact.source.clone(), fact.kind.clone(), canonical(&fact.subject))
        };
        let mut known: HashSet<_> = facts.iter().map(name).collect();
        let mut earlier = self.facts_of_others(query, MOST_EARLIER)?;
        earlier.retain(|fact| known.insert(name(fact)));
        facts.extend(earlier.into_iter().filter(|fact| fact.standing != Standing::Disputed));
        Ok(facts)
    }
}

/// Returns `true` if a fact may be used: it is neither disputed nor rejected.
pub fn is_sound(fact: &AssertionRow) -> bool {
    matches!(fact.standing, Standing::Held | Standing::Verified)
}

/// Returns the source of a fact as a sentence names it.
pub fn source_name(fact: &AssertionRow) -> String {
    match fact.origin {
        Origin::Tool => format!("`{}`", fact.source),
        Origin::User | Origin::Conductor => fact.source.clone(),
    }
}
