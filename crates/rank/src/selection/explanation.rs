//! Explains how a score was computed, for people and for programs.

use serde::Serialize;
use toolroute_catalog::{Cost, LatencyTier, Reliability, Tool, ToolId};

use super::candidate::{Candidate, Criterion, Score};
use super::fusion::Fusion;
use super::signals::Intent;
use crate::feedback::RowUsage;
use crate::query::words;

/// One summand of a score.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// What contributed.
    pub name: &'static str,
    /// The value before normalisation, such as the cosine or the BM25 score.
    pub raw: f32,
    /// The value after normalisation, or the reciprocal rank.
    pub normalized: f32,
    /// The factor by which `normalized` is multiplied.
    pub weight: f32,
    /// The amount that this part adds to the score: the score is the sum of all contributions.
    pub contribution: f32,
}

/// The tiers that a tool declares; `None` if undeclared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tiers {
    /// How reliable the tool is.
    pub reliability: Option<Reliability>,
    /// What a call costs.
    pub cost: Option<Cost>,
    /// How long a call takes.
    pub latency: Option<LatencyTier>,
    /// The typical latency in milliseconds, if it is declared.
    pub latency_ms: Option<u64>,
}

impl Tiers {
    /// The tiers that a tool declares.
    pub fn of(tool: &Tool) -> Self {
        Self {
            reliability: tool.reliability,
            cost: tool.cost,
            latency: tool.latency_tier(),
            latency_ms: tool.latency_ms,
        }
    }
}

/// Why the policy ranks a tool before one with a slightly higher score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PreferenceReason {
    /// The id of the other tool.
    pub over: ToolId,
    /// What decided.
    pub by: Criterion,
    /// The declarations of both tools, in words.
    pub because: String,
}

impl PreferenceReason {
    pub fn new(tool: &Tool, over: &Tool, by: Criterion) -> Self {
        let declared = |tool: &Tool| match by {
            Criterion::Reliability => tool.reliability.map(|tier| tier.to_string()),
            Criterion::Cost => tool.cost.map(|tier| tier.to_string()),
            Criterion::Latency => {
                let tier = || tool.latency_tier().map(|tier| tier.to_string());
                tool.latency_ms.map(|latency| format!("{latency} ms")).or_else(tier)
            }
        };
        let because = match (declared(tool), declared(over)) {
            (Some(one), Some(other)) => format!("its {by} is {one}, not {other}"),
            _ => format!("its {by} comes first"),
        };
        Self { over: over.id.clone(), by, because }
    }
}

/// Why an answer contains a tool with a lower score: it provides an id that the tool before it
/// requires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Supply {
    /// The parameter that takes the id.
    pub parameter: String,
    /// The tool that requires the id.
    pub to: ToolId,
}

words! {
    /// The confidence that a tool is right for the prompt, as a word.
    Level { Low => "low", Medium => "medium", High => "high" }
}

impl Level {
    /// Returns the level of a probability: `high` from 0.75, `medium` from 0.4.
    fn of_probability(sure: f32) -> Self {
        match sure {
            sure if sure >= 0.75 => Self::High,
            sure if sure >= 0.4 => Self::Medium,
            _ => Self::Low,
        }
    }

    /// Returns the level if there is no calibration: by the cosine or by BM25 on the scale of a
    /// cosine, whichever is higher. A named tool has the level `high`.
    fn of_candidate(candidate: &Candidate) -> Self {
        let semantic = candidate.semantic.map(|score| score.raw);
        let scale = match semantic {
            Some(_) => Fusion::KEYWORD_SCALE,
            None => Fusion::PLAIN_KEYWORD_SCALE,
        };
        let words = candidate.keyword.map(|score| score.raw / scale);
        match semantic.into_iter().chain(words).fold(0.0, f32::max) {
            _ if candidate.exact_name > 0.0 => Self::High,
            found if found >= CLOSE => Self::High,
            found if found >= FAR => Self::Medium,
            _ => Self::Low,
        }
    }
}

/// What an explanation needs besides the candidate and its tool.
#[derive(Debug, Default)]
pub struct ExplanationInputs<'a> {
    /// The words of the prompt that the tool's text contains.
    pub matched_terms: Vec<String>,
    /// The summands of the score, one per signal.
    pub parts: Vec<Part>,
    /// The patterns of the tool's author that match the prompt.
    pub intent: Option<&'a Intent>,
    /// The calibrated probability that a tool of the catalog fits.
    pub confidence: Option<f32>,
    /// The best score of the prompt's candidates.
    pub best: f32,
    /// What was learned about the tool.
    pub usage: Option<RowUsage>,
    pub preferred: Option<PreferenceReason>,
    pub supply: Option<Supply>,
}

