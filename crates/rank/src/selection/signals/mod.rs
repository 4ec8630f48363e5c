//! Everything beside meaning and words that speaks for a tool: one formula.
//!
//! ```text
//! score = blend + exact name + Σ weight · value · scale
//! ```
//!
//! `value` lies between -1 and 1 and is 0 for what a tool does not declare or nobody knows. `scale`
//! is the best blend of the prompt for a signal that stands alone, and the tool's own blend for one
//! that only weighs tools that fit. `docs/context.md` has the formula, signal by signal.

mod facts;
mod intent;
mod weights;

use std::collections::BTreeMap;
use std::sync::Arc;

use toolroute_catalog::{Cost, LatencyTier, Tool};

use super::Part;
use super::retriever::Candidate;
use crate::feedback::RunStats;
use crate::query::{CategoryWords, ContextFeatures, Phase, TaskType};
use facts::{AllFacts, Facts};
pub use intent::Intent;
use intent::Intents;
pub use weights::{SIGNALS, Signal, SignalWeights};

/// Candidates whose past is looked up.
const LOOKED_UP: usize = 32;

/// What the signals know of a catalog's tools; made anew when the catalog changes.
pub struct Signals {
    facts: AllFacts,
    intents: Intents,
}

/// What is known of the moment in which a prompt is asked.
#[derive(Clone, Copy, Default)]
pub struct SignalInputs<'a> {
    pub text: &'a str,
    pub features: Option<&'a ContextFeatures>,
    /// What was seen of each row's runs; shorter than the catalog or empty where nothing was.
    pub observed: &'a [Option<RunStats>],
    /// Rows that tend to follow the tool used last, ascending, each with a share from 0 to 1.
    pub follows: &'a [(u32, f32)],
    /// Rows that the caller plans to use, ascending.
    pub planned: &'a [u32],
    pub urgent: bool,
    pub needs_web: bool,
    pub cost_aware: bool,
    /// The share of the prompt that the encoder cannot read, 0 to 1.
    pub unread: f32,
}

/// The signals of one prompt, counted; explains the score of any of its candidates.
pub struct Assessment<'a> {
    signals: &'a Signals,
    inputs: SignalInputs<'a>,
    weights: SignalWeights,
    intents: BTreeMap<u32, Intent>,
    /// What the past says of rows, 0 to 1; 0.5 is neutral.
    history: BTreeMap<u32, f32>,
    /// Numbers of the context's languages, with what each counts for; the shares sum to 1.
    languages: Vec<(Option<u16>, f32)>,
    /// Numbers of the categories that the prompt speaks of, with what each counts for.
    categories: Vec<(usize, f32)>,
    /// The best blend among the candidates; 1 where nothing was found.
    best: f32,
    /// The blend over the best, by row; empty without declared orders.
    relevance: Vec<f32>,
}

/// How often one of the tools fits where a prompt has words of their category.
const CATEGORY_FITS: f32 = 0.8;

/// Values by signal; `None` where a signal has nothing to say of the tool.
type Values = [Option<f32>; SIGNALS];

impl Signals {
    /// Reads what the tools declare; `row` finds a tool by any spelling of its id.
    /// `words` are a user's for categories.
    pub fn new(
        tools: &[Arc<Tool>],
        row: impl Fn(&str) -> Option<u32>,
        words: &CategoryWords,
    ) -> Arc<Self> {
        Arc::new(Self { facts: AllFacts::new(tools, row, words), intents: Intents::new(tools) })
    }

    /// Rows of the tools that belong into every answer, ascending.
    pub fn critical(&self) -> &[u32] {
        &self.facts.critical
    }

    /// Rows that their authors' patterns speak for, ascending.
    pub fn intended(&self, text: &str, weights: SignalWeights) -> Vec<u32> {
        if !weights.is_on(Signal::Intent) && !weights.is_on(Signal::Exclusive) {
            return Vec::new();
        }
        let found = self.intents.find(text).into_iter();
        found.filter(|(_, intent)| intent.value > 0.0).map(|(row, _)| row).collect()
    }

