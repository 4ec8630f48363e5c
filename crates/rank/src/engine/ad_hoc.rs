//! Catalogs for a single request: an agent sends its own tools with a prompt, and they are ranked
//! like the engine's catalog.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use lru::LruCache;

use super::state::{CatalogIndex, EngineParts, State};
use super::texts::TextCache;
use super::{Engine, Error, SelectRequest, Selection};
use crate::catalog::{Catalog, Tool, embedding_text};
use crate::embedding::Embedder;
use crate::index::{self, IndexKind, Vectors};
use crate::selection::{KeywordRetriever, Policy};

/// Maximum number of cached catalogs. An agent sends the same tools with each request.
const KEPT_CATALOGS: NonZeroUsize = NonZeroUsize::new(32).expect("not zero. This is a bug.");

/// The most recently used ad-hoc catalogs, by the caller's key.
pub(super) struct AdHocCatalogs(Mutex<LruCache<String, Slot>>);

/// A catalog that is indexed once. Concurrent requests with the same key wait for it, instead of
/// embedding its tools again.
type Slot = Arc<Mutex<Option<Arc<State>>>>;

impl Default for AdHocCatalogs {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(KEPT_CATALOGS)))
    }
}

impl Engine {
    /// Ranks tools that belong to no catalog. All of them are candidates, and no policy applies.
    /// `key` identifies the list of tools, for example by a hash: `tools` is only called if none of
    /// the 32 most recent lists had this key.
    #[doc(hidden)] // For our own crates.
    pub fn select_among(
        &self,
        key: &str,
        tools: impl FnOnce() -> Vec<Tool>,
        request: &SelectRequest,
    ) -> Result<Selection, Error> {
        let (start, state) = (Instant::now(), self.ad_hoc_state(key, || Ok::<_, Error>(tools()))?);
        let all = state.catalog.iter().map(|tool| tool.id.to_string()).collect();
        let request = SelectRequest {
            candidates: Some(all),
            policy: Some(Policy::default()),
            ..request.clone()
        };
        let answer = state.select(&request);
        self.metrics.count_selection(&answer, start.elapsed());
        answer
    }

    /// The same as [`Engine::select_many`], among tools that belong to no catalog; requests and
    /// configuration apply as if the tools were the catalog. `key` is used as in
    /// [`Engine::select_among`], but the keys of both methods are separate. An error of `tools` is
    /// returned, and the list is not cached.
    ///
    /// # Errors
    /// The error of `tools`, and errors of the embedder that concern the tools.
    #[doc(hidden)] // For our own crates.
    pub fn select_many_among<E: From<Error>>(
        &self,
        key: &str,
        tools: impl FnOnce() -> Result<Vec<Tool>, E>,
        requests: &[SelectRequest],
    ) -> Result<Vec<Result<Selection, Error>>, E> {
        let state = self.ad_hoc_state(key, tools)?;
        Ok(self.select_many_in(&state, requests))
    }

    fn ad_hoc_state<E: From<Error>>(
        &self,
        key: &str,
        tools: impl FnOnce() -> Result<Vec<Tool>, E>,
    ) -> Result<Arc<State>, E> {
        let slot = {
            let mut catalogs = self.ad_hoc.0.lock().unwrap_or_else(PoisonError::into_inner);
            catalogs.get_or_insert_ref(key, Slot::default).clone()
        };
        // Locked while the catalog is indexed. If that fails, the next request tries again.
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*slot {
            return Ok(known.clone());
        }
        let present = self.state();
        let catalog = Catalog::from_tools(tools()?).catalog;
        let index = match present.embedder.as_deref() {
            Some(model) => Some(index_tools(&self.texts, model, &catalog)?),
            None => None,
        };
        // Usage and held-back tools belong to the engine's catalog and do not apply to these tools.
        let parts = EngineParts { usage: None, held: Arc::default(), ..present.parts() };
        let words = KeywordRetriever::new(catalog.tools());
        let state = Arc::new(State::new(parts, catalog, (index, words), 0));
        *slot = Some(state.clone());
        Ok(state)
    }
}

fn index_tools(
    texts: &TextCache,
    model: &dyn Embedder,
    catalog: &Catalog,
) -> Result<CatalogIndex, Error> {
    let embedded: Vec<String> = catalog.iter().map(embedding_text).collect();
    let embedded: Vec<&str> = embedded.iter().map(String::as_str).collect();
    let vectors = Arc::new(Vectors::new(texts.vectors(model, &embedded)?)?);
    let search = index::build(vectors.clone(), IndexKind::Exact)?;
    Ok(CatalogIndex { vectors, search: search.into(), learned: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> Vec<Tool> {
        vec![Tool::new(None, "read_file", "Reads a file"), Tool::new(None, "send", "Sends a mail")]
    }

    #[test]
    fn a_list_with_a_known_key_is_not_read_again() {
        let engine = Engine::builder(Catalog::default()).build().unwrap();
        let request = SelectRequest::new("send a mail").limit(1);
        let first = engine.select_among("a", tools, &request).unwrap();
        assert_eq!(first.tools[0].tool.id.as_str(), "send");
        let again = engine.select_among("a", || panic!("the list is known"), &request).unwrap();
        assert_eq!(again.tools[0].score, first.tools[0].score);
        assert!(engine.catalog().is_empty());
    }

    #[test]
    fn a_list_that_cannot_be_read_is_not_kept() {
        let engine = Engine::builder(Catalog::default()).build().unwrap();
        let requests = [SelectRequest::new("send a mail").limit(1)];
        let unread = || Err(Error::EmptyPrompt);
        assert!(engine.select_many_among("a", unread, &requests).is_err());
        let answers = engine.select_many_among("a", || Ok::<_, Error>(tools()), &requests);
        let answers = answers.unwrap();
        assert_eq!(answers[0].as_ref().unwrap().tools[0].tool.id.as_str(), "send");
    }
}
