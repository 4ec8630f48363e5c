//! What may be typed about servers and calls.

use std::path::PathBuf;
#[cfg(feature = "server")]
use std::time::Duration;

use clap::Args;

#[cfg(feature = "mcp")]
use super::super::pins::PinArgs;
#[cfg(feature = "mcp")]
use super::super::session::{CallLimitArgs, SessionArgs};
#[cfg(feature = "mcp")]
use super::{CatalogArgs, EngineArgs, SelectArgs};
#[cfg(feature = "mcp")]
use crate::execution::{LONGEST_REQUEST, LocalTime};

/// Where tools come from that no file lists.
#[derive(Args, Clone, Default)]
pub struct LiveArgs {
    /// A file with `mcpServers`: the tools are what these servers say they have, asked once an hour
    /// [env: TOOLROUTE_SERVERS] [default of mcp, call, run and doctor: the file that `import` writes]
    #[cfg(feature = "mcp")]
    #[arg(long, value_name = "FILE")]
    pub servers: Option<PathBuf>,
    /// Ask all servers for their tools now
    #[cfg(feature = "mcp")]
    #[arg(long)]
    pub refresh: bool,
    #[cfg(feature = "mcp")]
    #[command(flatten)]
    pub pinning: PinArgs,
}

impl LiveArgs {
    /// The servers file, where one was named and servers can be called at all.
    pub fn servers(&self) -> Option<&PathBuf> {
        #[cfg(feature = "mcp")]
        return self.servers.as_ref();
        #[cfg(not(feature = "mcp"))]
        None
    }
}

#[cfg(feature = "mcp")]
#[derive(Args)]
pub struct ExecutionArgs {
    /// The arguments, as a JSON object; `-` reads it from stdin. Those that a prompt gives are added
    #[arg(short, long, value_name = "JSON", default_value = "{}")]
    pub args: String,
    #[command(flatten)]
    pub session: SessionArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub log: LogChoice,
    /// The tool to try where the one before it fails; repeatable [default: those that the tool
    /// declares, else those that satisfy the same type of obligation]
    #[arg(long, value_name = "ID", conflicts_with = "no_fallback")]
    pub fallback: Vec<String>,
    #[command(flatten)]
    pub stand_ins: StandInArgs,
}

/// What arguments are read from beside the prompt.
#[cfg(feature = "mcp")]
#[derive(Args)]
pub struct SourceArgs {
    /// An earlier prompt of the conversation, the oldest first; repeatable. "it" may mean what it names
    #[arg(long, value_name = "PROMPT")]
    pub earlier: Vec<String>,
    /// What the last tool answered, as a file of JSON or text; "that" may mean it
    #[arg(long, value_name = "FILE")]
    pub last_result: Option<PathBuf>,
    /// The moment that "tomorrow" is relative to, such as 2026-04-20T10:30:00+02:00 [default: now,
    /// by the clock and the time zone of this machine]
    #[arg(long, value_name = "TIME")]
    pub now: Option<LocalTime>,
    /// Show the tool and its arguments, and call nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[cfg(feature = "mcp")]
impl SourceArgs {
    /// The moment that was typed, or this one.
    pub fn moment(&self) -> LocalTime {
        self.now.clone().unwrap_or_else(LocalTime::of_this_machine)
    }
}

/// Which tools may answer for one that fails.
#[cfg(feature = "mcp")]
#[derive(Args, Clone, Copy, Debug)]
pub struct StandInArgs {
    /// Try no other tool where one fails
    #[arg(long)]
    pub no_fallback: bool,
    /// Where a tool fails that only reads, let one that is near in meaning answer; the answer says
    /// so first. Nearness is a guess: two databases are near, and hold other rows
    #[arg(long, conflicts_with = "no_fallback")]
    pub fallback_by_meaning: bool,
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

/// What a call of a tool may do, and how much of its answer is taken.
#[cfg(feature = "mcp")]
#[derive(Args)]
pub struct LimitArgs {
    /// Agree to what may destroy something
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub rights: RightsArgs,
}

/// Which tools may be called, and how much of time and text they may take.
#[cfg(feature = "mcp")]
#[derive(Args, Clone, Debug)]
pub struct RightsArgs {
    /// Call only tools that say they only read
    #[arg(long)]
    pub read_only: bool,
    /// Call only tools whose id matches, such as `files__*`; repeatable
    #[arg(long, value_name = "PATTERN")]
    pub allow: Vec<String>,
    /// Never call tools whose id matches; repeatable
    #[arg(long, value_name = "PATTERN")]
    pub deny: Vec<String>,
    /// Seconds to wait for a tool, from its start or from the latest that it told of its progress
    /// [default: 60, and 300 for research]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,
    /// Seconds that a request may take at most, with all its tools and tries and however steadily a
    /// tool tells of its progress
    #[arg(long, value_name = "S", default_value_t = LONGEST_REQUEST.as_secs(), value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub longest_request: u64,
    /// Characters of an answer at most; the rest is kept for `toolroute output`
    #[arg(long, value_name = "N", default_value_t = 40_000)]
    pub max_chars: usize,
    #[command(flatten)]
    pub session: CallLimitArgs,
}

#[cfg(feature = "mcp")]
#[derive(Args)]
pub struct CallArgs {
    /// The tool's id, `server:tool`, or a name that only one tool has
    pub tool: String,
    /// What is wanted, out of which arguments are read that `--args` does not give
    #[arg(long)]
    pub prompt: Option<String>,
    #[command(flatten)]
    pub sources: SourceArgs,
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub execution: ExecutionArgs,
}

#[cfg(feature = "mcp")]
#[derive(Args)]
pub struct RunArgs {
    /// What is wanted; arguments that `--args` does not give are read out of it
    pub prompt: String,
    /// Find and call a tool for each thing that the prompt asks for, in their order, until one is not
    /// answered; what one answers is available to the next
    #[arg(long, conflicts_with_all = ["args", "earlier", "last_result", "fallback"])]
    pub plan: bool,
    #[command(flatten)]
    pub sources: SourceArgs,
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub select: SelectArgs,
    #[command(flatten)]
    pub execution: ExecutionArgs,
}

#[cfg(feature = "mcp")]
#[derive(Args)]
pub struct OutputArgs {
    /// The handle that a cut answer names
    pub handle: String,
    /// Where to begin, in characters
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub offset: usize,
    /// Characters at most
    #[arg(long, default_value_t = 40_000, value_name = "N")]
    pub chars: usize,
}
