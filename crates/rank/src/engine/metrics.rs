//! The counters of an engine. [`Metrics::text`] has the name of every metric.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::{Error, Selection};
use crate::feedback::{Execution, RecorderCounts};

/// Upper bounds in seconds, from a cached answer to a large model.
const SELECTION_SECONDS: [f64; 10] = [2e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0];

/// Upper bounds in seconds, from a cached answer to the call of a slow tool.
const REQUEST_SECONDS: [f64; 10] = [3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.3, 1.0, 10.0];

/// Upper bounds in seconds; those of the latency tiers are among them.
const EXECUTION_SECONDS: [f64; 9] = [0.1, 0.3, 1.0, 3.0, 7.0, 15.0, 40.0, 120.0, 300.0];

type Label = [(&'static str, &'static str); 1];
type Counters = Family<Label, Counter<u64, AtomicU64>>;

/// The counters of one engine. They contain no prompt and no tool name.
pub struct Metrics {
    selections: Counters,
    selection_time: Histogram,
    cache: Counters,
    executions: Counters,
    execution_time: Histogram,
    queue: Gauge,
    queue_full: Counter<u64, AtomicU64>,
    requests: Family<[(&'static str, String); 2], Counter<u64, AtomicU64>>,
    request_time: Histogram,
    proxied: Counters,
    reloads: Counters,
    working: Gauge,
    waiting: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            selections: Counters::default(),
            selection_time: Histogram::new(SELECTION_SECONDS),
            cache: Counters::default(),
            executions: Counters::default(),
            execution_time: Histogram::new(EXECUTION_SECONDS),
            queue: Gauge::default(),
            queue_full: Counter::default(),
            requests: Family::default(),
            request_time: Histogram::new(REQUEST_SECONDS),
            proxied: Counters::default(),
            reloads: Counters::default(),
            working: Gauge::default(),
            waiting: Gauge::default(),
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
        self.selections.get_or_create(&[("outcome", outcome)]).inc();
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
        let result = if hit { "hit" } else { "miss" };
        self.cache.get_or_create(&[("result", result)]).inc();
    }

    /// Counts a run of a tool, and its duration if known.
    pub fn count_execution(&self, run: &Execution) {
        self.count_run(run.success, run.duration_ms);
    }

    pub(super) fn count_run(&self, success: bool, duration_ms: Option<u64>) {
        let outcome = if success { "succeeded" } else { "failed" };
        self.executions.get_or_create(&[("outcome", outcome)]).inc();
        if let Some(ms) = duration_ms {
            self.execution_time.observe(ms as f64 / 1_000.0);
        }
    }

    pub(super) fn set_queue(&self, counts: RecorderCounts) {
        self.queue.set(i64::try_from(counts.waiting()).unwrap_or(i64::MAX));
        self.queue_full.inner().store(counts.dropped, Ordering::Relaxed);
    }

    /// Counts an HTTP request by its route, which is one of a few, and the status of the response.
    pub fn count_request(&self, route: &str, status: u16, took: Duration) {
        let labels = [("route", route.to_owned()), ("status", status.to_string())];
        self.requests.get_or_create(&labels).inc();
        self.request_time.observe(took.as_secs_f64());
    }

    /// Counts a request that the proxy forwarded: `cut`, or why its tools were not cut.
    pub fn count_proxied(&self, result: &'static str) {
        self.proxied.get_or_create(&[("result", result)]).inc();
    }

    /// Counts a reload of the catalog and the configuration.
    pub fn count_reload(&self, has_succeeded: bool) {
        let result = if has_succeeded { "done" } else { "failed" };
        self.reloads.get_or_create(&[("result", result)]).inc();
    }

    /// Sets the number of requests that a server is processing, and of those that wait.
    pub fn set_load(&self, working: usize, waiting: usize) {
        self.working.set(i64::try_from(working).unwrap_or(i64::MAX));
        self.waiting.set(i64::try_from(waiting).unwrap_or(i64::MAX));
    }

    /// The counters in the text format of Prometheus and OpenMetrics.
    pub fn text(&self) -> String {
        let mut all = Registry::with_prefix("toolroute");
        all.register("selections", "Selections by outcome", self.selections.clone());
        let (name, took) = ("selection_duration", "Time from a request to its answer");
        all.register_with_unit(name, took, Unit::Seconds, self.selection_time.clone());
        all.register(
            "cache_lookups",
            "Answers looked for among the latest ones",
            self.cache.clone(),
        );
        all.register("executions", "Runs of tools that were told of", self.executions.clone());
        let (name, took) = ("execution_duration", "Time that runs of tools took");
        all.register_with_unit(name, took, Unit::Seconds, self.execution_time.clone());
        all.register("queue_waiting", "Runs that wait to be written", self.queue.clone());
        let full = "Times that runs were dropped because the queue was full";
        all.register("queue_full", full, self.queue_full.clone());
        all.register("http_requests", "Requests over HTTP", self.requests.clone());
        let (name, took) = ("http_request_duration", "Time that requests over HTTP took");
        all.register_with_unit(name, took, Unit::Seconds, self.request_time.clone());
        let passed = "Requests to a language model that were passed on, cut or for what reason not";
        all.register("proxy_requests", passed, self.proxied.clone());
        all.register("reloads", "Reloads of catalog and configuration", self.reloads.clone());
        all.register("http_working", "Requests at work", self.working.clone());
        all.register("http_waiting", "Requests that wait for their turn", self.waiting.clone());
        let mut text = String::new();
        encode(&mut text, &all).expect("a string takes any text. This is a bug.");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_rendered() {
        let metrics = Metrics::default();
        metrics.count_selection(&Err(Error::EmptyPrompt), Duration::from_micros(50));
        metrics.count_cache_lookup(true);
        metrics.count_cache_lookup(false);
        let run = |success| Execution::new("t".into(), "p", success);
        metrics.count_execution(&Execution { duration_ms: Some(250), ..run(true) });
        metrics.count_execution(&run(false));
        metrics.set_queue(RecorderCounts { queued: 5, written: 2, dropped: 7, lost: 0 });
        let text = metrics.text();
        for line in [
            "toolroute_selections_total{outcome=\"failed\"} 1",
            "toolroute_cache_lookups_total{result=\"hit\"} 1",
            "toolroute_cache_lookups_total{result=\"miss\"} 1",
            "toolroute_executions_total{outcome=\"succeeded\"} 1",
            "toolroute_executions_total{outcome=\"failed\"} 1",
            "toolroute_execution_duration_seconds_bucket{le=\"3.0\"} 1",
            "toolroute_queue_waiting 3",
            "toolroute_queue_full_total 7",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("answered"), "{text}");
    }
}
