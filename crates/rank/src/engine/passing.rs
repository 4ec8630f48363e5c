//! Tools and texts that come with a request and belong to no catalog: an agent's own list of tools,
//! documents to be ranked, texts to be embedded.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use lru::LruCache;
use ndarray::{Array2, ArrayView1};

use super::state::{Indexed, Lasting, State};
use super::{Engine, Error, ModelIdentity, SelectRequest, Selection};
use crate::catalog::{Catalog, Tool, embedding_text};
use crate::embedding::{Embedder, Role};
use crate::index::{
    self, Bm25, Bm25Settings, Field, IndexKind, Rows, TextHash, Vectors, text_hash,
};
use crate::query::latin_share;
use crate::selection::{Fusion, KeywordRetriever, Policy, Strategy};

/// Vectors of texts that passed by: 12 MB for 384 numbers.
const VECTORS: NonZeroUsize = NonZeroUsize::new(8_192).expect("not zero. This is a bug.");

/// Lists of tools that are kept ready. An agent sends the same list with each request.
const LISTS: NonZeroUsize = NonZeroUsize::new(32).expect("not zero. This is a bug.");

/// Texts embedded at a time.
const CHUNK: usize = 64;

/// What is remembered of tools and texts that passed by.
pub(super) struct Passing {
    vectors: Mutex<LruCache<TextHash, Arc<[f32]>>>,
    lists: Mutex<LruCache<String, List>>,
}

/// A list that is made ready once: requests that bring it meanwhile wait for that, and do not embed
/// its tools a second time.
type List = Arc<Mutex<Option<Arc<State>>>>;

impl Default for Passing {
    fn default() -> Self {
        Self {
            vectors: Mutex::new(LruCache::new(VECTORS)),
            lists: Mutex::new(LruCache::new(LISTS)),
        }
    }
}

/// Vectors of texts, one a text, and what they cost.
#[derive(Clone, Debug)]
pub struct TextVectors {
    pub vectors: Vec<Vec<f32>>,
    /// Tokens after truncation, special ones included.
    pub tokens: usize,
}

/// A text, and how well it answers a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedText {
    /// Its place among the texts that were given.
    pub index: usize,
    /// The blend of `semantic` and `keyword` that tools are ranked by.
    pub score: f32,
    /// The cosine; `None` without a model.
    pub semantic: Option<f32>,
    /// BM25 among the texts that were given.
    pub keyword: f32,
}

impl Engine {
    /// Who makes this engine's vectors; `None` without a model.
    pub fn model(&self) -> Option<ModelIdentity> {
        self.state().embedder.as_ref().map(|model| model.identity().clone())
    }

    /// The vectors of texts.
    ///
    /// # Errors
    /// [`Error::NoModel`]; and what embedding may raise.
    pub fn embed_texts(&self, texts: &[&str], role: Role) -> Result<TextVectors, Error> {
        let state = self.state();
        let model = state.embedder.as_deref();
        let model = model.ok_or(Error::NoModel { strategy: Strategy::Semantic })?;
        let mut found = TextVectors { vectors: Vec::with_capacity(texts.len()), tokens: 0 };
        for chunk in texts.chunks(CHUNK) {
            let embedded = model.embed(chunk, role)?;
            found.tokens += embedded.tokens;
            found.vectors.extend(embedded.vectors.rows().into_iter().map(|row| row.to_vec()));
        }
        Ok(found)
    }

