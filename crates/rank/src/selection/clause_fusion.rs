//! Combines the scores of the requests in one prompt, so that each request finds its tool.

use super::candidate::Score;

/// The weight of the best clause relative to the whole prompt, if the clauses find different tools.
/// Weights of 0.5 to 0.7 rank equally well on the sets of `docs/quality.md`.
const CLAUSES: f32 = 0.65;

/// The number of best tools of each clause that are compared.
pub(super) const COMPARED: usize = 20;

pub(super) fn total((semantic, keyword): &(Score, Score)) -> f32 {
    semantic.contribution() + keyword.contribution()
}

/// How much the clauses of a prompt count beside the whole prompt.
pub(super) struct Mixture {
    /// The weight of the best clause, 0 to 1.
    pub share: f32,
    /// For each clause, the factor that makes its best row score as high as the best row of the
    /// whole prompt. Without it, the longest clause would take all ranks.
    pub stretch: Vec<f32>,
}

impl Mixture {
    /// Returns `None` if the clauses change nothing. `rows` is the number of rows that were compared;
    /// the scores may lack those that are not among the [`COMPARED`] best of any clause.
    ///
    /// Clauses that find the same tools describe one need in two steps ("create a file and write
    /// this into it"). Splitting these loses more than it gains, so clauses count less the more they
    /// overlap.
    pub fn new(
        whole: &[(Score, Score)],
        clauses: &[Vec<(Score, Score)>],
        rows: usize,
    ) -> Option<Self> {
        let totals: Vec<Vec<f32>> =
            clauses.iter().map(|clause| clause.iter().map(total).collect()).collect();
        let apart = 1.0 - overlap(&totals, rows);
        let share = CLAUSES * apart * apart;
        let top = highest(whole.iter().map(total));
        if share <= 0.0 || top <= 0.0 {
            return None;
        }
        let stretch = totals.iter().map(|totals| match highest(totals.iter().copied()) {
            best if best > 0.0 => top / best,
            _ => 0.0,
        });
        Some(Self { share, stretch: stretch.collect() })
    }

    /// Mixes the scores of one clause into each row's scores for the whole prompt: those of the
    /// clause that scores the row highest.
    pub fn mix(&self, whole: &mut [(Score, Score)], clauses: &[Vec<(Score, Score)>]) {
        let Self { share, stretch } = self;
        for (row, scores) in whole.iter_mut().enumerate() {
            let stretched = |clause: usize| total(&clauses[clause][row]) * stretch[clause];
            let liked = (0..clauses.len()).max_by(|&a, &b| stretched(a).total_cmp(&stretched(b)));
            let Some(best) = liked else { return };
            let clause = clauses[best][row];
            scores.0 = mixed(scores.0, clause.0, *share, stretch[best]);
            scores.1 = mixed(scores.1, clause.1, *share, stretch[best]);
        }
    }
}

fn mixed(whole: Score, clause: Score, share: f32, stretch: f32) -> Score {
    Score {
        raw: (1.0 - share) * whole.raw + share * clause.raw,
        normalized: (1.0 - share) * whole.normalized + share * stretch * clause.normalized,
        weight: whole.weight,
    }
}

pub(super) fn highest(scores: impl Iterator<Item = f32>) -> f32 {
    scores.fold(f32::NEG_INFINITY, f32::max)
}

/// Returns the share of best rows that two clauses have in common, beyond chance, as the mean over
/// all pairs of clauses. `rows` is the number of rows that were compared.
fn overlap(totals: &[Vec<f32>], rows: usize) -> f32 {
    let best: Vec<Vec<usize>> = totals.iter().map(|totals| best_rows(totals, rows)).collect();
    let rows = rows.max(1) as f32;
    let (mut common, mut pairs) = (0.0, 0.0);
    for (at, one) in best.iter().enumerate() {
        for other in &best[..at] {
            let both = one.iter().filter(|row| other.binary_search(row).is_ok()).count();
            let chance = one.len() as f32 / rows;
            let share = both as f32 / one.len().max(1) as f32;
            common += ((share - chance) / (1.0 - chance).max(f32::MIN_POSITIVE)).max(0.0);
            pairs += 1.0;
        }
    }
    if pairs > 0.0 { common / pairs } else { 1.0 }
}

/// Returns the best rows, ascending: of a small catalog at most a quarter, because otherwise all
/// clauses would overlap.
fn best_rows(totals: &[f32], compared: usize) -> Vec<usize> {
    let count = COMPARED.min(compared.div_ceil(4));
    let mut rows: Vec<usize> = (0..totals.len()).collect();
    if count < rows.len() {
        let order = |a: &usize, b: &usize| totals[*b].total_cmp(&totals[*a]).then(a.cmp(b));
        rows.select_nth_unstable_by(count, order);
        rows.truncate(count);
    }
    rows.sort_unstable();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(normalized: &[f32]) -> Vec<(Score, Score)> {
        let score = |&normalized: &f32| {
            (Score { raw: normalized, normalized, weight: 1.0 }, Score::default())
        };
        normalized.iter().map(score).collect()
    }

    fn mix_clauses(whole: &mut [(Score, Score)], clauses: &[Vec<(Score, Score)>]) {
        if let Some(mixture) = Mixture::new(whole, clauses, whole.len()) {
            mixture.mix(whole, clauses);
        }
    }

    fn totals(scores: &[(Score, Score)]) -> Vec<f32> {
        scores.iter().map(total).collect()
    }

    #[test]
    fn each_of_two_needs_finds_its_tool() {
        // The scores of the whole prompt reflect only the first need.
        let mut whole = scores(&[1.0, 0.1, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4]);
        let first = scores(&[0.9, 0.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]);
        let second = scores(&[0.0, 0.3, 0.05, 0.05, 0.05, 0.05, 0.05, 0.1]);
        mix_clauses(&mut whole, &[first, second]);
        let totals = totals(&whole);
        assert!((totals[0] - 1.0).abs() < 1e-6, "{totals:?}");
        assert!(totals[1] > totals[2], "{totals:?}");
    }

    #[test]
    fn clauses_that_find_the_same_tools_change_nothing() {
        let before = [0.9, 0.5, 0.2, 0.1, 0.0, 0.0, 0.0, 0.0];
        let mut whole = scores(&before);
        let same = scores(&[0.2, 0.8, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0]);
        mix_clauses(&mut whole, &[same.clone(), same]);
        assert_eq!(totals(&whole), before);
    }

    #[test]
    fn a_clause_without_any_evidence_adds_nothing_bad() {
        let mut whole = scores(&[0.5, 0.4, 0.3, 0.2]);
        mix_clauses(&mut whole, &[scores(&[0.0; 4]), scores(&[0.0, 0.0, 0.0, 1.0])]);
        assert!(totals(&whole).iter().all(|total| total.is_finite()));
    }
}
