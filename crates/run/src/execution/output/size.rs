//! Estimates of latency and answer length.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use toolroute_catalog::Tool;

/// Characters in a token: an estimate for English prose and JSON.
const CHARS_A_TOKEN: usize = 4;

/// The expected length of the answer of an unknown tool: a page of text.
const UNKNOWN_CHARS: usize = 4_000;

/// The weight of the newest answer in the moving mean.
const NEWEST: f64 = 0.2;

/// Estimates the tokens of a text with so many characters.
pub fn tokens_of(chars: usize) -> usize {
    chars.div_ceil(CHARS_A_TOKEN)
}

/// Estimates the characters of a text with so many tokens.
pub(in crate::execution) fn chars_of(tokens: u32) -> usize {
    (tokens as usize).saturating_mul(CHARS_A_TOKEN)
}

/// The expected latency of a call and the expected length of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// The expected latency in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// The expected length of the answer in characters.
    pub chars: usize,
    /// Whether the estimate comes from past calls and not from declarations.
    pub learned: bool,
}

#[derive(Clone, Copy, Debug)]
struct PastAnswers {
    latency_ms: f64,
    chars: f64,
}

/// Moving means of the latency and length of each tool's answers.
#[derive(Debug, Default)]
pub struct AnswerStatistics {
    past: Mutex<HashMap<String, PastAnswers>>,
}

impl AnswerStatistics {
    /// Estimates a call of the tool from past calls, otherwise from declarations. The default
    /// length is a page of text.
    pub fn estimate(&self, tool: &Tool) -> Estimate {
        let past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        match past.get(tool.id.as_str()) {
            Some(past) => Estimate {
                latency_ms: Some(past.latency_ms.round() as u64),
                chars: past.chars.round() as usize,
                learned: true,
            },
            None => {
                let tokens = tool.routing.call_hints.typical_tokens;
                let chars = tokens.map_or(UNKNOWN_CHARS, chars_of);
                Estimate { latency_ms: tool.latency_ms, chars, learned: false }
            }
        }
    }

    /// Updates the means with an answer.
    pub fn learn(&self, tool: &Tool, latency_ms: f64, chars: usize) {
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        let chars = chars as f64;
        past.entry(tool.id.to_string())
            .and_modify(|past| {
                past.latency_ms += NEWEST * (latency_ms - past.latency_ms);
                past.chars += NEWEST * (chars - past.chars);
            })
            .or_insert(PastAnswers { latency_ms, chars });
    }
}
