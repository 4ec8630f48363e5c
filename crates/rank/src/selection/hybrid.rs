//! The hybrid strategy: meaning and words together.

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

/// Scores by meaning and by words, and fuses the two.
pub struct HybridRetriever {
    semantic: Arc<SemanticRetriever>,
    keyword: Arc<KeywordRetriever>,
    fusion: Fusion,
}

/// Raw scores of both parts for the same rows.
struct PartScores {
    rows: Vec<u32>,
    semantic: Vec<f32>,
    keyword: Vec<f32>,
    /// The mean cosine of all requested rows, scored or not.
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
            // Over a graph not every row is scored: each part finds its best, and both score the union.
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

    /// The fused scores of each clause for the same rows.
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

    /// The weighted scores of both parts; words weigh less where more was learned. `is_one` says that the
    /// scores are for one request.
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
        // The time to find the pool belongs to the search.
        times.search = start.elapsed().saturating_sub(times.keyword);
        let start = Instant::now();
        let named = self.keyword.named(prompt.text());
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

fn mean(cosines: &[f32]) -> f32 {
    cosines.iter().sum::<f32>() / cosines.len().max(1) as f32
}

/// A candidate's score without the bonus for its name or for its wording.
pub(super) fn total_without_name(candidate: &Candidate) -> f32 {
    candidate.score - candidate.exact_name - candidate.wording
}

/// Sums up the parts. A tool that the prompt names ranks above all others.
pub(super) fn candidates(
    rows: Vec<u32>,
    scores: Vec<(Score, Score)>,
    named: &[u32],
) -> Vec<Candidate> {
    let best = scores.iter().map(total).fold(0.0, f32::max);
    // A little more than the best score, so that a named tool wins even with no other score.
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
