//! Signals: everything besides the semantic and keyword scores that raises or lowers a tool's
//! score.
//!
//! ```text
//! score = blend + exact name + Σ weight · value · scale
//! ```
//!
//! `blend` is the sum of the semantic and keyword contributions. `value` is -1 to 1, and 0 if it is
//! unknown or undeclared. `scale` is the best blend of the prompt for a signal that [counts by
//! itself](Signal::stands_alone), and the tool's own blend for the others. `docs/context.md`
//! explains each signal.

mod facts;
mod intent;
mod weights;

use std::collections::BTreeMap;
use std::sync::Arc;

use toolroute_catalog::{Cost, LatencyTier, Tool};

use super::Part;
use super::candidate::Candidate;
use crate::feedback::RunStats;
use crate::query::{CategoryWords, ContextFeatures, Phase, TaskType};
use facts::{CatalogFacts, ToolFacts};
pub use intent::Intent;
use intent::Intents;
pub use weights::{SIGNALS, Signal, SignalWeights};

/// The maximum number of candidates whose history is looked up.
const LOOKED_UP: usize = 32;

/// The signals of a catalog's tools. They must be rebuilt when the catalog changes.
pub struct Signals {
    facts: CatalogFacts,
    intents: Intents,
}

/// What is known about a request, as input for the signals.
#[derive(Clone, Copy, Default)]
pub struct SignalInputs<'a> {
    pub text: &'a str,
    /// The text in its own language, if `text` is a translation. Patterns match both.
    pub original: Option<&'a str>,
    pub features: Option<&'a ContextFeatures>,
    /// The statistics of each row's runs. The slice may be shorter than the catalog; the remaining
    /// rows have no runs.
    pub observed: &'a [Option<RunStats>],
    /// The rows that tend to follow the tool that was used last, ascending, each with a share, 0 to
    /// 1.
    pub follows: &'a [(u32, f32)],
    /// The rows that the caller plans to use, ascending.
    pub planned: &'a [u32],
    pub urgent: bool,
    pub needs_web: bool,
    pub cost_aware: bool,
    /// The share of the prompt that the encoder cannot read, 0 to 1.
    pub unread: f32,
}

impl SignalInputs<'_> {
    fn texts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.text).chain(self.original)
    }

    /// Whether the request gives any signal an input, apart from its text.
    fn ask(&self) -> bool {
        let Self { features, follows, planned, urgent, needs_web, cost_aware, .. } = *self;
        features.is_some()
            || urgent
            || needs_web
            || cost_aware
            || !(follows.is_empty() && planned.is_empty())
    }
}

/// The signals of one prompt. They explain the score of any of its candidates.
pub struct Assessment<'a> {
    signals: &'a Signals,
    inputs: SignalInputs<'a>,
    weights: SignalWeights,
    intents: BTreeMap<u32, Intent>,
    /// The history by row, 0 to 1; 0.5 is neutral.
    history: BTreeMap<u32, f32>,
    /// The index of each language of the context, `None` if no tool declares it, with its share.
    /// The shares sum to 1.
    languages: Vec<(Option<u16>, f32)>,
    /// The categories of the prompt, with their values, 0 to 1.
    categories: Vec<(usize, f32)>,
    /// The best blend among the candidates; 1 if none is positive.
    best: f32,
    /// The blend divided by the best blend, by row; empty if no tool declares fallbacks.
    relevance: Vec<f32>,
}

/// The probability that a tool fits if the prompt contains keywords of its category.
const CATEGORY_FITS: f32 = 0.8;

/// The value of each signal; `None` if a signal does not apply to the tool.
type Values = [Option<f32>; SIGNALS];

impl Signals {
    /// Collects the declarations of the tools. `row` finds a tool by any spelling of its id;
    /// `words` contains the user's keywords for categories.
    pub fn new(
        tools: &[Arc<Tool>],
        row: impl Fn(&str) -> Option<u32>,
        words: &CategoryWords,
    ) -> Arc<Self> {
        Arc::new(Self { facts: CatalogFacts::new(tools, row, words), intents: Intents::new(tools) })
    }

    /// Returns the rows of the tools that belong in every answer, ascending.
    pub fn critical(&self) -> &[u32] {
        &self.facts.critical
    }

    /// Returns the rows with a positive intent, ascending.
    pub fn intended(&self, inputs: SignalInputs<'_>, weights: SignalWeights) -> Vec<u32> {
        if !weights.is_on(Signal::Intent) && !weights.is_on(Signal::Exclusive) {
            return Vec::new();
        }
        let found = self.intents.find(inputs.texts()).into_iter();
        found.filter(|(_, intent)| intent.value > 0.0).map(|(row, _)| row).collect()
    }

