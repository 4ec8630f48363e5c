//! What may be typed after `toolroute feedback`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::args::{CatalogArgs, EngineArgs, ModelChoice, parse_weight};
use crate::cli::settings::{Configure, Settings, configure, keys};
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

impl Configure for FeedbackArgs {
    fn configure(&mut self, settings: &Settings) {
        settings.put_path(&keys::FEEDBACK, &mut self.feedback);
        match &mut self.command {
            FeedbackCommand::Add(args) => args.choice.configure(settings),
            FeedbackCommand::Recommend(args) => args.configure(settings),
            FeedbackCommand::Weights(args) => {
                settings.put(&keys::SEMANTIC_WEIGHT, &mut args.semantic_weight);
            }
            FeedbackCommand::Stats { .. }
            | FeedbackCommand::Export { .. }
            | FeedbackCommand::Forget(_) => {}
        }
    }
}

#[derive(Subcommand)]
pub enum FeedbackCommand {
    /// Log one execution, or a file of them; makes the log where there is none
    Add(Box<AddArgs>),
    /// Show how often each tool succeeded, how long it took, and what tends to follow it
    Stats {
        /// Only this tool
        #[arg(long, value_name = "ID")]
        tool: Option<String>,
    },
    /// Say what to mend: tools that fail, are never chosen, attract the wrong prompts or repeat
    /// each other
    Recommend(Box<RecommendArgs>),
    /// Show where the outcomes would move the weights of the signals; nothing changes without
    /// --apply
    Weights(WeightsArgs),
    /// Write every execution as a line of JSON, as `feedback add --input` reads it
    Export {
        /// The file to write, whole or not at all [default: stdout]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Forget executions, and overwrite their bytes on disk
    Forget(ForgetArgs),
}

#[derive(Args)]
pub struct AddArgs {
    /// Rows {"tool", "success", "prompt", …} as `feedback export` writes them; `-` is stdin
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["tool", "prompt", "outcome"])]
    pub input: Option<PathBuf>,
    /// The id of the tool that ran
    #[arg(long, value_name = "ID", required_unless_present = "input")]
    pub tool: Option<String>,
    /// What was asked
    #[arg(long, value_name = "TEXT", required_unless_present = "input")]
    pub prompt: Option<String>,
    /// Whether it did what was asked
    #[arg(long, value_enum, required_unless_present = "input")]
    pub outcome: Option<Outcome>,
    #[command(flatten)]
    pub facts: FactArgs,
    /// Keep the text of prompts, not only their hashes
    #[arg(long)]
    pub keep_prompts: bool,
    /// Keep no vectors of prompts
    #[arg(long)]
    pub no_vectors: bool,
    /// Executions to keep at most, the latest
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    pub keep_rows: u64,
    /// Days to keep an execution
    #[arg(long, value_name = "N", default_value_t = 180)]
    pub keep_days: u32,
    #[command(flatten)]
    pub choice: ModelChoice,
}

/// What else may be said of one execution.
#[derive(Args)]
#[command(next_help_heading = "Of one execution")]
pub struct FactArgs {
    /// How long it took
    #[arg(long, value_name = "MS", conflicts_with = "input")]
    pub duration_ms: Option<u64>,
    /// A word for what went wrong, such as timeout
    #[arg(long, value_name = "WORD", conflicts_with = "input")]
    pub error_kind: Option<String>,
    /// What it cost, in a unit of your own
    #[arg(long, value_name = "N", conflicts_with = "input")]
    pub cost: Option<f64>,
    /// What the user or the agent said of it
    #[arg(long, value_name = "TEXT", conflicts_with = "input")]
    pub note: Option<String>,
    /// The conversation it belongs to
    #[arg(long, value_name = "ID", conflicts_with = "input")]
    pub session: Option<String>,
    /// The place of the tool in the answer, from 1
    #[arg(long, value_name = "N", conflicts_with = "input")]
    pub rank: Option<u32>,
    /// The tools of the answer, best first; repeatable
    #[arg(long, value_name = "ID", conflicts_with = "input")]
    pub offered: Vec<String>,
    /// The phase of the work, as facets spell it
    #[arg(long, value_name = "WORD", conflicts_with = "input")]
    pub phase: Option<String>,
    /// The kind of work, as facets spell it
    #[arg(long, value_name = "WORD", conflicts_with = "input")]
    pub task_type: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Outcome {
    Success,
    Failure,
}

#[derive(Args)]
pub struct RecommendArgs {
    /// With a catalog, tools that say the same are told of as well
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}

configure!(RecommendArgs: catalog, engine);

#[derive(Args)]
pub struct WeightsArgs {
    /// Keep the new weights; the old ones stay in the log
    #[arg(long, conflicts_with_all = ["revert", "dry_run"])]
    pub apply: bool,
    /// Go back to the weights before the latest
    #[arg(long, conflicts_with = "dry_run")]
    pub revert: bool,
    /// Show every change that was kept, the oldest first
    #[arg(long, conflicts_with_all = ["apply", "revert", "dry_run"])]
    pub history: bool,
    /// Only show what would change, which is what happens without a flag
    #[arg(long)]
    pub dry_run: bool,
    /// Share of the meaning in the blend where nothing was learned, 0 to 1
    #[arg(long, default_value = keys::SEMANTIC_WEIGHT.default, value_name = "W")]
    pub semantic_weight: f32,
    /// What a signal counts for where nothing was learned, as `route --signal`; repeatable
    #[arg(long, value_name = "NAME=W", value_parser = parse_weight)]
    pub signal: Vec<(Option<Signal>, f32)>,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct ForgetArgs {
    /// The executions of this tool, and that it was ever offered
    #[arg(long, value_name = "ID")]
    pub tool: Option<String>,
    /// What happened before this day, such as 2026-01-31 (UTC)
    #[arg(long, value_name = "DATE")]
    pub before: Option<String>,
    /// Everything, learned weights too
    #[arg(long)]
    pub all: bool,
}
