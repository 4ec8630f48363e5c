//! The counters of an engine. This file has the name of every metric.

mod exposition;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use self::exposition::{Counters, Exposition, Histogram};
use super::{Error, Selection};
use crate::feedback::Execution;

const SELECTIONS: &str = "toolroute_selections";
const SELECTION_TIME: &str = "toolroute_selection_duration";
const CACHE: &str = "toolroute_cache_lookups";
const EXECUTIONS: &str = "toolroute_executions";
const EXECUTION_TIME: &str = "toolroute_execution_duration";
const REQUESTS: &str = "toolroute_http_requests";
const REQUEST_TIME: &str = "toolroute_http_request_duration";
const PROXIED: &str = "toolroute_proxy_requests";
const RELOADS: &str = "toolroute_reloads";
const WORKING: &str = "toolroute_http_working";
const WAITING: &str = "toolroute_http_waiting";
const QUEUE: &str = "toolroute_queue_waiting";

/// Upper bounds in seconds, from a cached answer to a large model.
const SELECTION_SECONDS: [f64; 10] = [2e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0];

/// Upper bounds in seconds, from a cached answer to the call of a slow tool.
const REQUEST_SECONDS: [f64; 10] = [3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.3, 1.0, 10.0];

/// Upper bounds in seconds; those of the latency tiers are among them.
const EXECUTION_SECONDS: [f64; 9] = [0.1, 0.3, 1.0, 3.0, 7.0, 15.0, 40.0, 120.0, 300.0];

/// The counters of one engine. They contain no prompt and no tool name.
pub struct Metrics {
    selections: Counters<1>,
    selection_time: Histogram,
    cache: Counters<1>,
    executions: Counters<1>,
    execution_time: Histogram,
    queue: AtomicU64,
    requests: Counters<2>,
    request_time: Histogram,
    proxied: Counters<1>,
    reloads: Counters<1>,
    working: AtomicU64,
    waiting: AtomicU64,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            selections: Counters::new(["outcome"]),
            selection_time: Histogram::new(&SELECTION_SECONDS),
            cache: Counters::new(["result"]),
            executions: Counters::new(["outcome"]),
            execution_time: Histogram::new(&EXECUTION_SECONDS),
            queue: AtomicU64::default(),
            requests: Counters::new(["route", "status"]),
            request_time: Histogram::new(&REQUEST_SECONDS),
            proxied: Counters::new(["result"]),
            reloads: Counters::new(["result"]),
            working: AtomicU64::default(),
            waiting: AtomicU64::default(),
        }
    }
}

impl Metrics {
    pub(super) fn count_selection(&self, answer: &Result<Selection, Error>, took: Duration) {
        let outcome = match answer {
            Ok(answer) if answer.abstained => "abstained",
            Ok(_) => "answered",
            Err(_) => "failed",
        };
        self.selections.count([outcome]);
        self.selection_time.observe(took.as_secs_f64());
        let micros = took.as_micros() as u64;
        match answer {
            Ok(Selection { strategy, tools, abstained, .. }) => {
                let (strategy, tools) = (strategy.as_str(), tools.len());
                tracing::info!(strategy, tools, abstained, micros, "selected");
            }
            // Not logged at `info`, because an error may contain the prompt.
            Err(error) => tracing::debug!(%error, micros, "not selected"),
        }
    }

    pub(super) fn count_cache_lookup(&self, hit: bool) {
        self.cache.count([if hit { "hit" } else { "miss" }]);
    }

    /// Counts a run of a tool, and its duration if known.
    pub fn count_execution(&self, run: &Execution) {
        self.executions.count([if run.success { "succeeded" } else { "failed" }]);
        if let Some(ms) = run.duration_ms {
            self.execution_time.observe(ms as f64 / 1_000.0);
        }
    }

    pub(super) fn set_queue(&self, runs: u64) {
        self.queue.store(runs, Ordering::Relaxed);
    }

    /// Counts an HTTP request by its route, which is one of a few, and the status of the response.
    pub fn count_request(&self, route: &str, status: u16, took: Duration) {
        self.requests.count([route, &status.to_string()]);
        self.request_time.observe(took.as_secs_f64());
    }

    /// Counts a request that the proxy forwarded: `cut`, or why its tools were not cut.
    pub fn count_proxied(&self, result: &'static str) {
        self.proxied.count([result]);
    }

    /// Counts a reload of the catalog and the configuration.
    pub fn count_reload(&self, has_succeeded: bool) {
        self.reloads.count([if has_succeeded { "done" } else { "failed" }]);
    }

    /// Sets the number of requests that a server is processing, and of those that wait.
    pub fn set_load(&self, working: usize, waiting: usize) {
        self.working.store(working as u64, Ordering::Relaxed);
        self.waiting.store(waiting as u64, Ordering::Relaxed);
    }

    /// The counters in the text format of Prometheus and OpenMetrics.
    pub fn text(&self) -> String {
        let value = |gauge: &AtomicU64| gauge.load(Ordering::Relaxed);
        let mut text = Exposition::default();
        text.counters(SELECTIONS, "Selections by outcome", &self.selections);
        text.seconds(SELECTION_TIME, "Time from a request to its answer", &self.selection_time);
        text.counters(CACHE, "Answers looked for among the latest ones", &self.cache);
        text.counters(EXECUTIONS, "Runs of tools that were told of", &self.executions);
        text.seconds(EXECUTION_TIME, "Time that runs of tools took", &self.execution_time);
        text.gauge(QUEUE, "Runs that wait to be written", value(&self.queue));
        text.counters(REQUESTS, "Requests over HTTP", &self.requests);
        text.seconds(REQUEST_TIME, "Time that requests over HTTP took", &self.request_time);
        let passed = "Requests to a language model that were passed on, cut or for what reason not";
        text.counters(PROXIED, passed, &self.proxied);
        text.counters(RELOADS, "Reloads of catalog and configuration", &self.reloads);
        text.gauge(WORKING, "Requests at work", value(&self.working));
        text.gauge(WAITING, "Requests that wait for their turn", value(&self.waiting));
        text.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_rendered() {
        let metrics = Metrics::default();
        metrics.count_request("/v1/select", 200, Duration::from_millis(250));
        metrics.count_request("/healthz", 200, Duration::from_secs(20));
        metrics.count_selection(&Err(Error::EmptyPrompt), Duration::from_micros(50));
        metrics.count_cache_lookup(true);
        metrics.count_cache_lookup(false);
        let run = |success| Execution::new("t".into(), "p", success);
        metrics.count_execution(&Execution { duration_ms: Some(250), ..run(true) });
        metrics.count_execution(&run(false));
        metrics.set_queue(3);
        let text = metrics.text();
        let expected = include_str!("metrics/expected.txt");
        assert_eq!(text, expected);
    }
}
