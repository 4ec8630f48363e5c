//! Policy first: the tools for an obligation, such as `REPORT(query.math)`.
//!
//! No meaning and no words: a tool that says that it satisfies the obligation's type is a
//! candidate, one whose inputs are there comes before one that lacks some, and then reliability,
//! cost, latency and name decide. What was seen of a tool's runs joins what it declares.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use serde::Serialize;

use super::observed::Observed;
use super::policy::Exclusion;
use crate::catalog::{Cost, LatencyTier, Reliability, Tool, ToolId};

/// One tool that can discharge an obligation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidacy {
    pub id: ToolId,
    /// Kinds of data that it consumes and nobody has; empty where it can run.
    pub missing: Vec<String>,
    /// The tiers that were compared: declared ones, moved by what was seen.
    pub reliability: Reliability,
    pub cost: Cost,
    pub latency_ms: u64,
    #[serde(skip)]
    pub row: u32,
}

/// What an obligation comes to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Candidacies {
    /// The first tool whose inputs are all there.
    pub chosen: Option<Candidacy>,
    /// The others that could run, in the order in which to try them.
    pub alternatives: Vec<Candidacy>,
    /// Tools that lack inputs, each with what it lacks: to be asked for.
    pub unsatisfied: Vec<Candidacy>,
    /// Tools that the policy leaves out.
    pub excluded: Vec<(ToolId, Exclusion)>,
}

/// Whether a declared obligation covers one that is asked for.
///
/// `REPORT` covers every report, and `REPORT(query.math)` that one alone; asked for `REPORT`, both
/// are candidates, as conductors ask by type.
pub fn covers(declared: &str, asked: &str) -> bool {
    let (declared, asked) = (split(declared), split(asked));
    declared.0.eq_ignore_ascii_case(asked.0)
        && match (declared.1, asked.1) {
            (Some(declared), Some(asked)) => declared == asked,
            _ => true,
        }
}

/// `REPORT(query.math)` as `REPORT` and `query.math`.
fn split(obligation: &str) -> (&str, Option<&str>) {
    let obligation = obligation.trim();
    match obligation.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
        Some((kind, about)) if !about.trim().is_empty() => (kind.trim(), Some(about.trim())),
        Some((kind, _)) => (kind.trim(), None),
        None => (obligation, None),
    }
}

/// The tools for an obligation, in the policy's order. `have` are the kinds of data at hand, `admit`
/// says which may be chosen at all, and `seen` tells what was seen of a row's runs.
pub fn candidates_for<'o>(
    tools: &[Arc<Tool>],
    obligation: &str,
    have: &[String],
    admit: impl Fn(&Tool) -> Result<(), Exclusion>,
    seen: impl Fn(u32) -> Option<&'o Observed>,
) -> Candidacies {
    let mut found = Candidacies::default();
    let mut able = Vec::new();
    for (row, tool) in (0u32..).zip(tools) {
        if !tool.satisfies.iter().any(|declared| covers(declared, obligation)) {
            continue;
        }
        match admit(tool) {
            Ok(()) => able.push(candidacy(row, tool, have, seen(row))),
            Err(because) => found.excluded.push((tool.id.clone(), because)),
        }
    }
    able.sort_by(|a, b| order(a, b, tools));
    let (ready, unsatisfied): (Vec<_>, Vec<_>) =
        able.into_iter().partition(|candidacy| candidacy.missing.is_empty());
    let mut ready = ready.into_iter();
    found.chosen = ready.next();
    found.alternatives = ready.collect();
    found.unsatisfied = unsatisfied;
    found
}

fn candidacy(row: u32, tool: &Tool, have: &[String], seen: Option<&Observed>) -> Candidacy {
    let is_missing = |kind: &&String| !have.contains(kind);
    let declared_ms =
        tool.latency_ms.or_else(|| tool.declared_latency_tier.map(LatencyTier::floor_ms));
    let latency = Observed::latency(seen, declared_ms);
    Candidacy {
        id: tool.id.clone(),
        missing: tool.consumes.iter().filter(is_missing).cloned().collect(),
        reliability: Observed::reliability(seen, tool.reliability),
        cost: tool.cost.unwrap_or(Cost::Medium),
        latency_ms: latency.map_or(LatencyTier::Medium.floor_ms(), |ms| ms.max(0.0) as u64),
        row,
    }
}

