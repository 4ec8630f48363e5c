//! Timeouts, announcements of slow tools, and retries.

use std::time::{Duration, Instant};

use backon::{BackoffBuilder as _, ExponentialBuilder};

use super::permission::Patterns;
use toolroute_catalog::{CallHints, LatencyTier, Retry, Tool};

/// The defaults of the orchestration design that this module implements: 60 s, and 5 min for
/// research.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
const RESEARCH_TIMEOUT: Duration = Duration::from_secs(300);

/// The default limit of one request: long enough for three research tools in sequence.
pub const LONGEST_REQUEST: Duration = Duration::from_secs(900);

/// The most seconds to which a user may set this limit.
pub const LONGEST_REQUEST_MAX_S: u64 = 86_400;

/// Words in a tool's name, categories or tags that mark it as research.
const RESEARCH: [&str; 4] = ["research", "deep-research", "crawl", "investigate"];

/// How long tools may take.
#[derive(Clone, Debug)]
pub struct Timing {
    /// The user's timeout for all tools, whatever else says how long a tool may take.
    pub timeout: Option<Duration>,
    /// The timeout of a tool that declares no latency.
    pub default_timeout: Duration,
    /// The timeout for tools that do research or declare that they are slow.
    pub research_timeout: Duration,
    /// The user's call hints by patterns of tool ids. The first match wins over what the tool
    /// declares.
    pub hints: Vec<(Patterns, CallHints)>,
    /// How long a tool runs before the user is informed.
    pub feedback_delay: Duration,
    /// The same delay for a tool whose latency tier is medium or slower.
    pub slow_feedback_delay: Duration,
    /// How often and with which pauses calls are repeated.
    pub retries: Retries,
    /// The longest duration of one request with all its tools and tries, even if a tool keeps
    /// reporting progress.
    pub longest_request: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            timeout: None,
            default_timeout: DEFAULT_TIMEOUT,
            research_timeout: RESEARCH_TIMEOUT,
            hints: Vec::new(),
            feedback_delay: Duration::from_secs(3),
            slow_feedback_delay: Duration::from_millis(500),
            retries: Retries::default(),
            longest_request: LONGEST_REQUEST,
        }
    }
}

impl Timing {
    /// The call hints for this tool: those of the user, then those of the tool's author.
    fn hints_of<'a>(&'a self, tool: &'a Tool) -> impl Iterator<Item = &'a CallHints> {
        let of_user = self.hints.iter().filter(|(tools, _)| tools.matches(tool.id.as_str()));
        of_user.map(|(_, hints)| hints).chain([&tool.routing.call_hints])
    }

    /// The timeout of a call of this tool, counted from its start or from its latest progress
    /// message.
    pub fn timeout(&self, tool: &Tool) -> Duration {
        if let Some(timeout) = self.timeout {
            return timeout;
        }
        match self.hints_of(tool).find_map(|hints| hints.timeout_ms) {
            Some(ms) => Duration::from_millis(ms),
            None if self.is_research(tool) => self.research_timeout,
            None => self.default_timeout,
        }
    }

    /// The declared retry policy of this tool.
    pub fn retry<'a>(&'a self, tool: &'a Tool) -> Option<&'a Retry> {
        self.hints_of(tool).find_map(|hints| hints.retry.as_ref())
    }

    /// Whether a long text of this tool is summarised.
    pub fn summarizes(&self, tool: &Tool) -> bool {
        self.hints_of(tool).find_map(|hints| hints.summarize).unwrap_or(false)
    }

    /// The declared longest answer of this tool, in tokens.
    pub fn max_tokens(&self, tool: &Tool) -> Option<u32> {
        self.hints_of(tool).find_map(|hints| hints.max_tokens)
    }

    /// How long the tool runs before the user is informed.
    pub fn feedback_delay(&self, tool: &Tool) -> Duration {
        let declared = self.hints_of(tool).find_map(|hints| hints.feedback_delay_ms);
        if let Some(declared) = declared {
            return Duration::from_millis(declared);
        }
        match tool.latency_tier() {
            Some(LatencyTier::Fast) | None => self.feedback_delay,
            Some(_) => self.slow_feedback_delay,
        }
    }

    fn is_research(&self, tool: &Tool) -> bool {
        self.hints_of(tool).find_map(|hints| hints.research).unwrap_or_else(|| is_research(tool))
    }
}

fn is_research(tool: &Tool) -> bool {
    let slow = tool.latency_tier() >= Some(LatencyTier::Slow);
    let words = tool.categories.iter().chain(&tool.tags).map(|word| word.to_lowercase());
    let name = tool.name.to_lowercase();
    let named = RESEARCH.iter().any(|word| name.contains(word));
    slow || named || words.into_iter().any(|word| RESEARCH.contains(&word.as_str()))
}

/// When a call is retried after a transport failure. A call that may have reached the tool is
/// retried only if the tool reads or is idempotent.
#[derive(Clone, Debug)]
pub struct Retries {
    /// The number of retries after the first try; 0 for none.
    pub most: usize,
    /// The pause before the second try.
    pub first_pause: Duration,
    /// The longest pause between two tries.
    pub longest_pause: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            most: 2,
            first_pause: Duration::from_millis(200),
            longest_pause: Duration::from_secs(5),
        }
    }
}

