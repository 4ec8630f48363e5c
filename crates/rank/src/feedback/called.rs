//! How a call went that we made ourselves: what measures of success are made from.

use serde::{Deserialize, Serialize};

/// One attempt of a request that was called with its fallbacks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Called {
    /// Tells the attempts of one request from those of others.
    pub request: String,
    /// Among the tools to try: 0 is the one that was asked for.
    pub place: u32,
    /// How often it was sent.
    pub tries: u32,
    /// What it was expected to take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_ms: Option<u64>,
    /// Characters that were expected of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_chars: Option<u64>,
    /// Characters of the whole answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chars: Option<u64>,
    /// Whether the answer was cut or summarised.
    pub truncated: bool,
}
