//! The files in which a command finds, or leaves, what came of calls.

use std::path::PathBuf;
#[cfg(feature = "server")]
use std::time::Duration;

use clap::Args;

#[cfg(feature = "server")]
use crate::cli::settings::configure;
use crate::cli::settings::{Configure, Settings, keys};

/// A log of executions that is read and not written to.
#[derive(Args)]
pub struct HistoryArgs {
    /// Rank with what this log of executions says: how runs went, and the weights that were learned
    /// [env: TOOLROUTE_FEEDBACK]
    #[arg(long, value_name = "FILE")]
    pub feedback: Option<PathBuf>,
}

#[derive(Args)]
pub struct LedgerChoice {
    /// The file that keeps what was owed, run and found [default: one in the user's data folder]
    /// [env: TOOLROUTE_LEDGER]
    #[arg(long, value_name = "PATH")]
    pub ledger: Option<PathBuf>,
}

/// Where it is written what came of calls.
#[cfg(feature = "mcp")]
#[derive(Args)]
pub struct LogChoice {
    /// Log every call in this file, and expect of tools what it says; `toolroute metrics` sums it up
    /// [env: TOOLROUTE_FEEDBACK]
    #[arg(long, value_name = "FILE")]
    pub feedback: Option<PathBuf>,
}

/// The log of a program that goes on, and what is kept in it.
#[cfg(feature = "server")]
#[derive(Args)]
pub struct RecordArgs {
    #[command(flatten)]
    pub log: LogChoice,
    /// Keep the text of prompts in that log, not only their hashes
    #[arg(long)]
    pub keep_prompts: bool,
    /// Learn from that log so often, such as 1h or 15m, and keep it in the file of --usage
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub learn_every: Option<Duration>,
}

/// `1h`, `15m`, `90s`, or several of them.
#[cfg(feature = "server")]
fn duration(text: &str) -> Result<Duration, String> {
    let read = humantime::parse_duration(text);
    let told = |found: String| format!("expected a time such as 1h or 15m, found {found}");
    match read {
        Ok(time) if time >= Duration::from_secs(1) => Ok(time),
        Ok(_) => Err(told("less than a second".to_owned())),
        Err(error) => Err(told(format!("`{text}`: {error}"))),
    }
}

impl Configure for HistoryArgs {
    fn configure(&mut self, settings: &Settings) {
        settings.put_path(&keys::FEEDBACK, &mut self.feedback);
    }
}

impl Configure for LedgerChoice {
    fn configure(&mut self, settings: &Settings) {
        settings.put_path(&keys::LEDGER, &mut self.ledger);
    }
}

#[cfg(feature = "mcp")]
impl Configure for LogChoice {
    fn configure(&mut self, settings: &Settings) {
        settings.put_path(&keys::FEEDBACK, &mut self.feedback);
    }
}

#[cfg(feature = "server")]
configure!(RecordArgs: log);
