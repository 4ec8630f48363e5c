//! What somebody who reports falsely can gain, over any honest log.
//!
//! `docs/feedback.md` promises the numbers below.

use proptest::prelude::*;

use super::nearby::Nearby;
use super::rates::{Observed, history, rates, reliability_score};
use super::{Execution, Observations, PromptVector, Situation};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// By the [`history`] that one source can add to a tool on one day: overall, and where contexts are
/// compared too.
const ONE_SOURCE: f32 = 1.0 / 15.0;
/// In context five believed successes stand beside ten that the overall rate counts as: a third, of
/// which half enters a history, and a little more because the overall rate rises as well.
const ONE_SOURCE_IN_CONTEXT: f32 = 0.17;

/// By the history that any number of sources and days can add to a tool of which nothing is known.
const EVER: f32 = 0.1;

/// By the reliability that one source can add on one day.
const ONE_SOURCE_RELIABILITY: f32 = 0.14;

/// Runs of tool `t` and of another by honest sessions over some days, in order of time.
fn honest() -> impl Strategy<Value = Vec<Execution>> {
    let run = (0..4i64, 0..12u8, any::<bool>(), any::<bool>(), 0..3usize);
    prop::collection::vec(run, 0..120).prop_map(|mut runs| {
        runs.sort_by_key(|run| run.0);
        runs.into_iter()
            .map(|run| execution(run.0, Some(format!("honest {}", run.1)), run))
            .collect()
    })
}

fn execution(
    day: i64,
    session: Option<String>,
    (_, _, is_t, success, direction): (i64, u8, bool, bool, usize),
) -> Execution {
    let mut values = vec![0.0; 3];
    values[direction] = 1.0;
    let tool = if is_t { "t" } else { "other" };
    let mut run = Execution::new(tool.into(), "p", success);
    run.vector = Some(PromptVector { model: "m".into(), values });
    (run.at, run.session) = (Some(day * DAY_MS), session);
    run
}

/// So many false successes of tool `t`, put into the log in order of time.
fn with_lies(log: &[Execution], day: i64, lies: usize, sessions: usize) -> Vec<Execution> {
    let mut log = log.to_vec();
    for n in 0..lies {
        let session = Some(format!("adversary {}", n % sessions));
        log.push(execution(day, session, (day, 0, true, true, 0)));
    }
    log.sort_by_key(|run| run.at);
    log
}

fn seen(log: &[Execution], tool: &str) -> Observed {
    rates(log).remove(tool).unwrap_or_default()
}

fn in_context(log: &[Execution]) -> f32 {
    let mut nearby = Nearby::default();
    log.iter().rev().for_each(|run| nearby.add(run.clone()));
    let tools = rates(log);
    let observations = Observations::of(tools, nearby);
    let now = Situation { vector: Some(("m", &[1.0, 0.0, 0.0])), ..Situation::default() };
    observations.history(&"t".into(), &now)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_hundred_false_successes_of_one_source_gain_no_more_than_is_promised(
        log in honest(), day in 0..4i64,
    ) {
        // The honest part ends on the last day, whatever the adversary does.
        let mut log = log;
        log.push(execution(3, Some("last".into()), (3, 0, false, true, 2)));
        let lied = with_lies(&log, day, 100, 1);
        let (before, after) = (seen(&log, "t"), seen(&lied, "t"));
        let gain = history(after.rate()) - history(before.rate());
        prop_assert!((-1e-6..=ONE_SOURCE + 1e-6).contains(&gain), "{gain}: {before:?} {after:?}");
        let gain = in_context(&lied) - in_context(&log);
        prop_assert!(gain <= ONE_SOURCE_IN_CONTEXT, "in context {gain}");
        let score = |seen: &Observed| reliability_score(None, Some(seen));
        prop_assert!(score(&after) - score(&before) <= ONE_SOURCE_RELIABILITY, "{before:?} {after:?}");
        prop_assert_eq!(seen(&log, "other"), seen(&lied, "other"), "others lose nothing");
    }

    #[test]
    fn no_number_of_false_successes_lifts_a_tool_far_above_the_unknown(
        log in honest(), lies in 1..2_000usize, sessions in 1..200usize,
    ) {
        let lied = with_lies(&log, 3, lies, sessions);
        prop_assert!(history(seen(&lied, "t").rate()) <= 0.5 + EVER);
        prop_assert!(in_context(&lied) <= 0.5 + EVER);
        prop_assert!((0.1..=0.6).contains(&history(seen(&lied, "other").rate())));
    }
}
