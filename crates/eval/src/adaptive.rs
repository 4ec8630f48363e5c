//! Compares answers sized to the prompt with answers of five tools.

use serde::Serialize;

use toolroute_rank::engine::{Selection, fitting};

/// The fixed number of tools that automatic sizes are compared with.
const FIVE: usize = 5;

/// Measures of answers of one size, as means over prompts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AnswerSize {
    /// Number of tools in an answer.
    pub tools: f64,
    /// Share of the right tools that are in the answer.
    pub recall: f64,
    /// Share of prompts whose answer contains all right tools.
    pub comp: f64,
    /// Share of the answer's tools that are right.
    pub precision: f64,
}

impl AnswerSize {
    fn of(found: &[&str], gold: &[&str]) -> Self {
        let right = found.iter().filter(|id| gold.contains(id)).count() as f64;
        let share = |of: usize| if of == 0 { 0.0 } else { right / of as f64 };
        Self {
            tools: found.len() as f64,
            recall: share(gold.len()),
            comp: f64::from(right as usize == gold.len()),
            precision: share(found.len()),
        }
    }

    fn add(&mut self, other: Self, share: f64) {
        self.tools += other.tools * share;
        self.recall += other.recall * share;
        self.comp += other.comp * share;
        self.precision += other.precision * share;
    }
}

/// Answers of both sizes to the same prompts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sizes {
    /// Answers with as many tools as the prompt needs (`--limit auto`).
    pub auto: AnswerSize,
    pub five: AnswerSize,
}

impl Sizes {
    /// Adds the answer to one of `count` prompts. `gold` contains the right tools by their ids in
    /// the catalog.
    pub(super) fn add(&mut self, selection: &Selection, gold: &[&str], count: usize) {
        let ids: Vec<&str> = selection.tools.iter().map(|tool| tool.tool.id.as_str()).collect();
        let share = 1.0 / count.max(1) as f64;
        let scores: Vec<f32> = selection.tools.iter().map(|tool| tool.score).collect();
        let auto: Vec<&str> = fitting(&scores).into_iter().map(|at| ids[at]).collect();
        self.auto.add(AnswerSize::of(&auto, gold), share);
        self.five.add(AnswerSize::of(&ids[..ids.len().min(FIVE)], gold), share);
    }

    /// Returns the mean over sets; every set has the same weight.
    pub(super) fn mean<'a>(all: impl ExactSizeIterator<Item = &'a Self>) -> Self {
        let (mut mean, share) = (Self::default(), 1.0 / all.len().max(1) as f64);
        for sizes in all {
            mean.auto.add(sizes.auto, share);
            mean.five.add(sizes.five, share);
        }
        mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_tools_are_counted_once_each_way() {
        let gold = ["a", "b"];
        let found = AnswerSize::of(&["a", "x", "b", "y"], &gold);
        assert_eq!(found, AnswerSize { tools: 4.0, recall: 1.0, comp: 1.0, precision: 0.5 });
        let half = AnswerSize::of(&["b"], &gold);
        assert_eq!(half, AnswerSize { tools: 1.0, recall: 0.5, comp: 0.0, precision: 1.0 });
        assert_eq!(AnswerSize::of(&[], &gold), AnswerSize::default());
        let sets = [Sizes { auto: found, five: half }, Sizes { auto: half, five: half }];
        let mean = Sizes::mean(sets.iter());
        assert_eq!((mean.auto.tools, mean.auto.recall, mean.five.tools), (2.5, 0.75, 1.0));
    }
}
