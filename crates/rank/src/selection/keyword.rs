//! The keyword strategy: BM25 and exact tool names.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;
use toolroute_catalog::{KeywordFields, Tool, keyword_fields, split_identifier};
use toolroute_translation::{in_english, is_unsupported};
use toolroute_vectors::index::{Bm25, Bm25Builder, Bm25Settings, Field, Hit, Rows};

use super::candidate::{Candidate, Score};
use super::exact_names::ExactNames;
use super::fusion::Fusion;
use super::retriever::{Error, Prompt, Retrieval, Retriever, StageTimes, Strategy};

/// Tools whose texts are in memory at a time while they are indexed.
const CHUNK: usize = 1_024;

/// The tools among which an English one with a word is looked for.
const EXAMINED_TOOLS: usize = 8;

/// Ranks by BM25 over name, server, description and parameters.
pub struct KeywordRetriever {
    bm25: Bm25,
    exact: ExactNames,
    tools: Vec<Arc<Tool>>,
}

impl KeywordRetriever {
    /// Indexes the words of every tool.
    pub fn new(tools: &[Arc<Tool>]) -> Arc<Self> {
        let mut builder = Bm25Builder::default();
        for some in tools.chunks(CHUNK) {
            let documents: Vec<KeywordFields> =
                some.par_iter().map(|tool| keyword_fields(tool)).collect();
            documents.iter().for_each(|fields| builder.add(&weighted(fields)));
        }
        let bm25 = builder.finish(Bm25Settings::default());
        let names = (0u32..).zip(tools).flat_map(|(row, tool)| {
            let plain = [tool.id.as_str(), tool.name.as_str()].map(Cow::Borrowed);
            plain.into_iter().chain(tool.id.with_colon().map(Cow::Owned)).map(move |n| (row, n))
        });
        Arc::new(Self { bm25, exact: ExactNames::new(names), tools: tools.to_vec() })
    }

    /// Returns the tools, by row.
    pub(super) fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    /// Returns the rarity-weighted BM25 scores ([`Fusion::RARITY`]) of the given rows, in their
    /// order, for fusion. A row without a word of the prompt scores 0.
    pub(super) fn score_to_blend(&self, text: &str, rows: Rows<'_>) -> Result<Vec<f32>, Error> {
        Ok(self.bm25.score_by_rarity(text, rows, Fusion::RARITY)?)
    }

    /// Returns the BM25 scores of the given rows, in their order. A row without a word of the
    /// prompt scores 0.
    pub(super) fn score(&self, text: &str, rows: Rows<'_>) -> Result<Vec<f32>, Error> {
        Ok(self.bm25.score(text, rows)?)
    }

    /// Returns the best `limit` rows by BM25 and the rows that the prompt names, which may repeat.
    pub(super) fn best(&self, text: &str, limit: usize) -> Vec<u32> {
        let mut rows: Vec<u32> = self.bm25.search(text, limit).iter().map(|hit| hit.row).collect();
        rows.extend(self.named(text));
        rows
    }

    /// Returns the rows that the prompt names, ascending.
    pub(super) fn named(&self, text: &str) -> Vec<u32> {
        self.exact.find(text)
    }

    /// Returns the words of the tools as written, in alphabetical order, each with the number of
    /// tools that contain it. Computed lazily.
    pub fn words(&self) -> &[(Box<str>, u32)] {
        self.bm25.words()
    }

    /// Whether a tool whose description is English has a word, given in lower case, in its name or its
    /// description.
    pub fn has_english(&self, word: &str) -> bool {
        let nearest = self.bm25.search(word, EXAMINED_TOOLS);
        nearest.iter().any(|hit| has_english(&self.tools[hit.row as usize], word))
    }

    fn hits(&self, prompt: &Prompt<'_>, named: &[u32]) -> Result<Vec<Hit>, Error> {
        match prompt.rows {
            Rows::All => {
                let mut hits = self.bm25.matches(&prompt.reading.keyword_text());
                // A name may contain no indexed word: `to_do` consists of stop words, and `+` is
                // not a word.
                let mut missing: BTreeSet<u32> = named.iter().copied().collect();
                hits.iter().for_each(|hit| _ = missing.remove(&hit.row));
                hits.extend(missing.into_iter().map(|row| Hit { row, score: 0.0 }));
                Ok(hits)
            }
            // The given rows are re-ranked, so each remains a candidate, even with a score of 0.
            Rows::Only(rows) => {
                let scores = self.bm25.score(&prompt.reading.keyword_text(), prompt.rows)?;
                Ok(rows.iter().zip(scores).map(|(&row, score)| Hit { row, score }).collect())
            }
        }
    }
}

