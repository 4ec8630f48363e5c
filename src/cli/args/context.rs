//! What is known around a prompt.

use std::path::PathBuf;

use clap::Args;

use toolroute_rank::engine::Stage;

#[derive(Args)]
#[command(next_help_heading = "Context")]
pub struct ContextArgs {
    #[command(flatten)]
    pub source: ContextSourceArgs,
    /// Where the work stands: initial, planning, reading, analysis, execution, verification or
    /// completion; planning, reading and analysis take read-only tools alone
    #[arg(long, value_name = "STAGE", value_parser = |name: &str| name.parse::<Stage>())]
    pub stage: Option<Stage>,
    /// A profile of the configuration, which names the tools of a kind of work
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
    /// Lower dear tools
    #[arg(long)]
    pub cost_aware: bool,
    /// Tokens of the definitions in an answer at most; the best tool is given in any case
    #[arg(long, value_name = "N")]
    pub budget_tokens: Option<usize>,
}

#[derive(Args, Clone, Debug, Default)]
pub struct ContextSourceArgs {
    /// The context as JSON (docs/context.md has its members); `-` is stdin
    #[arg(long, value_name = "FILE")]
    pub context: Option<PathBuf>,
    /// A file or folder that the prompt is about, repeatable. Hidden and built files in a folder are
    /// left out
    #[arg(short, long, value_name = "PATH")]
    pub files: Vec<PathBuf>,
    /// What was said before the prompt, oldest first, as JSON: [{"role", "text"}], or the messages
    /// of a request to a language model
    #[arg(long, value_name = "FILE")]
    pub conversation: Option<PathBuf>,
}

#[derive(Args, Clone, Debug, Default)]
pub struct SessionArgs {
    /// The conversation that this belongs to: prompts are read with those before, calls are counted
    /// together, and the log tells it apart. It is kept in the user's state folder for an hour
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
}
