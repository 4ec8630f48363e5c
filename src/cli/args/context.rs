//! Arguments that describe the context of a prompt.

use std::path::PathBuf;

use clap::Args;

use toolroute_rank::engine::Stage;

#[derive(Args)]
#[command(next_help_heading = "Context")]
pub struct ContextArgs {
    #[command(flatten)]
    pub source: ContextSourceArgs,
    /// The stage of the work: initial, planning, reading, analysis, execution, verification or
    /// completion; in planning, reading and analysis only read-only tools are ranked
    #[arg(long, value_name = "STAGE", value_parser = |name: &str| name.parse::<Stage>())]
    pub stage: Option<Stage>,
    /// A profile of the configuration, which selects the tools for a kind of work
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Rank only tools whose id matches this pattern, such as `git__*`; repeatable
    #[arg(long, value_name = "PATTERN")]
    pub enable: Vec<String>,
    /// Leave out tools whose id matches this pattern; repeatable
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,
    /// The model that will call the tools; a small one gets at most ten
    #[arg(long, value_name = "NAME")]
    pub for_model: Option<String>,
    /// Rank expensive tools lower
    #[arg(long)]
    pub cost_aware: bool,
    /// Maximum number of tokens of the tool definitions in an answer; the best tool is always
    /// included
    #[arg(long, value_name = "N")]
    pub budget_tokens: Option<usize>,
}

#[derive(Args, Clone, Debug, Default)]
pub struct ContextSourceArgs {
    /// The context as JSON (see docs/context.md); `-` is stdin
    #[arg(long, value_name = "FILE")]
    pub context: Option<PathBuf>,
    /// A file or folder that the prompt is about; repeatable. Hidden and generated files in folders
    /// are skipped
    #[arg(short, long, value_name = "PATH")]
    pub files: Vec<PathBuf>,
    /// The conversation before the prompt, oldest first, as JSON: [{"role", "text"}], or the
    /// messages of a request to a language model
    #[arg(long, value_name = "FILE")]
    pub conversation: Option<PathBuf>,
}

#[derive(Args, Clone, Debug, Default)]
pub struct SessionArgs {
    /// The conversation that this command continues: earlier prompts are read, calls are counted
    /// and logged together. It is stored in the user's state folder for an hour
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
}
