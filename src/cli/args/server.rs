//! What may be typed after `serve` and `proxy`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use clap::builder::TypedValueParser as _;

use super::super::address;
use super::{
    CatalogArgs, EngineArgs, LedgerChoice, Limit, LimitArgs, ModelChoice, RecordArgs, SelectArgs,
    StandInArgs, precisions,
};
use crate::embedding::Precision;
use crate::engine::DEFAULT_LIMIT;

/// Where to listen, who may come in, and how many.
#[derive(Args, Clone)]
#[command(next_help_heading = "Listening")]
pub struct ListenArgs {
    /// The file with the token that clients must show [env: TOOLROUTE_TOKEN, the token itself].
    /// An address that others can reach asks for one
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// A name under which the server is reached, beside localhost and bare addresses; repeatable
    #[arg(long, value_name = "NAME")]
    pub allowed_host: Vec<String>,
    /// Selections at a time [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024).map(usize::from))]
    pub workers: Option<usize>,
    /// Requests that may wait for their turn; those beyond get 503, from `proxy` they go on uncut
    /// [default: 1 a worker; of `proxy` as many as --connections]
    #[arg(long, value_name = "N")]
    pub queue: Option<usize>,
    /// Connections at a time
    #[arg(long, value_name = "N", default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(1..).map(|n| n as usize))]
    pub connections: usize,
    /// Seconds that the end waits for what is under way
    #[arg(long, value_name = "S", default_value_t = 10)]
    pub drain: u64,
    /// Tools that are kept of a request to a language model, beside those that must stay
    #[arg(long, value_name = "N", default_value_t = crate::server::filter::DEFAULT_KEEP, value_parser = clap::value_parser!(u16).range(1..).map(usize::from))]
    pub keep: usize,
}

#[derive(Args)]
pub struct ServeArgs {
    /// Where to listen; port 0 takes any that is free
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8765", value_parser = address::parse)]
    pub addr: SocketAddr,
    #[command(flatten)]
    pub listen: ListenArgs,
    /// Bytes of a body at most
    #[arg(long, value_name = "N", default_value_t = 4 << 20)]
    pub max_body: usize,
    /// Seconds that an answer may take; calls of tools have limits of their own
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub request_timeout: u64,
    /// Read catalog and configuration again when their files change, as SIGHUP does
    #[arg(long)]
    pub watch: bool,
    /// Keep changes of tools in this file, and make them again at the next start
    #[arg(long, value_name = "FILE")]
    pub persist: Option<PathBuf>,
    #[command(flatten)]
    pub record: RecordArgs,
    /// Take requests with obligations
    #[arg(long)]
    pub conduct: bool,
    /// How tools are run for obligations: a table for each by its id, TOML
    #[arg(long, value_name = "FILE", requires = "conduct")]
    pub runners: Option<PathBuf>,
    #[command(flatten)]
    pub ledger: LedgerChoice,
    #[command(flatten)]
    pub stand_ins: StandInArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Tools in an answer at most, where a request does not say; `auto` as many as the prompt needs
    #[arg(short, long, default_value_t = Limit::of(DEFAULT_LIMIT), value_name = "N")]
    pub limit: Limit,
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub select: SelectArgs,
}

#[derive(Args)]
pub struct ProxyArgs {
    /// Where requests go, such as https://api.openai.com
    #[arg(long, value_name = "URL")]
    pub upstream: String,
    /// Where to listen; port 0 takes any that is free
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8766", value_parser = address::parse)]
    pub addr: SocketAddr,
    #[command(flatten)]
    pub listen: ListenArgs,
    /// Bytes of a body that is looked into; a larger one is passed on as it is
    #[arg(long, value_name = "N", default_value_t = 64 << 20)]
    pub max_body: usize,
    #[command(flatten)]
    pub choice: ModelChoice,
    /// How the model is run
    #[arg(long, default_value = "int8", value_parser = precisions(), value_name = "int8|f32")]
    pub precision: Precision,
}
