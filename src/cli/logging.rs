//! Logs go to stderr, never to stdout, and hold no prompts below debug level.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use super::global::Global;
use super::words::LogFormat;

#[cfg(feature = "mcp")]
fn stderr() -> super::secrets::Stderr {
    super::secrets::Stderr
}

#[cfg(not(feature = "mcp"))]
fn stderr() -> std::io::Stderr {
    std::io::stderr()
}

/// The target of [`note`].
const NOTES: &str = "toolroute::notes";

/// A note for people, such as where a server listens, as a line of the log.
pub fn note(text: &str) {
    match text.strip_prefix("warning: ") {
        Some(warning) => tracing::warn!(target: NOTES, "{warning}"),
        None => tracing::info!(target: NOTES, "{text}"),
    }
}

/// Starts logging. `TOOLROUTE_LOG` (as `RUST_LOG`) decides over the flags.
pub fn init(global: &Global) {
    let level = match (global.quiet, global.verbose) {
        (true, _) => "error",
        (false, 0) => "warn",
        (false, 1) => "info",
        (false, _) => "debug",
    };
    // What is said to people as text stands in the log of programs.
    let notes = match (global.log_format, global.quiet) {
        (LogFormat::Json, false) => format!(",{NOTES}=info"),
        _ => String::new(),
    };
    let chosen = std::env::var("TOOLROUTE_LOG").ok().filter(|filter| !filter.trim().is_empty());
    let filter = chosen.unwrap_or_else(|| format!("toolroute={level}{notes}"));
    let logs = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        // It tells them by a macro that panics where stderr is broken.
        .log_internal_errors(false);
    // A second call in one process (a test) keeps the first logger.
    match global.log_format {
        LogFormat::Text => logs.without_time().try_init().ok(),
        // Programs read these, and theirs is the time.
        LogFormat::Json => logs.with_ansi(false).json().flatten_event(true).try_init().ok(),
    };
}
