//! How a score came about, for people and for programs.

use serde::Serialize;

use super::retriever::{Candidate, Score};
use crate::catalog::{Cost, LatencyTier, Reliability, Tool};
use crate::feedback::RowUsage;

/// One summand of a score.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    pub name: &'static str,
    /// Cosine or BM25, as the scorer gave it.
    pub raw: f32,
    /// After normalisation over the candidates, or the reciprocal rank.
    pub normalized: f32,
    /// What `normalized` is multiplied by.
    pub weight: f32,
    /// What it adds to the score: the contributions sum to it.
    pub contribution: f32,
}

/// The tiers that a tool declares; absent where it declares none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tiers {
    pub reliability: Option<Reliability>,
    pub cost: Option<Cost>,
    pub latency: Option<LatencyTier>,
    pub latency_ms: Option<u64>,
}

impl Tiers {
    pub fn of(tool: &Tool) -> Self {
        Self {
            reliability: tool.reliability,
            cost: tool.cost,
            latency: tool.latency_tier(),
            latency_ms: tool.latency_ms,
        }
    }
}

/// Why a tool stands where it stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    pub parts: Vec<Part>,
    /// Words of the prompt that the tool's text holds, as the prompt spells them.
    pub matched_terms: Vec<String>,
    /// Whether the prompt spells out the tool's name.
    pub exact_name: bool,
    /// What past prompts taught of the tool, where that had a part in the score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<RowUsage>,
    pub tiers: Tiers,
    /// All of it in one line.
    pub why: String,
}

impl Explanation {
    /// Explains one candidate; `matched_terms` are those of the prompt.
    pub fn new(candidate: &Candidate, matched_terms: Vec<String>, tool: &Tool) -> Self {
        let semantic = candidate.semantic.map(|score| part("semantic", score));
        let keyword = candidate.keyword.map(|score| part("keyword", score));
        let exact_name = candidate.exact_name > 0.0;
        let named = exact_name.then(|| {
            let bonus = candidate.exact_name;
            part("exact_name", Score { raw: 1.0, normalized: 1.0, weight: bonus })
        });
        let why = why(candidate, &matched_terms);
        let parts = semantic.into_iter().chain(keyword).chain(named).collect();
        Self { parts, matched_terms, exact_name, usage: None, tiers: Tiers::of(tool), why }
    }

    /// With what was learned of the tool.
    #[must_use]
    pub fn with_usage(mut self, usage: Option<&RowUsage>) -> Self {
        if let Some(usage) = usage {
            let prompts = if usage.prompts == 1 { "prompt" } else { "prompts" };
            self.why.push_str(&format!("; learned from {} {prompts}", usage.prompts));
        }
        self.usage = usage.copied();
        self
    }
}

fn part(name: &'static str, score: Score) -> Part {
    let Score { raw, normalized, weight } = score;
    Part { name, raw, normalized, weight, contribution: score.contribution() }
}

/// Cosines above which two texts are close, and below which they are far, for a sentence encoder
/// of MiniLM's kind. They choose a word, never a rank.
const CLOSE: f32 = 0.5;
const FAR: f32 = 0.25;

fn why(candidate: &Candidate, matched_terms: &[String]) -> String {
    let mut reasons = Vec::new();
    if candidate.exact_name > 0.0 {
        reasons.push("named in the prompt".to_owned());
    }
    if let Some(Score { raw, .. }) = candidate.semantic {
        let nearness = match raw {
            raw if raw >= CLOSE => "close in meaning",
            raw if raw >= FAR => "related in meaning",
            _ => "far in meaning",
        };
        reasons.push(format!("{nearness} ({raw:.2})"));
    }
    if !matched_terms.is_empty() {
        reasons.push(format!("words: {}", matched_terms.join(", ")));
    }
    reasons.join("; ")
}
