//! What may be typed after `conduct` and `ledger`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{CatalogArgs, EngineArgs, SelectArgs, tier};
use crate::conductor::{Reply, Scope};

#[derive(Args)]
pub struct ConductArgs {
    /// A file with a request: what was said and what it obliges to, as JSON; `-` is stdin. Or what
    /// was said itself, in several words: the tools that fit it say what it obliges to
    #[arg(value_name = "FILE|WORDS", required_unless_present_any = ["schema", "resume"])]
    pub request: Option<String>,
    /// Print the JSON Schema of a request and do nothing else
    #[arg(long)]
    pub schema: bool,
    /// Go on with this request where it stopped, or with the ledger's latest where none is named.
    /// One that is finished gives its answer again, unless it is answered what it asked, or a tool
    /// has come that it lacked
    #[arg(long)]
    pub resume: bool,
    /// Answer what the request asked; repeatable. ID is the name of a question or of an input that
    /// it asks for, as the question tells them
    #[arg(long, value_name = "ID=VALUE", requires = "resume")]
    pub answer: Vec<Reply>,
    /// How far back facts are looked for: in all requests of the ledger, or in this one alone
    #[arg(long, default_value = "ledger", value_name = "ledger|request", value_parser = tier(&[("ledger", Scope::Ledger), ("request", Scope::Request)]))]
    pub scope: Scope,
    /// How tools are run: a table for each by its id, TOML, such as builtin = "math"
    #[arg(long, value_name = "FILE")]
    pub runners: Option<PathBuf>,
    #[cfg(feature = "mcp")]
    #[command(flatten)]
    pub limits: super::LimitArgs,
    #[cfg(feature = "mcp")]
    #[command(flatten)]
    pub log: super::LogChoice,
    #[command(flatten)]
    pub ledger: LedgerChoice,
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub select: SelectArgs,
}

#[derive(Args)]
pub struct LedgerChoice {
    /// The file that keeps what was owed, run and found [default: one in the user's data folder]
    /// [env: TOOLROUTE_LEDGER]
    #[arg(long, value_name = "PATH")]
    pub ledger: Option<PathBuf>,
}

#[derive(Args)]
pub struct LedgerArgs {
    #[command(subcommand)]
    pub command: LedgerCommand,
}

#[derive(Subcommand)]
pub enum LedgerCommand {
    /// Show what the ledger holds; obligations, where nothing else is asked for
    Show(ShowArgs),
}

#[derive(Args)]
pub struct ShowArgs {
    #[command(flatten)]
    pub ledger: LedgerChoice,
    #[command(flatten)]
    pub what: Shown,
}

#[derive(Args)]
#[group(multiple = false)]
pub struct Shown {
    /// What is or was owed, and what became of it
    #[arg(long)]
    pub obligations: bool,
    /// Which tools ran, with what, and how it ended
    #[arg(long)]
    pub runs: bool,
    /// What is held to be true, and who says so
    #[arg(long)]
    pub assertions: bool,
    /// Everything that happened, in order
    #[arg(long)]
    pub events: bool,
}
