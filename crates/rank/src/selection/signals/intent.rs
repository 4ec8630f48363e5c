//! Matches a prompt against the intent patterns of all tools at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use regex::{Regex, RegexSet, RegexSetBuilder};
use toolroute_catalog::{IntentSignal, Tool};

/// The maximum size of all patterns compiled together, in bytes. Above it, each pattern is compiled
/// separately.
const SET_BYTES: usize = 1 << 26;

/// The maximum size of the cached states per thread, in bytes.
const STATES_BYTES: usize = 1 << 23;

enum Patterns {
    Together(RegexSet),
    Alone(Vec<Regex>),
}

/// The intent patterns of all tools.
pub(super) struct Intents {
    patterns: Patterns,
    owners: Vec<(u32, IntentSignal)>,
}

/// The intent patterns of one tool that match a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intent {
    /// The sum of the weights of the matching patterns, clamped to -1 to 1.
    pub value: f32,
    /// The matching patterns, as written.
    pub matched: Vec<String>,
    /// The intent that only this tool serves, if a pattern that declares one matches.
    pub exclusive: Option<String>,
}

impl Intents {
    /// Compiles the patterns of all tools. Invalid patterns are ignored; a loaded catalog contains
    /// none.
    pub fn new(tools: &[Arc<Tool>]) -> Self {
        let signals = (0u32..).zip(tools).flat_map(|(row, tool)| {
            tool.routing.signals.iter().map(move |signal| (row, signal.clone()))
        });
        let all: Vec<_> = signals.collect();
        let set = RegexSetBuilder::new(all.iter().map(|(_, signal)| &signal.pattern))
            .case_insensitive(true)
            .size_limit(SET_BYTES)
            .dfa_size_limit(STATES_BYTES)
            .build();
        if let Ok(set) = set {
            return Self { patterns: Patterns::Together(set), owners: all };
        }
        let compiled =
            |(row, signal): (u32, IntentSignal)| Some((signal.compile().ok()?, (row, signal)));
        let (alone, owners) = all.into_iter().filter_map(compiled).unzip();
        Self { patterns: Patterns::Alone(alone), owners }
    }

    /// Returns the intents that match any of the texts of a prompt, by row.
    pub fn find<'a>(&self, texts: impl Iterator<Item = &'a str>) -> BTreeMap<u32, Intent> {
        let mut found: BTreeMap<u32, Intent> = BTreeMap::new();
        let matches: BTreeSet<usize> = texts.flat_map(|text| self.matches(text)).collect();
        for at in matches {
            let (row, signal) = &self.owners[at];
            let intent = found.entry(*row).or_default();
            intent.value = (intent.value + signal.weight).clamp(-1.0, 1.0);
            intent.matched.push(signal.pattern.clone());
            if intent.exclusive.is_none() {
                intent.exclusive.clone_from(&signal.exclusive_intent);
            }
        }
        found
    }

    fn matches(&self, text: &str) -> Vec<usize> {
        match &self.patterns {
            _ if self.owners.is_empty() => Vec::new(),
            Patterns::Together(set) => set.matches(text).into_iter().collect(),
            Patterns::Alone(all) => {
                let hit = |(at, pattern): (usize, &Regex)| pattern.is_match(text).then_some(at);
                all.iter().enumerate().filter_map(hit).collect()
            }
        }
    }
}
