//! Sorts candidates and selects the best that the policy admits.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::candidate_scorer::AdmissionRules;
use crate::selection::{Candidate, Exclusion, PolicyOrder};

/// The candidates that the policy admits and those that it excludes, both best first.
pub(super) struct Ranking {
    pub chosen: Vec<Candidate>,
    pub excluded: Vec<(Candidate, Exclusion)>,
    /// All candidates, chosen or not, unordered.
    pub all: Vec<Candidate>,
    /// Tools that were added because others need them.
    pub supplied: Vec<Supplied>,
}

/// A tool that was added to an answer because another one needs it.
pub(super) struct Supplied {
    pub row: u32,
    pub to: u32,
    pub parameter: String,
}

/// Maximum number of excluded tools to name: enough to see what a filter hides.
const MAX_EXCLUDED: usize = 20;

/// The minimum score of a tool in an adaptive answer, as a share of the best score. Over 17 sets of
/// `docs/quality.md` such an answer has 5.0 tools on average and as many right ones as a fixed
/// five; two fifths of its tools are right instead of a quarter.
const FITTING: f32 = 0.6;

/// A tool beyond the limit of its server is replaced by a tool that scores at least this share of
/// its score. With 1, a server of many good tools could fill an answer; with 0, such a server would
/// lose right tools to unrelated ones (docs/security.md).
const YIELDS: f32 = 0.7;

/// Returns the indices of the scores that an adaptive answer keeps: those not far below the best
/// one, and always the best.
pub fn fitting(scores: &[f32]) -> Vec<usize> {
    let best = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    (0..scores.len()).filter(|&at| fits(scores[at], best)).collect()
}

/// Whether an adaptive answer with the best score `best` keeps `score`.
pub(super) fn fits(score: f32, best: f32) -> bool {
    score >= FITTING * best || score >= best
}

/// The order of an answer: by score, and within a band of scores by the policy.
#[derive(Clone, Copy)]
pub(super) struct Order<'a> {
    pub policy: &'a PolicyOrder,
    /// The width of a band of scores; 0 orders by score only.
    pub band: f32,
}

impl Order<'_> {
    /// Compares by score, then by the policy's order, in which no two rows are equal.
    pub fn better(&self, a: &Candidate, b: &Candidate) -> Ordering {
        let place = |candidate: &Candidate| self.policy.place(candidate.row);
        b.score.total_cmp(&a.score).then_with(|| place(a).cmp(&place(b)))
    }

    /// Inserts a candidate into a sorted answer, before the first worse one.
    pub fn insert(&self, answer: &mut Vec<Candidate>, candidate: Candidate) {
        let at = answer.iter().position(|other| self.better(&candidate, other).is_lt());
        answer.insert(at.unwrap_or(answer.len()), candidate);
    }

    fn has_bands(&self) -> bool {
        self.band > 0.0 && self.policy.has_tiers()
    }
}

/// Candidates that are sorted lazily from the best on.
struct PartialSort<'a> {
    order: Order<'a>,
    all: Vec<Candidate>,
    /// The number of candidates at the front that are sorted by score.
    sorted: usize,
}

impl PartialSort<'_> {
    /// Returns the first `count`. A tool that `is_admitted` refuses is ordered by its score only.
    fn first(&mut self, count: usize, is_admitted: impl Fn(u32) -> bool) -> Cow<'_, [Candidate]> {
        self.sort(count);
        let last = self.all[..count].last();
        let Some(last) = last.filter(|_| self.order.has_bands()) else {
            return Cow::Borrowed(&self.all[..count]);
        };
        // The last band may extend beyond `count`.
        let least = last.score - self.order.band;
        let more = self.all[self.sorted..].iter().filter(|c| c.score >= least).count();
        self.sort(self.sorted + more);
        let mut arranged = self.all[..self.sorted].to_vec();
        self.order.policy.arrange(&mut arranged, self.order.band, is_admitted);
        arranged.truncate(count);
        Cow::Owned(arranged)
    }

    fn sort(&mut self, count: usize) {
        let Some(more) = count.checked_sub(self.sorted).filter(|more| *more > 0) else { return };
        let (order, rest) = (self.order, &mut self.all[self.sorted..]);
        if more < rest.len() {
            rest.select_nth_unstable_by(more, |a, b| order.better(a, b));
        }
        rest[..more].sort_unstable_by(|a, b| order.better(a, b));
        self.sorted = count;
    }
}

