//! Selects tools for an obligation, such as `REPORT(query.math)`, by policy alone.
//!
//! Semantic and keyword scores are not used. A tool is a candidate if it declares that it satisfies
//! the type of the obligation. Tools whose inputs are available come first; then reliability, cost,
//! latency and name decide. Observed runs adjust the declared tiers.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use serde::Serialize;
use toolroute_catalog::{Cost, LatencyTier, Reliability, Tool, ToolId, covers};

use super::policy::Exclusion;
use crate::feedback::RunStats;

/// A tool that can satisfy an obligation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidacy {
    /// The id of the tool.
    pub id: ToolId,
    /// The kinds of data that the tool consumes and that are unavailable; empty if it can run.
    pub missing: Vec<String>,
    /// The declared tier, adjusted by observed runs; medium if undeclared.
    pub reliability: Reliability,
    /// The declared tier; medium if undeclared.
    pub cost: Cost,
    /// The declared latency in milliseconds, adjusted by observed runs.
    pub latency_ms: u64,
    /// The row of the tool in the catalog.
    #[serde(skip)]
    pub row: u32,
}

/// The tools for an obligation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Candidacies {
    /// The first tool whose inputs are all available.
    pub chosen: Option<Candidacy>,
    /// The other tools that could run, in the order in which to try them.
    pub alternatives: Vec<Candidacy>,
    /// The tools that lack inputs, each with the inputs that it lacks.
    pub unsatisfied: Vec<Candidacy>,
    /// The tools that the policy excludes, each with the reason.
    pub excluded: Vec<(ToolId, Exclusion)>,
}

impl Candidacies {
    /// Whether no tool satisfies the obligation, not even one that lacks inputs or is excluded.
    pub fn is_empty(&self) -> bool {
        self.chosen.is_none() && self.unsatisfied.is_empty() && self.excluded.is_empty()
    }
}

/// Returns the tools that satisfy an obligation ([`covers`]): those that `admit` accepts, in the
/// order of the policy, and those that it rejects, with the reason. `seen` returns the statistics
/// of a row's runs.
pub fn satisfying<'o>(
    tools: &[Arc<Tool>],
    obligation: &str,
    admit: impl Fn(u32, &Tool) -> Result<(), Exclusion>,
    seen: impl Fn(u32) -> Option<&'o RunStats>,
) -> (Vec<Candidacy>, Vec<(ToolId, Exclusion)>) {
    let (mut able, mut excluded) = (Vec::new(), Vec::new());
    for (row, tool) in (0u32..).zip(tools) {
        if !tool.satisfies.iter().any(|declared| covers(declared, obligation)) {
            continue;
        }
        match admit(row, tool) {
            Ok(()) => able.push(candidacy(row, tool, seen(row))),
            Err(because) => excluded.push((tool.id.clone(), because)),
        }
    }
    able.sort_by(|a, b| order(a, b, tools));
    (able, excluded)
}

/// Returns the tools of [`satisfying`], separated by whether they can run. `have` lists the
/// available kinds of data.
pub fn candidates_for<'o>(
    tools: &[Arc<Tool>],
    obligation: &str,
    have: &[String],
    admit: impl Fn(u32, &Tool) -> Result<(), Exclusion>,
    seen: impl Fn(u32) -> Option<&'o RunStats>,
) -> Candidacies {
    let (mut able, excluded) = satisfying(tools, obligation, admit, seen);
    let mut found = Candidacies { excluded, ..Candidacies::default() };
    for candidacy in &mut able {
        let consumed = tools[candidacy.row as usize].consumes.iter();
        candidacy.missing = consumed.filter(|kind| !have.contains(kind)).cloned().collect();
    }
    let (ready, unsatisfied): (Vec<_>, Vec<_>) =
        able.into_iter().partition(|candidacy| candidacy.missing.is_empty());
    let mut ready = ready.into_iter();
    found.chosen = ready.next();
    found.alternatives = ready.collect();
    found.unsatisfied = unsatisfied;
    found
}

fn candidacy(row: u32, tool: &Tool, seen: Option<&RunStats>) -> Candidacy {
    let latency = RunStats::latency_ms(seen, tool);
    Candidacy {
        id: tool.id.clone(),
        missing: Vec::new(),
        reliability: RunStats::reliability(seen, tool.reliability),
        cost: tool.cost.unwrap_or(Cost::Medium),
        latency_ms: latency.map_or(LatencyTier::Medium.floor_ms(), |ms| ms.max(0.0) as u64),
        row,
    }
}

/// Compares by reliability, cost, latency and name, as [`super::order::order`] does, but with the
/// effective tiers.
fn order(a: &Candidacy, b: &Candidacy, tools: &[Arc<Tool>]) -> Ordering {
    let key = |c: &Candidacy| (Reverse(c.reliability), c.cost, c.latency_ms);
    let name = |c: &Candidacy| &tools[c.row as usize].name;
    key(a).cmp(&key(b)).then_with(|| name(a).cmp(name(b))).then_with(|| a.id.cmp(&b.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_joins_what_is_declared() {
        let tool = |name| Tool { satisfies: vec!["REPORT".into()], ..Tool::new(None, name, "") };
        let tools = ["a", "b"].map(|name| Arc::new(tool(name)));
        let ask = |a: Option<RunStats>| {
            let seen = [a, None];
            let of_row = |row: u32| seen[row as usize].as_ref();
            let found = candidates_for(&tools, "REPORT", &[], |_, _| Ok(()), of_row);
            found.chosen.unwrap().id.to_string()
        };
        assert_eq!(ask(None), "a");
        assert_eq!(
            ask(Some(RunStats::from_counts(0, 1, None))),
            "a",
            "one failure decides nothing"
        );
        assert_eq!(ask(Some(RunStats::from_counts(2, 40, None))), "b");
    }
}
