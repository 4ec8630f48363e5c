//! Arguments for calling tools.

use std::path::PathBuf;

use clap::Args;

use super::context::SessionArgs;
use super::stores::LogChoice;
use toolroute_run::execution::{CallLimits, LONGEST_REQUEST, LONGEST_REQUEST_MAX_S, LocalTime};

#[derive(Args)]
pub struct ExecutionArgs {
    /// The arguments, as a JSON object; `-` reads it from stdin. Arguments found in the prompt are
    /// added
    #[arg(short, long, value_name = "JSON", default_value = "{}")]
    pub args: String,
    #[command(flatten)]
    pub session: SessionArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub log: LogChoice,
    /// A tool to try if the one before it fails; repeatable [default: those that the tool declares,
    /// else those that satisfy the same type of obligation]
    #[arg(long, value_name = "ID", conflicts_with = "no_fallback")]
    pub fallback: Vec<String>,
    #[command(flatten)]
    pub stand_ins: FallbackArgs,
}

/// Sources of a tool's arguments in addition to the prompt.
#[derive(Args)]
pub struct SourceArgs {
    /// An earlier prompt of the conversation, oldest first, to resolve words such as "it";
    /// repeatable
    #[arg(long, value_name = "PROMPT")]
    pub earlier: Vec<String>,
    /// The last tool's result, as a file of JSON or text, to resolve words such as "that"
    #[arg(long, value_name = "FILE")]
    pub last_result: Option<PathBuf>,
    /// The time that words such as "tomorrow" are relative to, such as 2026-04-20T10:30:00+02:00
    /// [default: now, in this machine's time zone]
    #[arg(long, value_name = "TIME")]
    pub now: Option<LocalTime>,
    /// Show the tool and its arguments without calling it
    #[arg(long)]
    pub dry_run: bool,
}

impl SourceArgs {
    /// The time of `--now`, or the current time.
    pub fn moment(&self) -> LocalTime {
        self.now.clone().unwrap_or_else(LocalTime::of_this_machine)
    }
}

/// Which tools may be tried when one fails.
#[derive(Args, Clone, Copy, Debug)]
pub struct FallbackArgs {
    /// Try no other tool if one fails
    #[arg(long)]
    pub no_fallback: bool,
    /// If a read-only tool fails, try the one closest in meaning; the answer says so first. This is
    /// a guess: two databases may be close in meaning and hold different data
    #[arg(long, conflicts_with = "no_fallback")]
    pub fallback_by_meaning: bool,
}

/// Which calls are permitted, and limits on time and output.
#[derive(Args)]
pub struct LimitArgs {
    /// Confirm calls that may destroy something
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub rights: RightsArgs,
}

/// Which tools may be called, and limits on time and output.
#[derive(Args, Clone, Debug)]
pub struct RightsArgs {
    /// Call only tools that declare that they only read
    #[arg(long)]
    pub read_only: bool,
    /// Call only tools whose id matches, such as `files__*`; repeatable
    #[arg(long, value_name = "PATTERN")]
    pub allow: Vec<String>,
    /// Never call tools whose id, name or server matches; repeatable
    #[arg(long, value_name = "PATTERN")]
    pub deny: Vec<String>,
    /// Seconds to wait for a tool, counted from its start or its latest progress report [default:
    /// 60, and 300 for research]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,
    /// Maximum seconds of a request, including all tools and retries, whatever progress the tools
    /// report
    #[arg(long, value_name = "S", default_value_t = LONGEST_REQUEST.as_secs(), value_parser = clap::value_parser!(u64).range(1..=LONGEST_REQUEST_MAX_S))]
    pub longest_request: u64,
    /// Maximum characters of an answer; `toolroute output` prints the rest
    #[arg(long, value_name = "N", default_value_t = 40_000)]
    pub max_chars: usize,
    #[command(flatten)]
    pub session: CallLimitArgs,
}

/// Limits on the calls of one session.
#[derive(Args, Clone, Debug)]
pub struct CallLimitArgs {
    /// How often the same call with the same arguments may be made in a session while nothing else
    /// changes
    #[arg(long, value_name = "N", default_value_t = CallLimits::default().same_call, value_parser = clap::value_parser!(u32).range(1..))]
    pub same_call: u32,
    /// How often a cycle of calls may repeat in a session
    #[arg(long, value_name = "N", default_value_t = CallLimits::default().same_cycle, value_parser = clap::value_parser!(u32).range(1..))]
    pub same_cycle: u32,
    /// Maximum number of calls in a session
    #[arg(long, value_name = "N")]
    pub session_calls: Option<u32>,
    /// Maximum total cost of the calls in a session: 1 for a tool of tiny cost, 3 for low or
    /// undeclared, 10 for medium, 30 for high
    #[arg(long, value_name = "UNITS")]
    pub session_cost: Option<u32>,
}

impl CallLimitArgs {
    pub fn limits(&self) -> CallLimits {
        CallLimits {
            same_call: self.same_call,
            same_cycle: self.same_cycle,
            calls: self.session_calls,
            cost: self.session_cost,
        }
    }
}