/// Why a tool ranks where it does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The parts that the score is the sum of.
    pub parts: Vec<Part>,
    /// The words of the prompt that the tool's text contains, as the prompt spells them.
    pub matched_terms: Vec<String>,
    /// Whether the prompt contains the tool's exact name.
    pub exact_name: bool,
    /// The patterns of the tool's author that match the prompt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub matched_signals: Vec<String>,
    /// The confidence that the tool is right. It is meant for people and does not change ranks.
    pub level: Level,
    /// What was learned about the tool from past prompts, if it affected the score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<RowUsage>,
    /// The tiers that the policy compares.
    pub tiers: Tiers,
    /// Why the tool ranks before one with a higher score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred: Option<PreferenceReason>,
    /// Why the tool is in the answer, if another tool needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supply: Option<Supply>,
    /// The whole explanation in one line.
    pub why: String,
}

impl Explanation {
    /// Explains one candidate.
    #[doc(hidden)] // For our own crates.
    pub fn new(candidate: &Candidate, tool: &Tool, inputs: ExplanationInputs<'_>) -> Self {
        let why = why(candidate, tool, &inputs);
        let level = match inputs.confidence {
            Some(sure) => {
                let share = if inputs.best > 0.0 { candidate.score / inputs.best } else { 0.0 };
                Level::of_probability(sure * share.clamp(0.0, 1.0))
            }
            None => Level::of_candidate(candidate),
        };
        let bonus = |name, weight: f32| {
            (weight != 0.0).then(|| part(name, Score { raw: 1.0, normalized: 1.0, weight }))
        };
        let own = [
            candidate.semantic.map(|score| part("semantic", score)),
            candidate.keyword.map(|score| part("keyword", score)),
            bonus("exact_name", candidate.exact_name),
            bonus("wording", candidate.wording),
        ];
        Self {
            parts: own.into_iter().flatten().chain(inputs.parts).collect(),
            matched_terms: inputs.matched_terms,
            exact_name: candidate.exact_name > 0.0,
            matched_signals: inputs.intent.map_or_else(Vec::new, |intent| intent.matched.clone()),
            level,
            usage: inputs.usage,
            tiers: Tiers::of(tool),
            preferred: inputs.preferred,
            supply: inputs.supply,
            why,
        }
    }
}

fn part(name: &'static str, score: Score) -> Part {
    let Score { raw, normalized, weight } = score;
    Part { name, raw, normalized, weight, contribution: score.contribution() }
}

/// The cosines from which two texts are close, and below which they are far, for a sentence encoder
/// like MiniLM. They choose a word and do not affect ranks.
const CLOSE: f32 = 0.5;
const FAR: f32 = 0.25;

fn why(candidate: &Candidate, tool: &Tool, inputs: &ExplanationInputs<'_>) -> String {
    let mut reasons = Vec::new();
    if let Some(Supply { parameter, to }) = &inputs.supply {
        reasons.push(format!("gives {parameter} for {to}"));
    }
    if candidate.exact_name > 0.0 {
        reasons.push("named in the prompt".to_owned());
    }
    if candidate.wording > 0.0 {
        reasons.push("fits the prompt's number or verb".to_owned());
    }
    if candidate.wording < 0.0 {
        let is_deprecated = tool.is_deprecated();
        reasons.push(if is_deprecated { "deprecated" } else { "the prompt forbids it" }.to_owned());
    }
    if let Some(Score { raw, .. }) = candidate.semantic {
        let nearness = match raw {
            raw if raw >= CLOSE => "close in meaning",
            raw if raw >= FAR => "related in meaning",
            _ => "far in meaning",
        };
        reasons.push(format!("{nearness} ({raw:.2})"));
    }
    if !inputs.matched_terms.is_empty() {
        reasons.push(format!("words: {}", inputs.matched_terms.join(", ")));
    }
    reasons.extend(inputs.parts.iter().filter_map(signal_in_words));
    let mut why = reasons.join("; ");
    if let Some(RowUsage { prompts, .. }) = inputs.usage {
        why += &format!("; learned from {prompts} prompt{}", if prompts == 1 { "" } else { "s" });
    }
    if let Some(PreferenceReason { over, because, .. }) = &inputs.preferred {
        why += &format!("; fits about as well as {over}, and {because}");
    }
    why
}

/// Returns a signal in words, such as `intent +0.25`; `None` for a negligible one.
fn signal_in_words(part: &Part) -> Option<String> {
    const HARDLY: f32 = 0.005;
    let Part { name, contribution, .. } = part;
    (contribution.abs() >= HARDLY).then(|| format!("{name} {contribution:+.2}"))
}