fn has_english(tool: &Tool, word: &str) -> bool {
    let name = split_identifier(&tool.name);
    let text = if tool.description.is_empty() { &name } else { &tool.description };
    let words = [&name, &tool.description].into_iter();
    let mut words = words.flat_map(|text| text.split(|c: char| !c.is_alphabetic()));
    words.any(|one| one.to_lowercase() == word)
        && in_english(text).is_none()
        && !is_unsupported(text)
}

/// Returns the fields with their weights. All catalogs use the same weights, chosen from about 230
/// settings by the mean nDCG@5 over 19 tool-retrieval sets (printed by `scripts/quality.py`):
/// 0.673, compared to 0.659 without parameter descriptions and values.
fn weighted(fields: &KeywordFields) -> [Field<'_>; 7] {
    let field = |text, weight| Field { text, weight };
    [
        field(&fields.name, 3.0),
        field(&fields.server, 1.0),
        field(&fields.description, 1.0),
        field(&fields.parameters, 0.7),
        field(&fields.parameter_descriptions, 0.35),
        field(&fields.parameter_values, 0.7),
        field(&fields.extra, 1.0),
    ]
}

impl Retriever for KeywordRetriever {
    fn strategy(&self) -> Strategy {
        Strategy::Keyword
    }

    fn retrieve(&self, prompt: &Prompt<'_>) -> Result<Retrieval, Error> {
        let start = Instant::now();
        let named = self.named(prompt.text());
        let hits = self.hits(prompt, &named)?;
        // The bonus ranks a named tool above all others, whatever the scale of the scores.
        let bonus = 1.0 + hits.iter().map(|hit| hit.score).fold(0.0, f32::max);
        let candidate = |hit: Hit| {
            let score = Score { raw: hit.score, normalized: hit.score, weight: 1.0 };
            let exact_name = if named.binary_search(&hit.row).is_ok() { bonus } else { 0.0 };
            let total = hit.score + exact_name;
            Candidate {
                row: hit.row,
                score: total,
                keyword: Some(score),
                exact_name,
                ..Candidate::default()
            }
        };
        let candidates = hits.into_iter().map(candidate).collect();
        let times = StageTimes { keyword: start.elapsed(), ..StageTimes::default() };
        Ok(Retrieval { candidates, times })
    }

    fn matched_terms(&self, text: &str, rows: &[u32]) -> Vec<Vec<String>> {
        self.bm25.matched_terms(rows, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Reading;

    /// Returns the candidates for a prompt as (row, score, bonus), best first.
    fn ranked(names: &[&str], text: &str) -> Vec<(u32, f32, f32)> {
        let tools: Vec<Arc<Tool>> =
            names.iter().map(|name| Arc::new(Tool::new(Some("s"), name, "reads it"))).collect();
        let reading = Reading::verbatim(text);
        let prompt = Prompt::new(&reading, None, 5);
        let found = KeywordRetriever::new(&tools).retrieve(&prompt).unwrap();
        let mut ranked: Vec<_> =
            found.candidates.iter().map(|c| (c.row, c.score, c.exact_name)).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        ranked
    }

    #[test]
    fn a_named_tool_without_a_word_that_counts_is_found_first() {
        for (name, prompt) in [
            ("to_do", "reads to_do"),
            ("+", "+"),
            ("+", "reads `+`"),
            ("_to_do_", "what does s:_to_do_ read"),
            ("to_do", "call s:to_do(reads)"),
        ] {
            let ranked = ranked(&["reader", name, "reads"], prompt);
            let (row, score, bonus) = ranked[0];
            assert_eq!(row, 1, "{prompt}: {ranked:?}");
            assert!(bonus > 0.0 && ranked[1..].iter().all(|other| other.1 < score), "{ranked:?}");
        }
    }
}
