//! Measures of a ranking, given the right tools. Relevance is binary in all of them.

use std::collections::HashSet;

use serde::Serialize;
use toolroute_rank::feedback::ndcg;

/// The number of tools of a ranking that the measures consider.
pub const DEPTH: usize = 10;

/// Measures of one ranking, or their mean over several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Measures {
    /// Normalised discounted cumulative gain ([`ndcg`]).
    #[serde(rename = "ndcg@1")]
    pub ndcg_at_1: f64,
    #[serde(rename = "ndcg@5")]
    pub ndcg_at_5: f64,
    #[serde(rename = "ndcg@10")]
    pub ndcg_at_10: f64,
    /// Share of the right tools among the first k.
    #[serde(rename = "recall@1")]
    pub recall_at_1: f64,
    #[serde(rename = "recall@5")]
    pub recall_at_5: f64,
    #[serde(rename = "recall@10")]
    pub recall_at_10: f64,
    /// 1 if all right tools are among the first 5, so that an agent can do all of its work;
    /// otherwise 0.
    #[serde(rename = "comp@5")]
    pub comp_at_5: f64,
    /// One divided by the rank of the first right tool; 0 if it is not among the first ten.
    pub mrr: f64,
}

impl Measures {
    /// Scores a ranking, best first, against the right ids. Without right ids, all measures are 0.
    pub fn of<T: AsRef<str>, G: AsRef<str>>(ranked: &[T], gold: &[G]) -> Self {
        let gold: HashSet<&str> = gold.iter().map(AsRef::as_ref).collect();
        let hits: Vec<bool> =
            ranked.iter().take(DEPTH).map(|id| gold.contains(id.as_ref())).collect();
        if gold.is_empty() {
            return Self::default();
        }
        let found = |k: usize| hits.iter().take(k).filter(|hit| **hit).count();
        let recall = |k: usize| found(k) as f64 / gold.len() as f64;
        let ranks = || (0..).zip(&hits).filter(|(_, hit)| **hit).map(|(rank, _)| rank);
        let ndcg = |k| ndcg(ranks(), gold.len(), k);
        Self {
            ndcg_at_1: ndcg(1),
            ndcg_at_5: ndcg(5),
            ndcg_at_10: ndcg(10),
            recall_at_1: recall(1),
            recall_at_5: recall(5),
            recall_at_10: recall(10),
            comp_at_5: f64::from(found(5) == gold.len()),
            mrr: hits.iter().position(|hit| *hit).map_or(0.0, |at| 1.0 / (at + 1) as f64),
        }
    }

    /// Returns the mean over rankings; all measures are 0 if there are none.
    pub fn mean(all: &[Self]) -> Self {
        let mean = |field: fn(&Self) -> f64| sum(all.iter().map(field)) / all.len().max(1) as f64;
        Self {
            ndcg_at_1: mean(|m| m.ndcg_at_1),
            ndcg_at_5: mean(|m| m.ndcg_at_5),
            ndcg_at_10: mean(|m| m.ndcg_at_10),
            recall_at_1: mean(|m| m.recall_at_1),
            recall_at_5: mean(|m| m.recall_at_5),
            recall_at_10: mean(|m| m.recall_at_10),
            comp_at_5: mean(|m| m.comp_at_5),
            mrr: mean(|m| m.mrr),
        }
    }
}

/// Adds numbers. `Iterator::sum` of no numbers is -0.0, which prints as `-0.0000`.
fn sum(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, |sum, number| sum + number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_perfect_ranking_scores_1() {
        let best = Measures::of(&["a", "b", "x"], &["b", "a"]);
        assert_eq!((best.ndcg_at_5, best.recall_at_5, best.mrr), (1.0, 1.0, 1.0));
        assert_eq!((best.ndcg_at_1, best.recall_at_1), (1.0, 0.5));
    }

    #[test]
    fn values_worked_out_by_hand() {
        let m = Measures::of(&["x", "a", "y", "b"], &["a", "b", "c"]);
        let ideal = 1.0 + 1.0 / 3f64.log2() + 0.5;
        assert!((m.ndcg_at_5 - (1.0 / 3f64.log2() + 1.0 / 5f64.log2()) / ideal).abs() < 1e-12);
        assert_eq!((m.recall_at_5, m.mrr, m.ndcg_at_1), (2.0 / 3.0, 0.5, 0.0));
    }

    #[test]
    fn a_prompt_is_complete_where_all_its_tools_are_among_the_first_5() {
        let complete = |ranked: &[&str], gold: &[&str]| Measures::of(ranked, gold).comp_at_5;
        let ranked = ["a", "x", "b", "y", "c", "d"];
        assert_eq!(complete(&ranked, &["a", "b", "c", "a"]), 1.0);
        assert_eq!(complete(&ranked, &["a", "d"]), 0.0);
        assert_eq!(complete(&["a", "b", "c", "d", "e", "f"], &["a", "b", "c", "d", "e", "f"]), 0.0);
        let all = [Measures::of(&ranked, &["a"]), Measures::of(&ranked, &["d"])];
        assert_eq!(Measures::mean(&all).comp_at_5, 0.5);
    }

    #[test]
    fn nothing_found_or_nothing_to_find_is_0() {
        assert_eq!(Measures::of(&["x"], &["a"]), Measures::default());
        assert_eq!(Measures::of::<&str, &str>(&["x"], &[]), Measures::default());
        assert_eq!(Measures::mean(&[]), Measures::default());
        for none in
            [Measures::of(&["x"], &["a"]), Measures::of(&[""; 0], &["a"]), Measures::mean(&[])]
        {
            assert!(!format!("{none:?}").contains('-'), "{none:?}");
        }
    }
}
