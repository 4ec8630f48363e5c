//! The subcommands, and how their arguments are read.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use super::args;
use super::global::Global;
use super::settings::{Settings, Typed, Variables};

/// Selects the right tools for a prompt of an LLM agent: locally, without a server or network
#[derive(Parser)]
#[command(name = "toolroute", version, max_term_width = 100, after_help = AFTER)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

const AFTER: &str = "Exit codes: 0 done, 1 failed, 2 bad arguments, 3 bad input data, \
                     4 model missing or refused, 5 cannot read or write";

#[derive(Subcommand)]
pub enum Command {
    /// Embed the tools of a catalog ahead of time
    Index(super::index::IndexArgs),
    /// Rank the tools of a catalog for one prompt
    Route(super::route::RouteArgs),
    /// Show what a prompt and the files around it are about: phase, kind of work, languages, and
    /// more
    Analyze(super::analyze::AnalyzeArgs),
    /// Inspect a catalog: list, show, validate, probe
    Tools(super::tools::ToolsArgs),
    /// Download, list and verify models
    Model(super::model::ModelArgs),
    /// Call a tool of a server, with repaired arguments and another tool if it fails
    #[cfg(feature = "mcp")]
    Call(super::call::CallArgs),
    /// Rank the tools for a prompt and call the best one
    #[cfg(feature = "mcp")]
    Run(Box<super::run::RunArgs>),
    /// Print the rest of a truncated answer
    #[cfg(feature = "mcp")]
    Output(super::call::OutputArgs),
    /// Show and approve changed definitions of tools
    #[cfg(feature = "mcp")]
    Pins(super::pins::PinsArgs),
    /// Import the MCP servers of other programs, or add the gateway to such a program
    #[cfg(feature = "mcp")]
    Import(super::import::ImportArgs),
    /// Check configuration, model, index, servers, pins and permissions and say how to fix
    /// problems; exit code 1 if something does not work
    #[cfg(feature = "mcp")]
    Doctor(Box<super::doctor::DoctorArgs>),
    /// Run the MCP gateway: many servers behind a few tools, found by meaning
    #[cfg(feature = "server")]
    Mcp(Box<args::McpArgs>),
    /// Run the HTTP server: selections, calls, and endpoints compatible with other APIs
    #[cfg(feature = "server")]
    Serve(Box<args::ServeArgs>),
    /// Forward requests to a language model, with only the tools that each request needs
    #[cfg(feature = "server")]
    Proxy(Box<args::ProxyArgs>),
    /// Rank the tools for a file of prompts
    Batch(super::batch::BatchArgs),
    /// Log which tools served which prompts, and analyse the log
    Feedback(super::feedback::FeedbackArgs),
    /// Measure ranking quality on prompts with known answers
    Eval(args::EvalArgs),
    /// Learn from past prompts which tools serve what
    Learn(super::learn::LearnArgs),
    /// Measure latency by stage and throughput
    Bench(args::BenchArgs),
    /// List the tools for an obligation, by policy: which to run, which after it, what is missing
    Candidates(super::candidates::CandidatesArgs),
    /// Show and check the configuration
    Config(super::configure::ConfigArgs),
    /// Discharge the obligations of a request with tools, and record the steps in a ledger
    #[cfg(feature = "mcp")]
    Conduct(super::conduct::ConductArgs),
    /// Show how well calls of tools go: errors, fallbacks, estimates, truncated answers
    #[cfg(feature = "mcp")]
    Metrics(super::metrics::MetricsArgs),
    /// Show the conductor's ledger
    #[cfg(feature = "mcp")]
    Ledger(super::ledger::LedgerArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

impl Cli {
    /// Parses the arguments and adds the values of variables and files.
    ///
    /// # Errors
    /// If an argument, a variable or a file is invalid. For an argument, or a request for help, it
    /// is a [`clap::Error`].
    pub fn read(typed: Vec<OsString>, variables: Variables<'_>) -> anyhow::Result<Self> {
        let command = Self::command();
        let mut built = command.clone();
        let matches = built.try_get_matches_from_mut(&typed).map_err(on_by_default)?;
        // A shell runs this at its start, in whatever folder, and no setting changes it.
        if matches.subcommand_name() == Some("completions") {
            return Ok(Self::from_arg_matches(&matches)?);
        }
        let arguments = Typed::new(&built, &matches);
        let settings = Settings::resolve(&arguments, variables)?;
        let command = settings.as_defaults(command, &arguments.subcommands);
        let mut cli = Self::from_arg_matches(&command.try_get_matches_from(&typed)?)?;
        cli.command.complete(&settings);
        cli.global.settings = settings;
        #[cfg(feature = "server")]
        {
            cli.global.typed = typed;
        }
        Ok(cli)
    }
}

/// Corrects clap's hint for `--x` where there is only `--no-x`, which is the opposite.
fn on_by_default(mut error: clap::Error) -> clap::Error {
    let text = |error: &clap::Error, kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    let typed = text(&error, ContextKind::InvalidArg);
    let opposite = text(&error, ContextKind::SuggestedArg);
    if typed.strip_prefix("--").is_some_and(|name| opposite == format!("--no-{name}")) {
        let hint = format!("'{typed}' is on by default; '{opposite}' turns it off");
        error.remove(ContextKind::SuggestedArg);
        // It shows the opposite as if it were required.
        error.remove(ContextKind::Usage);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    error
}

impl Command {
    /// Sets what depends on several values.
    fn complete(&mut self, settings: &Settings) {
        match self {
            Self::Learn(args) => args.complete(settings),
            #[cfg(feature = "mcp")]
            Self::Call(args) => {
                args.catalog.live.or_imported();
                let server = args.tool.split_once(':').or_else(|| args.tool.split_once("__"));
                args.catalog.live.called = server.map(|(server, _)| server.to_owned());
            }
            #[cfg(feature = "mcp")]
            Self::Run(args) => {
                args.catalog.note_typed(settings);
                // What is only shown needs no servers beside the tools that are named.
                if args.catalog.live.typed_tools.is_empty() || !args.sources.dry_run {
                    args.catalog.live.or_imported();
                }
            }
            #[cfg(feature = "mcp")]
            Self::Doctor(args) => args.catalog.live.or_imported(),
            #[cfg(feature = "server")]
            Self::Mcp(args) => args.catalog.live.or_imported(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
