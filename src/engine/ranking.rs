//! Orders candidates and takes the best that a policy admits.

use std::cmp::Ordering;

use super::judge::Gate;
use crate::selection::{Candidate, Exclusion, PolicyOrder};

/// What the policy left and what it took out, both best first.
pub(super) struct Ranked {
    pub chosen: Vec<Candidate>,
    pub excluded: Vec<(Candidate, Exclusion)>,
}

/// Excluded tools that are named at most: enough to see what a filter hides.
const MAX_EXCLUDED: usize = 20;

/// The share of the best score that a tool of an answer sized to the prompt has at least. Over 17
/// sets of `docs/quality.md` such an answer has 5.0 tools in the mean, as many right ones as a
/// fixed five, and two fifths instead of a quarter of its tools are right.
const FITTING: f32 = 0.6;

/// A tool beyond its server's share gives way to what scores at least so much of its own score. With
/// 1 a server of many good tools could fill an answer again; with 0 such a server loses right tools to
/// tools that have nothing to do with the prompt (docs/security.md).
const YIELDS: f32 = 0.7;

/// How many of an answer's scores, best first, belong to it where the prompt sizes it: those not
/// far below the best one, and that one always.
pub fn fitting(scores: impl IntoIterator<Item = f32>) -> usize {
    let mut scores = scores.into_iter();
    let Some(best) = scores.next() else { return 0 };
    1 + scores.take_while(|&score| score >= FITTING * best).count()
}

/// The best `limit` candidates that `gate` admits. Ties of the score break by the policy's
/// order, which no two rows share.
pub(super) fn rank(
    mut candidates: Vec<Candidate>,
    limit: usize,
    gate: &Gate<'_>,
    order: &PolicyOrder,
) -> Ranked {
    // A limit from outside may be any number: it must neither be allocated nor overflow.
    let limit = limit.min(candidates.len());
    let better = |a: &Candidate, b: &Candidate| better(a, b, order);
    let mut ranked = Ranked { chosen: Vec::with_capacity(limit), excluded: Vec::new() };
    let mut over = Vec::new();
    // Sort only as far as is needed: with an open policy that is the first `limit`.
    let (mut sorted, mut until) = (0, if gate.is_open() { limit } else { limit * 2 + 32 });
    while sorted < candidates.len() && ranked.chosen.len() < limit {
        until = until.min(candidates.len());
        let rest = &mut candidates[sorted..];
        if until - sorted < rest.len() {
            rest.select_nth_unstable_by(until - sorted, better);
        }
        rest[..until - sorted].sort_unstable_by(better);
        for candidate in &candidates[sorted..until] {
            if ranked.chosen.len() == limit {
                break;
            }
            if let Err(why) = gate.admit(candidate.row, &ranked.chosen) {
                ranked.exclude(*candidate, why);
                continue;
            }
            match gate.admit_beside(candidate.row, &ranked.chosen) {
                Ok(()) => ranked.chosen.push(*candidate),
                Err(why) if over.len() < limit + MAX_EXCLUDED => over.push((*candidate, why)),
                Err(_) => {}
            }
        }
        sorted = until;
        until *= 4;
    }
    ranked.readmit(over, limit, gate, better);
    ranked
}

impl Ranked {
    fn exclude(&mut self, candidate: Candidate, why: Exclusion) {
        if self.excluded.len() < MAX_EXCLUDED {
            self.excluded.push((candidate, why));
        }
    }

    /// Takes back tools beyond their server's share, the best first, where nothing of another
    /// server comes near them.
    fn readmit(
        &mut self,
        over: Vec<(Candidate, Exclusion)>,
        limit: usize,
        gate: &Gate<'_>,
        better: impl Fn(&Candidate, &Candidate) -> Ordering,
    ) {
        for (candidate, why) in over {
            let is_full = self.chosen.len() >= limit;
            let last = self.chosen.last().map_or(f32::INFINITY, |last| last.score);
            if is_full && last >= YIELDS * candidate.score
                || gate.admit(candidate.row, &self.chosen).is_err()
            {
                self.exclude(candidate, why);
                continue;
            }
            self.chosen.truncate(limit - 1);
            self.chosen.push(candidate);
            self.chosen.sort_by(&better);
        }
        self.excluded.sort_by(|(a, _), (b, _)| better(a, b));
    }
}

