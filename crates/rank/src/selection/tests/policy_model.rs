//! A million cases for the policy and the filters, compared with a second implementation of the
//! rules.

use std::cmp::Ordering;
use std::sync::Arc;

use toolroute_catalog::{Cost, LatencyTier, Reliability, Tool, covers};

use super::super::*;
use crate::feedback::RunStats;
use crate::query::Stage;

/// Xorshift64 (Marsaglia 2003), so that every run has the same cases.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % sides
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.roll(all.len())]
    }

    fn maybe<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        if self.roll(3) == 0 { None } else { Some(self.pick(all)) }
    }

    fn dress(&mut self, tool: &mut Tool) {
        tool.reliability = self.maybe(&RELIABILITIES);
        tool.cost = self.maybe(&COSTS);
        tool.latency_ms =
            self.maybe(&[0, 2_999, 3_000, 14_999, 15_000, 119_999, 120_000, 9_000_000]);
        tool.declared_latency_tier = self.maybe(&LATENCIES);
    }

    fn policy(&mut self) -> Policy {
        Policy {
            min_reliability: self.maybe(&RELIABILITIES),
            max_cost: self.maybe(&COSTS),
            max_latency: self.maybe(&LATENCIES),
            undeclared: self.pick(&[Undeclared::Medium, Undeclared::Admit, Undeclared::Exclude]),
            max_per_server: None,
            near_best: None,
            observed_tiers: false,
        }
    }
}

const RELIABILITIES: [Reliability; 3] = [Reliability::Low, Reliability::Medium, Reliability::High];
const COSTS: [Cost; 4] = [Cost::Tiny, Cost::Low, Cost::Medium, Cost::High];
const LATENCIES: [LatencyTier; 4] =
    [LatencyTier::Fast, LatencyTier::Medium, LatencyTier::Slow, LatencyTier::VerySlow];

/// Returns the number of a tier, from the worst to the best, as in the source document.
fn reliability(tier: Reliability) -> i64 {
    match tier {
        Reliability::Low => 1,
        Reliability::Medium => 2,
        Reliability::High => 3,
    }
}

fn cost(tier: Cost) -> i64 {
    match tier {
        Cost::Tiny => 4,
        Cost::Low => 3,
        Cost::Medium => 2,
        Cost::High => 1,
    }
}

/// Returns 0 (fast) to 3 (very slow): from milliseconds if they are declared, otherwise from the
/// tier.
fn slowness(tool: &Tool) -> Option<i64> {
    let by_ms = tool.latency_ms.map(|ms| match ms {
        ms if ms < 3_000 => 0,
        ms if ms < 15_000 => 1,
        ms if ms < 120_000 => 2,
        _ => 3,
    });
    by_ms.or_else(|| tool.declared_latency_tier.map(|tier| tier as i64))
}

/// Whether a tool passes a policy, by its documented rules.
fn passes(policy: &Policy, tool: &Tool) -> bool {
    let one = |found: Option<i64>, medium: i64, good: &dyn Fn(i64) -> bool| match found {
        Some(found) => good(found),
        None => match policy.undeclared {
            Undeclared::Admit => true,
            Undeclared::Exclude => false,
            Undeclared::Medium => good(medium),
        },
    };
    policy.min_reliability.is_none_or(|least| {
        one(tool.reliability.map(reliability), 2, &|found| found >= reliability(least))
    }) && policy
        .max_cost
        .is_none_or(|most| one(tool.cost.map(cost), 2, &|found| found >= cost(most)))
        && policy
            .max_latency
            .is_none_or(|most| one(slowness(tool), 1, &|found| found <= most as i64))
}

#[test]
fn half_a_million_tools_pass_a_policy_or_not_as_its_words_say() {
    let mut dice = Dice(88_172_645_463_325_252);
    let mut tool = Tool::new(None, "t", "");
    for case in 0..500_000 {
        dice.dress(&mut tool);
        let policy = dice.policy();
        let is_admitted = policy.admit(&tool, None).is_ok();
        assert_eq!(is_admitted, passes(&policy, &tool), "{case}: {policy:?} {tool:?}");
        assert!(is_admitted || !policy.is_open(), "{case}: {policy:?}");
    }
}

#[test]
fn two_hundred_thousand_pairs_have_one_order() {
    let mut dice = Dice(1_442_695_040_888_963_407);
    let mut tools = ["a", "b", "c"].map(|name| Tool::new(None, name, ""));
    let names = ["a", "b", "c"];
    for case in 0..200_000 {
        for tool in &mut tools {
            dice.dress(tool);
            tool.name.clear();
            tool.name.push_str(dice.pick(&names));
        }
        let [a, b, c] = &tools;
        assert_eq!(order(a, b), order(b, a).reverse(), "{case}");
        let places = PolicyOrder::new(tools.iter());
        let by_place = places.place(0).cmp(&places.place(1));
        assert!([by_place, Ordering::Equal].contains(&order(a, b)), "{case}: {tools:?}");
        if order(a, b) != Ordering::Greater && order(b, c) != Ordering::Greater {
            assert_ne!(order(a, c), Ordering::Greater, "{case}: {tools:?}");
        }
        let r = |tool: &Tool| tool.reliability.map_or(2, reliability);
        if r(a) != r(b) {
            assert_eq!(order(a, b) == Ordering::Less, r(a) > r(b), "{case}: reliability first");
        }
    }
}

