//! The settings of an engine. A request may override some of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{MinShares, SmallModels};
use crate::index::IndexKind;
use crate::query::CategoryWords;
use crate::selection::{CacheSettings, Fusion, POLICY_BAND, Policy, SignalWeights, Strategy};

/// Default number of tools in an answer. Agents choose best among few; comparable routers return 5
/// to 15.
pub const DEFAULT_LIMIT: usize = 5;

/// Even odds. Models are calibrated so that few prompts that a tool serves are below it.
pub const DEFAULT_MIN_CONFIDENCE: f32 = 0.5;

/// The settings of an engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineConfig {
    /// How tools are ranked.
    pub strategy: Strategy,
    /// How the hybrid strategy combines semantic and keyword scores.
    pub fusion: Fusion,
    /// Whether the hybrid strategy also ranks each request in a prompt separately.
    pub clauses: bool,
    /// The confidence below which no tool is considered to fit and the answer is empty. With 0
    /// there is always an answer, which may be marked as unsure. It does not apply to a request
    /// with candidates.
    pub min_confidence: f32,
    /// Maximum number of tools in an answer.
    pub limit: usize,
    /// Whether tools that score far below the best one are left out, so that a prompt for one thing
    /// gets few tools and a prompt for several gets more.
    pub adaptive: bool,
    /// Whether a tool that provides an id is added next to one that requires it, unless the prompt
    /// contains the id.
    pub complete: bool,
    /// Which tools are admitted, and which come first among equals.
    pub policy: Policy,
    /// Tools whose scores, on the scale of a cosine, differ by at most this are ordered by declared
    /// reliability, cost and latency; 0 orders by score only.
    pub policy_band: f32,
    /// The weights of the signals, which are added to semantic and keyword scores.
    pub signals: SignalWeights,
    /// Words in prompts that indicate a category of tools, in addition to the shipped ones.
    pub category_words: CategoryWords,
    /// Minimum number of tools that each part of the hybrid strategy contributes; `None` ranks by
    /// score only.
    pub min_shares: Option<MinShares>,
    /// Which models are small and get fewer tools.
    pub small_models: SmallModels,
    /// Profiles by name: id patterns of their tools.
    pub profiles: BTreeMap<String, Vec<String>>,
    /// The servers of a profile, by its name. A profile without an entry has all servers.
    pub profile_servers: BTreeMap<String, Vec<String>>,
    /// How vectors are searched.
    pub index: IndexKind,
    /// The cache of answers, which is only used by [`Engine::select`](super::Engine::select).
    pub cache: CacheSettings,
    /// The number of prompts whose vectors are cached; 0 disables the cache.
    pub query_cache: usize,
}

/// 1.5 MB of vectors with 384 numbers.
const QUERY_CACHE: usize = 1_024;

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            strategy: Strategy::Auto,
            fusion: Fusion::default(),
            clauses: true,
            min_confidence: DEFAULT_MIN_CONFIDENCE,
            limit: DEFAULT_LIMIT,
            adaptive: false,
            complete: true,
            policy: Policy::default(),
            policy_band: POLICY_BAND,
            signals: SignalWeights::default(),
            category_words: CategoryWords::new(),
            min_shares: None,
            small_models: SmallModels::default(),
            profiles: BTreeMap::new(),
            profile_servers: BTreeMap::new(),
            index: IndexKind::Auto,
            cache: CacheSettings::default(),
            query_cache: QUERY_CACHE,
        }
    }
}
