//! Workflows: which tool tends to follow which.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use toolroute_catalog::ToolId;

use super::Execution;
use super::credibility::is_conversation;

/// The maximum time between two steps of one workflow, in milliseconds.
const GAP_MS: i64 = 30 * 60 * 1_000;

/// How often one session counts for the same two tools. A loop in one session is not a general
/// habit.
const PER_SESSION: u32 = 3;

/// The weight, in steps, of the overall frequencies of tools relative to the observed steps.
const PRIOR_STEPS: f64 = 5.0;

/// The minimum count of a follower. A single one may be chance.
const LEAST_COUNT: u32 = 2;

/// The maximum number of followers of a tool.
const MOST_NEXT: usize = 10;

/// A tool that tends to follow another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NextTool {
    /// The tool that follows.
    pub tool: ToolId,
    /// The probability, 0 to 1, that this tool comes next.
    pub probability: f64,
    /// The probability divided by the tool's overall frequency: above 1, or 1 for shares of another
    /// system.
    pub lift: f64,
    /// How often the tool followed.
    pub count: u32,
}

/// Which tools follow which, among successful runs within a session.
#[derive(Clone, Debug, Default)]
pub struct Workflow {
    after: BTreeMap<ToolId, Vec<NextTool>>,
}

impl Workflow {
    /// Learns from a log in order of time. Executions without a session do not count.
    pub(super) fn new(log: &[Execution]) -> Self {
        let runs = runs(log);
        let all: f64 = runs.values().map(|runs| f64::from(*runs)).sum();
        let counts = count(log);
        let mut starts: BTreeMap<&ToolId, f64> = BTreeMap::new();
        for ((from, _), count) in &counts {
            *starts.entry(from).or_default() += f64::from(*count);
        }
        let mut after: BTreeMap<ToolId, Vec<NextTool>> = BTreeMap::new();
        for ((from, to), &count) in &counts {
            let usual = f64::from(runs[to]) / all;
            let seen = f64::from(count) + PRIOR_STEPS * usual;
            let probability = seen / (starts[from] + PRIOR_STEPS);
            let lift = probability / usual;
            if lift > 1.0 && count >= LEAST_COUNT {
                let next = NextTool { tool: to.clone(), probability, lift, count };
                after.entry(from.clone()).or_default().push(next);
            }
        }
        for next in after.values_mut() {
            // The sort is stable, so equal probabilities stay in the order of ids.
            next.sort_by(|a, b| b.probability.total_cmp(&a.probability));
            next.truncate(MOST_NEXT);
        }
        Self { after }
    }

    /// Creates workflows from shares that another system counted.
    pub(super) fn of_shares(follows: BTreeMap<ToolId, BTreeMap<ToolId, f64>>) -> Self {
        let next = |(tool, probability): (ToolId, f64)| NextTool {
            tool,
            probability: if probability.is_finite() { probability.clamp(0.0, 1.0) } else { 0.0 },
            lift: 1.0,
            count: LEAST_COUNT,
        };
        let after = follows.into_iter().map(|(id, shares)| {
            let mut all: Vec<NextTool> = shares.into_iter().map(next).collect();
            all.sort_by(|a, b| b.probability.total_cmp(&a.probability));
            (id, all)
        });
        Self { after: after.collect() }
    }

    /// Returns every tool that others tend to follow, with its followers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&ToolId, &[NextTool])> {
        self.after.iter().map(|(id, next)| (id, next.as_slice()))
    }

    /// Returns the tools that follow a tool more often than they run overall, most likely first.
    pub fn next_after(&self, tool: &str) -> &[NextTool] {
        self.after.get(tool).map_or(&[], Vec::as_slice)
    }
}

/// Returns the number of successful runs of each tool within sessions, bounded per session.
fn runs(log: &[Execution]) -> BTreeMap<ToolId, u32> {
    let mut by_session: HashMap<(&str, &ToolId), u32> = HashMap::new();
    let mut runs = BTreeMap::new();
    for execution in log.iter().filter(|execution| execution.success) {
        let session = execution.session.as_deref().filter(|name| is_conversation(name));
        let Some(session) = session else { continue };
        let seen = by_session.entry((session, &execution.tool)).or_default();
        *seen += 1;
        if *seen <= PER_SESSION {
            *runs.entry(execution.tool.clone()).or_default() += 1;
        }
    }
    runs
}

