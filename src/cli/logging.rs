//! Logging to stderr. Prompts are only logged at debug level.

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

/// The log target of [`note`].
const NOTES: &str = "toolroute::notes";

/// How the text of a warning starts on a terminal. In the log its level says so.
const WARNING: &str = "warning: ";

/// How the text of an error in a file starts.
const ERROR: &str = "error: ";

/// Logs a note for people, such as the address of a server.
pub fn note(text: &str) {
    if text.starts_with(WARNING) {
        warn(text);
    } else if let Some(said) = text.strip_prefix(ERROR) {
        _ = error(said);
    } else {
        tracing::info!(target: NOTES, "{text}");
    }
}

/// Logs a warning, whether its text says so or not. `--quiet` turns the log down to errors.
pub fn warn(text: &str) {
    tracing::warn!(target: NOTES, "{}", text.strip_prefix(WARNING).unwrap_or(text));
}

/// Logs an error, which `--quiet` does not hide. Returns whether `TOOLROUTE_LOG` lets it through.
pub fn error(text: &str) -> bool {
    tracing::error!(target: NOTES, "{text}");
    tracing::enabled!(target: NOTES, tracing::Level::ERROR)
}

/// Whether text on this stream may be bold or coloured: on a terminal, unless `NO_COLOR` is set or
/// `TERM` is `dumb`.
pub fn is_styled(stream: &impl IsTerminal) -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !is_set("NO_COLOR") && std::env::var_os("TERM") != Some("dumb".into())
}

/// Initialises logging. `TOOLROUTE_LOG`, with the syntax of `RUST_LOG`, overrides the flags.
pub fn init(global: &Global) {
    let level = match (global.quiet, global.verbose) {
        (true, _) => "error",
        (false, 0) => "warn",
        (false, 1) => "info",
        (false, _) => "debug",
    };
    // In JSON, notes to the user are part of the log.
    let notes = match (global.log_format, global.quiet) {
        (LogFormat::Json, false) => format!(",{NOTES}=info"),
        _ => String::new(),
    };
    let chosen = std::env::var("TOOLROUTE_LOG").ok().filter(|filter| !filter.trim().is_empty());
    let filter = chosen.unwrap_or_else(|| format!("toolroute={level}{notes}"));
    let logs = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(stderr)
        .with_ansi(is_styled(&std::io::stderr()))
        .with_target(false)
        // Internal errors are printed with a macro that panics if stderr is closed.
        .log_internal_errors(false);
    // If a logger exists already, as in tests, it is kept.
    match global.log_format {
        LogFormat::Text => logs.without_time().try_init().ok(),
        // JSON logs are read by programs and include the time.
        LogFormat::Json => logs.with_ansi(false).json().flatten_event(true).try_init().ok(),
    };
}
