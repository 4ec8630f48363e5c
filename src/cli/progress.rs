//! Progress on stderr: a bar on a terminal, else a line every few seconds.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::render;

/// Shows progress, rate and remaining time.
pub struct Progress {
    what: &'static str,
    unit: &'static str,
    shown: Option<Display>,
}

enum Display {
    Bar(ProgressBar),
    Lines(Mutex<Lines>),
}

struct Lines {
    start: Instant,
    last: Instant,
}

/// The interval between lines if stderr is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

impl Progress {
    pub fn new(what: &'static str, unit: &'static str, quiet: bool) -> Self {
        let shown = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => None,
            (false, true) => Some(Display::Bar(bar(what, unit))),
            (false, false) => {
                let now = Instant::now();
                Some(Display::Lines(Mutex::new(Lines { start: now, last: now })))
            }
        };
        Self { what, unit, shown }
    }

    /// Reports `done` of `total`. In the last call, both are equal.
    pub fn tell(&self, done: usize, total: usize) {
        match &self.shown {
            None => {}
            Some(Display::Bar(bar)) => {
                bar.set_length(total as u64);
                bar.set_position(done as u64);
                if done == total {
                    bar.finish_and_clear();
                }
            }
            Some(Display::Lines(lines)) => {
                let mut lines = lines.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                if lines.last.elapsed() >= LINE_EVERY && done < total {
                    lines.last = Instant::now();
                    self.line(done, total, lines.start.elapsed());
                }
            }
        }
    }

    /// Reports `done` of an unknown total.
    pub fn count(&self, done: usize) {
        match &self.shown {
            None => {}
            Some(Display::Bar(bar)) => bar.set_position(done as u64),
            Some(Display::Lines(lines)) => {
                let mut lines = lines.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                if lines.last.elapsed() >= LINE_EVERY {
                    lines.last = Instant::now();
                    let rate = done as f64 / lines.start.elapsed().as_secs_f64().max(1e-9);
                    let Self { what, unit, .. } = self;
                    render::note(&format!("{what}: {done} {unit}, {rate:.0} a second"));
                }
            }
        }
    }

    fn line(&self, done: usize, total: usize, elapsed: Duration) {
        let rate = done as f64 / elapsed.as_secs_f64().max(1e-9);
        let left = (total - done) as f64 / rate.max(1e-9);
        let Self { what, unit, .. } = self;
        render::note(&format!(
            "{what}: {done} of {total} {unit}, {rate:.0} a second, about {left:.0} s left"
        ));
    }
}

fn bar(what: &'static str, unit: &'static str) -> ProgressBar {
    let template = format!(
        "{what} {{wide_bar}} {{human_pos}}/{{human_len}} {unit}  {{per_sec:.0}}  eta {{eta}}"
    );
    let style = ProgressStyle::with_template(&template);
    let bar = ProgressBar::no_length();
    bar.set_style(style.expect("the template is fixed and its keys exist. This is a bug."));
    bar
}
