//! When a call of a tool is sent again.

use serde::{Deserialize, Serialize};

/// After what a call is sent again, and how often: what a tool's author or its user says in the place
/// of the defaults. What may have been done is only sent again where a repetition does no harm
/// ([`super::Effects`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retry {
    pub on: Vec<RetryOn>,
    /// Times after the first; 0 for never, 10 at most.
    pub most: u32,
}

impl Retry {
    pub const MOST: u32 = 10;
}

impl Default for Retry {
    fn default() -> Self {
        Self { on: vec![RetryOn::Unreachable, RetryOn::Broken, RetryOn::Busy], most: 2 }
    }
}

/// What came of a call that may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RetryOn {
    /// The server could not be started or connected to.
    Unreachable,
    /// The connection broke.
    Broken,
    /// The server asked to come back later.
    Busy,
    /// There was no answer in time.
    Timeout,
    /// The tool itself said that it failed.
    Error,
}
