//! The latest answers, for people who watch.

use std::collections::VecDeque;
use std::time::SystemTime;

use serde::Serialize;

use crate::catalog::ToolId;

/// Answers that are remembered.
const MOST: usize = 100;

/// One answer of the recent past. It holds the prompt, so it is for the user's own eyes: it is in
/// memory alone, and in no log.
#[derive(Clone, Debug, Serialize)]
pub struct Recent {
    /// Counts up from 1 with each answer.
    pub number: u64,
    /// Milliseconds since 1970.
    pub at_ms: u64,
    pub query: String,
    pub profile: Option<String>,
    /// The tools that were found, with their scores.
    pub tools: Vec<(ToolId, f32)>,
    pub confidence: Option<f32>,
    pub took_ms: f64,
}

#[derive(Default)]
pub(super) struct Ring {
    latest: VecDeque<Recent>,
    count: u64,
}

impl Ring {
    pub fn push(&mut self, mut recent: Recent) {
        self.count += 1;
        recent.number = self.count;
        if self.latest.len() == MOST {
            self.latest.pop_back();
        }
        self.latest.push_front(recent);
    }

    pub fn newest_first(&self) -> Vec<Recent> {
        self.latest.iter().cloned().collect()
    }
}

/// Milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
