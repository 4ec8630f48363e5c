//! What an engine does when a request does not say otherwise.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{MinShares, SmallModels};
use crate::index::IndexKind;
use crate::query::CategoryWords;
use crate::selection::{CacheSettings, Fusion, POLICY_BAND, Policy, SignalWeights, Strategy};

/// Tools in an answer. Agents choose best among few; peers answer with 5 to 15.
pub const DEFAULT_LIMIT: usize = 5;

/// Even odds: models are calibrated so that few prompts that a tool serves fall below.
pub const DEFAULT_MIN_CONFIDENCE: f32 = 0.5;

/// An engine's settings. The command line fills it; library users write it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineConfig {
    pub strategy: Strategy,
    pub fusion: Fusion,
    /// Whether a prompt that asks for several things is also looked at thing by thing (hybrid).
    pub clauses: bool,
    /// The confidence below which the answer is no tool; 0 always answers. Candidates of a
    /// request are ranked without it.
    pub min_confidence: f32,
    /// Tools in an answer, at most.
    pub limit: usize,
    /// Whether tools that score far below the best one are left out of an answer, so that a
    /// prompt for one thing gets few and one for several gets more.
    pub adaptive: bool,
    pub policy: Policy,
    /// Tools whose scores lie within so much of each other, on the scale of a cosine, are ordered by
    /// reliability, cost and latency, where they declare them; 0 leaves it at the score.
    pub policy_band: f32,
    /// What counts beside meaning and words.
    pub signals: SignalWeights,
    /// Words of prompts that speak for a category of tools, beside those that this crate ships.
    pub category_words: CategoryWords,
    /// Tools that each part of hybrid has in an answer at least; `None` goes by the score alone.
    pub min_shares: Option<MinShares>,
    pub small_models: SmallModels,
    /// Tools by the name of a kind of work: patterns over ids.
    pub profiles: BTreeMap<String, Vec<String>>,
    /// Of such a kind of work the servers whose tools alone count; all of them where it is not here.
    pub profile_servers: BTreeMap<String, Vec<String>>,
    /// How vectors are searched.
    pub index: IndexKind,
    /// Answers that are kept for a moment; [`Engine::select`](super::Engine::select) alone looks.
    pub cache: CacheSettings,
    /// Vectors of the latest prompts that are kept; 0 keeps none.
    pub query_cache: usize,
}

/// Prompts whose vectors are kept: 1.5 MB for 384 numbers.
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