/// Returns how often each tool followed each other one, bounded per session.
fn count(log: &[Execution]) -> BTreeMap<(ToolId, ToolId), u32> {
    let mut last: HashMap<&str, (i64, &ToolId)> = HashMap::new();
    let mut by_session: HashMap<(&str, &ToolId, &ToolId), u32> = HashMap::new();
    let mut counts = BTreeMap::new();
    for execution in log.iter().filter(|execution| execution.success) {
        let session = execution.session.as_deref().filter(|name| is_conversation(name));
        let Some(session) = session else { continue };
        let now = (execution.at.unwrap_or_default(), &execution.tool);
        let Some((at, from)) = last.insert(session, now) else { continue };
        if now.0 - at > GAP_MS {
            continue;
        }
        let seen = by_session.entry((session, from, now.1)).or_default();
        *seen += 1;
        if *seen <= PER_SESSION {
            *counts.entry((from.clone(), now.1.clone())).or_default() += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a session with steps a minute apart.
    fn session(name: &str, tools: &[&str]) -> Vec<Execution> {
        let minutes = (0i64..).map(|minute| minute * 60_000);
        let step = |(tool, at): (&&str, i64)| {
            let session = Some(name.to_owned());
            Execution { at: Some(at), session, ..Execution::new((*tool).into(), "p", true) }
        };
        tools.iter().zip(minutes).map(step).collect()
    }

    fn learned(sessions: &[Vec<Execution>]) -> Workflow {
        let mut log = sessions.concat();
        log.sort_by_key(|execution| execution.at);
        Workflow::new(&log)
    }

    #[test]
    fn what_follows_more_often_than_usual_is_told() {
        let flow = learned(&[
            session("1", &["edit", "test", "commit"]),
            session("2", &["edit", "test", "commit", "mail"]),
            session("3", &["mail", "search", "edit", "test"]),
        ]);
        let next = flow.next_after("edit");
        assert_eq!((next[0].tool.as_str(), next[0].count), ("test", 3));
        assert!(next[0].lift > 1.0 && (0.5..1.0).contains(&next[0].probability), "{next:?}");
        assert_eq!(flow.next_after("test")[0].tool.as_str(), "commit");
        assert!(flow.next_after("mail").is_empty(), "once may be chance");
        assert!(flow.next_after("unknown").is_empty());
    }

    #[test]
    fn failures_long_pauses_and_other_sessions_break_a_flow() {
        let pair = |n: usize| session(&n.to_string(), &["a", "b"]);
        let mut failed: Vec<_> = (0..5).map(pair).collect();
        failed.iter_mut().for_each(|pair| pair[1].success = false);
        assert!(learned(&failed).next_after("a").is_empty());
        let mut late: Vec<_> = (0..5).map(pair).collect();
        late.iter_mut().for_each(|pair| pair[1].at = Some(GAP_MS + 1));
        assert!(learned(&late).next_after("a").is_empty());
        let mut nameless: Vec<_> = (0..5).map(pair).collect();
        nameless.iter_mut().flatten().for_each(|step| step.session = None);
        assert!(learned(&nameless).next_after("a").is_empty());
    }

    #[test]
    fn one_session_is_believed_three_times() {
        let steps: Vec<&str> = std::iter::repeat_n(["edit", "spam"], 50).flatten().collect();
        let honest = (0..10).map(|n| session(&n.to_string(), &["edit", "test"]));
        let mut sessions: Vec<_> = honest.collect();
        sessions.push(session("adversary", &steps));
        let flow = learned(&sessions);
        let next = flow.next_after("edit");
        assert_eq!(next[0].tool.as_str(), "test", "{next:?}");
        assert!(next.iter().all(|next| next.tool.as_str() != "spam" || next.count == 3));
    }

    #[test]
    fn what_clients_report_without_a_session_follows_nothing() {
        let of_a_client = crate::feedback::client_session("127.0.0.1");
        let log = [session(&of_a_client, &["edit", "test", "edit", "test", "edit", "test"])];
        assert!(learned(&log).next_after("edit").is_empty());
    }
}
