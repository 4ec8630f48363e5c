//! A cache for the vectors of recent prompts.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lru::LruCache;
use ndarray::Array2;

use super::{Calibration, Embedded, Embedder, Error, ModelIdentity, Role};

/// Batches above this size bypass the cache. A prompt and its clauses have fewer texts; larger
/// batches come from jobs that do not repeat texts.
const FEW: usize = 16;

/// An [`Embedder`] that caches the vectors of the most recent queries of another one.
///
/// Agents repeat prompts: after a failed call, for the next page, in the next session. Documents
/// and large batches of queries bypass the cache. A cached vector is bit-identical to the computed
/// one.
pub struct CachedEmbedder {
    inner: Arc<dyn Embedder>,
    vectors: Mutex<LruCache<String, Arc<[f32]>>>,
}

/// Maximum size of a cached text in bytes; longer texts are hardly ever repeated.
const LONGEST: usize = 16 << 10;

impl CachedEmbedder {
    /// Caches up to `capacity` vectors. Each needs 1.5 kB for 384 dimensions, plus the prompt's
    /// text.
    pub fn new(inner: Arc<dyn Embedder>, capacity: NonZeroUsize) -> Self {
        Self { inner, vectors: Mutex::new(LruCache::new(capacity)) }
    }

    fn known(&self, text: &str) -> Option<Arc<[f32]>> {
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner).get(text).cloned()
    }

    fn keep(&self, text: &str, vector: Arc<[f32]>) {
        // The text is the key and is stored too.
        if text.len() > LONGEST {
            return;
        }
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner).put(text.to_owned(), vector);
    }
}

impl Embedder for CachedEmbedder {
    fn identity(&self) -> &ModelIdentity {
        self.inner.identity()
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Embedded, Error> {
        if role == Role::Document || texts.is_empty() || texts.len() > FEW {
            return self.inner.embed(texts, role);
        }
        let mut found: Vec<Option<Arc<[f32]>>> =
            texts.iter().map(|text| self.known(text)).collect();
        let missing: Vec<usize> = (0..texts.len()).filter(|&at| found[at].is_none()).collect();
        let (mut tokenize, mut tokens) = (Duration::ZERO, 0);
        if !missing.is_empty() {
            let new: Vec<&str> = missing.iter().map(|&at| texts[at]).collect();
            let embedded = self.inner.embed(&new, role)?;
            (tokenize, tokens) = (embedded.tokenize, embedded.tokens);
            for (&at, row) in missing.iter().zip(embedded.vectors.rows()) {
                let vector: Arc<[f32]> = row.iter().copied().collect();
                self.keep(texts[at], vector.clone());
                found[at] = Some(vector);
            }
        }
        let mut vectors = Array2::zeros((texts.len(), self.identity().dimension));
        for (mut row, vector) in vectors.rows_mut().into_iter().zip(found.iter().flatten()) {
            row.iter_mut().zip(vector.iter()).for_each(|(to, from)| *to = *from);
        }
        Ok(Embedded { vectors, tokenize, tokens })
    }

    fn reads_latin_only(&self) -> bool {
        self.inner.reads_latin_only()
    }

    fn knows_word(&self, word: &str) -> bool {
        self.inner.knows_word(word)
    }

    fn calibration(&self) -> Option<Calibration> {
        self.inner.calibration()
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
        let many = ["a"; FEW + 1];
        cached.embed(&many, Role::Query).unwrap();
        assert_eq!(calls(), 6, "documents and batches pass through");
        let both = cached.embed(&["dddd", "a"], Role::Query).unwrap();
        assert_eq!((calls(), both.vectors[[0, 0]], both.vectors[[1, 0]]), (7, 4.0, 1.0));
        cached.embed(&["a", "dddd"], Role::Query).unwrap();
        assert_eq!(calls(), 7, "a prompt and its clauses are found one by one");
    }
}