    /// Whether two tools must not stand in one answer.
    pub fn conflict(&self, a: u32, b: u32) -> bool {
        self.facts.rows[a as usize].conflicts.binary_search(&b).is_ok()
    }

    /// Adds what the signals say to the candidates' scores.
    pub fn assess<'a>(
        &'a self,
        inputs: SignalInputs<'a>,
        weights: SignalWeights,
        candidates: &mut [Candidate],
        history: impl Fn(u32) -> f32,
    ) -> Assessment<'a> {
        let best = candidates.iter().map(Candidate::blend).fold(0.0, f32::max);
        let wants_intents = weights.is_on(Signal::Intent) || weights.is_on(Signal::Exclusive);
        let assessed = Assessment {
            signals: self,
            intents: if wants_intents { self.intents.find(inputs.text) } else { BTreeMap::new() },
            languages: self.languages(inputs.features),
            categories: self.categories(inputs, weights, candidates),
            history: self.history(&inputs, weights, candidates, history),
            best: if best > 0.0 { best } else { 1.0 },
            relevance: Vec::new(),
            inputs,
            weights,
        };
        if weights.is_off() {
            return assessed;
        }
        let assessed = assessed.with_relevance(candidates);
        assessed.add(candidates);
        assessed
    }

    /// What the past says of the candidates that ran before, by row. Comparing contexts takes
    /// time, so only the best are looked up: the signal is a share of a tool's own score.
    fn history(
        &self,
        inputs: &SignalInputs<'_>,
        weights: SignalWeights,
        candidates: &[Candidate],
        history: impl Fn(u32) -> f32,
    ) -> BTreeMap<u32, f32> {
        if inputs.observed.is_empty() || !weights.is_on(Signal::History) {
            return BTreeMap::new();
        }
        let ran = |c: &&Candidate| matches!(inputs.observed.get(c.row as usize), Some(Some(_)));
        let mut ran: Vec<(f32, u32)> =
            candidates.iter().filter(ran).map(|c| (c.blend(), c.row)).collect();
        let better = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if ran.len() > LOOKED_UP {
            ran.select_nth_unstable_by(LOOKED_UP, better);
            ran.truncate(LOOKED_UP);
        }
        ran.into_iter().map(|(_, row)| (row, history(row))).collect()
    }

    /// Rows filed under a category that the prompt speaks of, ascending.
    pub fn filed(
        &self,
        inputs: SignalInputs<'_>,
        weights: SignalWeights,
        candidates: &[Candidate],
    ) -> Vec<u32> {
        let spoken_of = self.categories(inputs, weights, candidates);
        if spoken_of.is_empty() {
            return Vec::new();
        }
        let rows = (0u32..).zip(&self.facts.rows);
        rows.filter(|(_, facts)| filed(facts, &spoken_of).is_some()).map(|(row, _)| row).collect()
    }

    /// The numbers of the categories that the prompt speaks of, with what each counts for.
    ///
    /// They are a way to tools where there is none by meaning or by words, and as much as there is none:
    /// of 42 prompts in English one came out better with them, and of 26 with such words in another
    /// sense several worse (docs/benchmarks.md).
    fn categories(
        &self,
        inputs: SignalInputs<'_>,
        weights: SignalWeights,
        candidates: &[Candidate],
    ) -> Vec<(usize, f32)> {
        let SignalInputs { text, unread, .. } = inputs;
        if unread <= 0.0 || !weights.is_on(Signal::Category) {
            return Vec::new();
        }
        let has_words = |c: &Candidate| c.keyword.is_some_and(|score| score.raw > 0.0);
        if unread >= 1.0 && candidates.iter().any(has_words) {
            // The tools are described in the prompt's language.
            return Vec::new();
        }
        let found = self.facts.categories.spoken_of(text).into_iter();
        found.map(|(number, share)| (number, share * unread)).collect()
    }

    fn languages(&self, features: Option<&ContextFeatures>) -> Vec<(Option<u16>, f32)> {
        let names = features.map_or(&[][..], |features| &features.languages);
        // The language with the most code comes first and counts twice as much as the next.
        let whole: f32 = (0..names.len()).map(halved).sum();
        let number = |name: &String| self.facts.languages.get(&name.to_lowercase()).copied();
        names.iter().enumerate().map(|(at, name)| (number(name), halved(at) / whole)).collect()
    }
}

