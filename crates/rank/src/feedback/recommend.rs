//! Recommends improvements of a catalog from a log, with evidence and a priority.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::Serialize;
use toolroute_catalog::ToolId;

use super::execution::PromptHash;
use super::run_stats::{RunStats, rates};
use super::{Execution, credibility};

/// The priority of a recommendation, the highest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    High,
    Medium,
    Low,
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A fault of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The tool fails too often.
    Fails,
    /// The tool ranks first for prompts that another tool serves.
    AttractsWrongPrompts,
    /// The tool's text says the same as another tool's.
    Duplicate,
    /// The tool is offered but never run.
    NeverChosen,
}

/// One recommended improvement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recommendation {
    pub tool: ToolId,
    pub fault: Fault,
    pub priority: Priority,
    pub recommendation: String,
    pub evidence: String,
}

/// Two tools whose texts have nearly the same vector.
#[derive(Clone, Debug, PartialEq)]
pub struct NearDuplicate {
    pub a: ToolId,
    pub b: ToolId,
    pub cosine: f32,
}

/// The minimum [weight](RunStats::weight) of the runs of a tool that is reported as failing.
const LEAST_RUNS: f64 = 5.0;

/// A tool has the fault [`Fault::Fails`] if the upper bound on its success rate is below
/// `FAILS_OFTEN`. The priority is high if the bound is below `FAILS`.
const FAILS: f32 = 0.5;
const FAILS_OFTEN: f32 = 0.75;

/// The minimum number of offers of a tool that is never chosen (`OFFERS`), and the minimum for a
/// higher priority (`MANY_OFFERS`).
const OFFERS: u64 = 20;
const MANY_OFFERS: u64 = 100;

/// For a tool that attracts wrong prompts: the minimum weight of its first places (`FIRST_PLACES`),
/// the minimum share of them that it did not serve (`WRONG`), and the minimum share for a higher
/// priority (`MOSTLY_WRONG`).
const FIRST_PLACES: f64 = 5.0;
const WRONG: f64 = 0.5;
const MOSTLY_WRONG: f64 = 0.75;

/// The minimum cosine of two tools whose texts say the same.
pub const DUPLICATE: f32 = 0.95;

/// Returns the recommended improvements, highest priority first. `log` must be in order of time.
/// `near` comes from the caller, which has the tools' vectors; pairs below [`DUPLICATE`] are
/// ignored.
pub fn recommend(log: &[Execution], near: &[NearDuplicate]) -> Vec<Recommendation> {
    let observed = rates(log);
    let mut all: Vec<Recommendation> = Vec::new();
    all.extend(observed.iter().filter_map(|(tool, seen)| failing(tool, seen)));
    all.extend(first_places(log).iter().filter_map(|(tool, places)| wrong(tool, places)));
    all.extend(never_chosen(log, &observed));
    all.extend(near.iter().filter_map(|pair| duplicate(pair, &observed)));
    let key = |r: &Recommendation| (r.priority, r.fault, r.tool.clone(), r.evidence.clone());
    all.sort_by_cached_key(key);
    all
}

fn failing(tool: &ToolId, seen: &RunStats) -> Option<Recommendation> {
    let bound = seen.upper_bound();
    if seen.weight < LEAST_RUNS || bound >= FAILS_OFTEN {
        return None;
    }
    let RunStats { runs, successes, .. } = seen;
    Some(Recommendation {
        tool: tool.clone(),
        fault: Fault::Fails,
        priority: if bound < FAILS { Priority::High } else { Priority::Medium },
        recommendation: "mend it, declare it less reliable, or take it out of the catalog".into(),
        evidence: format!(
            "{successes} of {runs} runs succeeded; at best {:.0} % are likely to (95 %)",
            bound * 100.0
        ),
    })
}

/// The outcomes of the prompts for which a tool ranked first, as sums of weights.
#[derive(Default)]
struct FirstPlaces {
    /// The prompts that the tool or another one served, or for which the tool failed.
    all: f64,
    /// The prompts that another tool served.
    served_by_other: f64,
    /// The prompts for which the tool itself ran and failed, and none served after it.
    failed: f64,
}