/// Reliability, cost, latency, name: the order of [`super::order::order`] over what counts.
fn order(a: &Candidacy, b: &Candidacy, tools: &[Arc<Tool>]) -> Ordering {
    let key = |c: &Candidacy| (Reverse(c.reliability), c.cost, c.latency_ms);
    let name = |c: &Candidacy| &tools[c.row as usize].name;
    key(a).cmp(&key(b)).then_with(|| name(a).cmp(name(b))).then_with(|| a.id.cmp(&b.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anything(_: &Tool) -> Result<(), Exclusion> {
        Ok(())
    }

    fn tool(name: &str, satisfies: &str, consumes: &[&str]) -> Tool {
        let mut tool = Tool::new(None, name, "");
        tool.satisfies = vec![satisfies.to_owned()];
        tool.consumes = consumes.iter().map(|kind| kind.to_string()).collect();
        tool
    }

    fn ask(tools: Vec<Tool>, obligation: &str, have: &[&str]) -> Candidacies {
        let tools: Vec<Arc<Tool>> = tools.into_iter().map(Arc::new).collect();
        let have: Vec<String> = have.iter().map(|kind| kind.to_string()).collect();
        candidates_for(&tools, obligation, &have, anything, |_| None)
    }

    #[test]
    fn types_are_covered_with_and_without_their_subject() {
        for (declared, asked, yes) in [
            ("REPORT", "REPORT(query.math)", true),
            ("REPORT(query.math)", "REPORT", true),
            ("REPORT(query.math)", "report( query.math )", true),
            ("REPORT(query.math)", "REPORT(query.people)", false),
            ("REPORT", "VERIFY", false),
            ("REPORT()", "REPORT(query.math)", true),
        ] {
            assert_eq!(covers(declared, asked), yes, "{declared} for {asked}");
        }
    }

    #[test]
    fn the_examples_of_the_policy_document_come_out() {
        let mut eval = tool("EvalMath", "REPORT(query.math)", &["expr"]);
        (eval.reliability, eval.cost, eval.latency_ms) =
            (Some(Reliability::High), Some(Cost::Tiny), Some(5));
        let mut people = tool("PeopleSQL", "REPORT(query.people)", &[]);
        (people.reliability, people.cost) = (Some(Reliability::High), Some(Cost::Low));
        let mut simple = tool("SimpleTool", "REPORT(query.complex)", &[]);
        simple.reliability = Some(Reliability::Medium);
        let mut complex = tool("ComplexTool", "REPORT(query.complex)", &[]);
        complex.reliability = Some(Reliability::High);
        let tools = vec![eval, people, simple, complex];
        let chosen = |obligation, have: &[&str]| {
            let chosen = ask(tools.clone(), obligation, have).chosen;
            chosen.map(|chosen| chosen.id.to_string())
        };
        assert_eq!(chosen("REPORT(query.math)", &["expr"]).as_deref(), Some("EvalMath"));
        assert_eq!(chosen("REPORT(query.people)", &[]).as_deref(), Some("PeopleSQL"));
        assert_eq!(chosen("REPORT(query.complex)", &[]).as_deref(), Some("ComplexTool"));
        assert_eq!(chosen("VERIFY", &[]), None);
        let lacking = ask(tools, "REPORT(query.math)", &[]);
        assert_eq!(lacking.chosen, None);
        assert_eq!(lacking.unsatisfied[0].missing, ["expr"]);
    }

    #[test]
    fn what_was_seen_joins_what_is_declared() {
        let tools = ["a", "b"].map(|name| Arc::new(tool(name, "REPORT", &[])));
        let ask = |a: Option<Observed>| {
            let seen = [a, None];
            let found =
                candidates_for(&tools, "REPORT", &[], anything, |row| seen[row as usize].as_ref());
            found.chosen.unwrap().id.to_string()
        };
        assert_eq!(ask(None), "a");
        assert_eq!(
            ask(Some(Observed::from_counts(0, 1, None))),
            "a",
            "one failure decides nothing"
        );
        assert_eq!(ask(Some(Observed::from_counts(2, 40, None))), "b");
    }
}
