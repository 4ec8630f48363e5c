//! Remembers the vectors of the latest prompts.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lru::LruCache;
use ndarray::Array2;

use super::{Embedded, Embedder, Error, ModelIdentity, Role};

/// An embedder in front of another that keeps the vectors of single queries, the latest ones.
///
/// Agents ask again: after a failed call, with the next page, in the next session. Batches and
/// documents pass through. A vector from the cache is the one that the model gave, bit for bit.
pub struct CachedEmbedder {
    inner: Arc<dyn Embedder>,
    vectors: Mutex<LruCache<String, Arc<[f32]>>>,
}

impl CachedEmbedder {
    /// Keeps up to `capacity` vectors: 1.5 kB each for 384 numbers, and the prompt's text.
    pub fn new(inner: Arc<dyn Embedder>, capacity: NonZeroUsize) -> Self {
        Self { inner, vectors: Mutex::new(LruCache::new(capacity)) }
    }

    fn known(&self, text: &str) -> Option<Arc<[f32]>> {
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner).get(text).cloned()
    }

    fn keep(&self, text: &str, vector: Arc<[f32]>) {
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner).put(text.to_owned(), vector);
    }
}

impl Embedder for CachedEmbedder {
    fn identity(&self) -> &ModelIdentity {
        self.inner.identity()
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Embedded, Error> {
        let ([text], Role::Query) = (texts, role) else { return self.inner.embed(texts, role) };
        if let Some(vector) = self.known(text) {
            let vectors = Array2::from_shape_fn((1, vector.len()), |(_, at)| vector[at]);
            return Ok(Embedded { vectors, tokenize: Duration::ZERO, tokens: 0 });
        }
        let embedded = self.inner.embed(texts, role)?;
        self.keep(text, embedded.vectors.iter().copied().collect());
        Ok(embedded)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    struct Counting {
        identity: ModelIdentity,
        calls: AtomicUsize,
    }

    impl Embedder for Counting {
        fn identity(&self) -> &ModelIdentity {
            &self.identity
        }

        fn embed(&self, texts: &[&str], _: Role) -> Result<Embedded, Error> {
            self.calls.fetch_add(1, Ordering::Relaxed);
            let vectors = Array2::from_shape_fn((texts.len(), 2), |(row, at)| {
                if at == 0 { texts[row].len() as f32 } else { 1.0 }
            });
            Ok(Embedded { vectors, tokenize: Duration::ZERO, tokens: texts.len() })
        }
    }

    #[test]
    fn a_query_is_embedded_once_while_it_is_among_the_latest() {
        let identity = ModelIdentity { name: "m".into(), fingerprint: "f".into(), dimension: 2 };
        let inner = Arc::new(Counting { identity, calls: AtomicUsize::new(0) });
        let cached = CachedEmbedder::new(inner.clone(), NonZeroUsize::new(2).unwrap());
        let ask = |text| cached.embed(&[text], Role::Query).unwrap().vectors;
        let calls = || inner.calls.load(Ordering::Relaxed);
        assert_eq!((ask("a"), ask("a"), calls()), (ask("a"), ask("a"), 1));
        ask("bb");
        ask("ccc");
        assert_eq!(calls(), 3);
        ask("a");
        assert_eq!(calls(), 4, "the oldest of three was forgotten");
        cached.embed(&["a"], Role::Document).unwrap();
        cached.embed(&["a", "bb"], Role::Query).unwrap();
        assert_eq!(calls(), 6, "documents and batches pass through");
    }
}
