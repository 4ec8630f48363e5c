//! The hybrid strategy: semantic and keyword scores together.

use std::sync::Arc;
use std::time::Instant;

use toolroute_vectors::index::Rows;

use super::clause_fusion::{mix_clauses, total};
use super::fusion::Fusion;
use super::keyword::KeywordRetriever;
use super::retriever::{
    Candidate, Clause, Error, Prompt, QueryVector, Retrieval, Retriever, Score, StageTimes,
    Strategy,
};
use super::semantic::{NEAREST, SemanticRetriever};
use super::usage_weighting::{learned_share, shift_to_meaning};
use super::wording::by_wording;

/// Scores rows by vectors and by keywords, and fuses the two scores.
pub struct HybridRetriever {
    semantic: Arc<SemanticRetriever>,
    keyword: Arc<KeywordRetriever>,
    fusion: Fusion,
}

/// The number of rows from which those that score far below the answer are dropped early. Fewer
/// rows are ranked in less than 0.1 ms.
pub const TAIL_FROM: usize = 4_096;

/// The number of first ranks that are completed: a tool in them that requires an id gets a
/// supplier, a tool that provides it. Within these ranks, an answer does not depend on its limit.
pub const COMPLETED_RANKS: usize = 5;

/// The minimum score of a supplier, as a share of the score of the tool that needs it. A tool of
/// the same server that is far from the prompt provides ids of something else. On four
/// tool-retrieval sets, shares of 0.3 to 0.7 change nDCG@5 by at most 0.003, and a lower share
/// finds more of what multi-step prompts need (`docs/routing.md`).
pub const LEAST_SUPPLY: f32 = 0.3;

/// The raw scores of both parts for the same rows.
struct PartScores {
    rows: Vec<u32>,
    semantic: Vec<f32>,
    keyword: Vec<f32>,
    /// The mean cosine of all requested rows, or of a sample if not all of them were scored.
    typical: f32,
}

impl HybridRetriever {
    pub fn new(
        semantic: Arc<SemanticRetriever>,
        keyword: Arc<KeywordRetriever>,
        fusion: Fusion,
    ) -> Arc<Self> {
        Arc::new(Self { semantic, keyword, fusion })
    }

    fn both(&self, prompt: &Prompt<'_>, times: &mut StageTimes) -> Result<PartScores, Error> {
        let vector = prompt.vector_for(Strategy::Hybrid)?;
        let pool = match prompt.rows {
            // An approximate index does not score every row: each part finds its best rows, and
            // both parts score the union.
            Rows::All if !self.semantic.is_exact() => Some(self.pool(vector, prompt)?),
            _ => None,
        };
        let rows = pool.as_deref().map_or(prompt.rows, Rows::Only);
        let semantic = self.semantic.score(vector, rows)?;
        let typical = match pool {
            Some(_) => mean(&self.semantic.sample(vector)?),
            None => mean(&semantic),
        };
        let start = Instant::now();
        let keyword = self.keyword.score_to_blend(&prompt.reading.keyword_text(), rows)?;
        times.keyword = start.elapsed();
        let rows = match rows {
            Rows::All => (0..semantic.len() as u32).collect(),
            Rows::Only(rows) => rows.to_vec(),
        };
        Ok(PartScores { rows, semantic, keyword, typical })
    }