fn halved(times: usize) -> f32 {
    0.5f32.powi(i32::try_from(times).unwrap_or(i32::MAX))
}

impl Assessment<'_> {
    fn with_relevance(mut self, candidates: &[Candidate]) -> Self {
        if self.signals.facts.has_hierarchy && self.weights.is_on(Signal::Hierarchy) {
            self.relevance = vec![0.0; self.signals.facts.rows.len()];
            for candidate in candidates {
                self.relevance[candidate.row as usize] =
                    (candidate.blend() / self.best).clamp(0.0, 1.0);
            }
        }
        self
    }

    fn add(&self, candidates: &mut [Candidate]) {
        let (mut most, mut least_named) = (f32::MIN, f32::MAX);
        for candidate in candidates.iter_mut() {
            let sum = self.sum(candidate);
            candidate.score += sum;
            if candidate.exact_name > 0.0 {
                least_named = least_named.min(sum);
            } else {
                most = most.max(sum);
            }
        }
        // A tool that the prompt names stays above all that it does not name.
        let lift = if least_named < f32::MAX { (most - least_named).max(0.0) } else { 0.0 };
        if lift > 0.0 {
            for candidate in candidates.iter_mut().filter(|named| named.exact_name > 0.0) {
                candidate.exact_name += lift;
                candidate.score += lift;
            }
        }
    }

    /// What the signals add to a candidate's score.
    fn sum(&self, candidate: &Candidate) -> f32 {
        let own = candidate.blend().clamp(0.0, self.best);
        let values = self.values(candidate.row);
        let contribution = |signal: Signal| {
            let value = values[signal as usize]?;
            Some(self.weight(signal, own) * value)
        };
        Signal::ALL.into_iter().filter_map(contribution).sum()
    }

    fn weight(&self, signal: Signal, own: f32) -> f32 {
        self.weights.get(signal) * if signal.stands_alone() { self.best } else { own }
    }

    /// The summands of a candidate's score that are no blend: one for each signal that is on and
    /// has something to say.
    pub fn parts(&self, candidate: &Candidate) -> Vec<Part> {
        if self.weights.is_off() {
            return Vec::new();
        }
        let own = candidate.blend().clamp(0.0, self.best);
        let values = self.values(candidate.row);
        let part = |signal: Signal| {
            let value = values[signal as usize].filter(|_| self.weights.is_on(signal))?;
            let weight = self.weight(signal, own);
            // As the source documents count: 0 to 1, and 0.5 is neutral.
            let raw = if signal.stands_alone() { value } else { f32::midpoint(value, 1.0) };
            let (name, contribution) = (signal.as_str(), weight * value);
            Some(Part { name, raw, normalized: value, weight, contribution })
        };
        Signal::ALL.into_iter().filter_map(part).collect()
    }

    /// What the patterns of a tool's author say of the prompt.
    pub fn intent(&self, row: u32) -> Option<&Intent> {
        self.intents.get(&row)
    }

    /// The tools that alone serve an intent of the prompt.
    pub fn exclusive(&self) -> impl Iterator<Item = (u32, &str)> {
        let on = self.weights.is_on(Signal::Exclusive);
        let all = self.intents.iter().filter(move |_| on);
        all.filter_map(|(row, intent)| Some((*row, intent.exclusive.as_deref()?)))
    }

    /// The most that any author's patterns speak for a tool of theirs, 0 to 1.
    pub fn strongest_intent(&self) -> f32 {
        if !self.weights.is_on(Signal::Intent) {
            return 0.0;
        }
        self.intents.values().map(|intent| intent.value).fold(0.0, f32::max)
    }

    /// How sure the categories that the prompt speaks of make it that a tool fits, 0 to 1.
    pub fn sure_of_category(&self) -> f32 {
        let most = self.categories.iter().map(|(_, value)| *value).fold(0.0, f32::max);
        CATEGORY_FITS * most
    }

    fn values(&self, row: u32) -> Values {
        let facts = &self.signals.facts.rows[row as usize];
        let seen = self.inputs.observed.get(row as usize).copied().flatten();
        let mut values = [None; SIGNALS];
        let mut set = |signal: Signal, value: Option<f32>| values[signal as usize] = value;
        if let Some(features) = self.inputs.features {
            set(Signal::Phase, phase(facts, features.phase));
            set(Signal::TaskType, task_type(facts, features.task_type));
            set(Signal::Complexity, complexity(facts, features.complexity));
            set(Signal::Language, self.language(facts));
        }
        set(Signal::History, self.history.get(&row).map(|history| 2.0 * history - 1.0));
        set(Signal::Intent, self.intents.get(&row).map(|intent| intent.value));
        set(Signal::Web, (self.inputs.needs_web && facts.web).then_some(1.0));
        set(Signal::Priority, facts.priority.map(|p| f32::from(p) / 50.0 - 1.0));
        set(Signal::Hierarchy, self.hierarchy(facts));
        set(Signal::Latency, self.latency(facts, seen));
        set(Signal::Cost, facts.cost.filter(|_| self.inputs.cost_aware).map(dear));
        set(Signal::Category, filed(facts, &self.categories));
        set(Signal::Workflow, self.follows(row));
        set(Signal::Newcomer, facts.newcomer.then_some(-1.0));
        set(Signal::Planned, self.inputs.planned.binary_search(&row).ok().map(|_| 1.0));
        values
    }

    fn language(&self, facts: &Facts) -> Option<f32> {
        if self.languages.is_empty() || facts.languages.is_empty() {
            return None;
        }
        let supported = |(number, _): &&(Option<u16>, f32)| {
            number.is_some_and(|number| facts.languages.contains(&number))
        };
        let share: f32 = self.languages.iter().filter(supported).map(|(_, share)| share).sum();
        Some(2.0 * share - 1.0)
    }

    /// As much as the tools after it fit the prompt.
    fn hierarchy(&self, facts: &Facts) -> Option<f32> {
        let relevance = |row: &u32| self.relevance.get(*row as usize).copied();
        facts.below.iter().filter_map(relevance).reduce(f32::max)
    }

    fn latency(&self, facts: &Facts, seen: Option<RunStats>) -> Option<f32> {
        if !self.inputs.urgent {
            return None;
        }
        let tier = seen.and_then(|seen| seen.latency_tier()).or(facts.latency)?;
        Some(0.0 - tier as u8 as f32 / LatencyTier::VerySlow as u8 as f32)
    }

    fn follows(&self, row: u32) -> Option<f32> {
        let follows = self.inputs.follows;
        let at = follows.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        Some(follows[at].1.clamp(0.0, 1.0))
    }
}

