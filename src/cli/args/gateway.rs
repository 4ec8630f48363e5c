//! What may be typed after `mcp`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::super::address;
use super::{CatalogArgs, EngineArgs, Limit, RecordArgs, RightsArgs, SelectArgs, StandInArgs};

/// Which tools agents see at once.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ExposeChoice {
    /// find_tools, describe_tool and call_tool, by which all others are reached
    #[default]
    Search,
    /// The best tools for the profile's query, under their own names
    Selected,
}

/// Which calls a person must agree to.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ConfirmChoice {
    /// None: the client asks its user
    Never,
    /// Those of tools that may destroy something
    #[default]
    Destructive,
    /// Those of all tools that do not say that they only read
    Writes,
}

#[derive(Args)]
pub struct McpArgs {
    /// Serve Streamable HTTP at this address, under /mcp and /mcp/PROFILE, instead of stdin and
    /// stdout; port 0 takes any that is free
    #[arg(long, value_name = "ADDR:PORT", value_parser = address::parse)]
    pub http: Option<SocketAddr>,
    /// The file with the token that clients over HTTP must show [env: TOOLROUTE_TOKEN, the token
    /// itself]. An address that others can reach asks for one
    #[arg(long, value_name = "FILE", requires = "http")]
    pub token_file: Option<PathBuf>,
    /// A name under which the server is reached, beside localhost and bare addresses; repeatable
    #[arg(long, value_name = "NAME", requires = "http")]
    pub allowed_host: Vec<String>,
    /// Which tools agents see at once
    #[arg(long, value_enum, default_value_t = ExposeChoice::Search, value_name = "search|selected")]
    pub expose: ExposeChoice,
    /// The profile of the configuration that counts where a client names none
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// What the work is about: chooses the tools of `--expose selected`, which otherwise lists the
    /// first of the catalog
    #[arg(long, value_name = "TEXT")]
    pub query: Option<String>,
    /// Tools in an answer, and of `--expose selected`, at most
    #[arg(short, long, value_name = "N")]
    pub limit: Option<Limit>,
    /// List this tool by itself, whatever else is listed; repeatable
    #[arg(long, value_name = "ID")]
    pub pinned: Vec<String>,
    /// Which calls a person must agree to
    #[arg(long, value_enum, default_value_t = ConfirmChoice::Destructive, value_name = "never|destructive|writes")]
    pub confirm: ConfirmChoice,
    #[command(flatten)]
    pub stand_ins: StandInArgs,
    #[command(flatten)]
    pub rights: RightsArgs,
    #[command(flatten)]
    pub record: RecordArgs,
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub select: SelectArgs,
}
