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
    last: Instant,
    /// When the first report came, and of how many: what an earlier run did counts for no rate.
    first: Option<(Instant, usize)>,
}

/// The interval between lines if stderr is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

impl Progress {
    pub fn new(what: &'static str, unit: &'static str, quiet: bool) -> Self {
        let shown = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => None,
            (false, true) => Some(Display::Bar(bar(what, unit))),
            (false, false) => {
                Some(Display::Lines(Mutex::new(Lines { last: Instant::now(), first: None })))
            }
        };
        Self { what, unit, shown }
    }

    /// Reports `done` of `total`. In the last call, both are equal.
    pub fn tell(&self, done: usize, total: usize) {
        self.report(done, Some(total));
    }

    /// Reports `done` of a total that may be unknown.
    pub fn report(&self, done: usize, total: Option<usize>) {
        match &self.shown {
            None => {}
            Some(Display::Bar(bar)) => {
                total.into_iter().for_each(|total| bar.set_length(total as u64));
                let is_first = bar.position() == 0;
                bar.set_position(done as u64);
                if is_first {
                    bar.reset_eta();
                }
                if total == Some(done) {
                    bar.finish_and_clear();
                }
            }
            Some(Display::Lines(lines)) => {
                let mut lines = lines.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                let (start, before) = *lines.first.get_or_insert((Instant::now(), done));
                if lines.last.elapsed() >= LINE_EVERY && total.is_none_or(|total| done < total) {
                    lines.last = Instant::now();
                    self.line((before, done), total, start.elapsed());
                }
            }
        }
    }

    fn line(&self, (before, done): (usize, usize), total: Option<usize>, elapsed: Duration) {
        let rate = (done - before.min(done)) as f64 / elapsed.as_secs_f64().max(1e-9);
        let (of, left) = total.map_or_else(Default::default, |total| {
            let left = (total - done) as f64 / rate.max(1e-9);
            (format!(" of {total}"), format!(", about {left:.0} s left"))
        });
        let Self { what, unit, .. } = self;
        render::note(&format!("{what}: {done}{of} {unit}, {rate:.0} a second{left}"));
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
