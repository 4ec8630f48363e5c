//! Answers that were given a moment ago.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lru::LruCache;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// How long answers are kept, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CacheSettings {
    /// Milliseconds; 0 keeps nothing. 30 s is what the source documents' own caches have.
    pub ttl_ms: u64,
    /// Answers kept at most; 0 keeps nothing. One takes some kilobytes.
    pub entries: usize,
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self { ttl_ms: 30_000, entries: 512 }
    }
}

/// What an answer depends on beside the request: when one of them changes, no older answer is
/// found any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    pub catalog: u64,
    pub weights: u64,
    pub usage: u64,
}

/// A request and the versions under which it is asked; equal keys mean equal answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    /// A key over every field of a request: what is serialised cannot be forgotten.
    pub fn new(request: &impl Serialize, versions: Versions) -> Self {
        let request = serde_json::to_vec(request)
            .expect("a request has string keys and finite numbers only. This is a bug.");
        let mut hash = Sha256::new();
        for version in [versions.catalog, versions.weights, versions.usage] {
            hash.update(version.to_le_bytes());
        }
        hash.update(&request);
        Self(hash.finalize().into())
    }
}

struct Kept<V> {
    value: Arc<V>,
    since: Instant,
}

/// Answers by key, for a time and up to a number; the one asked for longest ago goes first.
pub struct SelectionCache<V> {
    kept: Option<Mutex<LruCache<CacheKey, Kept<V>>>>,
    ttl: Duration,
}

impl<V> SelectionCache<V> {
    pub fn new(settings: CacheSettings) -> Self {
        let entries = NonZeroUsize::new(settings.entries).filter(|_| settings.ttl_ms > 0);
        Self {
            kept: entries.map(|entries| Mutex::new(LruCache::new(entries))),
            ttl: Duration::from_millis(settings.ttl_ms),
        }
    }

    /// Whether it keeps anything: else nobody need make a key.
    pub fn is_on(&self) -> bool {
        self.kept.is_some()
    }

    /// The answer to a key, if it is not too old at `now`.
    pub fn get(&self, key: &CacheKey, now: Instant) -> Option<Arc<V>> {
        let mut kept = self.lock()?;
        let found = kept.get(key)?;
        if now.saturating_duration_since(found.since) < self.ttl {
            return Some(found.value.clone());
        }
        kept.pop(key);
        None
    }

    pub fn put(&self, key: CacheKey, value: V, now: Instant) {
        if let Some(mut kept) = self.lock() {
            kept.put(key, Kept { value: Arc::new(value), since: now });
        }
    }

    pub fn clear(&self) {
        if let Some(mut kept) = self.lock() {
            kept.clear();
        }
    }

    pub fn len(&self) -> usize {
        self.lock().map_or(0, |kept| kept.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> Option<MutexGuard<'_, LruCache<CacheKey, Kept<V>>>> {
        // Nothing panics while it is held, but a list of answers survives even that.
        Some(self.kept.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_kept_for_a_time_and_up_to_a_number() {
        let cache = SelectionCache::new(CacheSettings { ttl_ms: 1_000, entries: 2 });
        let keys = ["a", "b", "c"].map(|text| CacheKey::new(&text, Versions::default()));
        let start = Instant::now();
        cache.put(keys[0], 1, start);
        assert_eq!(cache.get(&keys[0], start + Duration::from_millis(999)).as_deref(), Some(&1));
        assert_eq!(cache.get(&keys[0], start + Duration::from_secs(1)), None);
        assert!(cache.is_empty(), "an old answer is dropped");
        for (at, key) in keys.iter().enumerate() {
            cache.put(*key, at, start);
        }
        assert_eq!((cache.len(), cache.get(&keys[0], start)), (2, None));
        cache.clear();
        assert!(cache.is_empty());
    }

    #[test]
    fn every_version_makes_another_key() {
        let versions = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)];
        let key = |(catalog, weights, usage)| {
            CacheKey::new(&"prompt", Versions { catalog, weights, usage })
        };
        let keys: std::collections::HashSet<CacheKey> = versions.map(key).into_iter().collect();
        assert_eq!(keys.len(), versions.len());
        assert_eq!(key((1, 0, 0)), key((1, 0, 0)));
    }

    #[test]
    fn without_time_or_room_nothing_is_kept() {
        for (ttl_ms, entries) in [(0, 5), (5, 0)] {
            let cache = SelectionCache::new(CacheSettings { ttl_ms, entries });
            let key = CacheKey::new(&"a", Versions::default());
            cache.put(key, 1, Instant::now());
            assert!(!cache.is_on() && cache.get(&key, Instant::now()).is_none());
        }
    }
}