/// Returns the best `limit` candidates that `rules` admits.
pub(super) fn rank(
    candidates: Vec<Candidate>,
    limit: usize,
    rules: &AdmissionRules<'_>,
    order: Order<'_>,
) -> Ranking {
    // `limit` comes from outside and may be any number, so it must not be allocated unchecked.
    let limit = limit.min(candidates.len());
    let chosen = Vec::with_capacity(limit);
    let mut ranked =
        Ranking { chosen, excluded: Vec::new(), all: Vec::new(), supplied: Vec::new() };
    let mut over = Vec::new();
    let measure = rules.measure(&candidates);
    let admit_near = |candidate: &Candidate| match &measure {
        Some(best) => rules.admit_near(candidate, best),
        None => Ok(()),
    };
    // Sorts only as far as needed: without filters, that is the first `limit`.
    let (mut done, mut until) = (0, if rules.is_open() { limit } else { limit * 2 + 32 });
    let mut ordered = PartialSort { order, all: candidates, sorted: 0 };
    while done < ordered.all.len() && ranked.chosen.len() < limit {
        until = until.min(ordered.all.len());
        for candidate in &ordered.first(until, |row| rules.admit(row, &[]).is_ok())[done..] {
            if ranked.chosen.len() == limit {
                break;
            }
            if let Err(why) = rules.admit(candidate.row, &ranked.chosen) {
                ranked.exclude(*candidate, why);
                continue;
            }
            if let Err(why) = admit_near(candidate) {
                // Only named if the answer would have had space for it.
                if ranked.chosen.len() + ranked.excluded.len() < limit {
                    ranked.exclude(*candidate, why);
                }
                continue;
            }
            match rules.admit_beside(candidate.row, &ranked.chosen) {
                Ok(()) => ranked.chosen.push(*candidate),
                Err(why) if over.len() < limit + MAX_EXCLUDED => over.push((*candidate, why)),
                Err(_) => {}
            }
        }
        done = until;
        until *= 4;
    }
    ranked.readmit(over, limit, rules, order);
    ranked.all = ordered.all;
    ranked
}

impl Ranking {
    /// The best score of the chosen tools; 0 if there are none.
    pub fn best(&self) -> f32 {
        self.chosen.iter().map(|candidate| candidate.score).reduce(f32::max).unwrap_or(0.0)
    }

    fn exclude(&mut self, candidate: Candidate, why: Exclusion) {
        if self.excluded.len() < MAX_EXCLUDED {
            self.excluded.push((candidate, why));
        }
    }

