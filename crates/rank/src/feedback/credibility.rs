//! The weight of each execution. A client may send many false reports, so the influence of one
//! session and of one day is bounded.

use std::collections::HashMap;

use super::Execution;

/// The prefix of the session of reports that name none. All such reports of one client share one
/// session.
const CLIENT: &str = "client ";

/// Returns the session of a client's reports that name none, so that the bound per session applies
/// to them.
pub fn client_session(client: &str) -> String {
    format!("{CLIENT}{client}")
}

/// Whether a session is one conversation. It is unknown which reports of a client without a session
/// belong together, so no workflow is learned from them.
pub(super) fn is_conversation(session: &str) -> bool {
    !session.starts_with(CLIENT)
}

/// The maximum weight of one tool's executions in one session on one day. More executions share it.
/// Executions without a session count as one session.
pub const PER_SESSION_AND_DAY: f64 = 5.0;

/// The maximum weight of one tool's executions on one day, over all sessions.
pub const PER_DAY: f64 = 20.0;

/// The number of days after which an execution counts half, relative to the latest one in the log,
/// so that a repaired tool recovers.
pub const HALF_LIFE_DAYS: f64 = 30.0;

/// The milliseconds in a day.
pub(super) const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Returns the day of an execution, counted from 1970.
pub(super) fn day(execution: &Execution) -> i64 {
    execution.at.unwrap_or_default().div_euclid(DAY_MS)
}

/// Returns the weight of each execution, 0 to 1. It does not depend on the order of the log.
pub(super) fn weights(log: &[Execution]) -> Vec<f64> {
    let latest = log.iter().map(day).max().unwrap_or_default();
    let mut by_session: HashMap<_, f64> = HashMap::new();
    let session = |execution: &'_ Execution| {
        (execution.tool.clone(), day(execution), execution.session.clone())
    };
    for execution in log {
        *by_session.entry(session(execution)).or_default() += 1.0;
    }
    // The sums are over sorted values, so that they do not depend on the order of the map.
    let mut by_day: HashMap<_, Vec<f64>> = HashMap::new();
    for ((tool, day, _), runs) in &by_session {
        by_day.entry((tool.clone(), *day)).or_default().push(runs.min(PER_SESSION_AND_DAY));
    }
    let total = |mut runs: Vec<f64>| {
        runs.sort_by(f64::total_cmp);
        runs.iter().sum::<f64>()
    };
    let by_day: HashMap<_, f64> =
        by_day.into_iter().map(|(key, runs)| (key, total(runs))).collect();
    let weight = |execution: &Execution| {
        let day = day(execution);
        let of_session = share(PER_SESSION_AND_DAY, by_session[&session(execution)]);
        let of_day = share(PER_DAY, by_day[&(execution.tool.clone(), day)]);
        of_session * of_day * libm::exp2((day - latest) as f64 / HALF_LIFE_DAYS)
    };
    log.iter().map(weight).collect()
}

/// Returns the weight of each of `runs` executions, so that together they count at most `most`.
fn share(most: f64, runs: f64) -> f64 {
    if runs > most { most / runs } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(tool: &str, session: Option<&str>, day: i64) -> Execution {
        let session = session.map(str::to_owned);
        Execution { at: Some(day * DAY_MS), session, ..Execution::new(tool.into(), "p", true) }
    }

    fn total(log: &[Execution]) -> f64 {
        weights(log).iter().sum()
    }

    #[test]
    fn a_session_a_day_and_age_are_bounded() {
        assert_eq!(total(&vec![run("a", Some("s"), 9); 3]), 3.0);
        assert!((total(&vec![run("a", Some("s"), 9); 100]) - PER_SESSION_AND_DAY).abs() < 1e-9);
        assert!((total(&vec![run("a", None, 9); 100]) - PER_SESSION_AND_DAY).abs() < 1e-9);
        let sessions: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        let many: Vec<Execution> = sessions.iter().map(|s| run("a", Some(s), 9)).collect();
        assert!((total(&many) - PER_DAY).abs() < 1e-9);
        let month = [run("a", None, 0), run("a", None, 30)];
        assert_eq!(weights(&month), [0.5, 1.0]);
    }

    #[test]
    fn one_tool_takes_nothing_from_another() {
        let mut log = vec![run("a", None, 9); 100];
        log.push(run("b", None, 9));
        assert_eq!(weights(&log).last(), Some(&1.0));
    }
}
