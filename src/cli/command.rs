//! What may be typed: the commands, and which function runs each.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use super::analyze::{self, AnalyzeArgs};
use super::args::{BenchArgs, EvalArgs};
#[cfg(feature = "server")]
use super::args::{McpArgs, ProxyArgs, ServeArgs};
use super::batch::{self, BatchArgs};
#[cfg(feature = "mcp")]
use super::call::{self, CallArgs, OutputArgs};
use super::candidates::{self, CandidatesArgs};
use super::conduct::{self, ConductArgs};
use super::configure::{self, ConfigArgs};
#[cfg(feature = "mcp")]
use super::doctor::{self, DoctorArgs};
use super::exit::Failure;
use super::feedback::{self, FeedbackArgs};
use super::global::Global;
#[cfg(feature = "mcp")]
use super::import::{self, ImportArgs};
use super::index::{self, IndexArgs};
use super::learn::{self, LearnArgs};
use super::ledger::{self, LedgerArgs};
use super::metrics::{self, MetricsArgs};
use super::model::{self, ModelArgs};
#[cfg(feature = "mcp")]
use super::pins::{self, PinsArgs};
use super::route::{self, RouteArgs};
#[cfg(feature = "mcp")]
use super::run::{self, RunArgs};
use super::settings::{Configure, Settings, Typed, Variables};
use super::tools::{self, ToolsArgs};
use super::{bench, eval, render};
#[cfg(feature = "server")]
use super::{mcp, proxy, serve};

/// Gives an LLM agent the right tools for a prompt: local, without a server or a network.
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
    /// Embed a catalog of tools once and keep the vectors
    Index(IndexArgs),
    /// Rank the tools of a catalog for one prompt
    Route(RouteArgs),
    /// Say what a prompt and the files around it are about: phase, kind of work, languages, and more
    Analyze(AnalyzeArgs),
    /// Look at a catalog: list, show, validate, probe
    Tools(ToolsArgs),
    /// Get, list and check models
    Model(ModelArgs),
    /// Call a tool of a server: with its arguments made to fit, and another tool where it fails
    #[cfg(feature = "mcp")]
    Call(CallArgs),
    /// Rank the tools for a prompt and call the first
    #[cfg(feature = "mcp")]
    Run(Box<RunArgs>),
    /// Print the rest of an answer that was cut
    #[cfg(feature = "mcp")]
    Output(OutputArgs),
    /// See which definitions of tools were agreed to, and let in what has changed
    #[cfg(feature = "mcp")]
    Pins(PinsArgs),
    /// Read the MCP servers of other programs into one file, or put the gateway into such a program
    #[cfg(feature = "mcp")]
    Import(ImportArgs),
    /// Check configuration, model, index, servers, pins and permissions, and say how to cure what
    /// is wrong; exit code 1 where something does not work
    #[cfg(feature = "mcp")]
    Doctor(Box<DoctorArgs>),
    /// The MCP gateway: many servers behind a few tools, found by meaning
    #[cfg(feature = "server")]
    Mcp(Box<McpArgs>),
    /// Answer over HTTP: selections, calls, and endpoints in the forms of other APIs
    #[cfg(feature = "server")]
    Serve(Box<ServeArgs>),
    /// Pass requests on to a language model, with their tools cut to those that they need
    #[cfg(feature = "server")]
    Proxy(Box<ProxyArgs>),
    /// Answer a file of prompts
    Batch(BatchArgs),
    /// Log which tools served which prompts, and see what that teaches
    Feedback(FeedbackArgs),
    /// Measure ranking quality on prompts with known answers
    Eval(EvalArgs),
    /// Learn from past prompts which tools serve what
    Learn(LearnArgs),
    /// Measure latency by stage and throughput
    Bench(BenchArgs),
    /// The tools for an obligation, by policy: which to run, which after it, what is missing
    Candidates(CandidatesArgs),
    /// Look at the configuration: show, check
    Config(ConfigArgs),
    /// Discharge the obligations of a request by tools, and keep a ledger of it
    Conduct(ConductArgs),
    /// Say how well calls of tools go: errors, fallbacks, estimates, cut answers
    Metrics(MetricsArgs),
    /// Look at the ledger of the conductor
    Ledger(LedgerArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell to write for
        shell: clap_complete::Shell,
    },
}

/// Why there is nothing to run.
pub enum Refused {
    /// What was typed, or that help was asked for.
    Typed(clap::Error),
    /// A file or a variable.
    Configured(Failure),
}

impl From<clap::Error> for Refused {
    fn from(error: clap::Error) -> Self {
        Self::Typed(error)
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Configured(failure)
    }
}

impl Cli {
    /// What was typed, with what variables and files add.
    ///
    /// # Errors
    /// Where something typed, a variable or a file is invalid.
    pub fn read(typed: Vec<OsString>, variables: Variables<'_>) -> Result<Self, Refused> {
        let mut command = Self::command();
        let matches = command.try_get_matches_from_mut(typed)?;
        let mut cli = Self::from_arg_matches(&matches)?;
        let settings = Settings::resolve(Arc::new(Typed::new(&command, &matches)), variables)?;
        cli.global.configure(&settings);
        if let Some(arguments) = cli.command.arguments() {
            arguments.configure(&settings);
        }
        cli.global.settings = settings;
        Ok(cli)
    }
}

impl Command {
    /// The arguments that variables and files may set.
    fn arguments(&mut self) -> Option<&mut dyn Configure> {
        Some(match self {
            Self::Index(args) => args,
            Self::Route(args) => args,
            Self::Analyze(args) => args,
            Self::Tools(args) => args,
            Self::Model(args) => args,
            #[cfg(feature = "mcp")]
            Self::Call(args) => args,
            #[cfg(feature = "mcp")]
            Self::Run(args) => &mut **args,
            #[cfg(feature = "mcp")]
            Self::Pins(args) => args,
            #[cfg(feature = "mcp")]
            Self::Doctor(args) => &mut **args,
            #[cfg(feature = "server")]
            Self::Mcp(args) => &mut **args,
            #[cfg(feature = "server")]
            Self::Serve(args) => &mut **args,
            #[cfg(feature = "server")]
            Self::Proxy(args) => &mut **args,
            Self::Batch(args) => args,
            Self::Feedback(args) => args,
            Self::Eval(args) => args,
            Self::Learn(args) => args,
            Self::Bench(args) => args,
            Self::Candidates(args) => args,
            Self::Conduct(args) => args,
            Self::Metrics(args) => args,
            Self::Ledger(args) => args,
            // `config show` shows the settings themselves.
            Self::Config(_) | Self::Completions { .. } => return None,
            #[cfg(feature = "mcp")]
            Self::Output(_) | Self::Import(_) => return None,
        })
    }

    /// Runs the command and gives its exit code.
    pub fn run(&self, global: &Global) -> anyhow::Result<ExitCode> {
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
            Self::Conduct(args) => conduct::run(args, global),
            Self::Ledger(args) => ledger::run(args, global),
            Self::Metrics(args) => metrics::run(args, global),
            Self::Completions { shell } => {
                // It panics where it cannot write.
                let mut script = Vec::new();
                clap_complete::generate(*shell, &mut Cli::command(), "toolroute", &mut script);
                render::bytes(&script)?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

#[cfg(test)]
mod tests;
