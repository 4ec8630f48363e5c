//! How tools are called.

use std::path::PathBuf;

use clap::Args;

use super::context::SessionArgs;
use super::stores::LogChoice;
use crate::cli::settings::configure;
use toolroute_run::execution::{CallLimits, LONGEST_REQUEST, LocalTime};

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

impl SourceArgs {
    /// The moment that was typed, or this one.
    pub fn moment(&self) -> LocalTime {
        self.now.clone().unwrap_or_else(LocalTime::of_this_machine)
    }
}

/// Which tools may answer for one that fails.
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

/// What a call of a tool may do, and how much of its answer is taken.
#[derive(Args)]
pub struct LimitArgs {
    /// Agree to what may destroy something
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub rights: RightsArgs,
}

/// Which tools may be called, and how much of time and text they may take.
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

/// How often calls may be repeated in one session, and what they may use up.
#[derive(Args, Clone, Debug)]
pub struct CallLimitArgs {
    /// Times that the same call with the same arguments is made in a session, as long as nothing
    /// else was changed
    #[arg(long, value_name = "N", default_value_t = CallLimits::default().same_call, value_parser = clap::value_parser!(u32).range(1..))]
    pub same_call: u32,
    /// Times that a cycle of calls may come round in a session
    #[arg(long, value_name = "N", default_value_t = CallLimits::default().same_cycle, value_parser = clap::value_parser!(u32).range(1..))]
    pub same_cycle: u32,
    /// Calls of a session at most
    #[arg(long, value_name = "N")]
    pub session_calls: Option<u32>,
    /// What the calls of a session may cost: 1 for a tool of tiny cost, 3 for low or undeclared, 10
    /// for medium, 30 for high
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

// `log` is all of it that variables and files set.
configure!(ExecutionArgs: log);
