//! Keyword search with BM25 over weighted fields.
//!
//! A term that occurs in several fields of a row is scored once, with the weighted sum of its
//! counts: the field-weighted form of Robertson, Zaragoza and Taylor, "Simple BM25 extension to
//! multiple weighted fields" (CIKM 2004). The inverse document frequency is Lucene's, which is
//! never negative.
//!
//! Everything that does not depend on the query is computed when the index is built, so that a
//! query adds up one number per posting.
//!
//! Why not a library: over 5,000 tools and 1,200 prompts the 99th percentile is 0.1 ms here, 1.0 ms
//! in tantivy 0.26 and 4.8 ms in the crate bm25 2.3.2, against a target of 0.5 ms. bm25 also lacks
//! field weights, and neither reports which words of the prompt matched without a second pass. Our
//! tokenizer could have been used with both (`benches/README.md`).

mod words;

use std::collections::HashMap;

use super::tokenizer::{Side, Word, for_each_word, query_terms};
use super::top::{Top, best_first};
use super::{Error, Hit, Rows};
use words::Words;

/// A part of a row's text, with the weight of its terms.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    pub text: &'a str,
    /// Weight of one occurrence of a term. A field whose weight is not positive and finite is
    /// ignored.
    pub weight: f32,
}

/// The parameters of BM25.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bm25Settings {
    /// Term frequency saturation: a higher value gives repetitions of a term more weight.
    pub k1: f32,
    /// Length normalisation: 0 for none, 1 for full.
    pub b: f32,
}

impl Default for Bm25Settings {
    /// The usual values, also Lucene's. With the field weights name ×3, server ×1, description ×1,
    /// parameter names ×0.7, their descriptions ×0.35 and enum values ×0.7 they were better than
    /// 0.9 and 0.4 (Pyserini's values for passages) on our 19 tool-retrieval sets:
    /// `benches/README.md`.
    fn default() -> Self {
        Self { k1: 1.2, b: 0.75 }
    }
}

/// The rows that contain a term, ascending, with its score in each.
#[derive(Clone, Copy)]
struct Postings<'a> {
    rows: &'a [u32],
    scores: &'a [f32],
}

impl Postings<'_> {
    fn score(self, row: u32) -> Option<f32> {
        self.rows.binary_search(&row).ok().map(|at| self.scores[at])
    }
}

/// An immutable keyword index over rows of text. Scores do not depend on the order of the rows;
/// they are bit-identical.
#[derive(Clone, Debug)]
pub struct Bm25 {
    rows: usize,
    terms: HashMap<String, u32>,
    /// Where the postings of each term begin, and the end of the last ones. All stand in two lists,
    /// because lists for each term, which grow while others do, leave gaps in memory.
    starts: Vec<u32>,
    posting_rows: Vec<u32>,
    posting_scores: Vec<f32>,
    words: Words,
}

