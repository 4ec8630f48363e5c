//! Arguments that several commands share, and those of the servers.
//!
//! Nothing here reads a file or makes a decision: clap validates what was typed, and
//! [`Settings`](super::settings::Settings) adds the values of variables and files. The arguments of
//! a single command are in the command's own file.

#[cfg(feature = "mcp")]
mod call;
mod catalog;
mod context;
mod engine;
mod measure;
#[cfg(feature = "mcp")]
mod pins;
mod select;
#[cfg(feature = "server")]
mod server;
mod stores;

#[cfg(feature = "server")]
pub use call::FallbackArgs;
#[cfg(feature = "mcp")]
pub use call::{ExecutionArgs, LimitArgs, RightsArgs, SourceArgs};
pub use catalog::CatalogArgs;
#[cfg(feature = "mcp")]
pub use catalog::LiveArgs;
pub use context::{ContextArgs, ContextSourceArgs, SessionArgs};
pub use engine::{EngineArgs, ModelChoice};
pub use measure::{BenchArgs, BenchCommand, EncoderArgs, EvalArgs};
#[cfg(feature = "server")]
pub use pins::PinArgs;
#[cfg(feature = "mcp")]
pub use pins::pins_at;
#[cfg(feature = "server")]
pub use select::UsageArgs;
pub use select::{PolicyArgs, SelectArgs, parse_weight, weights};
#[cfg(feature = "server")]
pub use server::{ConfirmChoice, ExposeChoice, ListenArgs, McpArgs, ProxyArgs, ServeArgs};
pub use stores::HistoryArgs;
#[cfg(feature = "mcp")]
pub use stores::LedgerChoice;
#[cfg(feature = "mcp")]
pub use stores::LogChoice;
#[cfg(feature = "server")]
pub use stores::RecordArgs;

pub use super::global::Global;
#[cfg(feature = "server")]
pub use super::words::LogFormat;