#[test]
fn a_hundred_thousand_obligations_get_their_tools_in_order() {
    let mut dice = Dice(6_364_136_223_846_793_005);
    let mut tools: Vec<Arc<Tool>> =
        ["a", "b", "c", "d", "e"].map(|name| Arc::new(Tool::new(None, name, ""))).to_vec();
    let kinds = ["text", "table", "place"].map(str::to_owned);
    let declared = ["REPORT", "REPORT(x)", "REPORT(y)", "VERIFY"];
    for case in 0..100_000 {
        for tool in &mut tools {
            let tool = Arc::get_mut(tool).unwrap();
            dice.dress(tool);
            tool.satisfies = vec![dice.pick(&declared).to_owned()];
            tool.consumes = kinds.iter().filter(|_| dice.roll(3) == 0).cloned().collect();
        }
        let have: Vec<String> = kinds.iter().filter(|_| dice.roll(2) == 0).cloned().collect();
        let (policy, asked) = (dice.policy(), dice.pick(&declared));
        let seen = [0, 1, 50]
            .map(|runs| RunStats::from_counts(dice.roll(runs + 1) as u64, runs as u64, None));
        let found = candidates_for(
            &tools,
            asked,
            &have,
            |_, tool| policy.admit(tool, None),
            |row| seen.get(row as usize),
        );
        let fits = |tool: &&Arc<Tool>| covers(&tool.satisfies[0], asked);
        let ready: Vec<&Candidacy> = found.chosen.iter().chain(&found.alternatives).collect();
        let all = ready.len() + found.unsatisfied.len() + found.excluded.len();
        assert_eq!(all, tools.iter().filter(fits).count(), "{case}: no tool is lost");
        assert!(found.chosen.is_some() || found.alternatives.is_empty());
        assert!(ready.iter().all(|c| c.missing.is_empty()));
        for candidacy in &found.unsatisfied {
            let tool = &tools[candidacy.row as usize];
            let missing = tool.consumes.iter().filter(|kind| !have.contains(kind));
            assert!(missing.eq(&candidacy.missing) && !candidacy.missing.is_empty(), "{case}");
        }
        for pair in ready.windows(2) {
            let key = |c: &Candidacy| (-reliability(c.reliability), -cost(c.cost), c.latency_ms);
            assert!(key(pair[0]) <= key(pair[1]), "{case}: {found:?}");
        }
        for candidacy in ready.iter().copied().chain(&found.unsatisfied) {
            let tool = &tools[candidacy.row as usize];
            assert!(passes(&policy, tool), "{case}");
            let declared = reliability(tool.reliability.unwrap_or(Reliability::Medium));
            let moved = (reliability(candidacy.reliability) - declared).abs();
            let runs = seen.get(candidacy.row as usize).map_or(0, |seen| seen.runs);
            assert!(moved <= i64::from(runs >= 10), "{case}: at most one tier, after ten runs");
        }
    }
}

#[test]
fn two_hundred_thousand_tools_pass_a_filter_or_not() {
    let mut dice = Dice(2_862_933_555_777_941_757);
    let ids = ["git__read_log", "git__push", "web__get", "web__post", "run"];
    let mut tools = ids.map(|id| {
        let (server, name) = id.split_once("__").map_or((None, id), |(s, n)| (Some(s), n));
        Tool::new(server, name, "")
    });
    let patterns = ["git__*", "*__get", "run", "web:post", "*"];
    for case in 0..2_000 {
        let some = |dice: &mut Dice| -> Vec<String> {
            patterns.iter().filter(|_| dice.roll(4) == 0).map(|p| p.to_string()).collect()
        };
        let enabled = if dice.roll(2) == 0 { None } else { Some(some(&mut dice)) };
        let (left_out, stage) = (some(&mut dice), dice.maybe(&Stage::ALL));
        let filter = ToolFilter::new(enabled.as_deref(), &left_out, stage).unwrap();
        for _ in 0..100 {
            let at = dice.roll(tools.len());
            tools[at].hints.read_only = dice.maybe(&[true, false]);
            let (tool, id) = (&tools[at], ids[at]);
            let hits = |pattern: &String| match pattern.as_str() {
                "*" => true,
                "git__*" => id.starts_with("git__"),
                "*__get" => id.ends_with("__get"),
                "web:post" => id == "web__post",
                plain => id == plain,
            };
            let looks = matches!(stage, Some(Stage::Planning | Stage::Reading | Stage::Analysis));
            let reads = tool.hints.read_only.unwrap_or(matches!(at, 0 | 2));
            let expected = enabled.as_ref().is_none_or(|all| all.iter().any(hits))
                && !left_out.iter().any(hits)
                && (!looks || reads);
            assert_eq!(
                filter.admit(tool).is_ok(),
                expected,
                "{case}: {id} {enabled:?} {left_out:?}"
            );
        }
    }
}