/// The order of an answer: by score, and of equal ones by the policy.
pub(super) fn better(a: &Candidate, b: &Candidate, order: &PolicyOrder) -> Ordering {
    b.score.total_cmp(&a.score).then_with(|| order.place(a.row).cmp(&order.place(b.row)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::sync::Arc;

    use super::super::judge::{Judge, Past};
    use super::*;
    use crate::catalog::{Reliability, Tool};
    use crate::feedback::Observations;
    use crate::selection::{Blocked, Policy, SignalWeights, Signals, Situation};

    /// [`super::rank`] by a policy alone.
    fn rank(all: Vec<Candidate>, limit: usize, policy: Policy, tools: &[Arc<Tool>]) -> Ranked {
        let order = PolicyOrder::new(tools.iter().map(AsRef::as_ref));
        let signals = Signals::new(tools, |_| None);
        let (situation, weights) = (Situation::default(), SignalWeights::OFF);
        let judge = Judge {
            policy,
            blocked: &Blocked::default(),
            filters: Default::default(),
            weights,
            shares: None,
            order: &order,
            signals: &signals,
            tools,
            situation,
            past: Past { observations: &Observations::default(), now: Default::default() },
            budget_tokens: None,
        };
        let gate = judge.gate(&signals.assess(situation, weights, &mut [], |_| 0.5), &all);
        super::rank(all, limit, &gate, &order)
    }

    #[test]
    fn what_falls_far_behind_the_best_is_left_out() {
        assert_eq!(fitting([]), 0);
        assert_eq!(fitting([0.0]), 1);
        assert_eq!(fitting([-0.2, -0.3]), 1);
        assert_eq!(fitting([1.0, 0.9, 0.61, 0.59, 0.58]), 3);
        assert_eq!(fitting([1.0; 7]), 7);
    }

    #[test]
    fn a_limit_beyond_all_tools_gives_all_of_them() {
        let tools = ["a", "b"].map(|name| Arc::new(Tool::new(None, name, "")));
        let candidate = |row| Candidate { row, score: 1.0, ..Candidate::default() };
        let filtering = Policy { min_reliability: Some(Reliability::Low), ..Policy::default() };
        for policy in [Policy::default(), filtering] {
            for limit in [usize::MAX, usize::MAX / 2, 1 << 40] {
                let both = vec![candidate(0), candidate(1)];
                let ranked = rank(both, limit, policy, &tools);
                assert_eq!(ranked.chosen.len(), 2);
            }
        }
    }

    #[test]
    fn beyond_its_share_a_server_gives_way_to_what_comes_near() {
        let of = |server: &str, name: &str| Arc::new(Tool::new(Some(server), name, ""));
        let tools = [of("s", "a"), of("s", "b"), of("s", "c"), of("o", "x")];
        let policy = Policy { max_per_server: Some(1), ..Policy::default() };
        let chosen = |other: f32, limit| {
            let scores = (0u32..).zip([1.0, 0.9, 0.8, other]);
            let all = scores.map(|(row, score)| Candidate { row, score, ..Candidate::default() });
            let ranked = rank(all.collect(), limit, policy, &tools);
            let excluded: Vec<u32> = ranked.excluded.iter().map(|(c, _)| c.row).collect();
            (ranked.chosen.iter().map(|c| c.row).collect::<Vec<u32>>(), excluded)
        };
        assert_eq!(chosen(0.7, 2), (vec![0, 3], vec![1, 2]));
        assert_eq!(chosen(0.3, 2), (vec![0, 1], vec![2]));
        assert_eq!(chosen(0.7, 4).0, [0, 1, 2, 3]);
        assert!(chosen(0.3, 0).0.is_empty());
    }

    proptest! {
        #[test]
        fn it_equals_sorting_everything_and_filtering(
            scores in prop::collection::vec((0u8..5, any::<bool>()), 0..200), limit in 0usize..60
        ) {
            let tools: Vec<Arc<Tool>> = scores.iter().enumerate().map(|(at, (_, good))| {
                let mut tool = Tool::new(None, &format!("t{at}"), "");
                tool.reliability = Some(if *good { Reliability::High } else { Reliability::Low });
                Arc::new(tool)
            }).collect();
            let order = PolicyOrder::new(tools.iter().map(AsRef::as_ref));
            let policy = Policy { min_reliability: Some(Reliability::High), ..Policy::default() };
            let candidates: Vec<Candidate> = (0u32..).zip(&scores).map(|(row, (score, _))| Candidate {
                row, score: f32::from(*score), ..Candidate::default()
            }).collect();
            let mut expected: Vec<Candidate> = candidates.iter().copied()
                .filter(|c| policy.admit(&tools[c.row as usize], None).is_ok()).collect();
            expected.sort_by(|a, b| b.score.total_cmp(&a.score)
                .then(order.place(a.row).cmp(&order.place(b.row))));
            expected.truncate(limit);
            let ranked = rank(candidates, limit, policy, &tools);
            prop_assert_eq!(ranked.chosen, expected);
            prop_assert!(ranked.excluded.len() <= MAX_EXCLUDED);
        }
    }
}
