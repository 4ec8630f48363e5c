//! What a tool's author declares about when to choose the tool: priority, intent, order, conflicts.

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::row::{Declared, Row};
use crate::sparse::readable_when_sparse;
use crate::{CallHints, Fallback, Problem, Severity, Tool, call_hints, fallback};

/// The maximum number of bytes of a compiled pattern. A larger one is a mistake or an attack: the
/// largest in the source documents takes 40 kB.
const PATTERN_BYTES: usize = 1 << 18;

const PATTERN_CHARS: usize = 1_000;
const SIGNALS: usize = 32;
const REFERENCES: usize = 256;

/// When to choose a tool, as its author declares it. A tool that declares nothing is ranked neither
/// higher nor lower.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Routing {
    /// The quality of the tool among tools for the same purpose, 0 to 100; 50 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// The tools to try if it fails, the best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<Fallback>,
    /// Ids of tools that must not be in the same answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts_with: Vec<String>,
    /// Patterns of prompts that the tool is meant for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<IntentSignal>,
    /// Whether the tool is in every answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub critical: bool,
    /// Whether its server listed the tool recently and after its other tools. Pins determine this
    /// for tools of servers. The signal `newcomer` ranks such a tool slightly lower.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub newcomer: bool,
    #[serde(skip_serializing_if = "ParameterHints::is_empty")]
    pub parameter_hints: ParameterHints,
    #[serde(skip_serializing_if = "CallHints::is_empty")]
    pub call_hints: CallHints,
}

readable_when_sparse!(Routing);

/// A pattern over prompts, and the effect of a match on the tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntentSignal {
    /// A regular expression in any script, which ignores case.
    pub pattern: String,
    /// The weight of a match: up to 1 for the tool, and down to -1 against it.
    pub weight: f32,
    /// The name of an intent that only this tool serves. After a match, the answer has no other
    /// tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclusive_intent: Option<String>,
}

/// Hints that help a model to fill in a tool's parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ParameterHints {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<String>,
    /// A suitable value for each parameter.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub examples: Map<String, Value>,
}

impl ParameterHints {
    /// Whether there is no hint.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Routing {
    /// The highest priority.
    pub const MAX_PRIORITY: u8 = 100;
}

impl IntentSignal {
    /// Compiles the pattern.
    #[doc(hidden)] // For our own crates.
    pub fn compile(&self) -> Result<Regex, regex::Error> {
        RegexBuilder::new(&self.pattern)
            .case_insensitive(true)
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES)
            .build()
    }
}

const FIELDS: &str =
    "priority fallbacks conflicts_with signals critical newcomer parameter_hints call_hints";

/// Reads the object `routing` of a row.
pub(super) fn read(row: &mut Row<'_>, declared: &mut Declared) {
    let Some(mut routing) = row.child("routing") else { return };
    let priority = routing.typed::<u8>("priority", "a whole number from 0 to 100");
    declared.set(priority, |tool| &mut tool.routing.priority);
    declared.set(fallback::read(&mut routing), |tool| &mut tool.routing.fallbacks);
    declared.set(routing.list("conflicts_with"), |tool| &mut tool.routing.conflicts_with);
    declared.set(read_signals(&mut routing), |tool| &mut tool.routing.signals);
    declared.set(routing.flag("critical"), |tool| &mut tool.routing.critical);
    declared.set(routing.flag("newcomer"), |tool| &mut tool.routing.newcomer);
    declared.set(read_hints(&mut routing), |tool| &mut tool.routing.parameter_hints);
    call_hints::read(&mut routing, declared);
    routing.warn_unknown(FIELDS.split(' '));
    row.absorb(routing);
}

fn read_signals(routing: &mut Row<'_>) -> Option<Vec<IntentSignal>> {
    let mut signals = Vec::new();
    for mut child in routing.children("signals")? {
        let pattern = child.required_text("pattern", "a regular expression");
        let weight = child.typed("weight", "a number from -1 to 1");
        let exclusive_intent = child.text("exclusive_intent");
        child.warn_unknown(["pattern", "weight", "exclusive_intent"]);
        routing.absorb(child);
        if let Some(pattern) = pattern {
            signals.push(IntentSignal { pattern, weight: weight.unwrap_or(1.0), exclusive_intent });
        }
    }
    Some(signals)
}

fn read_hints(routing: &mut Row<'_>) -> Option<ParameterHints> {
    let mut child = routing.child("parameter_hints")?;
    let hints = ParameterHints {
        required: child.list("required").unwrap_or_default(),
        examples: child.typed("examples", "an object with a value a parameter").unwrap_or_default(),
    };
    // `optional` is accepted for older files and has no effect.
    child.warn_unknown(["required", "optional", "examples"]);
    routing.absorb(child);
    Some(hints)
}