    /// Returns the fused scores of each clause for the same rows.
    fn clauses(
        &self,
        prompt: &Prompt<'_>,
        rows: &[u32],
    ) -> Result<Vec<Vec<(Score, Score)>>, Error> {
        let rows = match prompt.rows {
            Rows::All if self.semantic.is_exact() => Rows::All,
            _ => Rows::Only(rows),
        };
        let score = |clause: &Clause<'_>| {
            let semantic = self.semantic.score(clause.vector, rows)?;
            let keyword = self.keyword.score_to_blend(clause.text, rows)?;
            Ok(self.fuse(rows, &semantic, &keyword, prompt, true))
        };
        prompt.clauses.iter().map(score).collect()
    }

    /// Returns the weighted scores of both parts. The keyword score counts less if more was
    /// learned. `is_one` is true if the scores are for one request.
    fn fuse(
        &self,
        rows: Rows<'_>,
        semantic: &[f32],
        keyword: &[f32],
        prompt: &Prompt<'_>,
        is_one: bool,
    ) -> Vec<(Score, Score)> {
        let fusion = self.fusion.sharing(prompt.semantic_share);
        let mut scores = fusion.apply(semantic, keyword, prompt.trust);
        if is_one {
            fusion.lift_nearest(&mut scores);
        }
        if let Some(usage) = self.semantic.usage() {
            shift_to_meaning(&mut scores, learned_share(usage, rows, semantic) * prompt.trust);
        }
        scores
    }

    /// Drops the rows of a large catalog that score too little to be in the answer, to provide an
    /// id that a tool in the answer needs, or to change the score of another row.
    fn without_tail(&self, all: PartScores, prompt: &Prompt<'_>, named: &[u32]) -> PartScores {
        let fusion = self.fusion.sharing(prompt.semantic_share);
        let is_scored_alone = prompt.clauses.is_empty() && self.semantic.usage().is_none();
        let tail = prompt.tail.filter(|_| is_scored_alone);
        let least = tail.and_then(|band| {
            let scores = fusion.least_totals(&all.semantic, &all.keyword, prompt.trust)?;
            let mut sorted = scores.clone();
            let [completed, last] =
                [COMPLETED_RANKS, prompt.limit].map(|rank| nth_best(&mut sorted, rank));
            let least = (LEAST_SUPPLY * completed?).min(last? - band) - Fusion::FAR_LEAD;
            (least > 0.0).then_some((least, scores))
        });
        let Some((least, scores)) = least else { return all };
        let nearest = all.semantic.iter().copied().fold(f32::MIN, f32::max);
        let stays = |at: &usize| {
            scores[*at] >= least
                || all.semantic[*at] >= nearest
                || named.binary_search(&all.rows[*at]).is_ok()
        };
        let kept: Vec<usize> = (0..all.rows.len()).filter(stays).collect();
        PartScores {
            rows: kept.iter().map(|&at| all.rows[at]).collect(),
            semantic: kept.iter().map(|&at| all.semantic[at]).collect(),
            keyword: kept.iter().map(|&at| all.keyword[at]).collect(),
            typical: all.typical,
        }
    }

    fn pool(&self, vector: QueryVector<'_>, prompt: &Prompt<'_>) -> Result<Vec<u32>, Error> {
        let mut rows = Vec::new();
        let whole = Clause { text: prompt.text(), vector };
        for Clause { text, vector } in prompt.clauses.iter().copied().chain([whole]) {
            rows.extend(self.keyword.best(text, prompt.limit.max(NEAREST)));
            rows.extend(self.semantic.nearest(vector, prompt.limit)?.iter().map(|hit| hit.row));
        }
        rows.sort_unstable();
        rows.dedup();
        Ok(rows)
    }
}

impl Retriever for HybridRetriever {
    fn strategy(&self) -> Strategy {
        Strategy::Hybrid
    }

    fn retrieve(&self, prompt: &Prompt<'_>) -> Result<Retrieval, Error> {
        let mut times = StageTimes::default();
        let start = Instant::now();
        let both = self.both(prompt, &mut times)?;
        // The time to find the pool counts as search time.
        times.search = start.elapsed().saturating_sub(times.keyword);
        let start = Instant::now();
        let named = self.keyword.named(prompt.text());
        let both = self.without_tail(both, prompt, &named);
        let rows = Rows::Only(&both.rows);
        let is_one = prompt.clauses.is_empty();
        let mut scores = self.fuse(rows, &both.semantic, &both.keyword, prompt, is_one);
        times.fuse = start.elapsed();
        if !is_one {
            let start = Instant::now();
            let clauses = self.clauses(prompt, &both.rows)?;
            mix_clauses(&mut scores, &clauses);
            times.search += start.elapsed();
        }
        let start = Instant::now();
        let mut candidates = candidates(both.rows, scores, &named);
        by_wording(prompt.reading, &mut candidates, self.keyword.tools());
        times.fuse += start.elapsed();
        Ok(Retrieval { candidates, typical: both.typical, times })
    }

    fn matched_terms(&self, text: &str, row: u32) -> Vec<String> {
        self.keyword.matched_terms(text, row)
    }
}

/// Returns the score at a rank, counted from 1, or `None` if there are fewer scores. Reorders the
/// scores.
fn nth_best(scores: &mut [f32], rank: usize) -> Option<f32> {
    if rank == 0 || rank > scores.len() {
        return None;
    }
    let (_, score, _) = scores.select_nth_unstable_by(rank - 1, |a, b| b.total_cmp(a));
    Some(*score)
}

