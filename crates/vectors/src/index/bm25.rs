//! Keyword search: BM25 over weighted fields.
//!
//! A term that stands in several fields of a row counts once, with the weighted sum of its counts:
//! the field-weighted form of Robertson, Zaragoza and Taylor, "Simple BM25 extension to multiple
//! weighted fields" (CIKM 2004). The logarithm is Lucene's, which is never negative.
//!
//! All that does not depend on the query is multiplied out when the index is built, so that a query
//! adds one number per posting.
//!
//! Why not a library: over 5,000 tools and 1,200 prompts the 99th percentile is 0.1 ms here, 1.0 ms
//! in tantivy 0.26 and 4.8 ms in the crate bm25 2.3.2, against a target of 0.5 ms. bm25 has no field
//! weights either, and neither tells the prompt's words that matched without a second pass; our
//! tokenizer could have been plugged into both (`benches/README.md`).

mod words;

use std::collections::HashMap;

use super::tokenizer::{Side, Word, for_each_word, query_terms};
use super::top::{Top, best_first};
use super::{Error, Hit, Rows};
use words::Words;

/// One part of a row's text and how much a term in it counts.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    pub text: &'a str,
    /// Times a term in this field is counted; a weight that is not positive and finite leaves the field out.
    pub weight: f32,
}

/// How counts and lengths become a score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bm25Settings {
    /// How soon repeating a term stops to pay.
    pub k1: f32,
    /// How much a long text is held against it: 0 not at all, 1 in full.
    pub b: f32,
}

impl Default for Bm25Settings {
    /// The values that Lucene and most of the field use. Over name ×3, server ×1, description ×1,
    /// parameter names ×0.7, their descriptions ×0.35 and enum values ×0.7 they were better than
    /// 0.9 and 0.4 (Pyserini's for passages) on our 19 tool-retrieval sets: `benches/README.md`.
    fn default() -> Self {
        Self { k1: 1.2, b: 0.75 }
    }
}

/// What a term adds to the rows it stands in; rows ascend.
#[derive(Clone, Debug, Default)]
struct Postings {
    rows: Vec<u32>,
    scores: Vec<f32>,
}

impl Postings {
    fn score(&self, row: u32) -> Option<f32> {
        self.rows.binary_search(&row).ok().map(|at| self.scores[at])
    }
}

/// A keyword index over rows of text. Immutable; the same rows give the same scores, to the bit, in
/// whatever order they come.
#[derive(Clone, Debug)]
pub struct Bm25 {
    rows: usize,
    terms: HashMap<String, u32>,
    postings: Vec<Postings>,
    words: Words,
}

impl Bm25 {
    /// Indexes documents, each a list of fields, in row order.
    pub fn build<'a, D, F>(documents: D, settings: Bm25Settings) -> Self
    where
        D: IntoIterator<Item = F>,
        F: AsRef<[Field<'a>]>,
    {
        let mut counts = Counts::default();
        for document in documents {
            counts.add(document.as_ref());
        }
        counts.finish(settings)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The `limit` best rows that share a term with the prompt, by score descending, then row.
    pub fn search(&self, prompt: &str, limit: usize) -> Vec<Hit> {
        let mut top = Top::new(limit, self.rows);
        for (row, &score) in self.add_up(prompt, 0.0).iter().enumerate() {
            if score > 0.0 {
                top.push(Hit { row: row as u32, score });
            }
        }
        top.into_sorted()
    }

    /// Every row that shares a term with the prompt, by score descending, then row.
    pub fn matches(&self, prompt: &str) -> Vec<Hit> {
        let scores = self.add_up(prompt, 0.0).into_iter().enumerate();
        let hits = scores.map(|(row, score)| Hit { row: row as u32, score });
        let mut hits: Vec<_> = hits.filter(|hit| hit.score > 0.0).collect();
        hits.sort_unstable_by(best_first);
        hits
    }

    /// The score of each of `rows`, in their order; 0 for a row that shares no term.
    ///
    /// [`Error::Row`] for a row that does not exist.
    pub fn score(&self, prompt: &str, rows: Rows<'_>) -> Result<Vec<f32>, Error> {
        self.score_by_rarity(prompt, rows, 0.0)
    }

    /// As [`Bm25::score`], with each term's part times its rarity (the logarithm, about 1 to 9) to
    /// this power: what is above 0 makes rare words count for more beside common ones than BM25 has it.
    ///
    /// [`Error::Row`] for a row that does not exist.
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
            // Not `sum`, which makes -0 of nothing.
            found.fold(0.0_f32, |sum, score| sum + score)
        };
        Ok(rows.iter().map(|&row| score(row)).collect())
    }