/// What the categories that a tool is filed under count for.
fn filed(facts: &Facts, spoken_of: &[(usize, f32)]) -> Option<f32> {
    let has = |(number, _): &&(usize, f32)| facts.categories.contains(number);
    spoken_of.iter().filter(has).map(|(_, value)| *value).reduce(f32::max)
}

/// 1 where a bit is among the declared ones, -1 where others are; nothing declared says nothing.
fn declared(bits: u8, at: usize) -> Option<f32> {
    (bits != 0).then(|| if bits & (1 << at) != 0 { 1.0 } else { -1.0 })
}

fn phase(facts: &Facts, phase: Option<Phase>) -> Option<f32> {
    declared(facts.phases, phase? as usize)
}

fn task_type(facts: &Facts, kind: Option<TaskType>) -> Option<f32> {
    declared(facts.task_types, kind? as usize)
}

/// 1 within the range, less by the distance to it; then from -1 to 1.
fn complexity(facts: &Facts, complexity: Option<f32>) -> Option<f32> {
    let (found, range) = (complexity?, facts.complexity?);
    let distance = (range.min - found).max(found - range.max).max(0.0);
    Some(2.0 * (1.0 - distance).max(0.0) - 1.0)
}

/// Not below 0 by a sign alone, which answers would show.
fn dear(cost: Cost) -> f32 {
    0.0 - cost as u8 as f32 / Cost::High as u8 as f32
}

#[cfg(test)]
mod tests;
