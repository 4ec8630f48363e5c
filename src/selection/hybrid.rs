//! Meaning and words together.

use std::sync::Arc;
use std::time::Instant;

use super::fusion::Fusion;
use super::keyword::KeywordRetriever;
use super::retriever::{Candidate, Error, Prompt, Retrieved, Retriever, StageTimes, Strategy};
use super::semantic::SemanticRetriever;
use crate::index::{Hit, Rows};

/// Scores by meaning and by words, and fuses the two.
pub struct HybridRetriever {
    semantic: Arc<SemanticRetriever>,
    keyword: Arc<KeywordRetriever>,
    fusion: Fusion,
}

/// How many hits of each part are fused where the index is approximate and not every row is
/// scored.
const POOL: usize = 256;

/// Raw scores of both parts for the same rows.
struct Both {
    rows: Vec<u32>,
    semantic: Vec<f32>,
    keyword: Vec<f32>,
}

impl HybridRetriever {
    pub fn new(semantic: Arc<SemanticRetriever>, keyword: Arc<KeywordRetriever>, fusion: Fusion) -> Arc<Self> {
        Arc::new(Self { semantic, keyword, fusion })
    }

    fn both(&self, prompt: &Prompt<'_>, times: &mut StageTimes) -> Result<Both, Error> {
        let vector = prompt.vector_for(Strategy::Hybrid)?;
        let start = Instant::now();
        let semantic = self.semantic.scores(vector, prompt.rows, prompt.limit)?;
        times.search = start.elapsed();
        let start = Instant::now();
        let keyword = self.keyword.scores(prompt.text, prompt.rows);
        times.keyword = start.elapsed();
        if self.semantic.is_exact() || matches!(prompt.rows, Rows::Only(_)) {
            return Ok(align(semantic, &keyword));
        }
        // Each part has found rows that the other has not scored: score the union in full.
        let start = Instant::now();
        let named = self.keyword.named(prompt.text);
        let union = union(&semantic, &keyword, &named, prompt.limit.max(POOL));
        let semantic = self.semantic.scores(vector, Rows::Only(&union), prompt.limit)?;
        times.search += start.elapsed();
        Ok(align(semantic, &keyword))
    }
}

/// Gives each semantic hit its keyword score, 0 where the words found nothing. Both are by row.
fn align(semantic: Vec<Hit>, keyword: &[Hit]) -> Both {
    let mut found = keyword.iter().peekable();
    let mut keyword_score = |row: u32| {
        while found.next_if(|hit| hit.row < row).is_some() {}
        found.peek().filter(|hit| hit.row == row).map_or(0.0, |hit| hit.score)
    };
    let keyword = semantic.iter().map(|hit| keyword_score(hit.row)).collect();
    let (rows, semantic) = semantic.into_iter().map(|hit| (hit.row, hit.score)).unzip();
    Both { rows, semantic, keyword }
}

fn union(semantic: &[Hit], keyword: &[Hit], named: &[u32], pool: usize) -> Vec<u32> {
    let mut best: Vec<&Hit> = keyword.iter().collect();
    best.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
    best.truncate(pool);
    let found = semantic.iter().chain(best).map(|hit| hit.row);
    let mut rows: Vec<u32> = found.chain(named.iter().copied()).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

impl Retriever for HybridRetriever {
    fn strategy(&self) -> Strategy {
        Strategy::Hybrid
    }

    fn retrieve(&self, prompt: &Prompt<'_>) -> Result<Retrieved, Error> {
        let mut times = StageTimes::default();
        let both = self.both(prompt, &mut times)?;
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
        self.keyword.terms(text, row)
    }
}

fn fused(row: u32, semantic: super::Score, keyword: super::Score, exact_name: f32) -> Candidate {
    let score = semantic.contribution + keyword.contribution + exact_name;
    Candidate { row, score, semantic: Some(semantic), keyword: Some(keyword), exact_name }
}
