//! Arguments of `eval` and `bench`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::catalog::CatalogArgs;
use super::engine::{EngineArgs, ModelChoice};
use super::select::SelectArgs;
use super::stores::HistoryArgs;
use crate::cli::limit::Limit;
use toolroute_rank::engine::DEFAULT_LIMIT;

#[derive(Args)]
pub struct EvalArgs {
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub select: SelectArgs,
    /// Prompts with the right tools, rows {"id","query","gold":[tool ids]}, with [] if no tool serves
    /// the prompt; `-` is stdin
    #[arg(long, value_name = "FILE", required_unless_present = "suite")]
    pub queries: Option<PathBuf>,
    /// Compare keyword, semantic and hybrid
    #[arg(long, conflicts_with = "strategy")]
    pub all: bool,
    /// List the prompts whose right tools are not all first; with --all, those of hybrid
    #[arg(long, conflicts_with = "suite")]
    pub misses: bool,
    #[command(flatten)]
    pub history: HistoryArgs,
    #[command(flatten)]
    pub suite: SuiteArgs,
}

/// Arguments for evaluating several sets.
// `requires` alone is not enough: clap ignores it if the required argument conflicts with another.
#[derive(Args)]
#[command(next_help_heading = "Many sets")]
pub struct SuiteArgs {
    /// Compare keyword, semantic and hybrid, with 95 % intervals, on each set of a folder. A set is
    /// a folder with tools.jsonl, queries.jsonl and optionally offtopic.jsonl
    #[arg(long, value_name = "DIR", conflicts_with_all = ["queries", "tools", "strategy", "all", "index", "usage", "feedback"])]
    pub suite: Option<PathBuf>,
    /// Only these sets
    #[arg(
        long,
        value_name = "SET,…",
        value_delimiter = ',',
        requires = "suite",
        conflicts_with = "queries"
    )]
    pub sets: Vec<String>,
    /// Use at most this many prompts of each set, evenly spread over its file
    #[arg(long, value_name = "N", requires = "suite", conflicts_with = "queries")]
    pub queries_per_set: Option<NonZeroUsize>,
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct BenchArgs {
    #[command(subcommand)]
    pub what: Option<BenchCommand>,
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub select: SelectArgs,
    /// Prompts, rows {"id","query"}; `-` is stdin
    #[arg(long, value_name = "FILE", required = true)]
    pub queries: Option<PathBuf>,
    /// Number of prompts to time one by one; the file is repeated or truncated to this number
    #[arg(
        short = 'n',
        long,
        default_value = "200",
        value_name = "N",
        allow_negative_numbers = true
    )]
    pub samples: NonZeroUsize,
    /// Maximum number of tools in an answer, or `auto`
    #[arg(short, long, default_value_t = Limit::of(DEFAULT_LIMIT), value_name = "N", allow_negative_numbers = true)]
    pub limit: Limit,
}

#[derive(Subcommand)]
pub enum BenchCommand {
    /// Time the model alone in every available mode: a short prompt, a longer one and a batch of
    /// 32; for a static model including tokenizing
    Encoder(EncoderArgs),
}

#[derive(Args)]
pub struct EncoderArgs {
    #[command(flatten)]
    pub choice: ModelChoice,
    /// Number of threads to time with; repeatable [default: 1 and 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub with_threads: Vec<u16>,
    /// Also time the model of candle-transformers, which is slow
    #[arg(long)]
    pub reference: bool,
}
