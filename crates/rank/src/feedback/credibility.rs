//! How far each execution is believed. Whoever may report may report falsely, and often.

use std::collections::HashMap;

use super::Execution;

/// How the session of reports begins that name none, and are taken for one of their sender's.
const CLIENT: &str = "client ";

/// The session of what a client reports without naming one: it bounds what that client is believed.
pub fn client_session(client: &str) -> String {
    format!("{CLIENT}{client}")
}

/// Whether a session is one conversation. Of a client's reports that name none it is not known which
/// belong together, so that nothing follows anything.
pub(super) fn is_conversation(session: &str) -> bool {
    !session.starts_with(CLIENT)
}

/// Outcomes of one tool that one session is believed on one day: what it reports beyond shares
/// this weight. Executions without a session are one session.
pub const PER_SESSION_AND_DAY: f64 = 5.0;

/// Outcomes of one tool that are believed on one day, whatever the sessions.
pub const PER_DAY: f64 = 20.0;

/// Days after which an outcome counts half, seen from the latest in the log: a tool that was mended
/// recovers.
pub const HALF_LIFE_DAYS: f64 = 30.0;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The day of an execution, counted from 1970.
pub(super) fn day(execution: &Execution) -> i64 {
    execution.at.unwrap_or_default().div_euclid(DAY_MS)
}

/// Each execution's weight, 0 to 1. The order of the log makes no difference.
pub(super) fn weights(log: &[Execution]) -> Vec<f64> {
    let latest = log.iter().map(day).max().unwrap_or_default();
    let mut by_session: HashMap<_, f64> = HashMap::new();
    let session = |execution: &'_ Execution| {
        (execution.tool.clone(), day(execution), execution.session.clone())
    };
    for execution in log {
        *by_session.entry(session(execution)).or_default() += 1.0;
    }
    // Whole sessions, so that sums do not depend on an order.
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
        of_session * of_day * 0.5f64.powf((latest - day) as f64 / HALF_LIFE_DAYS)
    };
    log.iter().map(weight).collect()
}

/// What each of so many counts where only `most` do.
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
