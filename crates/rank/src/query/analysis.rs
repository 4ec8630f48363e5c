//! Analyses a context and returns its features, each with its evidence.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::classifier::Guess;
use super::complexity::complexity;
use super::phase::{phase_by_files, phase_by_keywords};
use super::source_language::languages;
use super::structure::structure;
use super::testing_status::{reports_failure, testing_status};
use super::{
    Context, ContextFeatures, Depth, Phase, SourceFile, Speaker, TaskType, TestingStatus,
    routing_text, task_by_keywords,
};

/// The classifiers' labels for a prompt's vector; `None` without a model, or if the model does not
/// read the prompt's script.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Guesses {
    pub phase: Option<Guess<Phase>>,
    pub task_type: Option<Guess<TaskType>>,
}

/// How a feature was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Evidence {
    /// The caller gave it with the context.
    Given,
    /// The prompt resembles labelled examples; the confidence is 0 to 1.
    Examples { confidence: f32 },
    /// Keywords of the prompt.
    Keywords { words: Vec<String> },
    /// Names and contents of the files.
    Files,
    /// The output of a tool earlier in the conversation.
    Conversation,
    /// Not computed: the phase of work does not need it.
    NotNeeded,
    /// Not computed: the project is too large to read its files.
    NotRead,
    /// Neither the prompt nor the context shows it.
    Unknown,
}

/// How each feature was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FeatureEvidence {
    pub phase: Evidence,
    pub task_type: Evidence,
    pub languages: Evidence,
    pub complexity: Evidence,
    pub structure: Evidence,
    pub testing: Evidence,
}

/// The features of a context, how each was found, and how much of the files was read.
#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    /// The features that were found.
    pub features: ContextFeatures,
    /// How each of them was found.
    pub found: FeatureEvidence,
    /// How much of the files was read.
    pub depth: Depth,
    /// How long each stage took, in the order in which they run; embedding includes, the first
    /// time, the examples. Not serialised, so that equal contexts give equal bytes.
    #[serde(skip)]
    pub times: Vec<(&'static str, Duration)>,
}

/// Finds the features of a prompt and its context. Features that the context states are kept;
/// complexity and structure are computed only if the phase needs them.
///
/// ```
/// use toolroute_rank::query::{Context, Guesses, Phase, analyze};
///
/// let context = Context::default().file("a.py", "def a(): ...");
/// let analysis = analyze("fix the bug", &context, Guesses::default());
/// assert_eq!(analysis.features.phase, Some(Phase::Refinement));
/// assert_eq!(analysis.features.languages, ["python"]);
/// ```
pub fn analyze(prompt: &str, context: &Context, guesses: Guesses) -> Analysis {
    let given = context.given();
    let depth = Depth::of(&context.files, context.project_files);
    let files: &[SourceFile] = &depth.read(&context.files);
    let (mut times, mut clock) = (vec![("embed", Duration::ZERO)], Instant::now());
    let mut lap = |stage| {
        times.push((stage, clock.elapsed()));
        clock = Instant::now();
    };
    let text = routing_text(prompt, &context.conversation);
    let (phase, by_phase) = given_or(given.phase, || phase(&text, guesses.phase, files));
    lap("phase");
    let (task_type, by_task) =
        given_or(given.task_type, || by_prompt(guesses.task_type, || task_by_keywords(&text)));
    lap("task_type");
    let known = Some(given.languages).filter(|languages| !languages.is_empty());
    let (languages, by_languages) = given_or(known, || match languages(files) {
        none if none.is_empty() => (None, Evidence::Unknown),
        found => (Some(found), Evidence::Files),
    });
    lap("languages");
    let (complexity, by_complexity) =
        given_or(given.complexity, || match (needs_complexity(phase), depth) {
            (false, _) => (None, Evidence::NotNeeded),
            (true, Depth::Shallow) => (None, Evidence::NotRead),
            (true, _) => with_evidence(complexity(files), Evidence::Files),
        });
    lap("complexity");
    let (structure, by_structure) =
        given_or(given.structure, || match (needs_structure(phase), files.is_empty()) {
            (_, true) => (None, Evidence::Unknown),
            (true, false) => (Some(structure(files)), Evidence::Files),
            (false, false) => (None, Evidence::NotNeeded),
        });
    lap("structure");
    let (testing, by_testing) = given_or(given.testing, || testing(context, files));
    lap("testing");
    let found = FeatureEvidence {
        phase: by_phase,
        task_type: by_task,
        languages: by_languages,
        complexity: by_complexity,
        structure: by_structure,
        testing: by_testing,
    };
    let languages = languages.unwrap_or_default();
    let features = ContextFeatures { phase, languages, complexity, task_type, structure, testing };
    Analysis { features, found, depth, times }
}

/// Returns the feature that the caller gave, else the result of `find`.
fn given_or<T>(
    given: Option<T>,
    find: impl FnOnce() -> (Option<T>, Evidence),
) -> (Option<T>, Evidence) {
    if given.is_some() { (given, Evidence::Given) } else { find() }
}

/// Complexity matters where code is designed, outlined or changed.
fn needs_complexity(phase: Option<Phase>) -> bool {
    !matches!(phase, Some(Phase::Specification | Phase::Completion))
}

/// Structure matters where code is designed, changed or shipped.
fn needs_structure(phase: Option<Phase>) -> bool {
    !matches!(phase, Some(Phase::Specification | Phase::Pseudocode))
}

