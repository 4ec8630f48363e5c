//! Meaning and words together.

use std::sync::Arc;
use std::time::Instant;

use super::fusion::Fusion;
use super::keyword::KeywordRetriever;
use super::retriever::{Candidate, Error, Prompt, Retrieved, Retriever, StageTimes, Strategy};
use super::semantic::{POOL, SemanticRetriever};
use crate::index::Rows;

/// Scores by meaning and by words, and fuses the two.
pub struct HybridRetriever {
    semantic: Arc<SemanticRetriever>,
    keyword: Arc<KeywordRetriever>,
    fusion: Fusion,
}

/// Raw scores of both parts for the same rows.
struct Both {
    rows: Vec<u32>,
    semantic: Vec<f32>,
    keyword: Vec<f32>,
}

impl HybridRetriever {
    pub fn new(
        semantic: Arc<SemanticRetriever>,
        keyword: Arc<KeywordRetriever>,
        fusion: Fusion,
    ) -> Arc<Self> {
        Arc::new(Self { semantic, keyword, fusion })
    }

    fn both(&self, prompt: &Prompt<'_>, times: &mut StageTimes) -> Result<Both, Error> {
        let vector = prompt.vector_for(Strategy::Hybrid)?;
        let pool = match prompt.rows {
            // Not every row is scored: each part finds its best, and both score the union.
            Rows::All if !self.semantic.is_exact() => Some(self.pool(vector, prompt)?),
            _ => None,
        };
        let rows = pool.as_deref().map_or(prompt.rows, Rows::Only);
        let semantic = self.semantic.score(vector, rows)?;
        let start = Instant::now();
        let keyword = self.keyword.score(prompt.text, rows)?;
        times.keyword = start.elapsed();
        let rows = match rows {
            Rows::All => (0..semantic.len() as u32).collect(),
            Rows::Only(rows) => rows.to_vec(),
        };
        Ok(Both { rows, semantic, keyword })
    }

    fn pool(&self, vector: &[f32], prompt: &Prompt<'_>) -> Result<Vec<u32>, Error> {
        let nearest = self.semantic.nearest(vector, prompt.limit)?;
        let mut rows = self.keyword.best(prompt.text, prompt.limit.max(POOL));
        rows.extend(nearest.iter().map(|hit| hit.row));
        rows.sort_unstable();
        rows.dedup();
        Ok(rows)
    }
}

impl Retriever for HybridRetriever {
    fn strategy(&self) -> Strategy {
        Strategy::Hybrid
    }

    fn retrieve(&self, prompt: &Prompt<'_>) -> Result<Retrieved, Error> {
        let mut times = StageTimes::default();
        let start = Instant::now();
        let both = self.both(prompt, &mut times)?;
        // Whatever finding the pool took belongs to the search.
        times.search = start.elapsed().saturating_sub(times.keyword);
        let start = Instant::now();
        let named = self.keyword.named(prompt.text);
        let scores = self.fusion.apply(&both.semantic, &both.keyword);
        let candidate = |(row, (semantic, keyword)): (u32, (_, _))| {
            let is_named = !named.is_empty() && named.binary_search(&row).is_ok();
            let exact_name = if is_named { self.fusion.ceiling() } else { 0.0 };
            fused(row, semantic, keyword, exact_name)
        };
        let candidates = both.rows.into_iter().zip(scores).map(candidate).collect();
        times.fuse = start.elapsed();
        Ok(Retrieved { candidates, times })
    }

    fn matched_terms(&self, text: &str, row: u32) -> Vec<String> {
        self.keyword.matched_terms(text, row)
    }
}

fn fused(row: u32, semantic: super::Score, keyword: super::Score, exact_name: f32) -> Candidate {
    let score = semantic.contribution() + keyword.contribution() + exact_name;
    Candidate { row, score, semantic: Some(semantic), keyword: Some(keyword), exact_name }
}
