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

mod args;
mod batch;
mod bench;
mod eval;
mod exit;
mod index;
mod logging;
mod model;
mod paths;
mod progress;
mod render;
mod route;
mod setup;
mod tools;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Cli, Command};

/// Parses the process's arguments, runs the command and gives its exit code.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    logging::init(cli.global.verbose, cli.global.quiet);
    match threads(&cli).and_then(|()| dispatch(&cli)) {
        Ok(code) => code,
        Err(error) => exit::report(&error, cli.global.json),
    }
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
        Command::Tools(args) => tools::run(args, global),
        Command::Model(args) => model::run(args, global),
        Command::Batch(args) => batch::run(args, global),
        Command::Eval(args) => eval::run(args, global),
        Command::Bench(args) => bench::run(args, global),
        Command::Completions { shell } => {
            clap_complete::generate(
                *shell,
                &mut Cli::command(),
                "toolroute",
                &mut std::io::stdout(),
            );
            Ok(ExitCode::SUCCESS)
        }
    }
}
