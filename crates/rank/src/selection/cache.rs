//! A cache of recent selections.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lru::LruCache;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The lifetime of entries and the capacity of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CacheSettings {
    /// The lifetime in milliseconds; 0 turns the cache off. The default of 30 s is from the source
    /// documents.
    pub ttl_ms: u64,
    /// The maximum number of entries; 0 turns the cache off. An entry takes a few kilobytes.
    pub entries: usize,
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self { ttl_ms: 30_000, entries: 512 }
    }
}

/// The versions of everything that a selection depends on besides the request. After a version
/// changes, older entries are no longer found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    pub catalog: u64,
    pub weights: u64,
    pub usage: u64,
}

/// The key of a request at given versions. Equal keys mean equal selections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    /// Computes the key from the serialised request, so that no field can be omitted.
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

/// A cache of selections by key, with a limited lifetime and capacity. A full cache removes the
/// least recently used entry.
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

    /// Whether the cache stores anything. If not, no key is needed.
    pub fn is_on(&self) -> bool {
        self.entries.is_some()
    }

    /// Returns the selection of a key, unless it has expired at `now`.
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

    fn lock(&self) -> Option<MutexGuard<'_, LruCache<CacheKey, Entry<V>>>> {
        // A panic while the lock is held cannot leave the entries inconsistent.
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
        assert_eq!(cache.get(&keys[0], start), None, "an old answer is dropped");
        for (at, key) in keys.iter().enumerate() {
            cache.put(*key, at, start);
        }
        let kept = || keys.map(|key| cache.get(&key, start).is_some());
        assert_eq!(kept(), [false, true, true]);
        cache.clear();
        assert_eq!(kept(), [false; 3]);
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
