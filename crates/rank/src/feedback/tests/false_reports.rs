//! Bounds how much false reports can gain over any honest log.
//!
//! `docs/learning.md` states the numbers below.

use proptest::prelude::*;

use super::super::credibility::DAY_MS;
use super::super::past_contexts::PastContexts;
use super::super::run_stats::{RunStats, rates};
use super::super::{CurrentContext, Execution, Observations, PromptVector};

/// The maximum that one source can add to [`Observations::history`] of a tool on one day, if no
/// contexts are compared.
const ONE_SOURCE: f32 = 1.0 / 15.0;
/// The same if contexts are compared. Five credible successes are added to the ten runs as which
/// the overall rate counts. They are a third, of which half enters a history, and a little more
/// because the overall rate rises as well.
const ONE_SOURCE_IN_CONTEXT: f32 = 0.17;

/// The maximum that any number of sources and days can add to the history of an unknown tool.
const EVER: f32 = 0.1;

/// Generates runs of tool `t` and of another one by honest sessions over a few days, in order of
/// time.
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

/// Adds `lies` false successes of tool `t` to the log, which stays in order of time.
fn with_lies(log: &[Execution], day: i64, lies: usize, sessions: usize) -> Vec<Execution> {
    let mut log = log.to_vec();
    for n in 0..lies {
        let session = Some(format!("adversary {}", n % sessions));
        log.push(execution(day, session, (day, 0, true, true, 0)));
    }
    log.sort_by_key(|run| run.at);
    log
}

fn seen(log: &[Execution], tool: &str) -> RunStats {
    rates(log).remove(tool).unwrap_or_default()
}

/// Returns the history of a tool for a prompt like that of the false reports, and for an unknown
/// context.
fn history(log: &[Execution], tool: &str) -> [f32; 2] {
    let mut nearby = PastContexts::default();
    log.iter().rev().for_each(|run| nearby.add(run.clone()));
    let observations = Observations::of(rates(log), nearby);
    let alike =
        CurrentContext { vector: Some(("m", &[1.0, 0.0, 0.0])), ..CurrentContext::default() };
    [alike, CurrentContext::default()].map(|now| observations.history(&tool.into(), &now))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_hundred_false_successes_of_one_source_gain_no_more_than_is_promised(
        log in honest(), day in 0..4i64,
    ) {
        // The honest log ends on the last day, so that false reports do not change the age of its
        // runs.
        let mut log = log;
        log.push(execution(3, Some("last".into()), (3, 0, false, true, 2)));
        let lied = with_lies(&log, day, 100, 1);
        let ([alike, overall], [lied_alike, lied_overall]) = (history(&log, "t"), history(&lied, "t"));
        prop_assert!((-1e-6..=ONE_SOURCE + 1e-6).contains(&(lied_overall - overall)));
        prop_assert!(lied_alike - alike <= ONE_SOURCE_IN_CONTEXT, "{alike} to {lied_alike}");
        let tier = |log: &[Execution]| RunStats::reliability(Some(&seen(log, "t")), None) as i8;
        prop_assert!(tier(&lied) - tier(&log) <= 1, "by a tier at most");
        prop_assert_eq!(seen(&log, "other"), seen(&lied, "other"), "others lose nothing");
    }

    #[test]
    fn no_number_of_false_successes_lifts_a_tool_far_above_the_unknown(
        log in honest(), lies in 1..2_000usize, sessions in 1..200usize,
    ) {
        let lied = with_lies(&log, 3, lies, sessions);
        prop_assert!(history(&lied, "t").into_iter().all(|history| history <= 0.5 + EVER));
        prop_assert!(history(&lied, "other").into_iter().all(|history| (0.1..=0.6).contains(&history)));
    }
}
