//! The facts of a ledger that are relevant for a request: its own, and those of earlier requests.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::Error;
use super::json::canonical;
use super::ledger::{AssertionRow, Ledger, Origin, Standing};

/// The most facts of earlier requests that are read, because a ledger grows for years.
const MOST_EARLIER: usize = 1_000;

/// How far back facts are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// In all requests of the ledger.
    #[default]
    Ledger,
    /// In the request only.
    Request,
}

/// A query for facts.
#[derive(Clone, Copy, Debug)]
pub struct FactQuery<'a> {
    pub request: i64,
    pub scope: Scope,
    /// Only facts of this kind.
    pub kind: Option<&'a str>,
    /// Only facts of this subject, in canonical JSON.
    pub subject: Option<&'a str>,
}

impl Ledger {
    /// The relevant facts: those of the request first, and the latest first within the request and
    /// within the others.
    ///
    /// Facts that a postcondition rejected are left out. From other requests come facts of users and
    /// verified facts, and only the latest of each source about a subject. A disputed fact is
    /// relevant only in its own request, where somebody may have to decide.
    ///
    /// # Errors
    /// Where the file cannot be read.
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

/// Whether a fact may be used: a disputed one may not.
pub fn is_sound(fact: &AssertionRow) -> bool {
    matches!(fact.standing, Standing::Held | Standing::Verified)
}

/// The source of a fact, as a sentence names it.
pub fn teller(fact: &AssertionRow) -> String {
    match fact.origin {
        Origin::Tool => format!("`{}`", fact.source),
        Origin::User | Origin::Conductor => fact.source.clone(),
    }
}
