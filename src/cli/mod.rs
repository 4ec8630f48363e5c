//! The command line: reads arguments, environment and files, and prints the engine's results.
//!
//! Data goes to stdout; logs, progress and warnings go to stderr. Nothing here ranks tools. Parsing
//! only validates (`command`, `args`); `settings` resolves each option once; `setup` builds an
//! engine from both; one file per command does the rest.
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     toolroute::cli::run()
//! }
//! ```

// `println!` panics if stdout is closed; `render` reports that as an error.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod analyze;
mod args;
#[cfg(feature = "mcp")]
mod arguments;
mod batch;
mod bench;
mod bench_encoder;
#[cfg(feature = "mcp")]
mod call;
mod candidates;
mod command;
#[cfg(feature = "mcp")]
mod conduct;
mod configure;
mod context_source;
#[cfg(feature = "mcp")]
mod doctor;
mod eval;
mod eval_suite;
mod exit;
mod feedback;
#[cfg(feature = "server")]
mod file_changes;
mod global;
#[cfg(feature = "mcp")]
mod import;
mod index;
mod learn;
#[cfg(feature = "mcp")]
mod ledger;
mod limit;
mod logging;
#[cfg(feature = "server")]
mod mcp;
#[cfg(feature = "mcp")]
mod metrics;
mod model;
mod models;
mod paths;
#[cfg(feature = "mcp")]
mod pins;
#[cfg(feature = "mcp")]
mod plan;
mod probe;
mod progress;
#[cfg(feature = "server")]
mod proxy;
mod render;
mod route;
#[cfg(feature = "mcp")]
mod run;
#[cfg(feature = "mcp")]
mod secrets;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "mcp")]
mod servers;
mod session;
mod settings;
mod setup;
#[cfg(feature = "server")]
mod tool_lists;
mod tools;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory as _;
use clap::error::ErrorKind;
use serde_json::json;

use command::{Cli, Command};
use global::Global;
use words::LogFormat;

/// Parses the process's arguments, runs the command and returns its exit code.
pub fn run() -> ExitCode {
    run_typed(std::env::args_os().collect())
}

/// The same as `run` within another program, such as Python. `typed` starts with the path of a
/// file that runs the command line.
pub fn run_within(typed: Vec<OsString>) -> ExitCode {
    #[cfg(feature = "mcp")]
    paths::set_program(typed.first().map(Into::into));
    run_typed(typed)
}

fn run_typed(typed: Vec<OsString>) -> ExitCode {
    let as_json = wants_json(&typed);
    let cli = match Cli::read(typed, &|name| std::env::var_os(name)) {
        Ok(cli) => cli,
        Err(error) => {
            return match error.downcast_ref() {
                Some(error) => usage(error, as_json),
                None => report(&error, as_json),
            };
        }
    };
    logging::init(&cli.global);
    for warning in &cli.global.settings.warnings {
        render::warn(&cli.global, &format!("warning: {}", render::plain(warning)));
    }
    let done = threads(&cli).and_then(|()| cli.command.run(&cli.global));
    match done.and_then(|code| render::flush().map(|()| code)) {
        Ok(code) => code,
        Err(error) => {
            // A collector of logs reads the last line, too.
            let is_log = cli.global.log_format == LogFormat::Json && !cli.global.json;
            if is_log && !exit::reader_left(&error) && logging::error(&exit::error_chain(&error)) {
                return ExitCode::from(exit::code(&error));
            }
            report(&error, cli.global.json)
        }
    }
}

