//! A cache of recent answers.

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
    /// Milliseconds; 0 keeps nothing. The default of 30 s is that of the source documents.
    pub ttl_ms: u64,
    /// The most answers; 0 keeps nothing. An answer takes some kilobytes.
    pub entries: usize,
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self { ttl_ms: 30_000, entries: 512 }
    }
}

/// What an answer depends on besides the request: when a version changes, older answers are no longer
/// found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    pub catalog: u64,
    pub weights: u64,
    pub usage: u64,
}

/// The key of a request under given versions; equal keys mean equal answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    /// A key over the serialised request, so that no field can be left out.
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

struct Entry<V> {
    value: Arc<V>,
    stored: Instant,
}

/// Answers by key, for a limited time and up to a limited number; the least recently used goes first.
pub struct SelectionCache<V> {
    entries: Option<Mutex<LruCache<CacheKey, Entry<V>>>>,
    ttl: Duration,
}

impl<V> SelectionCache<V> {
    pub fn new(settings: CacheSettings) -> Self {
        let entries = NonZeroUsize::new(settings.entries).filter(|_| settings.ttl_ms > 0);
        Self {
            entries: entries.map(|entries| Mutex::new(LruCache::new(entries))),
            ttl: Duration::from_millis(settings.ttl_ms),
        }
    }

    /// Whether it keeps anything; else a key is not needed.
    pub fn is_on(&self) -> bool {
        self.entries.is_some()
    }

    /// The answer to a key, unless it is too old at `now`.
    pub fn get(&self, key: &CacheKey, now: Instant) -> Option<Arc<V>> {
        let mut entries = self.lock()?;
        let found = entries.get(key)?;
        if now.saturating_duration_since(found.stored) < self.ttl {
            return Some(found.value.clone());
        }
        entries.pop(key);
        None
    }

    pub fn put(&self, key: CacheKey, value: V, now: Instant) {
        if let Some(mut entries) = self.lock() {
            entries.put(key, Entry { value: Arc::new(value), stored: now });
        }
    }

    pub fn clear(&self) {
        if let Some(mut entries) = self.lock() {
            entries.clear();
        }
    }

    pub fn len(&self) -> usize {
        self.lock().map_or(0, |entries| entries.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> Option<MutexGuard<'_, LruCache<CacheKey, Entry<V>>>> {
        // A panic while the lock is held cannot leave a list of answers inconsistent.
        Some(self.entries.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
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
