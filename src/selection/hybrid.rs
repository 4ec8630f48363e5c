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
            let exact_name = if is_named { self.fusion.exact_name_bonus() } else { 0.0 };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Tool;
    use crate::index::{FlatIndex, Vectors};

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
            let prompt = Prompt { text: "reads it `to_do`", vector, rows: Rows::All, limit: 2 };
            let found = hybrid.retrieve(&prompt).unwrap().candidates;
            assert!(found[1].score > found[0].score, "{fusion:?}: {found:?}");
        }
    }
}
