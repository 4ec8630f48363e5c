//! Tools by their words: BM25, and names that a prompt spells out.

use std::sync::Arc;
use std::time::Instant;

use super::exact::ExactNames;
use super::retriever::{Candidate, Error, Prompt, Retrieved, Retriever, Score, StageTimes, Strategy};
use crate::catalog::{Tool, keyword_fields};
use crate::index::{Bm25, Field, Hit, Rows};

/// Ranks by BM25 over name, server, description and parameters.
pub struct KeywordRetriever {
    bm25: Bm25,
    exact: ExactNames,
}

impl KeywordRetriever {
    /// Indexes the words of every tool.
    pub fn new<'a>(tools: impl Iterator<Item = &'a Tool> + Clone) -> Arc<Self> {
        let documents = tools.clone().map(document).collect::<Vec<_>>();
        let names = (0u32..).zip(tools).flat_map(|(row, tool)| {
            [(row, tool.id.as_str()), (row, tool.name.as_str())]
        });
        Arc::new(Self { bm25: Bm25::build(&documents), exact: ExactNames::new(names) })
    }

    /// BM25 scores of the rows that share a word with `text`, by row.
    pub(super) fn scores(&self, text: &str, rows: Rows<'_>) -> Vec<Hit> {
        self.bm25.score(text, rows)
    }

    /// Rows whose name the prompt spells out, ascending.
    pub(super) fn named(&self, text: &str) -> Vec<u32> {
        self.exact.find(text)
    }

    pub(super) fn terms(&self, text: &str, row: u32) -> Vec<String> {
        self.bm25.matched_terms(text, row)
    }
}

fn document(tool: &Tool) -> Vec<Field> {
    let fields = keyword_fields(tool);
    let field = |text, weight| Field { text, weight };
    vec![
        field(fields.name, 1.0),
        field(fields.server, 1.0),
        field(fields.description, 1.0),
        field(fields.parameters, 1.0),
        field(fields.extra, 1.0),
    ]
}

impl Retriever for KeywordRetriever {
    fn strategy(&self) -> Strategy {
        Strategy::Keyword
    }

    fn retrieve(&self, prompt: &Prompt<'_>) -> Result<Retrieved, Error> {
        let start = Instant::now();
        let hits = self.scores(prompt.text, prompt.rows);
        let best = hits.iter().map(|hit| hit.score).fold(0.0, f32::max);
        let named = self.named(prompt.text);
        let candidate = |hit: Hit| {
            let score = Score { raw: hit.score, normalized: hit.score, contribution: hit.score };
            // Above every tool that is not named, whatever the scale of the scores.
            let exact_name = if named.binary_search(&hit.row).is_ok() { best } else { 0.0 };
            let total = hit.score + exact_name;
            Candidate { row: hit.row, score: total, semantic: None, keyword: Some(score), exact_name }
        };
        let candidates = hits.into_iter().map(candidate).collect();
        let times = StageTimes { keyword: start.elapsed(), ..StageTimes::default() };
        Ok(Retrieved { candidates, times })
    }

    fn matched_terms(&self, text: &str, row: u32) -> Vec<String> {
        self.terms(text, row)
    }
}
