//! Counters, gauges and histograms, and the text format of OpenMetrics 1.0, which Prometheus reads
//! too.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard};

/// Counts by the values of labels, in the order of these values.
pub(super) struct Counters<const N: usize> {
    labels: [&'static str; N],
    counts: Mutex<BTreeMap<[String; N], u64>>,
}

impl<const N: usize> Counters<N> {
    pub fn new(labels: [&'static str; N]) -> Self {
        Self { labels, counts: Mutex::default() }
    }

    pub fn count(&self, values: [&str; N]) {
        *lock(&self.counts).entry(values.map(str::to_owned)).or_default() += 1;
    }
}

/// How many values are at most each bound, and the sum of all values.
pub(super) struct Histogram {
    bounds: &'static [f64],
    observed: Mutex<Observed>,
}

struct Observed {
    /// One count a bound, of the values above the bound before it; and one of those above all.
    counts: Vec<u64>,
    sum: f64,
}

impl Histogram {
    pub fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            observed: Mutex::new(Observed { counts: vec![0; bounds.len() + 1], sum: 0.0 }),
        }
    }

    pub fn observe(&self, value: f64) {
        let mut observed = lock(&self.observed);
        observed.counts[self.bounds.partition_point(|bound| *bound < value)] += 1;
        observed.sum += value;
    }
}

/// The text of several metrics.
#[derive(Default)]
pub(super) struct Exposition(String);

impl Exposition {
    /// Adds the counters, unless nothing was counted.
    pub fn counters<const N: usize>(&mut self, name: &str, help: &str, counters: &Counters<N>) {
        let counts = lock(&counters.counts);
        if counts.is_empty() {
            return;
        }
        self.head(name, help, "counter");
        for (values, count) in counts.iter() {
            let pairs = counters.labels.iter().zip(values);
            let pairs = pairs.map(|(label, value)| format!("{label}=\"{}\"", escaped(value)));
            let labels = pairs.collect::<Vec<_>>().join(",");
            self.line(&format!("{name}_total{{{labels}}} {count}"));
        }
    }

    pub fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, help, "gauge");
        self.line(&format!("{name} {value}"));
    }

    /// Adds a histogram of seconds.
    pub fn seconds(&mut self, name: &str, help: &str, histogram: &Histogram) {
        let name = format!("{name}_seconds");
        self.head(&name, help, "histogram");
        self.line(&format!("# UNIT {name} seconds"));
        let observed = lock(&histogram.observed);
        self.line(&format!("{name}_sum {}", number(observed.sum)));
        self.line(&format!("{name}_count {}", observed.counts.iter().sum::<u64>()));
        let bounds = histogram.bounds.iter().map(|bound| number(*bound));
        let mut below = 0;
        for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(&observed.counts) {
            below += count;
            self.line(&format!("{name}_bucket{{le=\"{bound}\"}} {below}"));
        }
    }

    pub fn finish(mut self) -> String {
        self.line("# EOF");
        self.0
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        self.line(&format!("# HELP {name} {help}."));
        self.line(&format!("# TYPE {name} {kind}"));
    }

    fn line(&mut self, line: &str) {
        writeln!(self.0, "{line}").expect("a string takes any text. This is a bug.");
    }
}

/// A number with a point, and without an exponent.
fn number(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number:.1}") } else { number.to_string() }
}

/// The value of a label as it stands between quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