    /// The words of the prompt by which it found `row`, as they stand in the prompt, each once.
    pub fn matched_terms(&self, row: u32, prompt: &str) -> Vec<String> {
        let mut matched = Vec::new();
        for term in query_terms(prompt) {
            let found = self.terms.get(&term.text).map(|&id| &self.postings[id as usize]);
            let is_match = found.is_some_and(|postings| postings.score(row).is_some());
            if is_match && !matched.contains(&term.surface) {
                matched.push(term.surface);
            }
        }
        matched
    }

    /// The words of the rows as they are written, in lower case and alphabetical order, and how often
    /// each is about: those of four Latin letters or more. Put together when first asked for.
    pub fn words(&self) -> &[(Box<str>, u32)] {
        self.words.sorted()
    }

    /// The prompt's terms that some row has, each once. In alphabetical order: scores are added up in
    /// it, and must depend neither on the order of the prompt's words nor on that of the rows.
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
            for (&row, &score) in postings.rows.iter().zip(&postings.scores) {
                sums[row as usize] += factor * score;
            }
        }
        sums
    }

    /// A term's postings, and what each of their scores is to be multiplied by: 1 for a power of 0.
    fn weighed(&self, term: u32, power: f32) -> (&Postings, f32) {
        let postings = &self.postings[term as usize];
        (postings, rarity(postings.rows.len(), self.rows).powf(power))
    }
}

/// Weighted counts, gathered row by row.
#[derive(Default)]
struct Counts {
    lexicon: Lexicon,
    /// Per term, the rows it stands in and its weighted count there.
    postings: Vec<Postings>,
    /// Per row, the weighted number of terms.
    lengths: Vec<f32>,
}

impl Counts {
    fn add(&mut self, fields: &[Field<'_>]) {
        let row = self.lengths.len() as u32;
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
        self.postings.resize_with(self.lexicon.ids.len(), Postings::default);
        // Stable, so that the weights of a term are added up as they stand in the text.
        counts.sort_by_key(|(term, _)| *term);
        for same in counts.chunk_by(|a, b| a.0 == b.0) {
            let postings = &mut self.postings[same[0].0 as usize];
            postings.rows.push(row);
            postings.scores.push(same.iter().map(|(_, weight)| weight).sum());
        }
        self.lengths.push(length);
    }

    /// Turns counts into scores in place.
    fn finish(mut self, Bm25Settings { k1, b }: Bm25Settings) -> Bm25 {
        let rows = self.lengths.len();
        let mean = mean(&self.lengths);
        let norms: Vec<_> =
            self.lengths.iter().map(|length| k1 * (1.0 - b + b * length / mean)).collect();
        for postings in &mut self.postings {
            let rarity = rarity(postings.rows.len(), rows);
            for (row, score) in postings.rows.iter().zip(&mut postings.scores) {
                let count = *score;
                *score = rarity * count * (k1 + 1.0) / (count + norms[*row as usize]);
            }
        }
        let words = self.lexicon.words(&self.postings);
        Bm25 { rows, terms: self.lexicon.ids, postings: self.postings, words }
    }
}

/// How much a term tells that `having` of `rows` rows have.
fn rarity(having: usize, rows: usize) -> f32 {
    let (having, rows) = (having as f32, rows as f32);
    (1.0 + (rows - having + 0.5) / (having + 0.5)).ln()
}

/// The mean length. Added up as whole numbers, which have the same sum in every order.
fn mean(lengths: &[f32]) -> f32 {
    /// Parts of one word; an f32 of a usual length has fewer.
    const PARTS: f64 = (1_u64 << 32) as f64;
    let parts = lengths.iter().map(|length| (f64::from(*length) * PARTS).round() as u128);
    let sum = parts.fold(0_u128, u128::saturating_add) as f64 / PARTS;
    ((sum / lengths.len().max(1) as f64) as f32).max(f32::MIN_POSITIVE)
}

/// The terms of every word that was read: the words of a catalog come again and again, and cutting
/// and stemming them was most of a start.
#[derive(Default)]
struct Lexicon {
    words: HashMap<String, Vec<Known>>,
    /// Terms, numbered as they were met.
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

    /// What was read, as far as somebody may have meant it.
    fn words(&self, postings: &[Postings]) -> Words {
        let mut words = Words::default();
        for (word, known) in &self.words {
            // The last term is that of the whole word.
            if let Some(Known { term, .. }) = known.last() {
                words.add(word, postings[*term as usize].rows.len() as u32);
            }
        }
        words
    }
}

#[cfg(test)]
mod tests;
