//! What may be typed. Nothing here reads a file or decides anything.

mod execution;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

pub use execution::LiveArgs;
#[cfg(feature = "server")]
pub use execution::RecordArgs;
#[cfg(feature = "mcp")]
pub use execution::{
    CallArgs, ExecutionArgs, LimitArgs, LogChoice, OutputArgs, RightsArgs, RunArgs, SourceArgs,
    StandInArgs,
};

use super::candidates::CandidatesArgs;
use super::config::Settings;
use super::configure::ConfigArgs;
use super::context_args::{AnalyzeArgs, ListArgs};
#[cfg(feature = "mcp")]
use super::doctor::DoctorArgs;
use super::feedback_args::FeedbackArgs;
#[cfg(feature = "mcp")]
use super::import::ImportArgs;
use super::limit::Limit;
use super::models::device;
#[cfg(feature = "mcp")]
use super::pins::PinsArgs;
use super::probe::ProbeArgs;
use super::select_args::{ContextArgs, parse_weight};
use super::session::SessionArgs;
use crate::catalog::{Cost, LatencyTier, Reliability};
use crate::embedding::{Device, Precision};
use crate::engine::{
    DEFAULT_LIMIT, DEFAULT_MIN_CONFIDENCE, Fusion, IndexKind, POLICY_BAND, Policy, Signal,
    Strategy, Undeclared,
};

mod conduct;
#[cfg(feature = "server")]
mod gateway;
mod learn;
mod measure;
mod model;
#[cfg(feature = "server")]
mod server;

pub use conduct::{ConductArgs, LedgerArgs, LedgerChoice, LedgerCommand, ShowArgs};
#[cfg(feature = "server")]
pub use gateway::{ConfirmChoice, ExposeChoice, McpArgs};
pub use learn::{LearnArgs, UsageArgs};
pub use measure::{BenchArgs, BenchCommand, EncoderArgs, EvalArgs};
pub use model::{ModelArgs, ModelCommand, PullArgs, RoundArgs};
#[cfg(feature = "server")]
pub use server::{ListenArgs, ProxyArgs, ServeArgs};

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

#[derive(Args)]
pub struct Global {
    /// Print JSON to stdout instead of tables
    #[arg(long, global = true)]
    pub json: bool,
    /// No progress and no warnings
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// More logs on stderr; twice for all of them
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Threads to use at most [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024).map(usize::from))]
    pub threads: Option<usize>,
    /// A configuration file instead of ./toolroute.toml and the user's own [env: TOOLROUTE_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// How logs are written on stderr: a line of text, or of JSON
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text, value_name = "text|json")]
    pub log_format: LogFormat,
    /// What the configuration says beyond flags.
    #[arg(skip)]
    pub settings: Settings,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

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

#[derive(Args, Clone)]
pub struct CatalogArgs {
    /// A file or folder of tools, repeatable: MCP tools/list results, OpenAI, Anthropic, OpenAPI 3,
    /// JSONL, TOML [env: TOOLROUTE_TOOLS, several separated as in PATH]
    #[arg(short, long, value_name = "PATH")]
    pub tools: Vec<PathBuf>,
    #[command(flatten)]
    pub live: LiveArgs,
    /// Files that set tiers and facets for tools by id pattern
    #[arg(long, value_name = "FILE")]
    pub overlay: Vec<PathBuf>,
    /// Take the patterns over prompts that files of tools declare (`routing.signals`, `critical`);
    /// those of overlays are always taken
    #[arg(long)]
    pub author_signals: bool,
    /// Fail on the first bad tool or row instead of leaving it out
    #[arg(long)]
    pub strict: bool,
}

#[derive(Args, Clone)]
pub struct ModelChoice {
    /// A built-in model, one of the store, or the folder of a sentence-transformer [default: the
    /// built-in toolroute-l6-v1; static takes microseconds a prompt] [env: TOOLROUTE_MODEL]
    #[arg(long, value_name = "NAME|DIR")]
    pub model: Option<String>,
    /// Where models are kept [default: the user's data folder] [env: TOOLROUTE_MODELS]
    #[arg(long, value_name = "DIR")]
    pub models: Option<PathBuf>,
    /// What runs the model: native (this program's own encoder) or candle (in f32) [default: native,
    /// and candle on another device than cpu] [env: TOOLROUTE_BACKEND]
    #[arg(long, value_enum, value_name = "native|candle")]
    pub backend: Option<BackendName>,
    /// Where candle runs the model: cpu, cuda or cuda:N, metal; the last two in a program that was
    /// built for them [env: TOOLROUTE_DEVICE]
    #[arg(long, default_value = "cpu", value_parser = device, value_name = "cpu|cuda|metal")]
    pub device: Device,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    Native,
    Candle,
}

