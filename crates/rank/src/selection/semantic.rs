//! The semantic strategy: the cosine between vectors.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use toolroute_vectors::index::{Hit, Rows, VectorIndex};

use super::candidate::{Candidate, Score};
use super::retriever::{Error, Prompt, QueryVector, Retrieval, Retriever, StageTimes, Strategy};
use crate::feedback::UsageRows;

/// Ranks by the cosine between the prompt's vector and each tool's vector.
pub struct SemanticRetriever {
    index: Arc<dyn VectorIndex>,
    /// What was learned about the tools from past prompts.
    usage: Option<Arc<UsageRows>>,
}

/// The minimum number of rows to request from an approximate index: enough for fusion and filters.
pub const NEAREST: usize = 256;

impl SemanticRetriever {
    /// Creates a retriever. If `usage` is given, the index contains learned vectors.
    pub fn new(index: Arc<dyn VectorIndex>, usage: Option<Arc<UsageRows>>) -> Arc<Self> {
        Arc::new(Self { index, usage })
    }

    pub(super) fn usage(&self) -> Option<&UsageRows> {
        self.usage.as_deref()
    }

    /// Returns the scores of the given rows, in their order: cosines, adjusted for learned rows.
    pub(super) fn score<'v>(
        &self,
        vector: QueryVector<'v>,
        rows: Rows<'_>,
    ) -> Result<Cow<'v, [f32]>, Error> {
        let mut scores = match (rows, vector.cosines) {
            (Rows::All, Some(cosines)) => Cow::Borrowed(cosines),
            (Rows::Only(rows), Some(cosines)) => {
                Cow::Owned(rows.iter().map(|row| cosines[*row as usize]).collect())
            }
            _ => Cow::Owned(self.index.score(vector.numbers, rows)?),
        };
        if let Some(usage) = &self.usage {
            for (at, score) in scores.to_mut().iter_mut().enumerate() {
                let row = if let Rows::Only(rows) = rows { rows[at] } else { at as u32 };
                *score = usage.score(row, *score);
            }
        }
        Ok(scores)
    }

    /// Returns the nearest rows that the index finds, at least [`NEAREST`] if the catalog has as
    /// many.
    pub(super) fn nearest(&self, vector: QueryVector<'_>, limit: usize) -> Result<Vec<Hit>, Error> {
        let mut hits = self.index.search(vector.numbers, limit.max(NEAREST))?;
        if let Some(usage) = &self.usage {
            hits.iter_mut().for_each(|hit| hit.score = usage.score(hit.row, hit.score));
        }
        Ok(hits)
    }

    pub(super) fn is_exact(&self) -> bool {
        self.index.is_exact()
    }

    fn hits(&self, vector: QueryVector<'_>, prompt: &Prompt<'_>) -> Result<Vec<Hit>, Error> {
        let scores = |rows| self.score(vector, rows);
        match prompt.rows {
            Rows::All if !self.is_exact() => self.nearest(vector, prompt.limit),
            Rows::All => Ok(pair(0.., &scores(prompt.rows)?)),
            Rows::Only(only) => Ok(pair(only.iter().copied(), &scores(prompt.rows)?)),
        }
    }
}

fn pair(rows: impl Iterator<Item = u32>, scores: &[f32]) -> Vec<Hit> {
    rows.zip(scores).map(|(row, &score)| Hit { row, score }).collect()
}

impl Retriever for SemanticRetriever {
    fn strategy(&self) -> Strategy {
        Strategy::Semantic
    }

    fn retrieve(&self, prompt: &Prompt<'_>) -> Result<Retrieval, Error> {
        let start = Instant::now();
        let hits = self.hits(prompt.vector_for(Strategy::Semantic)?, prompt)?;
        let candidate = |Hit { row, score: raw }: Hit| {
            let score = Score { raw, normalized: raw, weight: 1.0 };
            Candidate {
                row,
                score: raw,
                semantic: Some(score),
                keyword: None,
                ..Candidate::default()
            }
        };
        let candidates = hits.into_iter().map(candidate).collect();
        let times = StageTimes { search: start.elapsed(), ..StageTimes::default() };
        Ok(Retrieval { candidates, times })
    }

    fn matched_terms(&self, _text: &str, rows: &[u32]) -> Vec<Vec<String>> {
        vec![Vec::new(); rows.len()]
    }
}