/// A value with its evidence, which is [`Evidence::Unknown`] without a value.
fn with_evidence<T>(value: Option<T>, evidence: Evidence) -> (Option<T>, Evidence) {
    let evidence = if value.is_some() { evidence } else { Evidence::Unknown };
    (value, evidence)
}

fn phase(
    text: &str,
    guess: Option<Guess<Phase>>,
    files: &[SourceFile],
) -> (Option<Phase>, Evidence) {
    match by_prompt(guess, || phase_by_keywords(text)) {
        (None, _) => with_evidence(phase_by_files(files), Evidence::Files),
        found => found,
    }
}

/// Returns the label of the prompt: by examples with a model, else by keywords. If the examples say
/// that a prompt is not about software, its keywords are accidental and are ignored.
fn by_prompt<L>(
    guess: Option<Guess<L>>,
    keywords: impl FnOnce() -> Option<(L, Vec<String>)>,
) -> (Option<L>, Evidence) {
    match guess {
        Some(Guess { label, confidence }) => {
            with_evidence(label, Evidence::Examples { confidence })
        }
        None => match keywords() {
            Some((label, words)) => (Some(label), Evidence::Keywords { words }),
            None => (None, Evidence::Unknown),
        },
    }
}

/// The testing status by the files, unless the last tool output of the conversation is a failed test
/// run.
fn testing(context: &Context, files: &[SourceFile]) -> (Option<TestingStatus>, Evidence) {
    let last = context.conversation.iter().rev().find(|turn| turn.role == Speaker::Tool);
    match last {
        Some(turn) if reports_failure(&turn.text) => {
            (Some(TestingStatus::FailingTests), Evidence::Conversation)
        }
        _ => with_evidence(testing_status(files), Evidence::Files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{Grade, Structure};

    fn of(prompt: &str, context: &Context) -> Analysis {
        analyze(prompt, context, Guesses::default())
    }

    #[test]
    fn complexity_and_structure_come_only_where_the_phase_needs_them() {
        let with = |prompt: &str| of(prompt, &Context::default().file("a.py", "if x: y()"));
        let specified = with("write the requirements");
        assert_eq!(specified.features.complexity, None);
        assert_eq!(specified.found.complexity, Evidence::NotNeeded);
        assert_eq!(specified.found.structure, Evidence::NotNeeded);
        let designed = with("architecture of the system").features;
        assert!(designed.complexity.is_some());
        assert_eq!(designed.structure.unwrap().kind, Structure::Monolith);
        let outlined = with("pseudocode please").features;
        assert!(outlined.complexity.is_some() && outlined.structure.is_none());
    }

    #[test]
    fn what_is_given_is_not_found_out_and_what_is_unknown_stays_so() {
        let given = Context {
            phase: Some(Phase::Completion),
            task_type: Some(TaskType::Testing),
            ..Context::default()
        };
        let analysis = of("fix the bug", &given);
        assert_eq!(analysis.features.phase, Some(Phase::Completion));
        assert_eq!(analysis.features.task_type, Some(TaskType::Testing));
        assert_eq!(
            (analysis.found.phase, analysis.found.task_type),
            (Evidence::Given, Evidence::Given)
        );
        let nothing = of("hello there", &Context::default());
        assert_eq!(nothing.features, ContextFeatures::default());
        assert_eq!(nothing.found.phase, Evidence::Unknown);
    }

    #[test]
    fn examples_overrule_keywords_and_files_come_last() {
        let (prompt, context) = ("plan a bug fix", Context::default().file("tests/a.py", ""));
        let guess =
            |label| Guesses { phase: Some(Guess { label, confidence: 0.9 }), ..Guesses::default() };
        let analysis = analyze(prompt, &context, guess(Some(Phase::Pseudocode)));
        assert_eq!(analysis.features.phase, Some(Phase::Pseudocode));
        assert_eq!(analysis.found.phase, Evidence::Examples { confidence: 0.9 });
        let analysis = analyze(prompt, &context, guess(None));
        assert_eq!(analysis.found.phase, Evidence::Files);
        assert_eq!(analysis.features.phase, Some(Phase::Refinement));
    }

    #[test]
    fn a_failed_run_counts_wherever_it_was_told() {
        let context = Context::default().file("a.py", "x = 1");
        let of = |context: &Context| of("and now?", context);
        assert_eq!(of(&context).features.testing, Some(TestingStatus::NoTests));
        let told = context.clone().turn(Speaker::Tool, "test result: FAILED. 0 passed; 1 failed");
        let analysis = of(&told);
        assert_eq!(analysis.features.testing, Some(TestingStatus::FailingTests));
        assert_eq!(analysis.found.testing, Evidence::Conversation);
        let cured = told.turn(Speaker::Tool, "test result: ok. 1 passed; 0 failed");
        assert_eq!(of(&cured).features.testing, Some(TestingStatus::NoTests));
    }

    #[test]
    fn a_large_project_is_looked_at_by_its_names_alone() {
        let mut context = Context::default().file("src/a.rs", "if x {}");
        context.project_files = Some(100_000);
        let analysis = of("architecture review", &context);
        assert_eq!(analysis.depth, Depth::Shallow);
        assert_eq!(analysis.features.languages, ["rust"]);
        assert_eq!(analysis.found.complexity, Evidence::NotRead);
        assert_eq!(analysis.features.structure.unwrap().testability, Grade::Low);
    }
}