    /// Admits tools beyond their server's limit again, best first, if no tool of another server
    /// scores nearly as well.
    fn readmit(
        &mut self,
        over: Vec<(Candidate, Exclusion)>,
        limit: usize,
        rules: &AdmissionRules<'_>,
        order: Order<'_>,
    ) {
        for (candidate, why) in over {
            let is_full = self.chosen.len() >= limit;
            let last = self.chosen.iter().map(|c| c.score).fold(f32::INFINITY, f32::min);
            if is_full && last >= YIELDS * candidate.score
                || rules.admit(candidate.row, &self.chosen).is_err()
            {
                self.exclude(candidate, why);
                continue;
            }
            self.chosen.truncate(limit - 1);
            order.insert(&mut self.chosen, candidate);
        }
        self.excluded.sort_by(|(a, _), (b, _)| order.better(a, b));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::sync::Arc;

    use super::super::candidate_scorer::{CandidateScorer, LogView};
    use super::*;
    use crate::catalog::{Cost, Reliability, Tool};
    use crate::feedback::Observations;
    use crate::selection::{OpenBreakers, Policy, Score, SignalInputs, SignalWeights, Signals};

    fn rank(
        all: Vec<Candidate>,
        limit: usize,
        (policy, band): (Policy, f32),
        tools: &[Arc<Tool>],
    ) -> Ranking {
        let places = PolicyOrder::new(tools.iter().map(AsRef::as_ref));
        let order = Order { policy: &places, band };
        let signals = Signals::new(tools, |_| None, &Default::default());
        let (situation, weights) = (SignalInputs::default(), SignalWeights::OFF);
        let scorer = CandidateScorer {
            policy,
            blocked: &OpenBreakers::default(),
            filters: Default::default(),
            weights,
            shares: None,
            order,
            unit: 1.0,
            signals: &signals,
            tools,
            situation,
            log: LogView { observations: &Observations::default(), now: Default::default() },
            budget_tokens: None,
        };
        let rules = scorer.rules(&signals.assess(situation, weights, &mut [], |_| 0.5), &all);
        super::rank(all, limit, &rules, order)
    }

    #[test]
    fn what_falls_far_behind_the_best_is_left_out() {
        let fitting = |scores: &[f32]| fitting(scores).len();
        assert_eq!(fitting(&[]), 0);
        assert_eq!(fitting(&[0.0]), 1);
        assert_eq!(fitting(&[-0.2, -0.3]), 1);
        assert_eq!(fitting(&[1.0, 0.9, 0.61, 0.59, 0.58]), 3);
        assert_eq!(fitting(&[1.0; 7]), 7);
        let banded = super::fitting(&[0.61, 0.59, 1.0, 0.3]);
        assert_eq!(banded, [0, 2], "the policy may put another one first");
    }

    #[test]
    fn a_limit_beyond_all_tools_gives_all_of_them() {
        let tools = ["a", "b"].map(|name| Arc::new(Tool::new(None, name, "")));
        let filtering = Policy { min_reliability: Some(Reliability::Low), ..Policy::default() };
        for policy in [Policy::default(), filtering] {
            for limit in [usize::MAX, usize::MAX / 2, 1 << 40] {
                let both = vec![candidate(0, 1.0), candidate(1, 1.0)];
                let ranked = rank(both, limit, (policy, 0.0), &tools);
                assert_eq!(ranked.chosen.len(), 2);
            }
        }
    }

    /// The rows that are chosen and those that are excluded, of tools by server and score.
    fn answer(tools: &[(&str, f32)], limit: usize, policy: Policy) -> (Vec<u32>, Vec<u32>) {
        let all = (0u32..).zip(tools).map(|(row, (_, score))| candidate(row, *score));
        let tool = |(at, (server, _)): (usize, &(&str, f32))| {
            Arc::new(Tool::new(Some(server), &format!("t{at}"), ""))
        };
        let tools: Vec<Arc<Tool>> = tools.iter().enumerate().map(tool).collect();
        let ranked = rank(all.collect(), limit, (policy, 0.0), &tools);
        let rows = |all: &mut dyn Iterator<Item = &Candidate>| all.map(|c| c.row).collect();
        let excluded = rows(&mut ranked.excluded.iter().map(|(candidate, _)| candidate));
        (rows(&mut ranked.chosen.iter()), excluded)
    }

    fn candidate(row: u32, score: f32) -> Candidate {
        let semantic = Some(Score { raw: score, normalized: score, weight: 1.0 });
        Candidate { row, score, semantic, ..Candidate::default() }
    }

    #[test]
    fn beyond_its_share_a_server_gives_way_to_what_comes_near() {
        let policy = Policy { max_per_server: Some(1), ..Policy::default() };
        let chosen = |other: f32, limit| {
            answer(&[("s", 1.0), ("s", 0.9), ("s", 0.8), ("o", other)], limit, policy)
        };
        assert_eq!(chosen(0.7, 2), (vec![0, 3], vec![1, 2]));
        assert_eq!(chosen(0.3, 2), (vec![0, 1], vec![2]));
        assert_eq!(chosen(0.7, 4).0, [0, 1, 2, 3]);
        assert!(chosen(0.3, 0).0.is_empty());
    }

    #[test]
    fn beside_a_clear_best_tool_those_of_other_servers_come_near_it_or_stay_out() {
        let policy = Policy { near_best: Some(0.9), ..Policy::default() };
        let chosen = |[a, evil, b, near]: [f32; 4], limit| {
            answer(&[("s", a), ("x", evil), ("s", b), ("y", near)], limit, policy)
        };
        assert_eq!(chosen([0.8, 0.6, 0.4, 0.75], 3), (vec![0, 3, 2], vec![1]));
        // If all scores are low, no tool is known to be better than another.
        assert_eq!(chosen([0.4, 0.3, 0.2, 0.1], 3), (vec![0, 1, 2], vec![]));
        // Halfway between a clear and an unclear best score, half the share is required.
        assert_eq!(chosen([0.55, 0.26, 0.3, 0.24], 3).0, [0, 2, 1]);
        assert_eq!(chosen([0.55, 0.24, 0.3, 0.23], 3).0, [0, 2]);
        // Only tools for which the answer would have had space are named.
        assert_eq!(chosen([0.8, 0.6, 0.5, 0.5], 1), (vec![0], vec![]));
        // No other tool of its server confirms the best one or a hostile one.
        assert_eq!(chosen([0.8, 0.6, 0.3, 0.5], 3), (vec![0, 1, 3], vec![]));
        assert_eq!(chosen([0.7, 0.9, 0.6, 0.5], 3), (vec![1, 0, 2], vec![]));
    }

    proptest! {
        #[test]
        fn the_first_ones_are_those_of_the_whole_order(
            tools in prop::collection::vec((0u8..40, 0usize..4, any::<bool>()), 0..200),
            limit in 0usize..60,
        ) {
            let cost = |at: usize| [None, Some(Cost::Tiny), Some(Cost::Low), Some(Cost::High)][at];
            let all: Vec<Candidate> = (0u32..).zip(&tools)
                .map(|(row, (score, ..))| candidate(row, f32::from(*score) / 100.0)).collect();
            let tools: Vec<Arc<Tool>> = tools.iter().enumerate().map(|(at, (_, tier, good))| {
                let mut tool = Tool::new(None, &format!("t{at}"), "");
                tool.cost = cost(*tier);
                tool.reliability = good.then_some(Reliability::High);
                Arc::new(tool)
            }).collect();
            let policy = Policy { min_reliability: Some(Reliability::High), ..Policy::default() };
            for (policy, band) in [Policy::default(), policy].map(|p| [(p, 0.0), (p, 0.02)]).concat() {
                let order = PolicyOrder::new(tools.iter().map(AsRef::as_ref));
                let order = Order { policy: &order, band };
                let admit = |row: u32| policy.admit(&tools[row as usize], None).is_ok();
                let mut expected = all.clone();
                expected.sort_by(|a, b| order.better(a, b));
                if band > 0.0 {
                    order.policy.arrange(&mut expected, band, admit);
                }
                expected.retain(|candidate| admit(candidate.row));
                expected.truncate(limit);
                let ranked = rank(all.clone(), limit, (policy, band), &tools);
                prop_assert_eq!(ranked.chosen, expected);
                prop_assert!(ranked.excluded.len() <= MAX_EXCLUDED);
            }
        }
    }
}