#[derive(Args, Clone)]
pub struct EngineArgs {
    #[command(flatten)]
    pub choice: ModelChoice,
    /// The file that keeps the vectors [default: one a catalog in the user's cache folder]
    /// [env: TOOLROUTE_INDEX]
    #[arg(long, value_name = "FILE")]
    pub index: Option<PathBuf>,
    /// How the model is run: int8 is two to four times as fast as f32 and ranks as well
    #[arg(long, default_value = "int8", value_parser = precisions(), value_name = "int8|f32")]
    pub precision: Precision,
    /// Keep no vectors on disk
    #[arg(long, conflicts_with = "index")]
    pub no_save: bool,
    /// How vectors are searched; auto decides by the number of tools
    #[arg(long, default_value = "auto", value_parser = index_kind(), value_name = "auto|exact|hnsw")]
    pub search: IndexKind,
}

#[derive(Args)]
pub struct SelectArgs {
    /// How tools are found; auto is hybrid where a model is at hand, keyword where not
    #[arg(short, long, default_value = "auto", value_parser = strategies(), value_name = "STRATEGY")]
    pub strategy: Strategy,
    /// What makes a score: everything that was found to help, or plain: 0.7 · min-max(cosine) +
    /// 0.3 · min-max(BM25) over all tools, and nothing else
    #[arg(long, value_enum, default_value_t = Blend::Tuned)]
    pub blend: Blend,
    /// How hybrid blends meaning and words
    #[arg(long, value_enum, default_value_t = FusionMethod::Weighted)]
    pub fusion: FusionMethod,
    /// Share of the meaning in the weighted blend, 0 to 1
    #[arg(long, default_value_t = Fusion::SEMANTIC_WEIGHT, value_name = "W", allow_negative_numbers = true)]
    pub semantic_weight: f32,
    /// How both parts of the weighted blend are brought to one scale
    #[arg(long, value_enum, default_value_t = Scale::Absolute)]
    pub normalization: Scale,
    /// The k of reciprocal rank fusion
    #[arg(long, default_value_t = Fusion::RRF_K, value_name = "K", allow_negative_numbers = true)]
    pub rrf_k: f32,
    /// Take a prompt as one even where it asks for several things
    #[arg(long)]
    pub whole: bool,
    /// Answer with no tool where the confidence that one fits is below this, 0 to 1; 0 always
    /// answers
    #[arg(long, default_value_t = DEFAULT_MIN_CONFIDENCE, value_name = "P", allow_negative_numbers = true)]
    pub min_confidence: f32,
    /// What a signal beside meaning and words counts for, as NAME=WEIGHT with a weight from 0 (off)
    /// to 1; all=0 turns all of them off; repeatable
    #[arg(long, value_name = "NAME=W", value_parser = parse_weight)]
    pub signal: Vec<(Option<Signal>, f32)>,
    #[command(flatten)]
    pub usage: UsageArgs,
    #[command(flatten)]
    pub policy: PolicyArgs,
    /// Order tools whose scores lie within so much of each other by reliability, cost and latency,
    /// where they declare them; 0 leaves it at the score
    #[arg(long, default_value_t = POLICY_BAND, value_name = "X", allow_negative_numbers = true)]
    pub policy_band: f32,
}