impl Bm25 {
    /// Indexes documents in row order. Each document is a list of fields.
    pub fn build<'a, D, F>(documents: D, settings: Bm25Settings) -> Self
    where
        D: IntoIterator<Item = F>,
        F: AsRef<[Field<'a>]>,
    {
        let mut builder = Bm25Builder::default();
        for document in documents {
            builder.add(document.as_ref());
        }
        builder.finish(settings)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the `limit` best rows that share a term with the prompt, by descending score, then
    /// row.
    pub fn search(&self, prompt: &str, limit: usize) -> Vec<Hit> {
        let mut top = Top::new(limit, self.rows);
        for (row, &score) in self.add_up(prompt, 0.0).iter().enumerate() {
            if score > 0.0 {
                top.push(Hit { row: row as u32, score });
            }
        }
        top.into_sorted()
    }

    /// Returns every row that shares a term with the prompt, by descending score, then row.
    pub fn matches(&self, prompt: &str) -> Vec<Hit> {
        let scores = self.add_up(prompt, 0.0).into_iter().enumerate();
        let hits = scores.map(|(row, score)| Hit { row: row as u32, score });
        let mut hits: Vec<_> = hits.filter(|hit| hit.score > 0.0).collect();
        hits.sort_unstable_by(best_first);
        hits
    }

    /// Returns the score of each of `rows`, in their order; 0 for a row that shares no term.
    ///
    /// Returns [`Error::Row`] if a row does not exist.
    pub fn score(&self, prompt: &str, rows: Rows<'_>) -> Result<Vec<f32>, Error> {
        self.score_by_rarity(prompt, rows, 0.0)
    }

    /// The same as [`Bm25::score`], but multiplies each term's score by its inverse document
    /// frequency (about 1 to 9) to the power of `power`. A positive power gives rare words more
    /// weight than in BM25.
    ///
    /// Returns [`Error::Row`] if a row does not exist.
    pub fn score_by_rarity(
        &self,
        prompt: &str,
        rows: Rows<'_>,
        power: f32,
    ) -> Result<Vec<f32>, Error> {
        let Rows::Only(rows) = rows else { return Ok(self.add_up(prompt, power)) };
        if let Some(&row) = rows.iter().find(|row| **row as usize >= self.rows) {
            return Err(Error::Row { row, rows: self.rows });
        }
        let terms = self.known_terms(prompt).into_iter();
        let terms: Vec<_> = terms.map(|term| self.weighed(term, power)).collect();
        let score = |row| {
            let found = terms.iter().filter_map(|(term, factor)| Some(factor * term.score(row)?));
            // `sum` would return -0 for an empty iterator.
            found.fold(0.0_f32, |sum, score| sum + score)
        };
        Ok(rows.iter().map(|&row| score(row)).collect())
    }

    /// Returns the words of the prompt that matched each of `rows`, spelt as in the prompt and
    /// without repetition.
    pub fn matched_terms(&self, rows: &[u32], prompt: &str) -> Vec<Vec<String>> {
        let mut matched = vec![Vec::new(); rows.len()];
        for term in query_terms(prompt) {
            let Some(&id) = self.terms.get(&term.text) else { continue };
            let postings = self.postings(id);
            for (row, matched) in rows.iter().zip(&mut matched) {
                if postings.score(*row).is_some() && !matched.contains(&term.surface) {
                    matched.push(term.surface.clone());
                }
            }
        }
        matched
    }

    /// The words of all rows in lower case, without stemming, in alphabetical order, with the
    /// approximate number of rows of each. Only words of four or more Latin letters. Computed on
    /// the first call.
    pub fn words(&self) -> &[(Box<str>, u32)] {
        self.words.sorted()
    }

    /// Returns the distinct terms of the prompt that occur in some row. They are sorted
    /// alphabetically, because scores are added in this order and must depend neither on the word
    /// order of the prompt nor on the row order.
    fn known_terms(&self, prompt: &str) -> Vec<u32> {
        let mut terms = query_terms(prompt);
        terms.sort_unstable_by(|a, b| a.text.cmp(&b.text));
        terms.dedup_by(|a, b| a.text == b.text);
        terms.iter().filter_map(|term| self.terms.get(&term.text).copied()).collect()
    }

    fn add_up(&self, prompt: &str, power: f32) -> Vec<f32> {
        let mut sums = vec![0.0; self.rows];
        for term in self.known_terms(prompt) {
            let (postings, factor) = self.weighed(term, power);
            for (&row, &score) in postings.rows.iter().zip(postings.scores) {
                sums[row as usize] += factor * score;
            }
        }
        sums
    }

    fn postings(&self, term: u32) -> Postings<'_> {
        let at = term as usize;
        let range = self.starts[at] as usize..self.starts[at + 1] as usize;
        Postings { rows: &self.posting_rows[range.clone()], scores: &self.posting_scores[range] }
    }

    /// Returns a term's postings and the factor for their scores: 1 for a power of 0.
    fn weighed(&self, term: u32, power: f32) -> (Postings<'_>, f32) {
        let postings = self.postings(term);
        (postings, libm::powf(rarity(postings.rows.len(), self.rows), power))
    }
}

/// Collects the words of documents, row by row, for a [`Bm25`]. The texts of a row are no longer
/// needed once it was added.
#[derive(Default)]
pub struct Bm25Builder {
    lexicon: Lexicon,
    /// The terms of all rows with their weighted counts, row by row.
    counts: Vec<(u32, f32)>,
    /// For each row, where its counts end.
    ends: Vec<usize>,
    /// For each row, its weighted length in terms.
    lengths: Vec<f32>,
}

impl Bm25Builder {
    /// Adds the next row.
    pub fn add(&mut self, fields: &[Field<'_>]) {
        let mut length = 0.0;
        let mut counts: Vec<(u32, f32)> = Vec::new();
        for field in fields.iter().filter(|field| field.weight > 0.0 && field.weight.is_finite()) {
            for_each_word(field.text, |word| {
                for known in self.lexicon.read(word) {
                    if !known.extra {
                        length += field.weight;
                    }
                    counts.push((known.term, field.weight));
                }
            });
        }
        // The sort is stable, so that the weights of a term are added in text order.
        counts.sort_by_key(|(term, _)| *term);
        for same in counts.chunk_by(|a, b| a.0 == b.0) {
            self.counts.push((same[0].0, same.iter().map(|(_, weight)| weight).sum()));
        }
        self.ends.push(self.counts.len());
        self.lengths.push(length);
    }

    /// Converts counts to scores.
    pub fn finish(self, Bm25Settings { k1, b }: Bm25Settings) -> Bm25 {
        let rows = self.lengths.len();
        let mean = mean(&self.lengths);
        let starts = self.starts();
        let rarities: Vec<f32> =
            starts.windows(2).map(|at| rarity((at[1] - at[0]) as usize, rows)).collect();
        let mut next = starts.clone();
        let mut posting_rows = vec![0; self.counts.len()];
        let mut posting_scores = vec![0.0; self.counts.len()];
        let mut first = 0;
        for ((row, &end), length) in (0u32..).zip(&self.ends).zip(&self.lengths) {
            let norm = k1 * (1.0 - b + b * length / mean);
            for &(term, count) in &self.counts[first..end] {
                let at = &mut next[term as usize];
                posting_rows[*at as usize] = row;
                posting_scores[*at as usize] =
                    rarities[term as usize] * count * (k1 + 1.0) / (count + norm);
                *at += 1;
            }
            first = end;
        }
        let words = self.lexicon.words(&starts);
        Bm25 { rows, terms: self.lexicon.ids, starts, posting_rows, posting_scores, words }
    }

    /// Where the postings of each term begin if they are in the order of the terms, and their end.
    fn starts(&self) -> Vec<u32> {
        let mut starts = vec![0; self.lexicon.ids.len() + 1];
        for (term, _) in &self.counts {
            starts[*term as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        starts
    }
}

/// The inverse document frequency of a term that occurs in `having` of `rows` rows.
fn rarity(having: usize, rows: usize) -> f32 {
    let (having, rows) = (having as f32, rows as f32);
    libm::logf(1.0 + (rows - having + 0.5) / (having + 0.5))
}

/// The mean length. Added as integers, because the sum is then independent of the order.
fn mean(lengths: &[f32]) -> f32 {
    /// Fixed-point units per term; an f32 of ordinary size is less precise.
    const PARTS: f64 = (1_u64 << 32) as f64;
    let parts = lengths.iter().map(|length| (f64::from(*length) * PARTS).round() as u128);
    let sum = parts.fold(0_u128, u128::saturating_add) as f64 / PARTS;
    ((sum / lengths.len().max(1) as f64) as f32).max(f32::MIN_POSITIVE)
}

/// Caches the terms of every word. The words of a catalog repeat often, and without the cache most
/// of the build time went into splitting and stemming them.
#[derive(Default)]
struct Lexicon {
    words: HashMap<String, Vec<Known>>,
    /// Numbers the terms in order of first occurrence.
    ids: HashMap<String, u32>,
}

#[derive(Clone, Copy)]
struct Known {
    term: u32,
    extra: bool,
}

impl Lexicon {
    fn read(&mut self, word: Word<'_>) -> &[Known] {
        if !self.words.contains_key(word.text) {
            let terms = word.terms(Side::Document).into_iter();
            let known = terms.map(|term| Known { extra: term.extra, term: self.id(term.text) });
            let known = known.collect();
            self.words.insert(word.text.to_owned(), known);
        }
        &self.words[word.text]
    }

    fn id(&mut self, text: String) -> u32 {
        let next = self.ids.len() as u32;
        *self.ids.entry(text).or_insert(next)
    }

    /// Collects the words that a prompt could contain. `starts` is that of [`Bm25`].
    fn words(&self, starts: &[u32]) -> Words {
        let mut words = Words::default();
        for (word, known) in &self.words {
            // The last term is the whole word.
            if let Some(Known { term, .. }) = known.last() {
                let at = *term as usize;
                words.add(word, starts[at + 1] - starts[at]);
            }
        }
        words
    }
}

#[cfg(test)]
mod tests;
