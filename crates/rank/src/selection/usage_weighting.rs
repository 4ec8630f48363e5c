//! Shifts weight from the keyword to the semantic score if much was learned from past prompts.

use toolroute_vectors::index::Rows;

use super::candidate::Score;
use crate::feedback::UsageRows;

/// The number of nearest tools that are examined: the default length of an answer.
const EXAMINED: usize = 5;

/// Returns how much was learned near a prompt: the mean share, 0 to 0.9, of past prompts in the
/// vectors of the nearest tools. `semantic` contains the scores of `rows`, in their order.
pub(super) fn learned_share(usage: &UsageRows, rows: Rows<'_>, semantic: &[f32]) -> f32 {
    let row = |at: usize| match rows {
        Rows::All => at as u32,
        Rows::Only(rows) => rows[at],
    };
    let mut nearest: Vec<usize> = (0..semantic.len()).collect();
    let count = nearest.len().min(EXAMINED);
    if count == 0 {
        return 0.0;
    }
    let better = |&a: &usize, &b: &usize| semantic[b].total_cmp(&semantic[a]).then(a.cmp(&b));
    nearest.select_nth_unstable_by(count - 1, better);
    let shares = nearest[..count].iter().map(|&at| usage.share(row(at)));
    shares.sum::<f32>() / count as f32
}

/// Moves this share of the keyword weight to the semantic weight. A description only approximates
/// prompts, so keywords help. Learned vectors contain real prompts, and keywords would blur them
/// (`docs/benchmarks.md` measures both).
pub(super) fn shift_to_meaning(scores: &mut [(Score, Score)], share: f32) {
    for (semantic, keyword) in scores {
        let taken = keyword.weight * share;
        keyword.weight -= taken;
        semantic.weight += taken;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::{LearnedVector, RowUsage};

    #[test]
    fn the_nearest_tools_decide_and_the_weights_keep_their_sum() {
        let usage = RowUsage { prompts: 9, share: 0.8, moved: 0.1, reach: 1.0 };
        let moved = LearnedVector { row: 7, vector: vec![1.0], usage };
        let rows = UsageRows::new(8, &[moved], 0.0);
        let semantic = [0.9, 0.1, 0.8, 0.2, 0.3, 0.7, 0.6, 0.5];
        assert!((learned_share(&rows, Rows::All, &semantic) - 0.16).abs() < 1e-6);
        assert_eq!(learned_share(&rows, Rows::Only(&[7]), &[0.1]), 0.8);
        assert_eq!(learned_share(&rows, Rows::Only(&[]), &[]), 0.0);

        let part = |weight| Score { raw: 1.0, normalized: 1.0, weight };
        let mut scores = [(part(0.7), part(0.3))];
        shift_to_meaning(&mut scores, 0.8);
        let (semantic, keyword) = (scores[0].0.weight, scores[0].1.weight);
        assert!((keyword - 0.06).abs() < 1e-6 && (semantic + keyword - 1.0).abs() < 1e-6);
    }
}
