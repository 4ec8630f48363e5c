use toolroute_catalog::{ComplexityRange, IntentSignal};

use super::super::candidate::Score;
use super::*;

fn tool(name: &str) -> Tool {
    Tool::new(None, name, "")
}

fn signals(tools: &[Tool]) -> Arc<Signals> {
    let tools: Vec<Arc<Tool>> = tools.iter().cloned().map(Arc::new).collect();
    let row = |id: &str| tools.iter().position(|t| t.name == id).map(|at| at as u32);
    Signals::new(&tools, row, &CategoryWords::new())
}

fn candidate(row: u32, blend: f32) -> Candidate {
    let semantic = Score { raw: blend, normalized: blend, weight: 1.0 };
    Candidate { row, score: blend, semantic: Some(semantic), keyword: None, ..Candidate::default() }
}

/// The history of the first tools, by row.
const HISTORY: [f32; 4] = [0.6, 0.4, 0.5, 0.5];

/// Returns what one signal adds at a weight of 0.1 to the score of each tool. All tools fit equally
/// well.
fn added(tools: &[Tool], signal: Signal, inputs: SignalInputs<'_>) -> Vec<f32> {
    let signals = signals(tools);
    let weights = SignalWeights::OFF.with(signal, 0.1).unwrap();
    let mut all: Vec<Candidate> = (0..tools.len() as u32).map(|row| candidate(row, 0.5)).collect();
    let history = |row: u32| HISTORY[row as usize];
    let assessed = signals.assess(inputs, weights, &mut all, history);
    for candidate in &all {
        let parts: f32 = assessed.parts(candidate).iter().map(|part| part.contribution).sum();
        assert!((candidate.score - 0.5 - parts).abs() < 1e-6, "the parts sum to the score");
    }
    all.iter().map(|c| ((c.score - 0.5) * 1e4).round() / 1e4).collect()
}

#[test]
fn facets_lift_what_fits_and_spare_what_declares_nothing() {
    let mut fits = tool("fits");
    fits.facets.phases = vec!["Refinement".into()];
    fits.facets.task_types = vec!["bug-fix".into()];
    fits.facets.languages = vec!["Rust".into()];
    fits.facets.complexity = Some(ComplexityRange { min: 0.5, max: 0.9 });
    let mut not = tool("not");
    not.facets.phases = vec!["completion".into()];
    not.facets.task_types = vec!["deployment".into()];
    not.facets.languages = vec!["go".into()];
    not.facets.complexity = Some(ComplexityRange { min: 0.0, max: 0.1 });
    let mut own_words = tool("own_words");
    own_words.facets.phases = vec!["tuesday".into()];
    let tools = [fits, not, own_words, tool("silent")];
    let features = ContextFeatures {
        phase: Some(Phase::Refinement),
        task_type: Some(TaskType::BugFix),
        languages: vec!["rust".into(), "toml".into()],
        complexity: Some(0.6),
        ..ContextFeatures::default()
    };
    let inputs = SignalInputs { features: Some(&features), ..SignalInputs::default() };
    assert_eq!(added(&tools, Signal::Phase, inputs), [0.05, -0.05, 0.0, 0.0]);
    assert_eq!(added(&tools, Signal::TaskType, inputs), [0.05, -0.05, 0.0, 0.0]);
    // Rust has two thirds of the weight of the languages: 2 · 2/3 − 1.
    assert_eq!(added(&tools, Signal::Language, inputs), [0.0167, -0.05, 0.0, 0.0]);
    // As in SPARC2, the value is 1 minus the distance to the range, 0.5, which is neutral.
    assert_eq!(added(&tools, Signal::Complexity, inputs), [0.05, 0.0, 0.0, 0.0]);
    assert_eq!(added(&tools, Signal::Phase, SignalInputs::default()), [0.0; 4]);
}

