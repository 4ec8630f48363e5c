//! The settings of an engine, which a request may override.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{MinShares, SmallModels};
use crate::index::IndexKind;
use crate::query::CategoryWords;
use crate::selection::{CacheSettings, Fusion, POLICY_BAND, Policy, SignalWeights, Strategy};

/// Tools in an answer. Agents choose best among few; comparable routers return 5 to 15.
pub const DEFAULT_LIMIT: usize = 5;

/// Even odds: models are calibrated so that few prompts that a tool serves are below it.
pub const DEFAULT_MIN_CONFIDENCE: f32 = 0.5;

/// The settings of an engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineConfig {
    pub strategy: Strategy,
    pub fusion: Fusion,
    /// Whether the hybrid strategy also ranks each thing that a prompt asks for by itself.
    pub clauses: bool,
    /// The confidence below which no tool fits and the answer has none; with 0 it always has tools, and
    /// is unsure at worst. It does not apply to a request with candidates.
    pub min_confidence: f32,
    /// The most tools in an answer.
    pub limit: usize,
    /// Whether tools that score far below the best one are left out of an answer, so that a prompt for
    /// one thing gets few and a prompt for several gets more.
    pub adaptive: bool,
    /// Whether a tool that requires an id comes with a tool that gives it, unless the prompt has the id.
    pub complete: bool,
    pub policy: Policy,
    /// Tools whose scores differ by at most this, on the scale of a cosine, are ordered by the
    /// reliability, cost and latency that they declare; 0 orders by score alone.
    pub policy_band: f32,
    /// The weights of the signals, which count beside meaning and words.
    pub signals: SignalWeights,
    /// Words in prompts that indicate a category of tools, beside those that this crate ships.
    pub category_words: CategoryWords,
    /// The least number of tools that each part of the hybrid strategy chooses; `None` ranks by score
    /// alone.
    pub min_shares: Option<MinShares>,
    pub small_models: SmallModels,
    /// Profiles by name: patterns of the ids of their tools.
    pub profiles: BTreeMap<String, Vec<String>>,
    /// The servers of a profile, by its name; all servers for a profile without an entry.
    pub profile_servers: BTreeMap<String, Vec<String>>,
    /// How vectors are searched.
    pub index: IndexKind,
    /// The cache of answers, which only [`Engine::select`](super::Engine::select) uses.
    pub cache: CacheSettings,
    /// The number of prompts whose vectors are cached; 0 caches none.
    pub query_cache: usize,
}

/// 1.5 MB of vectors of 384 numbers.
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
