//! Everyday prompts, of no catalog in particular: what a tool's own patterns must not lay claim to.

use regex::Regex;

use super::IntentSignal;

/// A line a prompt.
const PROMPTS: &str = include_str!("data/everyday_prompts.txt");

/// The share of the everyday prompts that the patterns of one tool may match together. The tools of
/// `tests/data/signals` match at most one of the 62; a pattern such as `.` or `the|a|my` matches most.
const MOST: f64 = 0.1;

/// Things that people ask for every day, in English.
pub fn everyday_prompts() -> impl Iterator<Item = &'static str> {
    PROMPTS.lines().filter(|line| !line.is_empty())
}

/// How many everyday prompts the patterns match, of how many, where that is too much for one tool.
/// Patterns that speak against the tool may match everything.
pub(super) fn too_broad(signals: &[IntentSignal]) -> Option<(usize, usize)> {
    let claims = |signal: &&IntentSignal| signal.weight > 0.0 || signal.exclusive_intent.is_some();
    let patterns: Vec<Regex> =
        signals.iter().filter(claims).filter_map(|signal| signal.compile().ok()).collect();
    let is_claimed = |prompt: &&str| patterns.iter().any(|pattern| pattern.is_match(prompt));
    let (all, claimed) =
        (everyday_prompts().count(), everyday_prompts().filter(is_claimed).count());
    (claimed as f64 > MOST * all as f64).then_some((claimed, all))
}
