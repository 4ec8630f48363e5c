//! Arguments of every command.

#[cfg(feature = "server")]
use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use clap::builder::TypedValueParser as _;

use super::settings::{Settings, keys};
use super::words::{LogFormat, joined, word};

#[derive(Args, Clone)]
pub struct Global {
    /// Print JSON to stdout instead of tables
    #[arg(long, global = true)]
    pub json: bool,
    /// Show no progress and no warnings
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// More logs on stderr; twice for all of them
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Maximum number of threads [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024).map(usize::from))]
    pub threads: Option<usize>,
    /// The configuration file, instead of ./toolroute.toml and the user's own [env:
    /// TOOLROUTE_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Format of the logs on stderr
    #[arg(long, global = true, default_value = keys::LOG_FORMAT.default, value_parser = word::<LogFormat>(), value_name = joined::<LogFormat>())]
    pub log_format: LogFormat,
    /// Every option of the command, with the origin of its value.
    #[arg(skip)]
    pub settings: Settings,
    /// The arguments as typed, with which a reload resolves the options again.
    #[cfg(feature = "server")]
    #[arg(skip)]
    pub typed: Vec<OsString>,
}
