//! Arguments that name the files of executions and of the ledger.

use std::path::PathBuf;
#[cfg(feature = "server")]
use std::time::Duration;

use clap::Args;

/// A log of executions that is only read.
#[derive(Args)]
pub struct HistoryArgs {
    /// Rank with this log of executions: success of past runs, and learned weights [env:
    /// TOOLROUTE_FEEDBACK]
    #[arg(long, value_name = "FILE")]
    pub feedback: Option<PathBuf>,
}

#[cfg(feature = "mcp")]
#[derive(Args)]
pub struct LedgerChoice {
    /// The file of the conductor's ledger [default: in the user's data folder] [env:
    /// TOOLROUTE_LEDGER]
    #[arg(long, value_name = "PATH")]
    pub ledger: Option<PathBuf>,
}

/// The log to which calls are written.
#[cfg(feature = "mcp")]
#[derive(Args)]
pub struct LogChoice {
    /// Log every call in this file and rank with it; `toolroute metrics` summarises it [env:
    /// TOOLROUTE_FEEDBACK]
    #[arg(long, value_name = "FILE")]
    pub feedback: Option<PathBuf>,
}

/// The log of a long-running server, and what it stores.
#[cfg(feature = "server")]
#[derive(Args)]
pub struct RecordArgs {
    #[command(flatten)]
    pub log: LogChoice,
    /// Store the text of prompts in the log, not only their hashes
    #[arg(long)]
    pub keep_prompts: bool,
    /// Learn from the log at this interval, such as 1h or 15m, and store the result in the file of
    /// --usage
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub learn_every: Option<Duration>,
}

/// Parses `1h`, `15m`, `90s`, or several of them.
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