#[test]
fn history_and_priority_have_a_middle() {
    let mut best = tool("best");
    best.routing.priority = Some(100);
    let mut least = tool("least");
    least.routing.priority = Some(0);
    let tools = [best, least, tool("silent")];
    assert_eq!(added(&tools, Signal::Priority, SignalInputs::default()), [0.05, -0.05, 0.0]);
    let seen = Some(RunStats::from_counts(95, 95, None));
    let observed = [seen, seen, None];
    let inputs = SignalInputs { observed: &observed, ..SignalInputs::default() };
    assert_eq!(added(&tools, Signal::History, inputs), [0.01, -0.01, 0.0]);
}

#[test]
fn patterns_speak_in_any_script_and_say_which_matched() {
    let mut gov = tool("datagov");
    let signal = |pattern: &str, weight, exclusive: Option<&str>| IntentSignal {
        pattern: pattern.into(),
        weight,
        exclusive_intent: exclusive.map(str::to_owned),
    };
    gov.routing.signals = vec![
        signal(r"נתונים\s+(רשמיים|ממשלתיים)|official data", 0.6, Some("official")),
        signal("\\bיישוב|population", 0.3, None),
        signal("opinion", -1.0, None),
    ];
    let tools = [gov, tool("search")];
    let ask = |text| SignalInputs { text, ..SignalInputs::default() };
    for (text, value) in [
        ("תביא לי נתונים רשמיים על מחירי דירות", 0.03),
        ("OFFICIAL data on population", 0.045),
        ("an opinion", -0.05),
        ("the weather", 0.0),
    ] {
        assert_eq!(added(&tools, Signal::Intent, ask(text)), [value, 0.0], "{text}");
    }
    let signals = signals(&tools);
    let mut all = [candidate(0, 0.5), candidate(1, 0.5)];
    let text = "official data on population";
    let assessed = signals.assess(ask(text), SignalWeights::default(), &mut all, |_| 0.5);
    assert_eq!(assessed.intent(0).unwrap().matched.len(), 2);
    assert_eq!(assessed.exclusive().collect::<Vec<_>>(), [(0, "official")]);
    assert!((assessed.strongest_intent() - 0.9).abs() < 1e-6);
}

#[test]
fn urgency_cost_the_web_workflow_and_plans_count_where_they_apply() {
    let mut slow = tool("slow");
    slow.latency_ms = Some(60_000);
    slow.cost = Some(Cost::High);
    slow.tags = vec!["Web".into()];
    let tools = [slow, tool("silent")];
    let (urgent, cost_aware, needs_web) = (true, true, true);
    let inputs = SignalInputs { urgent, cost_aware, needs_web, ..SignalInputs::default() };
    let calm = SignalInputs::default();
    for (signal, value) in [(Signal::Latency, -0.0333), (Signal::Cost, -0.05), (Signal::Web, 0.05)]
    {
        assert_eq!(added(&tools, signal, inputs), [value, 0.0], "{signal}");
        assert_eq!(added(&tools, signal, calm), [0.0, 0.0], "{signal}");
    }
    // What was seen counts, but no sender makes a quick tool a very slow one.
    let mut quick = tool("quick");
    quick.latency_ms = Some(1_000);
    let seen = [Some(RunStats::from_counts(3, 3, Some(200_000.0))); 2];
    let timed = SignalInputs { observed: &seen, ..inputs };
    assert_eq!(added(&[quick, tool("silent")], Signal::Latency, timed), [-0.0167, -0.05]);
    let mut best = tool("best");
    (best.latency_ms, best.cost) = (Some(10), Some(Cost::Tiny));
    let weights = SignalWeights::OFF.with(Signal::Latency, 0.1).unwrap();
    let weights = weights.with(Signal::Cost, 0.1).unwrap();
    let parts = signals(&[best])
        .assess(inputs, weights, &mut [candidate(0, 0.5)], |_| 0.5)
        .parts(&candidate(0, 0.5));
    assert_eq!(parts.len(), 2);
    assert!(parts.iter().all(|part| part.contribution.to_bits() == 0), "no 0 with a sign");
    let follows = SignalInputs { follows: &[(1, 0.5)], planned: &[1], ..calm };
    assert_eq!(added(&tools, Signal::Workflow, follows), [0.0, 0.025]);
    assert_eq!(added(&tools, Signal::Planned, follows), [0.0, 0.05]);
}

