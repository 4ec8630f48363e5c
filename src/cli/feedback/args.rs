//! Arguments of `toolroute feedback`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::args::{CatalogArgs, EngineArgs, ModelChoice, parse_weight};
use crate::cli::settings::keys;
use toolroute_rank::engine::Signal;

#[derive(Args)]
pub struct FeedbackArgs {
    /// The log of executions [default: toolroute/feedback.db in the user's data folder]
    /// [env: TOOLROUTE_FEEDBACK]
    #[arg(long, value_name = "FILE", global = true)]
    pub feedback: Option<PathBuf>,
    #[command(subcommand)]
    pub command: FeedbackCommand,
}

#[derive(Subcommand)]
pub enum FeedbackCommand {
    /// Log one execution, or a file of them; creates the log if necessary
    Add(Box<AddArgs>),
    /// Show how often each tool succeeded, how long it took, and which tools follow it
    Stats {
        /// Only this tool
        #[arg(long, value_name = "ID")]
        tool: Option<String>,
    },
    /// Recommend fixes: tools that fail, are never chosen, attract the wrong prompts or duplicate
    /// each other
    Recommend(Box<RecommendArgs>),
    /// Show how the outcomes would change the weights of the signals; changes nothing without
    /// --apply
    Weights(WeightsArgs),
    /// Write every execution as a line of JSON, the format of `feedback add --input`
    Export {
        /// The file to write, atomically; `-` is stdout [default: stdout]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Replace an existing output
        #[arg(long, requires = "output")]
        overwrite: bool,
    },
    /// Delete executions, and overwrite their bytes on disk
    Forget(ForgetArgs),
}

#[derive(Args)]
pub struct AddArgs {
    /// Rows {"tool", "success", "prompt", …} as `feedback export` writes them, with all that is known of
    /// an execution; `-` is stdin
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["tool", "prompt", "outcome"])]
    pub input: Option<PathBuf>,
    /// The id of the tool that ran
    #[arg(long, value_name = "ID", required_unless_present = "input")]
    pub tool: Option<String>,
    /// The prompt
    #[arg(long, value_name = "TEXT", required_unless_present = "input")]
    pub prompt: Option<String>,
    /// Whether the tool did what was asked
    #[arg(long, value_enum, required_unless_present = "input")]
    pub outcome: Option<Outcome>,
    /// Duration in milliseconds
    #[arg(long, value_name = "MS", conflicts_with = "input")]
    pub duration_ms: Option<u64>,
    /// The conversation of the execution
    #[arg(long, value_name = "ID", conflicts_with = "input")]
    pub session: Option<String>,
    /// Store the text of prompts, not only their hashes
    #[arg(long)]
    pub keep_prompts: bool,
    /// Do not store vectors of prompts
    #[arg(long)]
    pub no_vectors: bool,
    /// Maximum number of executions to keep in the whole log; the oldest are deleted
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub keep_rows: u64,
    /// Days to keep an execution; older ones are deleted
    #[arg(long, value_name = "N", default_value_t = 180, value_parser = clap::value_parser!(u32).range(1..))]
    pub keep_days: u32,
    #[command(flatten)]
    pub choice: ModelChoice,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Outcome {
    Success,
    Failure,
}

#[derive(Args)]
pub struct RecommendArgs {
    /// With a catalog, duplicate tools are reported too
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}

#[derive(Args)]
pub struct WeightsArgs {
    /// Store the new weights; the old ones remain in the log
    #[arg(long, conflicts_with_all = ["revert", "dry_run"])]
    pub apply: bool,
    /// Restore the weights before the latest change
    #[arg(long, conflicts_with = "dry_run")]
    pub revert: bool,
    /// Show all stored changes, oldest first
    #[arg(long, conflicts_with_all = ["apply", "revert", "dry_run"])]
    pub history: bool,
    /// Only show what would change, which is also the default
    #[arg(long)]
    pub dry_run: bool,
    /// Weight of the semantic score if nothing was learned, 0 to 1
    #[arg(long, default_value = keys::SEMANTIC_WEIGHT.default, value_name = "W")]
    pub semantic_weight: f32,
    /// Weight of a signal if nothing was learned, as in `route --signal`; repeatable
    #[arg(long, value_name = "NAME=W", value_parser = parse_weight)]
    pub signal: Vec<(Option<Signal>, f32)>,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct ForgetArgs {
    /// Delete the executions of this tool, also from lists of offered tools
    #[arg(long, value_name = "ID")]
    pub tool: Option<String>,
    /// Delete executions before this day, such as 2026-01-31 (UTC)
    #[arg(long, value_name = "DATE")]
    pub before: Option<String>,
    /// Delete everything, including learned weights
    #[arg(long)]
    pub all: bool,
}
