//! What may be typed about learning from use.

use std::path::PathBuf;

use clap::Args;

use super::{CatalogArgs, EngineArgs};

#[derive(Args)]
pub struct UsageArgs {
    /// What `toolroute learn` wrote: moves the tools towards the prompts that they served
    /// (semantic, hybrid) [env: TOOLROUTE_USAGE]
    #[arg(long, value_name = "FILE")]
    pub usage: Option<PathBuf>,
    /// Rank as if nothing had been learned
    #[arg(long, conflicts_with = "usage")]
    pub no_usage: bool,
}

#[derive(Args)]
pub struct LearnArgs {
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Past prompts, rows {"query","tools":[ids]} or {"query","gold":[ids]}; `-` is stdin
    #[arg(value_name = "PAST.jsonl")]
    pub past: Vec<PathBuf>,
    /// Learn from the log of executions as well, which says all of it each time: what the file holds
    /// is replaced [default: toolroute/feedback.db in the user's data folder, or the one that
    /// TOOLROUTE_FEEDBACK names]
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with = "forget")]
    pub log: Option<Option<PathBuf>>,
    /// The file that keeps what is learned; what it holds already is added to
    /// [env: TOOLROUTE_USAGE]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Take back all that was learned of this tool; repeatable
    #[arg(long, value_name = "ID")]
    pub forget: Vec<String>,
    /// Begin anew where the file holds something already
    #[arg(long)]
    pub fresh: bool,
}