/// The session, the prompt, the day, and the tool that ranked first.
type PromptKey<'a> = (&'a Option<String>, Option<PromptHash>, i64, &'a ToolId);

/// Returns the first places of each tool. For a prompt in a session, only the final outcome counts:
/// a failure after which another tool succeeded is one wrong place, not two.
fn first_places(log: &[Execution]) -> BTreeMap<ToolId, FirstPlaces> {
    let weights = credibility::weights(log);
    let mut last: HashMap<PromptKey<'_>, (usize, &Execution)> = HashMap::new();
    for (at, execution) in log.iter().enumerate() {
        let Some(first) = execution.choice.offered.first() else { continue };
        let key = (&execution.session, execution.hash(), credibility::day(execution), first);
        let entry = last.entry(key).or_insert((at, execution));
        // A success is final, whatever runs after it.
        if !entry.1.success {
            *entry = (at, execution);
        }
    }
    let mut ends: Vec<_> =
        last.into_iter().map(|((.., first), end)| (end.0, end.1, first)).collect();
    ends.sort_by_key(|(at, ..)| *at);
    let mut places: BTreeMap<ToolId, FirstPlaces> = BTreeMap::new();
    for (at, execution, first) in ends {
        let of_tool = places.entry(first.clone()).or_default();
        match (execution.tool == *first, execution.success) {
            (false, true) => of_tool.served_by_other += weights[at],
            (true, false) => of_tool.failed += weights[at],
            (true, true) => {}
            // It is unknown which tool the prompt was for.
            (false, false) => continue,
        }
        of_tool.all += weights[at];
    }
    places
}

fn wrong(tool: &ToolId, places: &FirstPlaces) -> Option<Recommendation> {
    let FirstPlaces { all, served_by_other, failed } = places;
    // A tool that mostly fails its own prompts has the fault `Fails` instead.
    let share = (served_by_other + failed) / all.max(f64::MIN_POSITIVE);
    if *all < FIRST_PLACES || share < WRONG || served_by_other < failed {
        return None;
    }
    let pressing = share >= MOSTLY_WRONG && *all >= 2.0 * FIRST_PLACES;
    Some(Recommendation {
        tool: tool.clone(),
        fault: Fault::AttractsWrongPrompts,
        priority: if pressing { Priority::High } else { Priority::Medium },
        recommendation: "narrow its description: say what it is not for".into(),
        evidence: format!(
            "first in {all:.0} answers; {served_by_other:.0} were served by another tool in the end, \
             {failed:.0} by none after it failed"
        ),
    })
}

fn never_chosen(log: &[Execution], observed: &BTreeMap<ToolId, RunStats>) -> Vec<Recommendation> {
    let mut offers: BTreeMap<&ToolId, u64> = BTreeMap::new();
    for id in log.iter().flat_map(|execution| &execution.choice.offered) {
        *offers.entry(id).or_default() += 1;
    }
    let never =
        offers.into_iter().filter(|(id, count)| *count >= OFFERS && !observed.contains_key(*id));
    let told = never.map(|(id, count)| Recommendation {
        tool: id.clone(),
        fault: Fault::NeverChosen,
        priority: if count >= MANY_OFFERS { Priority::Medium } else { Priority::Low },
        recommendation: "say better what it does, or take it out of the catalog".into(),
        evidence: format!("offered {count} times, run never"),
    });
    told.collect()
}