    /// Whether no signal changes a score or adds a tool for these inputs, whichever candidates are
    /// retrieved.
    pub fn are_silent(&self, inputs: SignalInputs<'_>, weights: SignalWeights) -> bool {
        let SignalInputs { observed, unread, follows, planned, .. } = inputs;
        let facts = &self.facts;
        // A prompt that asks for the web or is urgent changes nothing if no tool declares anything
        // about that.
        let asks = inputs.features.is_some()
            || !(follows.is_empty() && planned.is_empty())
            || inputs.needs_web && facts.any_web
            || inputs.urgent && facts.any_latency
            || inputs.cost_aware && facts.any_cost;
        let wants_intents = weights.is_on(Signal::Intent) || weights.is_on(Signal::Exclusive);
        let speaks = asks || !observed.is_empty() || unread > 0.0 || facts.any_counts;
        !speaks && (!wants_intents || self.intents.find(inputs.texts()).is_empty())
    }

    /// Whether two tools must not be in the same answer.
    pub fn conflict(&self, a: u32, b: u32) -> bool {
        self.facts.rows[a as usize].conflicts.binary_search(&b).is_ok()
    }

    /// Adds the signals to the candidates' scores. `history` returns the history of a row, 0 to 1.
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
            intents: if wants_intents {
                self.intents.find(inputs.texts())
            } else {
                BTreeMap::new()
            },
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

    /// Returns the history, by row, of the candidates that have run before. Comparing contexts
    /// takes time, so only the best candidates are looked up: the signal is proportional to a
    /// tool's own score.
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

    /// Returns the rows with a category of the prompt, ascending.
    pub fn in_mentioned_categories(
        &self,
        inputs: SignalInputs<'_>,
        weights: SignalWeights,
        candidates: &[Candidate],
    ) -> Vec<u32> {
        let mentioned = self.categories(inputs, weights, candidates);
        if mentioned.is_empty() {
            return Vec::new();
        }
        let rows = (0u32..).zip(&self.facts.rows);
        rows.filter(|(_, facts)| category_value(facts, &mentioned).is_some())
            .map(|(row, _)| row)
            .collect()
    }

