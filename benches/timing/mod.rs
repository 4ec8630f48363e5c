//! How long something takes, as a median: a mean says little where another program has the
//! processor for a while.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Fills caches, and lets the processor reach its clock.
const WARM_UP: Duration = Duration::from_secs(2);
const MEASURED: Duration = Duration::from_secs(5);

/// Prints how long `run` takes if its name contains the argument, as in
/// `cargo bench --bench search exact`. Outside of `cargo bench` it runs once.
pub fn time<T>(name: &str, mut run: impl FnMut() -> T) {
    let (flags, names): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with('-'));
    if names.first().is_some_and(|chosen| !name.contains(chosen)) {
        return;
    }
    if !flags.iter().any(|flag| flag == "--bench") {
        black_box(run());
        return println!("{name}: runs");
    }
    repeat(WARM_UP, &mut run);
    let mut times = repeat(MEASURED, &mut run);
    times.sort_unstable();
    let [median, late] = [2, 100].map(|part| times[times.len() - 1 - times.len() / part]);
    println!("{name}: {median:.1?}, 99 % within {late:.1?}, {} runs", times.len());
}

fn repeat<T>(span: Duration, run: &mut impl FnMut() -> T) -> Vec<Duration> {
    let start = Instant::now();
    let mut times = Vec::new();
    while times.is_empty() || start.elapsed() < span {
        let begun = Instant::now();
        black_box(run());
        times.push(begun.elapsed());
    }
    times
}