fn duplicate(
    pair: &NearDuplicate,
    observed: &BTreeMap<ToolId, RunStats>,
) -> Option<Recommendation> {
    let NearDuplicate { a, b, cosine } = pair;
    if cosine.is_nan() || *cosine < DUPLICATE || a == b {
        return None;
    }
    let runs = |id: &ToolId| observed.get(id).map_or(0, |seen: &RunStats| seen.runs);
    // The less used tool has the fault.
    let less = |x: &ToolId, y: &ToolId| (runs(x), y) < (runs(y), x);
    let (tool, other) = if less(a, b) { (a, b) } else { (b, a) };
    let both = runs(tool) > 0;
    Some(Recommendation {
        tool: tool.clone(),
        fault: Fault::Duplicate,
        priority: if both { Priority::Medium } else { Priority::Low },
        recommendation: format!("say how it differs from `{other}`, or keep one of the two"),
        evidence: format!("cosine {cosine:.3}; runs: {} against {}", runs(tool), runs(other)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a run in its own session, with the offered tools.
    fn run(n: usize, tool: &str, success: bool, offered: &[&str]) -> Execution {
        let mut run = Execution::new(tool.into(), format!("prompt {n}"), success);
        // The runs are an hour apart, so that the bounds per day hardly reduce their weights.
        run.at = Some(n as i64 * 60_000 * 60);
        run.session = Some(n.to_string());
        run.choice.offered = offered.iter().map(|id| (*id).into()).collect();
        run
    }

    fn told(log: &[Execution]) -> Vec<(String, Fault, Priority)> {
        let all = recommend(log, &[]);
        all.into_iter().map(|told| (told.tool.to_string(), told.fault, told.priority)).collect()
    }

    #[test]
    fn a_tool_that_fails_is_told_of_and_one_failure_is_not() {
        let runs = |good: usize, all: usize| -> Vec<_> {
            (0..all).map(|n| run(n, "t", n < good, &[])).collect()
        };
        assert_eq!(told(&runs(1, 12)), [("t".into(), Fault::Fails, Priority::High)]);
        assert_eq!(told(&runs(9, 18)), [("t".into(), Fault::Fails, Priority::Medium)]);
        assert_eq!(told(&runs(0, 3)), []);
        assert_eq!(told(&runs(17, 18)), []);
    }

    #[test]
    fn a_description_that_attracts_what_others_serve_is_told_of() {
        let offered = ["greedy", "right", "idle"];
        let served: Vec<_> = (0..14).map(|n| run(n, "right", true, &offered)).collect();
        assert_eq!(told(&served), [("greedy".into(), Fault::AttractsWrongPrompts, Priority::High)]);
        // The tool is tried first and fails, then another one succeeds: still one prompt.
        let mut tried = Vec::new();
        for n in 0..6 {
            tried.push(run(n, "greedy", false, &offered));
            tried.push(run(n, "right", true, &offered));
        }
        let told = recommend(&tried, &[]);
        let greedy = told.iter().find(|t| t.fault == Fault::AttractsWrongPrompts).unwrap();
        assert_eq!(
            greedy.evidence,
            "first in 6 answers; 6 were served by another tool in the end, 0 by none after it failed"
        );
        let good: Vec<_> = (0..14).map(|n| run(n, "greedy", true, &offered)).collect();
        assert!(recommend(&good, &[]).is_empty());
    }

    #[test]
    fn a_tool_that_is_offered_and_never_run_is_told_of() {
        let log: Vec<_> = (0..20).map(|n| run(n, "a", true, &["a", "idle"])).collect();
        assert_eq!(told(&log), [("idle".into(), Fault::NeverChosen, Priority::Low)]);
        let log: Vec<_> = (0..100).map(|n| run(n, "a", true, &["a", "idle"])).collect();
        assert_eq!(told(&log), [("idle".into(), Fault::NeverChosen, Priority::Medium)]);
    }

    #[test]
    fn of_two_that_say_the_same_the_less_used_is_told_of() {
        let pair = |cosine| [NearDuplicate { a: "a".into(), b: "b".into(), cosine }];
        let log = [run(0, "a", true, &[]), run(1, "a", true, &[]), run(2, "b", true, &[])];
        let told = &recommend(&log, &pair(0.97))[0];
        assert_eq!((told.tool.as_str(), told.priority), ("b", Priority::Medium));
        assert_eq!(told.evidence, "cosine 0.970; runs: 1 against 2");
        assert_eq!(recommend(&[], &pair(0.97))[0].priority, Priority::Low);
        let none = [0.9, f32::NAN].map(|cosine| recommend(&log, &pair(cosine)));
        assert!(none.iter().all(Vec::is_empty));
    }
}