/// Returns every problem of a tool's routing.
pub(super) fn check(tool: &Tool) -> Vec<Problem> {
    let routing = &tool.routing;
    let mut problems = Vec::new();
    let mut wrong = |field: &str, expected: &str, found: String, cure: &str| {
        let problem = Problem::new(Severity::Error, expected, found, cure);
        problems.push(problem.field(&format!("routing.{field}")));
    };
    if let Some(priority) = routing.priority.filter(|found| *found > Routing::MAX_PRIORITY) {
        let cure = "write 100 for the best tool of its kind and 50 for any other";
        wrong("priority", "a priority from 0 to 100", priority.to_string(), cure);
    }
    if let Some((member, expected, found)) = routing.call_hints.fault() {
        let cure = "write a number within these bounds";
        wrong(&format!("call_hints.{member}"), &expected, found, cure);
    }
    let references =
        [("fallbacks", routing.fallbacks.len()), ("conflicts_with", routing.conflicts_with.len())];
    for (field, ids) in references {
        if ids > REFERENCES {
            let (expected, found) = (format!("at most {REFERENCES} ids"), ids.to_string());
            wrong(field, &expected, found, "name fewer tools");
        }
    }
    if routing.signals.len() > SIGNALS {
        let (expected, found) = (format!("at most {SIGNALS} signals"), routing.signals.len());
        wrong("signals", &expected, found.to_string(), "join patterns with |");
        return problems;
    }
    for (at, signal) in routing.signals.iter().enumerate() {
        if let Some((field, expected, found, cure)) = fault(signal) {
            wrong(&format!("signals[{at}].{field}"), &expected, found, cure);
        }
    }
    if let Some((claimed, all)) = too_broad(&routing.signals) {
        let found = format!("patterns that match {claimed} of {all} everyday prompts");
        let cure = "write words that only prompts for this tool have";
        wrong("signals", "patterns for the tool's own prompts", found, cure);
    }
    problems
}

fn fault(signal: &IntentSignal) -> Option<(&'static str, String, String, &'static str)> {
    if !(-1.0..=1.0).contains(&signal.weight) {
        let cure = "write 1 where a match all but decides, 0.3 where it only hints";
        return Some(("weight", "a weight from -1 to 1".into(), signal.weight.to_string(), cure));
    }
    let chars = signal.pattern.chars().count();
    if chars == 0 || chars > PATTERN_CHARS {
        let expected = format!("a pattern of 1 to {PATTERN_CHARS} characters");
        return Some(("pattern", expected, format!("{chars}"), "make two signals of it"));
    }
    let error = signal.compile().err()?;
    let said = error.to_string();
    // The library prints the pattern with a mark below it; the last line is the message.
    let said = said.lines().next_back().unwrap_or_default().trim().to_owned();
    let cure =
        "correct it, or write words joined with |; look-around and back-references are not known";
    Some(("pattern", "a regular expression".into(), format!("{:?}: {said}", signal.pattern), cure))
}

/// Everyday prompts that belong to no catalog, one per line. The patterns of one tool must not
/// match many of them.
const EVERYDAY_PROMPTS: &str = include_str!("data/everyday_prompts.txt");

/// The maximum share of the everyday prompts, 0 to 1, that the patterns of one tool may match
/// together. The tools of `tests/data/signals` match at most one of the 62; a pattern such as `.`
/// or `the|a|my` matches most.
const MOST_EVERYDAY: f64 = 0.1;

/// Returns prompts in English for things that people ask for every day.
pub fn everyday_prompts() -> impl Iterator<Item = &'static str> {
    EVERYDAY_PROMPTS.lines().filter(|line| !line.is_empty())
}

/// Returns the number of everyday prompts that the patterns match, and the number of all, if that
/// is too many for one tool. Patterns that count against the tool may match everything.
fn too_broad(signals: &[IntentSignal]) -> Option<(usize, usize)> {
    let claims = |signal: &&IntentSignal| signal.weight > 0.0 || signal.exclusive_intent.is_some();
    let patterns: Vec<Regex> =
        signals.iter().filter(claims).filter_map(|signal| signal.compile().ok()).collect();
    let is_claimed = |prompt: &&str| patterns.iter().any(|pattern| pattern.is_match(prompt));
    let (all, claimed) =
        (everyday_prompts().count(), everyday_prompts().filter(is_claimed).count());
    (claimed as f64 > MOST_EVERYDAY * all as f64).then_some((claimed, all))
}