#[test]
fn an_order_lifts_the_first_only_where_a_later_one_fits() {
    let mut first = tool("first");
    first.routing.fallbacks = vec!["second".into(), "third".into(), "unknown".into()];
    let tools = [first, tool("second"), tool("third"), tool("other")];
    let all = added(&tools, Signal::Hierarchy, SignalInputs::default());
    assert_eq!(all, [0.05, 0.05, 0.0, 0.0]);
    let signals = signals(&tools);
    let weights = SignalWeights::OFF.with(Signal::Hierarchy, 0.2).unwrap();
    let mut apart = [(0, 0.5), (1, 0.0), (2, 0.0), (3, 0.6)].map(|(row, at)| candidate(row, at));
    signals.assess(SignalInputs::default(), weights, &mut apart, |_| 0.5);
    assert!((apart[0].score - 0.5).abs() < 1e-6, "none of those after it fits");
}

#[test]
fn a_named_tool_stays_above_whatever_the_signals_say() {
    let mut lifted = tool("lifted");
    lifted.routing.priority = Some(100);
    lifted.routing.signals =
        vec![IntentSignal { pattern: "x".into(), weight: 1.0, exclusive_intent: None }];
    let signals = signals(&[lifted, tool("named")]);
    let mut all = [candidate(0, 0.5), candidate(1, 0.0)];
    all[1].exact_name = 0.505;
    all[1].score = 0.505;
    let inputs = SignalInputs { text: "x", ..SignalInputs::default() };
    let assessed = signals.assess(inputs, SignalWeights::default(), &mut all, |_| 0.5);
    assert!(all[1].score > all[0].score, "{all:?}");
    let parts: f32 = assessed.parts(&all[1]).iter().map(|part| part.contribution).sum();
    assert!((all[1].score - all[1].exact_name - parts).abs() < 1e-6);
}

#[test]
fn conflicts_hold_on_both_sides_and_weights_are_bounded() {
    let mut a = tool("a");
    a.routing.conflicts_with = vec!["b".into(), "a".into(), "gone".into()];
    let signals = signals(&[a, tool("b"), tool("c")]);
    assert!(signals.conflict(0, 1) && signals.conflict(1, 0));
    assert!(!signals.conflict(0, 0) && !signals.conflict(0, 2));
    for bad in [1.5, -0.1, f32::NAN] {
        assert!(SignalWeights::OFF.with(Signal::Phase, bad).is_err());
    }
    let json = serde_json::to_string(&SignalWeights::default()).unwrap();
    assert_eq!(serde_json::from_str::<SignalWeights>(&json).unwrap(), SignalWeights::default());
    assert!(serde_json::from_str::<SignalWeights>(r#"{"phaze": 0.1}"#).is_err());
}

#[test]
fn a_prompt_for_the_web_or_in_a_hurry_is_silent_if_no_tool_declares_that() {
    let (mut web, mut fast, mut cheap) = (tool("web"), tool("fast"), tool("cheap"));
    web.tags = vec!["browser".into()];
    fast.latency_ms = Some(10);
    cheap.cost = Some(Cost::Low);
    let needs_web = SignalInputs { needs_web: true, ..SignalInputs::default() };
    let urgent = SignalInputs { urgent: true, ..SignalInputs::default() };
    let cost_aware = SignalInputs { cost_aware: true, ..SignalInputs::default() };
    for (inputs, speaking) in [(needs_web, web), (urgent, fast), (cost_aware, cheap)] {
        let are_silent =
            |tools: &[Tool]| signals(tools).are_silent(inputs, SignalWeights::default());
        assert!(are_silent(&[tool("a"), tool("b")]));
        assert!(!are_silent(&[tool("a"), speaking]));
    }
}