impl Retries {
    /// The same pauses with the number of retries that a tool declares.
    pub fn of(&self, retry: Option<&Retry>) -> Self {
        Self { most: retry.map_or(self.most, |retry| retry.most as usize), ..self.clone() }
    }

    /// The pauses before each retry: exponential with jitter, so that many callers do not return to
    /// a recovered server at once.
    pub fn pauses(&self) -> impl Iterator<Item = Duration> {
        ExponentialBuilder::default()
            .with_min_delay(self.first_pause)
            .with_max_delay(self.longest_pause)
            .with_max_times(self.most)
            .with_jitter()
            .build()
    }
}

/// The announcement for the user while the tool runs: `Researching with Perplexity…`.
pub fn announcement(tool: &Tool) -> String {
    const VERBS: [(&[&str], &str); 8] = [
        (&["research", "investigate"], "Researching"),
        (&["search", "find", "query", "lookup"], "Searching"),
        (&["fetch", "download", "crawl", "browse", "scrape"], "Fetching"),
        (&["read", "get", "list", "show", "open"], "Reading"),
        (&["write", "create", "add", "edit", "update", "save"], "Writing"),
        (&["send", "post", "publish"], "Sending"),
        (&["analyze", "analyse", "think", "reason", "solve"], "Thinking"),
        (&["run", "execute", "build", "test"], "Running"),
    ];
    let name = toolroute_catalog::split_identifier(&tool.name).to_lowercase();
    let words: Vec<&str> = name.split_whitespace().collect();
    let verb = VERBS.iter().find(|(known, _)| known.iter().any(|known| words.contains(known)));
    let verb = verb.map_or("Working", |(_, verb)| verb);
    format!("{verb} with {}…", display_name(tool))
}

/// A tool's name for display: on one line and truncated.
pub(super) fn display_name(tool: &Tool) -> String {
    const MOST: usize = 60;
    let name = tool.title.as_deref().filter(|title| !title.trim().is_empty());
    let name = name.unwrap_or(tool.id.as_str());
    name.chars().filter(|c| !c.is_control()).take(MOST).collect()
}

/// Waits for the work for at most `limit` after its start or after the latest sign of life, and never
/// beyond the deadline. Returns `None` if it takes longer.
pub(super) async fn extended_timeout<T>(
    (limit, deadline): (Duration, Instant),
    sign: impl Fn() -> Option<Instant>,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::pin!(work);
    let mut until = (Instant::now() + limit).min(deadline);
    loop {
        if let Ok(done) = tokio::time::timeout_at(until.into(), &mut work).await {
            return Some(done);
        }
        let later = sign().map_or(until, |sign| (sign + limit).min(deadline));
        if later <= until {
            return None;
        }
        until = later;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> CallHints {
        CallHints { timeout_ms: Some(seconds * 1_000), ..CallHints::default() }
    }

    #[test]
    fn research_takes_five_minutes_and_a_pattern_decides_over_it() {
        let mut timing = Timing::default();
        let research = Tool::new(Some("perplexity"), "deep_research", "");
        assert_eq!(timing.timeout(&research), RESEARCH_TIMEOUT);
        assert_eq!(timing.timeout(&Tool::new(None, "fetch", "")), DEFAULT_TIMEOUT);
        timing.hints.push((Patterns::new(["perplexity__*"]).unwrap(), seconds(7)));
        assert_eq!(timing.timeout(&research), Duration::from_secs(7));
    }

    #[test]
    fn what_a_tool_declares_decides_over_what_its_name_says() {
        let mut tool = Tool::new(Some("perplexity"), "deep_research", "");
        tool.routing.call_hints.research = Some(false);
        let mut timing = Timing::default();
        assert_eq!(timing.timeout(&tool), DEFAULT_TIMEOUT);
        tool.routing.call_hints.timeout_ms = Some(90_000);
        tool.routing.call_hints.feedback_delay_ms = Some(250);
        assert_eq!(timing.timeout(&tool), Duration::from_secs(90));
        assert_eq!(timing.feedback_delay(&tool), Duration::from_millis(250));
        timing.hints.push((Patterns::new(["*"]).unwrap(), seconds(7)));
        assert_eq!(timing.timeout(&tool), Duration::from_secs(7), "the user's word counts most");
    }

    #[test]
    fn what_is_told_names_the_action_and_the_tool() {
        let mut tool = Tool::new(Some("perplexity"), "perplexity_research", "");
        tool.title = Some("Perplexity".to_owned());
        assert_eq!(announcement(&tool), "Researching with Perplexity…");
        assert_eq!(announcement(&Tool::new(None, "frobnicate", "")), "Working with frobnicate…");
    }

    #[test]
    fn pauses_double_with_jitter_and_end() {
        let retries = Retries { most: 4, ..Retries::default() };
        let pauses: Vec<_> = retries.pauses().collect();
        assert_eq!(pauses.len(), 4);
        for (pause, least) in pauses.iter().zip([200, 400, 800, 1600]) {
            let (least, most) = (Duration::from_millis(least), Duration::from_millis(least * 2));
            assert!(*pause >= least && *pause <= most, "{pauses:?}");
        }
        assert_eq!(Retries { most: 0, ..retries }.pauses().count(), 0);
    }
}
