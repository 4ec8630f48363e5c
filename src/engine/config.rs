//! What an engine does when a request does not say otherwise.

use serde::{Deserialize, Serialize};

use crate::index::IndexKind;
use crate::selection::{Fusion, Policy, Strategy};

/// Tools in an answer. Agents choose best among few; peers answer with 5 to 15.
pub const DEFAULT_LIMIT: usize = 5;

/// An engine's settings. The command line fills it; library users write it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineConfig {
    pub strategy: Strategy,
    pub fusion: Fusion,
    /// Tools in an answer, at most.
    pub limit: usize,
    pub policy: Policy,
    /// How vectors are searched.
    pub index: IndexKind,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            strategy: Strategy::Auto,
            fusion: Fusion::default(),
            limit: DEFAULT_LIMIT,
            policy: Policy::default(),
            index: IndexKind::Auto,
        }
    }
}
