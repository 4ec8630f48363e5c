//! The command line: reads arguments, environment and files, and shows what the engine says.
//!
//! Data goes to stdout; logs, progress and warnings go to stderr. This room decides nothing about
//! tools. Parsing only validates ([`args`]); [`setup`] turns what was parsed into an engine; one
//! file a subcommand does the rest.
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     toolroute::cli::run()
//! }
//! ```

// They panic where nobody reads; `render` has what does not.
#![warn(clippy::print_stdout, clippy::print_stderr)]

#[cfg(feature = "server")]
mod address;
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
mod conduct;
#[cfg(feature = "mcp")]
mod conduct_servers;
mod config;
mod configure;
mod context_args;
mod context_source;
#[cfg(feature = "mcp")]
mod doctor;
mod environment;
mod eval;
mod eval_suite;
mod exit;
mod feedback;
mod feedback_add;
mod feedback_args;
#[cfg(feature = "mcp")]
mod import;
mod index;
mod learn;
mod ledger;
mod limit;
#[cfg(feature = "server")]
mod lists;
mod logging;
#[cfg(feature = "server")]
mod mcp;
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
mod select_args;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "mcp")]
mod servers;
mod session;
mod setup;
#[cfg(feature = "server")]
mod stamp;
mod tools;

use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::ErrorKind;

use args::{Cli, Command};
use config::Refused;
use exit::Failure;

/// Parses the process's arguments, runs the command and gives its exit code.
pub fn run() -> ExitCode {
    let mut cli = match config::parse() {
        Ok(cli) => cli,
        Err(Refused::Typed(error)) => return usage(&error, wants_json()),
        Err(Refused::Configured(failure)) => return exit::report(&failure.into(), wants_json()),
    };
    environment::fill(&mut cli.command);
    logging::init(&cli.global);
    for warning in &cli.global.settings.warnings {
        render::warn(&cli.global, &format!("warning: {}", render::plain(warning)));
    }
    let done = threads(&cli).and_then(|()| dispatch(&cli));
    match done.and_then(|code| render::flush().map(|()| code)) {
        Ok(code) => code,
        Err(error) => exit::report(&error, cli.global.json),
    }
}

/// Whether `--json` was typed, where nothing is parsed that could tell.
fn wants_json() -> bool {
    let mut typed = std::env::args_os().take_while(|argument| argument != "--");
    typed.any(|argument| argument == "--json")
}

/// Help, which is data, or what is wrong with the arguments.
fn usage(error: &clap::Error, as_json: bool) -> ExitCode {
    let code = u8::try_from(error.exit_code()).unwrap_or(exit::BAD_ARGUMENTS);
    if as_json && error.use_stderr() {
        let said = match error.kind() {
            // All that it would say is the help.
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                "expected a subcommand; --help lists them".to_owned()
            }
            _ => one_line(&error.render().to_string()),
        };
        return exit::report(&Failure { code, said }.into(), as_json);
    }
    match error.print() {
        Err(failed) if !error.use_stderr() => exit::report(&render::failed(failed), false),
        _ => ExitCode::from(code),
    }
}

/// What clap says, without the usage that it shows to people.
fn one_line(said: &str) -> String {
    let is_said =
        |line: &&str| !line.starts_with("Usage:") && !line.starts_with("For more information");
    let lines = said.lines().map(str::trim).take_while(is_said);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let said = lines.join(" ").replace(" tip: ", "; tip: ");
    said.strip_prefix("error: ").map(str::to_owned).unwrap_or(said)
}

/// Bounds the pool that tokenising, inference and batches share.
fn threads(cli: &Cli) -> anyhow::Result<()> {
    if let Some(threads) = cli.global.threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    Ok(())
}

fn dispatch(cli: &Cli) -> anyhow::Result<ExitCode> {
    let global = &cli.global;
    match &cli.command {
        Command::Index(args) => index::run(args, global),
        Command::Route(args) => route::run(args, global),
        Command::Analyze(args) => analyze::run(args, global),
        Command::Tools(args) => tools::run(args, global),
        Command::Model(args) => model::run(args, global),
        #[cfg(feature = "mcp")]
        Command::Call(args) => call::run(args, global),
        #[cfg(feature = "mcp")]
        Command::Run(args) => run::run(args, global),
        #[cfg(feature = "mcp")]
        Command::Output(args) => call::output(args, global),
        #[cfg(feature = "mcp")]
        Command::Pins(args) => pins::run(args, global),
        #[cfg(feature = "mcp")]
        Command::Import(args) => import::run(args, global),
        #[cfg(feature = "mcp")]
        Command::Doctor(args) => doctor::run(args, global),
        #[cfg(feature = "server")]
        Command::Mcp(args) => mcp::run(args, global),
        #[cfg(feature = "server")]
        Command::Serve(args) => serve::run(args, global),
        #[cfg(feature = "server")]
        Command::Proxy(args) => proxy::run(args, global),
        Command::Batch(args) => batch::run(args, global),
        Command::Feedback(args) => feedback::run(args, global),
        Command::Eval(args) => eval::run(args, global),
        Command::Learn(args) => learn::run(args, global),
        Command::Bench(args) => bench::run(args, global),
        Command::Candidates(args) => candidates::run(args, global),
        Command::Config(args) => configure::run(args, global),
        Command::Conduct(args) => conduct::run(args, global),
        Command::Ledger(args) => ledger::run(args, global),
        Command::Metrics(args) => metrics::run(args, global),
        Command::Completions { shell } => {
            // It panics where it cannot write.
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "toolroute", &mut script);
            render::bytes(&script)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