    /// Returns the categories of the prompt, with their values, 0 to 1.
    ///
    /// Categories find tools if neither the semantic nor the keyword score does, so they count in
    /// proportion to the share of the prompt that the encoder cannot read. In English they hardly
    /// help: of 42 prompts, one improved with them, and of 26 with such keywords in another sense,
    /// several got worse (`docs/benchmarks.md`).
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
        let found = self.facts.categories.mentioned(text).into_iter();
        found.map(|(number, share)| (number, share * unread)).collect()
    }

    fn languages(&self, features: Option<&ContextFeatures>) -> Vec<(Option<u16>, f32)> {
        let names = features.map_or(&[][..], |features| &features.languages);
        // The first language has the most code. Each language counts twice as much as the next.
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
        let is_asked = self.is_asked();
        for candidate in candidates.iter_mut() {
            let counts =
                is_asked || self.signals.facts.rows[candidate.row as usize].always_counts();
            let sum = if counts { self.sum(candidate) } else { 0.0 };
            candidate.score += sum;
            if candidate.exact_name > 0.0 {
                least_named = least_named.min(sum);
            } else {
                most = most.max(sum);
            }
        }
        // A tool that the prompt names stays above all others.
        let lift = if least_named < f32::MAX { (most - least_named).max(0.0) } else { 0.0 };
        if lift > 0.0 {
            for candidate in candidates.iter_mut().filter(|named| named.exact_name > 0.0) {
                candidate.exact_name += lift;
                candidate.score += lift;
            }
        }
    }

    /// Whether the request gives any signal an input. If not, only the declarations that [always
    /// count](ToolFacts::always_counts) matter, and most tools have none.
    fn is_asked(&self) -> bool {
        let is_none =
            self.history.is_empty() && self.intents.is_empty() && self.categories.is_empty();
        self.inputs.ask() || !is_none
    }

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

    /// Returns the summands that signals add to a candidate's score: one for each signal that is on
    /// and has a value.
    pub fn parts(&self, candidate: &Candidate) -> Vec<Part> {
        if self.weights.is_off() {
            return Vec::new();
        }
        let own = candidate.blend().clamp(0.0, self.best);
        let values = self.values(candidate.row);
        let part = |signal: Signal| {
            let value = values[signal as usize].filter(|_| self.weights.is_on(signal))?;
            let weight = self.weight(signal, own);
            // The source documents use a scale of 0 to 1 on which 0.5 is neutral.
            let raw = if signal.stands_alone() { value } else { f32::midpoint(value, 1.0) };
            let (name, contribution) = (signal.as_str(), weight * value);
            Some(Part { name, raw, normalized: value, weight, contribution })
        };
        Signal::ALL.into_iter().filter_map(part).collect()
    }

    /// Returns the intent of a row, if the prompt matches one of its patterns.
    pub fn intent(&self, row: u32) -> Option<&Intent> {
        self.intents.get(&row)
    }

    /// Returns the rows that exclusively serve an intent of the prompt, with the intent.
    pub fn exclusive(&self) -> impl Iterator<Item = (u32, &str)> {
        let on = self.weights.is_on(Signal::Exclusive);
        let all = self.intents.iter().filter(move |_| on);
        all.filter_map(|(row, intent)| Some((*row, intent.exclusive.as_deref()?)))
    }

    /// Returns the strongest intent of any tool, 0 to 1.
    pub fn strongest_intent(&self) -> f32 {
        if !self.weights.is_on(Signal::Intent) {
            return 0.0;
        }
        self.intents.values().map(|intent| intent.value).fold(0.0, f32::max)
    }

    /// Returns the confidence, 0 to 1, that a tool fits because of the categories of the prompt.
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
        set(Signal::Category, category_value(facts, &self.categories));
        set(Signal::Workflow, self.follows(row));
        set(Signal::Newcomer, facts.newcomer.then_some(-1.0));
        set(Signal::Planned, self.inputs.planned.binary_search(&row).ok().map(|_| 1.0));
        values
    }

    fn language(&self, facts: &ToolFacts) -> Option<f32> {
        if self.languages.is_empty() || facts.languages.is_empty() {
            return None;
        }
        let supported = |(number, _): &&(Option<u16>, f32)| {
            number.is_some_and(|number| facts.languages.contains(&number))
        };
        let share: f32 = self.languages.iter().filter(supported).map(|(_, share)| share).sum();
        Some(2.0 * share - 1.0)
    }

    /// Returns how well the best tool after this one, in a declared order of fallbacks, fits the
    /// prompt.
    fn hierarchy(&self, facts: &ToolFacts) -> Option<f32> {
        let relevance = |row: &u32| self.relevance.get(*row as usize).copied();
        facts.fallbacks.iter().filter_map(relevance).reduce(f32::max)
    }

    fn latency(&self, facts: &ToolFacts, seen: Option<RunStats>) -> Option<f32> {
        if !self.inputs.urgent {
            return None;
        }
        let latency_ms = RunStats::near_declared(seen.as_ref(), facts.latency_ms)?;
        let tier = LatencyTier::from_ms(latency_ms as u64);
        Some(0.0 - tier as u8 as f32 / LatencyTier::VerySlow as u8 as f32)
    }

    fn follows(&self, row: u32) -> Option<f32> {
        let follows = self.inputs.follows;
        let at = follows.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        Some(follows[at].1.clamp(0.0, 1.0))
    }
}

/// Returns the highest value in `mentioned` among the tool's categories.
fn category_value(facts: &ToolFacts, mentioned: &[(usize, f32)]) -> Option<f32> {
    let has = |(number, _): &&(usize, f32)| facts.categories.contains(number);
    mentioned.iter().filter(has).map(|(_, value)| *value).reduce(f32::max)
}

/// Returns 1 if the bit is declared, -1 if only others are, and `None` if none is.
fn declared(bits: u8, at: usize) -> Option<f32> {
    (bits != 0).then(|| if bits & (1 << at) != 0 { 1.0 } else { -1.0 })
}

fn phase(facts: &ToolFacts, phase: Option<Phase>) -> Option<f32> {
    declared(facts.phases, phase? as usize)
}

fn task_type(facts: &ToolFacts, kind: Option<TaskType>) -> Option<f32> {
    declared(facts.task_types, kind? as usize)
}

/// Returns 1 within the declared range, and less with the distance to it, down to -1.
fn complexity(facts: &ToolFacts, complexity: Option<f32>) -> Option<f32> {
    let (found, range) = (complexity?, facts.complexity?);
    let distance = (range.min - found).max(found - range.max).max(0.0);
    Some(2.0 * (1.0 - distance).max(0.0) - 1.0)
}

/// Returns the value of a cost, 0 to -1. Subtracting from 0 avoids a negative zero, which answers
/// would show.
fn dear(cost: Cost) -> f32 {
    0.0 - cost as u8 as f32 / Cost::High as u8 as f32
}

#[cfg(test)]
mod tests;