#[derive(Args)]
pub struct PolicyArgs {
    /// Leave out tools below this reliability
    #[arg(long, value_name = "low|medium|high", value_parser = tier(&[("low", Reliability::Low), ("medium", Reliability::Medium), ("high", Reliability::High)]))]
    pub min_reliability: Option<Reliability>,
    /// Leave out tools above this cost
    #[arg(long, value_name = "tiny|low|medium|high", value_parser = tier(&[("tiny", Cost::Tiny), ("low", Cost::Low), ("medium", Cost::Medium), ("high", Cost::High)]))]
    pub max_cost: Option<Cost>,
    /// Leave out tools above this latency tier: under 3 s, 15 s, 120 s, or above
    #[arg(long, value_name = "fast|medium|slow|very_slow", value_parser = tier(&[("fast", LatencyTier::Fast), ("medium", LatencyTier::Medium), ("slow", LatencyTier::Slow), ("very_slow", LatencyTier::VerySlow)]))]
    pub max_latency: Option<LatencyTier>,
    /// What a tool without a declared tier counts as under these filters
    #[arg(long, default_value = "medium", value_name = "medium|admit|exclude", value_parser = tier(&[("medium", Undeclared::Medium), ("admit", Undeclared::Admit), ("exclude", Undeclared::Exclude)]))]
    pub undeclared: Undeclared,
    /// Tools of one server in an answer at most, where those of another come near
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..).map(usize::from))]
    pub max_per_server: Option<usize>,
    /// The share of the best tool's score that a tool of another server has at least, where the best
    /// is a clear one; 0 lets every tool pass [default: 0.9 with servers, 0 without]
    #[arg(long, value_name = "X", value_parser = share)]
    pub near_best: Option<f32>,
    /// Judge tiers by what the log of executions says of a tool's runs, beside what it declares
    #[arg(long)]
    pub observed_tiers: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Blend {
    Tuned,
    Plain,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FusionMethod {
    Weighted,
    Rrf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scale {
    Absolute,
    MinMax,
    ZScore,
}

/// A number from 0 to 1.
fn share(typed: &str) -> Result<f32, String> {
    let share = typed.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("expected a number from 0 to 1, found {typed:?}"))
}

impl PolicyArgs {
    pub fn policy(&self) -> Policy {
        Policy {
            min_reliability: self.min_reliability,
            max_cost: self.max_cost,
            max_latency: self.max_latency,
            undeclared: self.undeclared,
            max_per_server: self.max_per_server,
            near_best: self.near_best,
            observed_tiers: self.observed_tiers,
        }
    }
}

#[derive(Args)]
pub struct IndexArgs {
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}

#[derive(Args)]
pub struct RouteArgs {
    /// What is wanted; `-` or nothing reads it from stdin
    pub prompt: Vec<String>,
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub select: SelectArgs,
    /// Tools to show at most; `auto` shows as many as the prompt needs, up to 10 (`auto:N`: up to N)
    #[arg(short, long, default_value_t = Limit::of(DEFAULT_LIMIT), value_name = "N")]
    pub limit: Limit,
    /// Rank only this tool and others so named; repeatable
    #[arg(long, value_name = "ID")]
    pub candidates: Option<Vec<String>>,
    #[command(flatten)]
    pub context: ContextArgs,
    #[command(flatten)]
    pub session: SessionArgs,
    #[command(flatten)]
    pub history: HistoryArgs,
    /// Show how each score came about
    #[arg(long)]
    pub explain: bool,
    /// Show where the time went
    #[arg(long)]
    pub timings: bool,
}

/// A log of executions that is read and not written to.
#[derive(Args)]
pub struct HistoryArgs {
    /// Rank with what this log of executions says: how runs went, and the weights that were learned
    /// [env: TOOLROUTE_FEEDBACK]
    #[arg(long, value_name = "FILE")]
    pub feedback: Option<PathBuf>,
}

#[derive(Args)]
pub struct ToolsArgs {
    #[command(subcommand)]
    pub command: ToolsCommand,
}

#[derive(Subcommand)]
pub enum ToolsCommand {
    /// List the tools of a catalog with their tiers
    List(ListArgs),
    /// Show one tool whole
    Show {
        /// Its id, `server:tool`, or a name that only one tool has
        id: String,
        #[command(flatten)]
        catalog: CatalogArgs,
    },
    /// Say what is wrong with a catalog; exit code 3 where a tool was left out
    Validate(CatalogArgs),
    /// Find tools that come up for too many prompts, pass for another server's, or steer models
    Probe(ProbeArgs),
}

#[derive(Args)]
pub struct MetricsArgs {
    /// The log of executions [default: toolroute/feedback.db in the user's data folder]
    /// [env: TOOLROUTE_FEEDBACK]
    #[arg(long, value_name = "FILE")]
    pub feedback: Option<PathBuf>,
    #[command(flatten)]
    pub ledger: LedgerChoice,
}

#[derive(Args)]
pub struct BatchArgs {
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub select: SelectArgs,
    /// Rows {"id","query"} (or "prompt"), optionally "candidates":[tool ids] to re-rank only those; `-` is stdin
    #[arg(short, long, value_name = "FILE")]
    pub input: PathBuf,
    /// Rows {"id","tools":[{"id","score"}]} in the input's order; `-` is stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Tools a row at most; `auto` gives as many as the prompt needs, up to 10 (`auto:N`: up to N)
    #[arg(short, long, default_value_t = Limit::of(10), value_name = "N")]
    pub limit: Limit,
    /// Put the whole explanation beside each score
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub history: HistoryArgs,
}

/// Reads one of a few words as a value; clap lists them in its errors and completions.
fn tier<T: Copy + Send + Sync + 'static>(
    known: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(known.iter().map(|(name, _)| *name)).map(move |chosen| {
        let named = known.iter().find(|(name, _)| *name == chosen);
        named.expect("clap admits only the names given. This is a bug.").1
    })
}

fn strategies() -> impl TypedValueParser<Value = Strategy> {
    use Strategy::{Auto, Hybrid, Keyword, Semantic};
    tier(
        const { &[("auto", Auto), ("keyword", Keyword), ("semantic", Semantic), ("hybrid", Hybrid)] },
    )
}

pub fn precisions() -> impl TypedValueParser<Value = Precision> {
    tier(const { &[("int8", Precision::Int8), ("f32", Precision::F32)] })
}

fn index_kind() -> impl TypedValueParser<Value = IndexKind> {
    tier(
        const { &[("auto", IndexKind::Auto), ("exact", IndexKind::Exact), ("hnsw", IndexKind::Hnsw)] },
    )
}
