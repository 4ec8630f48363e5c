//! Texts that belong to no tool: embeds them, and ranks them for a query.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use ndarray::{Array2, ArrayView1};

use super::{Engine, Error};
use crate::embedding::{Embedder, Role};
use crate::index::{Bm25, Bm25Settings, Field, Rows, TextHash, text_hash};
use crate::query::{latin_share, says_nothing};
use crate::selection::Fusion;

/// Maximum number of cached vectors: 12 MB with 384 numbers each.
const KEPT_VECTORS: NonZeroUsize = NonZeroUsize::new(8_192).expect("not zero. This is a bug.");

/// Texts that are embedded at a time.
const CHUNK: usize = 64;

/// The vectors of the most recently used texts, by the hash of the text.
pub(super) struct TextCache(Mutex<LruCache<TextHash, Arc<[f32]>>>);

impl Default for TextCache {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(KEPT_VECTORS)))
    }
}

/// Vectors of texts, one per text, and their length in tokens.
#[derive(Clone, Debug)]
pub struct TextVectors {
    /// Unit vectors, in the order of the texts.
    pub vectors: Vec<Vec<f32>>,
    /// Number of tokens after truncation, including special tokens.
    pub tokens: usize,
}

/// How well a text answers a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextScore {
    /// The position of the text in the input.
    pub index: usize,
    /// The blend of `semantic` and `keyword` with which tools are ranked too.
    pub score: f32,
    /// The cosine; `None` without a model.
    pub semantic: Option<f32>,
    /// BM25 among the given texts.
    pub keyword: f32,
}

impl Engine {
    /// Returns the unit vectors of texts, in their order.
    ///
    /// # Errors
    /// [`Error::NoModel`]; errors of the embedder.
    #[doc(hidden)] // For our own crates.
    pub fn embed_texts(&self, texts: &[&str], role: Role) -> Result<TextVectors, Error> {
        let state = self.state();
        let model = state.embedder.as_deref();
        let model = model.ok_or(Error::NoModel { strategy: None })?;
        embed(model, texts, role)
    }

    /// Ranks texts by how well they answer a query, best first. They are scored like the tools of a
    /// catalog, by meaning and keywords; texts with equal scores stay in order.
    ///
    /// ```
    /// # use toolroute_catalog::Catalog;
    /// # use toolroute_rank::engine::Engine;
    /// let engine = Engine::builder(Catalog::default()).build()?;
    /// let ranked = engine.rank_texts("trains to Paris", &["a boat trip", "the Paris train"])?;
    /// assert_eq!(ranked[0].index, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::EmptyPrompt`]; errors of the embedder.
    pub fn rank_texts(&self, query: &str, texts: &[&str]) -> Result<Vec<TextScore>, Error> {
        if says_nothing(query) {
            return Err(Error::EmptyPrompt);
        }
        let state = self.state();
        let documents = texts.iter().map(|text| [Field { text, weight: 1.0 }]);
        let bm25 = Bm25::build(documents, Bm25Settings::default());
        let mut ranked = match state.embedder.as_deref() {
            Some(model) => {
                let keyword =
                    bm25.score_by_rarity(query, Rows::All, state.config.fusion.rarity())?;
                let vectors = self.texts.vectors(model, texts)?;
                let query_vector = model.embed(&[query], Role::Query)?.vectors;
                let cosines: Vec<f32> = vectors.dot(&query_vector.row(0)).to_vec();
                let blend = state.config.fusion;
                let mut scores =
                    blend.apply(&cosines, &keyword, state.readable_share(latin_share(query)));
                blend.lift_nearest(&mut scores);
                let text = |index: usize| TextScore {
                    index,
                    score: scores[index].0.contribution() + scores[index].1.contribution(),
                    semantic: Some(cosines[index]),
                    keyword: keyword[index],
                };
                (0..texts.len()).map(text).collect()
            }
            None => by_words(&bm25.score(query, Rows::All)?),
        };
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
        Ok(ranked)
    }
}

/// Embeds texts, some at a time.
pub(super) fn embed(
    model: &dyn Embedder,
    texts: &[&str],
    role: Role,
) -> Result<TextVectors, Error> {
    let mut found = TextVectors { vectors: Vec::with_capacity(texts.len()), tokens: 0 };
    for chunk in texts.chunks(CHUNK) {
        let embedded = model.embed(chunk, role)?;
        found.tokens += embedded.tokens;
        found.vectors.extend(embedded.vectors.rows().into_iter().map(|row| row.to_vec()));
    }
    Ok(found)
}

impl TextCache {
    /// Returns one row per text. Texts whose vectors are not cached are embedded.
    pub fn vectors(&self, model: &dyn Embedder, texts: &[&str]) -> Result<Array2<f32>, Error> {
        let hashes: Vec<TextHash> = texts.iter().map(|text| text_hash(text)).collect();
        let mut rows = Array2::zeros((texts.len(), model.identity().dimension));
        let mut missing = Vec::new();
        {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            for (row, hash) in hashes.iter().enumerate() {
                match known.get(hash) {
                    Some(vector) => rows.row_mut(row).assign(&ArrayView1::from(&**vector)),
                    None => missing.push(row),
                }
            }
        }
        for chunk in missing.chunks(CHUNK) {
            let new: Vec<&str> = chunk.iter().map(|&row| texts[row]).collect();
            let embedded = model.embed(&new, Role::Document)?.vectors;
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            for (&row, vector) in chunk.iter().zip(embedded.rows()) {
                rows.row_mut(row).assign(&vector);
                known.put(hashes[row], vector.iter().copied().collect());
            }
        }
        Ok(rows)
    }
}

fn by_words(keyword: &[f32]) -> Vec<TextScore> {
    let text = |(index, &keyword): (usize, &f32)| TextScore {
        index,
        score: keyword / Fusion::PLAIN_KEYWORD_SCALE,
        semantic: None,
        keyword,
    };
    keyword.iter().enumerate().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    #[test]
    fn texts_are_ranked_by_words_where_there_is_no_model() {
        let engine = Engine::builder(Catalog::default()).build().unwrap();
        let ranked = engine.rank_texts("paris trains", &["boats", "trains to Paris", ""]).unwrap();
        assert_eq!(ranked.iter().map(|text| text.index).collect::<Vec<_>>(), [1, 0, 2]);
        assert!(matches!(engine.embed_texts(&["a"], Role::Query), Err(Error::NoModel { .. })));
        assert!(engine.embedder().is_none());
        assert!(engine.rank_texts("x", &[]).unwrap().is_empty());
    }
}