    /// Texts by how well they answer a query, best first: scored as the tools of a catalog are, by
    /// meaning and by words, and equal ones in the order in which they came.
    ///
    /// # Errors
    /// [`Error::EmptyPrompt`]; and what embedding may raise.
    pub fn rank_texts(&self, query: &str, texts: &[&str]) -> Result<Vec<RankedText>, Error> {
        if query.trim().is_empty() {
            return Err(Error::EmptyPrompt);
        }
        let state = self.state();
        let documents = texts.iter().map(|text| [Field { text, weight: 1.0 }]);
        let bm25 = Bm25::build(documents, Bm25Settings::default());
        let mut ranked = match state.embedder.as_deref() {
            Some(model) => {
                let keyword =
                    bm25.score_by_rarity(query, Rows::All, state.config.fusion.rarity())?;
                let vectors = self.passing.vectors(model, texts)?;
                let asked = model.embed(&[query], Role::Query)?.vectors;
                let cosines: Vec<f32> = vectors.dot(&asked.row(0)).to_vec();
                let blend = blend(state.config.fusion);
                let mut scores = blend.apply(&cosines, &keyword, state.trust(latin_share(query)));
                blend.lift_nearest(&mut scores);
                let text = |index: usize| RankedText {
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

    /// The best of tools that belong to no catalog: all of them are candidates, and no policy
    /// applies. `key` stands for the list: the tools of one that was seen lately are not asked for.
    ///
    /// # Errors
    /// As [`Engine::select`].
    pub fn select_among(
        &self,
        key: &str,
        tools: impl FnOnce() -> Vec<Tool>,
        request: &SelectRequest,
    ) -> Result<Selection, Error> {
        let (start, state) = (Instant::now(), self.list(key, tools)?);
        let all = state.catalog.iter().map(|tool| tool.id.to_string()).collect();
        let request = SelectRequest {
            candidates: Some(all),
            policy: Some(Policy::default()),
            ..request.clone()
        };
        let answer = state.select(&request);
        self.metrics.selected(&answer, start.elapsed());
        answer
    }

    fn list(&self, key: &str, tools: impl FnOnce() -> Vec<Tool>) -> Result<Arc<State>, Error> {
        let list = {
            let mut lists = self.passing.lists.lock().unwrap_or_else(PoisonError::into_inner);
            lists.get_or_insert_ref(key, List::default).clone()
        };
        // Held while the list is made ready. Where that failed, the next request tries again.
        let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*list {
            return Ok(known.clone());
        }
        let present = self.state();
        let catalog = Catalog::from_tools(tools()).catalog;
        let indexed = match present.embedder.as_deref() {
            Some(model) => Some(self.passing.indexed(model, &catalog)?),
            None => None,
        };
        // What past prompts taught of a catalog's tools says nothing of these.
        let lasting = Lasting { usage: None, ..present.lasting() };
        let words = KeywordRetriever::new(catalog.tools());
        let state = Arc::new(State::new(lasting, catalog, (indexed, words), 0));
        *list = Some(state.clone());
        Ok(state)
    }
}

impl Passing {
    fn indexed(&self, model: &dyn Embedder, catalog: &Catalog) -> Result<Indexed, Error> {
        let texts: Vec<String> = catalog.iter().map(embedding_text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = Arc::new(Vectors::new(self.vectors(model, &texts)?)?);
        let index = index::build(vectors.clone(), IndexKind::Exact)?;
        Ok(Indexed { vectors, index: index.into(), learned: None })
    }

    /// A row a text; only texts that did not pass lately go through the model.
    fn vectors(&self, model: &dyn Embedder, texts: &[&str]) -> Result<Array2<f32>, Error> {
        let hashes: Vec<TextHash> = texts.iter().map(|text| text_hash(text)).collect();
        let mut rows = Array2::zeros((texts.len(), model.identity().dimension));
        let mut missing = Vec::new();
        {
            let mut known = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
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
            let mut known = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
            for (&row, vector) in chunk.iter().zip(embedded.rows()) {
                rows.row_mut(row).assign(&vector);
                known.put(hashes[row], vector.iter().copied().collect());
            }
        }
        Ok(rows)
    }
}

/// Documents have scores that can be compared, which ranks alone are not.
fn blend(configured: Fusion) -> Fusion {
    match configured {
        Fusion::Weighted { .. } | Fusion::Plain => configured,
        Fusion::Rrf { .. } => Fusion::default(),
    }
}

fn by_words(keyword: &[f32]) -> Vec<RankedText> {
    let text = |(index, &keyword): (usize, &f32)| RankedText {
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

    fn tools() -> Vec<Tool> {
        vec![Tool::new(None, "read_file", "Reads a file"), Tool::new(None, "send", "Sends a mail")]
    }

    #[test]
    fn a_list_that_passes_again_is_not_read_again() {
        let engine = Engine::builder(Catalog::default()).build().unwrap();
        let request = SelectRequest::new("send a mail").limit(1);
        let first = engine.select_among("a", tools, &request).unwrap();
        assert_eq!(first.tools[0].tool.id.as_str(), "send");
        let again = engine.select_among("a", || panic!("the list is known"), &request).unwrap();
        assert_eq!(again.tools[0].score, first.tools[0].score);
        assert!(engine.catalog().is_empty());
    }

    #[test]
    fn texts_are_ranked_by_words_where_there_is_no_model() {
        let engine = Engine::builder(Catalog::default()).build().unwrap();
        let ranked = engine.rank_texts("paris trains", &["boats", "trains to Paris", ""]).unwrap();
        assert_eq!(ranked.iter().map(|text| text.index).collect::<Vec<_>>(), [1, 0, 2]);
        assert!(matches!(engine.embed_texts(&["a"], Role::Query), Err(Error::NoModel { .. })));
        assert!(engine.model().is_none());
        assert!(engine.rank_texts("x", &[]).unwrap().is_empty());
    }
}