fn mean(cosines: &[f32]) -> f32 {
    cosines.iter().sum::<f32>() / cosines.len().max(1) as f32
}

/// Returns a candidate's score without the bonuses for its name and its wording.
pub(super) fn total_without_name(candidate: &Candidate) -> f32 {
    candidate.score - candidate.exact_name - candidate.wording
}

/// Creates candidates whose score is the sum of both parts. Tools in `named`, which the prompt
/// names, get a bonus that ranks them above all others.
pub(super) fn candidates(
    rows: Vec<u32>,
    scores: Vec<(Score, Score)>,
    named: &[u32],
) -> Vec<Candidate> {
    let best = scores.iter().map(total).fold(0.0, f32::max);
    // The bonus is a little more than the best score, so that a named tool wins even without any
    // other score.
    let bonus = if best > 0.0 { 1.01 * best } else { 1.0 };
    let candidate = |(row, parts): (u32, (Score, Score))| {
        let is_named = !named.is_empty() && named.binary_search(&row).is_ok();
        let exact_name = if is_named { bonus } else { 0.0 };
        let score = total(&parts) + exact_name;
        let (semantic, keyword) = (Some(parts.0), Some(parts.1));
        Candidate { row, score, semantic, keyword, exact_name, ..Candidate::default() }
    };
    rows.into_iter().zip(scores).map(candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Reading;
    use toolroute_catalog::Tool;
    use toolroute_vectors::index::{FlatIndex, Vectors};

    #[test]
    fn without_its_tail_a_large_catalog_has_the_same_best() {
        let rows = 5_000_u16;
        let angle = |row: u16| f32::from(row) * 2.4;
        let vectors: Vec<[f32; 2]> = (0..rows).map(|row| angle(row).sin_cos().into()).collect();
        let words = ["alpha", "beta", "gamma", "delta"];
        let tools: Vec<Arc<Tool>> = (0..rows)
            .map(|row| {
                let word = words[usize::from(row) % words.len()];
                Arc::new(Tool::new(None, &format!("t{row}"), &format!("{word} {}", row % 97)))
            })
            .collect();
        let vectors = Arc::new(Vectors::from_rows(&vectors).unwrap());
        let semantic = SemanticRetriever::new(Arc::new(FlatIndex::new(vectors)));
        let hybrid =
            HybridRetriever::new(semantic, KeywordRetriever::new(&tools), Fusion::default());
        for (text, limit) in
            [("beta 12", 8), ("gamma", 1), ("nothing", 40), ("call t77 for beta 3", 5)]
        {
            let reading = Reading::verbatim(text);
            let whole = Prompt::new(&reading, Some(&[0.8, 0.6]), limit);
            let best = |tail| {
                let mut found = hybrid.retrieve(&Prompt { tail, ..whole }).unwrap();
                let count = found.candidates.len();
                found
                    .candidates
                    .sort_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
                found.candidates.truncate(limit);
                (found.candidates, found.typical, count)
            };
            let (all, cut) = (best(None), best(Some(0.02)));
            assert_eq!((&all.0, all.1), (&cut.0, cut.1), "{text}");
            assert!(cut.2 < all.2 && all.2 == usize::from(rows), "{text}: {} of {}", cut.2, all.2);
        }
    }

    #[test]
    fn not_even_a_perfect_tool_comes_level_with_a_named_one() {
        let tools = [("reader", "reads it"), ("to_do", "")]
            .map(|(name, description)| Arc::new(Tool::new(None, name, description)));
        let vectors = Vectors::from_rows(&[[1.0, 0.0], [0.0, 1.0]]).unwrap();
        let semantic = SemanticRetriever::new(Arc::new(FlatIndex::new(Arc::new(vectors))));
        let keyword = KeywordRetriever::new(&tools);
        for fusion in [Fusion::default(), Fusion::Rrf { k: Fusion::RRF_K }] {
            let hybrid = HybridRetriever::new(semantic.clone(), keyword.clone(), fusion);
            let vector = Some(&[1.0, 0.0][..]);
            let reading = Reading::verbatim("reads it `to_do`");
            let prompt = Prompt::new(&reading, vector, 2);
            let found = hybrid.retrieve(&prompt).unwrap().candidates;
            assert!(found[1].score > found[0].score, "{fusion:?}: {found:?}");
        }
    }
}
