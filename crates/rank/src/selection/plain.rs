//! The plain design, which is `0.7 · min-max(cosine) + 0.3 · min-max(BM25)` over all tools, and
//! nothing else.
//!
//! It is a baseline for the default fusion, and serves callers who want to verify each score by
//! hand. Its semantic and keyword strategies use the unmodified cosine or BM25 score.

use std::sync::Arc;
use std::time::Instant;

use toolroute_vectors::index::Rows;

use super::candidate::{Candidate, Score};
use super::fusion::Fusion;
use super::hybrid::candidates;
use super::keyword::KeywordRetriever;
use super::retriever::{Error, Prompt, Retrieval, Retriever, StageTimes, Strategy};
use super::semantic::SemanticRetriever;

/// One strategy of the plain design.
pub struct PlainRetriever {
    strategy: Strategy,
    /// Present if the strategy needs vectors.
    semantic: Option<Arc<SemanticRetriever>>,
    keyword: Arc<KeywordRetriever>,
}

impl PlainRetriever {
    /// The same as [`super::retrievers`].
    pub fn all(
        keyword: &Arc<KeywordRetriever>,
        semantic: Option<&Arc<SemanticRetriever>>,
    ) -> Vec<Arc<dyn Retriever>> {
        let strategies: &[Strategy] = match semantic {
            Some(_) => &[Strategy::Keyword, Strategy::Semantic, Strategy::Hybrid],
            None => &[Strategy::Keyword],
        };
        let retriever = |&strategy: &Strategy| -> Arc<dyn Retriever> {
            let semantic = semantic.filter(|_| strategy.needs_vector()).cloned();
            Arc::new(Self { strategy, semantic, keyword: keyword.clone() })
        };
        strategies.iter().map(retriever).collect()
    }
}

impl Retriever for PlainRetriever {
    fn strategy(&self) -> Strategy {
        self.strategy
    }

    fn retrieve(&self, prompt: &Prompt<'_>) -> Result<Retrieval, Error> {
        let mut times = StageTimes::default();
        let start = Instant::now();
        // Every row is scored, even with an approximate index, because the lowest cosine determines
        // the scale.
        let semantic = match &self.semantic {
            Some(semantic) => Some(semantic.score(prompt.vector_for(self.strategy)?, prompt.rows)?),
            None => None,
        };
        times.search = start.elapsed();
        let start = Instant::now();
        let keyword = match self.strategy {
            Strategy::Semantic => None,
            _ => Some(self.keyword.score(prompt.text(), prompt.rows)?),
        };
        times.keyword = start.elapsed();
        let start = Instant::now();
        let rows = semantic.as_deref().or(keyword.as_deref()).map_or(0, <[f32]>::len);
        let rows: Vec<u32> = match prompt.rows {
            Rows::All => (0..rows as u32).collect(),
            Rows::Only(rows) => rows.to_vec(),
        };
        let mut found = match (semantic, keyword) {
            (Some(semantic), Some(keyword)) => {
                candidates(rows, Fusion::Plain.apply(&semantic, &keyword, 1.0), &[])
            }
            (Some(cosines), None) => one(&rows, &cosines, |c, score| c.semantic = Some(score)),
            (None, scores) => {
                one(&rows, &scores.unwrap_or_default(), |c, score| c.keyword = Some(score))
            }
        };
        if self.strategy == Strategy::Keyword && matches!(prompt.rows, Rows::All) {
            found.retain(|candidate| candidate.score > 0.0);
        }
        times.fuse = start.elapsed();
        Ok(Retrieval { candidates: found, times })
    }

    fn matched_terms(&self, text: &str, rows: &[u32]) -> Vec<Vec<String>> {
        match self.strategy {
            Strategy::Semantic => vec![Vec::new(); rows.len()],
            _ => self.keyword.matched_terms(text, rows),
        }
    }
}

/// Creates candidates from one part alone; `put` stores its score.
fn one(rows: &[u32], raw: &[f32], put: impl Fn(&mut Candidate, Score)) -> Vec<Candidate> {
    let candidate = |(&row, &raw): (&u32, &f32)| {
        let mut candidate = Candidate { row, score: raw, ..Candidate::default() };
        put(&mut candidate, Score { raw, normalized: raw, weight: 1.0 });
        candidate
    };
    rows.iter().zip(raw).map(candidate).collect()
}
