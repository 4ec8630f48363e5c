//! Tools by their meaning: cosine between vectors.

use std::sync::Arc;
use std::time::Instant;

use super::retriever::{Candidate, Error, Prompt, Retrieved, Retriever, Score, StageTimes, Strategy};
use crate::index::{Hit, Rows, VectorIndex};

/// Ranks by the cosine between the prompt's vector and each tool's.
pub struct SemanticRetriever {
    index: Arc<dyn VectorIndex>,
}

/// What an approximate index is asked for at least: enough for a policy to thin out.
const POOL: usize = 256;

impl SemanticRetriever {
    pub fn new(index: Arc<dyn VectorIndex>) -> Arc<Self> {
        Arc::new(Self { index })
    }

    /// Cosines of the given rows or, where the index is approximate and may choose among all, of
    /// the nearest ones.
    pub(super) fn scores(&self, vector: &[f32], rows: Rows<'_>, limit: usize) -> Result<Vec<Hit>, Error> {
        match rows {
            Rows::All if !self.index.is_exact() => Ok(self.index.search(vector, limit.max(POOL))?),
            Rows::All => Ok(pair(0.., self.index.score(vector, rows)?)),
            Rows::Only(only) => Ok(pair(only.iter().copied(), self.index.score(vector, rows)?)),
        }
    }

    pub(super) fn is_exact(&self) -> bool {
        self.index.is_exact()
    }
}

fn pair(rows: impl Iterator<Item = u32>, scores: Vec<f32>) -> Vec<Hit> {
    rows.zip(scores).map(|(row, score)| Hit { row, score }).collect()
}

impl Retriever for SemanticRetriever {
    fn strategy(&self) -> Strategy {
        Strategy::Semantic
    }

    fn retrieve(&self, prompt: &Prompt<'_>) -> Result<Retrieved, Error> {
        let start = Instant::now();
        let hits = self.scores(prompt.vector_for(Strategy::Semantic)?, prompt.rows, prompt.limit)?;
        let candidate = |Hit { row, score: raw }: Hit| {
            let score = Score { raw, normalized: raw, contribution: raw };
            Candidate { row, score: raw, semantic: Some(score), keyword: None, exact_name: 0.0 }
        };
        let candidates = hits.into_iter().map(candidate).collect();
        let times = StageTimes { search: start.elapsed(), ..StageTimes::default() };
        Ok(Retrieved { candidates, times })
    }

    fn matched_terms(&self, _text: &str, _row: u32) -> Vec<String> {
        Vec::new()
    }
}
