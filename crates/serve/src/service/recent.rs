//! The latest selections, which the page and `GET /v1/recent` show.

use std::collections::VecDeque;

use serde::{Serialize, Serializer};
use toolroute_catalog::ToolId;
use utoipa::ToSchema;

/// The number of selections that are stored.
const MOST: usize = 100;

/// The number of characters of a prompt that are stored: as many as a person reads in a list.
const MOST_CHARS: usize = 2_000;

/// One answer of the recent past. It contains the user's prompt, so it is kept in memory and never
/// written to a log.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
#[schema(as = Answered)]
pub struct RecentSelection {
    /// Counts up from 1 with each answer.
    pub number: u64,
    /// Milliseconds since 1970.
    #[serde(rename = "at")]
    pub at_ms: u64,
    /// The prompt; a long one is cut and ends with `…`.
    #[serde(rename = "prompt")]
    pub query: String,
    #[schema(required = true)]
    pub profile: Option<String>,
    /// The selected tools with their scores, best first. An answer has their ids alone.
    #[schema(value_type = Vec<String>)]
    #[serde(serialize_with = "ids")]
    pub tools: Vec<(ToolId, f32)>,
    #[schema(required = true)]
    pub confidence: Option<f32>,
    /// How long it took, in milliseconds.
    #[serde(rename = "ms")]
    pub took_ms: f64,
}

fn ids<S: Serializer>(tools: &[(ToolId, f32)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(tools.iter().map(|(id, _)| id))
}

#[derive(Default)]
pub(super) struct Ring {
    latest: VecDeque<RecentSelection>,
    count: u64,
}

impl Ring {
    pub fn push(&mut self, mut recent: RecentSelection) {
        self.count += 1;
        recent.number = self.count;
        if let Some((end, _)) = recent.query.char_indices().nth(MOST_CHARS) {
            // Not `truncate`, which keeps the allocation of the whole prompt.
            recent.query = format!("{}…", &recent.query[..end]);
        }
        if self.latest.len() == MOST {
            self.latest.pop_back();
        }
        self.latest.push_front(recent);
    }

    pub fn newest_first(&self) -> Vec<RecentSelection> {
        self.latest.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_prompt_the_beginning_is_kept() {
        let mut ring = Ring::default();
        for query in ["short".to_owned(), "é".repeat(1_000_000)] {
            ring.push(RecentSelection { query, ..RecentSelection::default() });
        }
        let kept = ring.newest_first();
        assert_eq!((kept[0].query.chars().count(), kept[1].query.as_str()), (2_001, "short"));
        assert!(ring.latest[0].query.capacity() < 10_000);
    }
}
