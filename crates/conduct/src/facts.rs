//! Which facts of a ledger count for a request: its own, and those of earlier ones.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::Error;
use super::json::canonical;
use super::ledger::{AssertionRow, Ledger, Origin, Standing};

/// Facts of earlier requests that are looked at: a ledger grows for years.
const MOST_EARLIER: usize = 1_000;

/// How far back facts are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// In the request and in every other of its ledger.
    #[default]
    Ledger,
    /// In the request alone.
    Request,
}

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct FactQuery<'a> {
    pub request: i64,
    pub scope: Scope,
    /// Facts of this kind alone.
    pub kind: Option<&'a str>,
    /// Facts of this subject alone, in its canonical spelling.
    pub subject: Option<&'a str>,
}

impl Ledger {
    /// The facts that count, those of the request first, and the latest first among these and among
    /// those of other requests.
    ///
    /// Nothing that a postcondition rejected counts. Of other requests count what users said and what
    /// the verify pass found right, as long as it is the last word of its source: what a source says
    /// of a subject replaces what it said before. What is in dispute counts in its own request, where
    /// somebody may have to decide, and in no other.
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

/// Whether a fact may be built upon: what is in dispute may not.
pub fn is_sound(fact: &AssertionRow) -> bool {
    matches!(fact.standing, Standing::Held | Standing::Verified)
}

/// Who said it, in a sentence.
pub fn teller(fact: &AssertionRow) -> String {
    match fact.origin {
        Origin::Tool => format!("`{}`", fact.source),
        Origin::User | Origin::Conductor => fact.source.clone(),
    }
}