impl Command {
    /// Runs the command and returns its exit code.
    fn run(&self, global: &Global) -> anyhow::Result<ExitCode> {
        match self {
            Self::Index(args) => index::run(args, global),
            Self::Route(args) => route::run(args, global),
            Self::Analyze(args) => analyze::run(args, global),
            Self::Tools(args) => tools::run(args, global),
            Self::Model(args) => model::run(args, global),
            #[cfg(feature = "mcp")]
            Self::Call(args) => call::run(args, global),
            #[cfg(feature = "mcp")]
            Self::Run(args) => run::run(args, global),
            #[cfg(feature = "mcp")]
            Self::Output(args) => call::output(args, global),
            #[cfg(feature = "mcp")]
            Self::Pins(args) => pins::run(args, global),
            #[cfg(feature = "mcp")]
            Self::Import(args) => import::run(args, global),
            #[cfg(feature = "mcp")]
            Self::Doctor(args) => doctor::run(args, global),
            #[cfg(feature = "server")]
            Self::Mcp(args) => mcp::run(args, global),
            #[cfg(feature = "server")]
            Self::Serve(args) => serve::run(args, global),
            #[cfg(feature = "server")]
            Self::Proxy(args) => proxy::run(args, global),
            Self::Batch(args) => batch::run(args, global),
            Self::Feedback(args) => feedback::run(args, global),
            Self::Eval(args) => eval::run(args, global),
            Self::Learn(args) => learn::run(args, global),
            Self::Bench(args) => bench::run(args, global),
            Self::Candidates(args) => candidates::run(args, global),
            Self::Config(args) => configure::run(args, global),
            #[cfg(feature = "mcp")]
            Self::Conduct(args) => conduct::run(args, global),
            #[cfg(feature = "mcp")]
            Self::Ledger(args) => ledger::run(args, global),
            #[cfg(feature = "mcp")]
            Self::Metrics(args) => metrics::run(args, global),
            Self::Completions { shell } => {
                // `generate` panics if it cannot write, so it writes to memory first.
                let mut script = Vec::new();
                clap_complete::generate(*shell, &mut Cli::command(), "toolroute", &mut script);
                if global.json {
                    let script = String::from_utf8_lossy(&script);
                    render::json(&json!({"shell": shell.to_string(), "script": script}))?;
                } else {
                    render::bytes(&script)?;
                }
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

/// Whether `--json` was typed, for errors that occur before arguments are parsed.
fn wants_json(typed: &[OsString]) -> bool {
    typed.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json")
}

/// Prints the help, which is data, or the error in the arguments.
fn usage(error: &clap::Error, as_json: bool) -> ExitCode {
    let code = u8::try_from(error.exit_code()).unwrap_or(exit::BAD_ARGUMENTS);
    if as_json && error.use_stderr() {
        let said = match error.kind() {
            // clap would print the whole help as an error.
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                "expected a subcommand; --help lists them".to_owned()
            }
            _ => one_line(&error.render().to_string()),
        };
        return report(&exit::failure(code, said), as_json);
    }
    match error.print() {
        Err(failed) if !error.use_stderr() => report(&render::failed(failed), false),
        _ => ExitCode::from(code),
    }
}

/// A clap error on one line, without the usage.
fn one_line(said: &str) -> String {
    let is_said =
        |line: &&str| !line.starts_with("Usage:") && !line.starts_with("For more information");
    let lines = said.lines().map(str::trim).take_while(is_said);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let said = lines.join(" ").replace(" tip: ", "; tip: ");
    said.strip_prefix("error: ").map(str::to_owned).unwrap_or(said)
}

/// Limits the thread pool that tokenizing, inference and batches share.
fn threads(cli: &Cli) -> anyhow::Result<()> {
    if let Some(threads) = cli.global.threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    Ok(())
}

/// Prints the error on stderr, as JSON if requested, and returns its exit code. It is not an error
/// if the reader of stdout, such as `head`, has closed it.
fn report(error: &anyhow::Error, as_json: bool) -> ExitCode {
    if exit::reader_left(error) {
        return ExitCode::SUCCESS;
    }
    let (code, said) = (exit::code(error), exit::error_chain(error));
    if as_json {
        render::note(&json!({"error": said, "exit_code": code}).to_string());
    } else if error.chain().any(exit::is_list) {
        render::note(&format!("toolroute: {said}"));
    } else {
        render::note(&format!("toolroute: {}", render::plain(&said)));
    }
    ExitCode::from(code)
}
