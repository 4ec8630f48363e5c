//! Arguments of `mcp`, `serve` and `proxy`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use clap::builder::TypedValueParser as _;

use super::call::{FallbackArgs, LimitArgs, RightsArgs};
use super::catalog::CatalogArgs;
use super::engine::{EngineArgs, ModelChoice};
use super::select::SelectArgs;
use super::stores::{LedgerChoice, RecordArgs};
use crate::cli::limit::Limit;
use crate::cli::settings::keys;
use crate::cli::words::{joined, word};
use toolroute_rank::engine::DEFAULT_LIMIT;
use toolroute_run::execution::Confirm;
use toolroute_serve::Expose;
use toolroute_vectors::embedding::Precision;

#[derive(Args)]
pub struct McpArgs {
    /// Serve Streamable HTTP at this address, under /mcp and /mcp/PROFILE, instead of stdin and
    /// stdout; port 0 picks a free port
    #[arg(long, value_name = "ADDR:PORT", value_parser = address)]
    pub http: Option<SocketAddr>,
    /// The file with the token that HTTP clients must send; required for an address that other
    /// machines can reach [env: TOOLROUTE_TOKEN, the token itself]
    #[arg(long, value_name = "FILE", requires = "http")]
    pub token_file: Option<PathBuf>,
    /// A host name or address under which the server is reached, besides localhost and the address
    /// that it listens on; repeatable
    #[arg(long, value_name = "NAME", requires = "http")]
    pub allowed_host: Vec<String>,
    /// Which tools agents see directly: find_tools, describe_tool and call_tool, which give access to
    /// all others, or the best tools for the profile's query under their own names
    #[arg(long, default_value = "search", value_parser = word::<Expose>(), value_name = joined::<Expose>())]
    pub expose: Expose,
    /// The profile of the configuration for clients that name none
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// A description of the work, which selects the tools for `--expose selected`; without it, the
    /// first tools of the catalog are listed
    #[arg(long, value_name = "TEXT")]
    pub query: Option<String>,
    /// Maximum number of tools in an answer and with `--expose selected`
    #[arg(short, long, value_name = "N", allow_negative_numbers = true)]
    pub limit: Option<Limit>,
    /// Always list this tool directly; repeatable
    #[arg(long, value_name = "ID")]
    pub pinned: Vec<String>,
    /// Which calls a person must confirm: none, because the client asks its user; those of tools that
    /// may destroy something; those of all tools that do not declare that they only read
    #[arg(long, default_value = "destructive", value_parser = word::<Confirm>(), value_name = joined::<Confirm>())]
    pub confirm: Confirm,
    #[command(flatten)]
    pub stand_ins: FallbackArgs,
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

#[derive(Args)]
pub struct ServeArgs {
    /// The address to listen on; port 0 picks a free port
    #[arg(long, aliases = ["bind", "listen"], value_name = "ADDR:PORT", default_value = "127.0.0.1:8765", value_parser = address)]
    pub addr: SocketAddr,
    #[command(flatten)]
    pub listen: ListenArgs,
    /// Maximum size of a request body in bytes
    #[arg(long, value_name = "N", default_value_t = 4 << 20)]
    pub max_body: usize,
    /// Maximum seconds of a request; calls of tools have their own limits
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub request_timeout: u64,
    /// Reload catalog and configuration when their files change, as on SIGHUP
    #[arg(long)]
    pub watch: bool,
    /// Store changes of tools in this file and apply them again at the next start
    #[arg(long, value_name = "FILE")]
    pub persist: Option<PathBuf>,
    #[command(flatten)]
    pub record: RecordArgs,
    /// Accept requests with obligations (see docs/obligations.md)
    #[arg(long)]
    pub conduct: bool,
    /// A TOML file that says how tools are run for obligations, with a table per tool id
    #[arg(long, value_name = "FILE", requires = "conduct")]
    pub runners: Option<PathBuf>,
    #[command(flatten)]
    pub ledger: LedgerChoice,
    #[command(flatten)]
    pub stand_ins: FallbackArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Maximum number of tools in an answer if the request does not say; `auto` for as many as the
    /// prompt needs
    #[arg(short, long, default_value_t = Limit::of(DEFAULT_LIMIT), value_name = "N", allow_negative_numbers = true)]
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
    /// Where requests are forwarded, such as `https://api.openai.com`
    #[arg(long, value_name = "URL")]
    pub upstream: String,
    /// The address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8766", value_parser = address)]
    pub addr: SocketAddr,
    #[command(flatten)]
    pub listen: ListenArgs,
    /// Maximum size in bytes of a body that is inspected; a larger one is forwarded unchanged
    #[arg(long, value_name = "N", default_value_t = 64 << 20)]
    pub max_body: usize,
    #[command(flatten)]
    pub choice: ModelChoice,
    /// Precision of the model
    #[arg(long, default_value = keys::PRECISION.default, value_parser = word::<Precision>(), value_name = joined::<Precision>())]
    pub precision: Precision,
}

/// Address, authentication and limits of an HTTP server.
#[derive(Args, Clone)]
#[command(next_help_heading = "Listening")]
pub struct ListenArgs {
    /// The file with the token that clients must send; required for an address that other machines
    /// can reach [env: TOOLROUTE_TOKEN, the token itself]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// A host name or address under which the server is reached, besides localhost and the address
    /// that it listens on; repeatable
    #[arg(long, value_name = "NAME")]
    pub allowed_host: Vec<String>,
    /// Number of selections at the same time [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024).map(usize::from))]
    pub workers: Option<usize>,
    /// Number of requests that may wait, each for at most 10 seconds; further ones get status 503, and
    /// `proxy` forwards them with all their tools [default: 64; of `proxy` as many as --connections]
    #[arg(long, value_name = "N")]
    pub queue: Option<usize>,
    /// Maximum number of connections
    #[arg(long, value_name = "N", default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(1..).map(|n| n as usize))]
    pub connections: usize,
    /// Seconds to wait for running requests at shutdown
    #[arg(long, value_name = "S", default_value_t = 10)]
    pub drain: u64,
    /// Number of tools to keep in a request to a language model, besides those that must stay
    #[arg(long, value_name = "N", default_value_t = toolroute_serve::filter::DEFAULT_KEEP, value_parser = clap::value_parser!(u16).range(1..).map(usize::from))]
    pub keep: usize,
}

/// Parses an address and a port. `localhost` always means this machine, without a DNS lookup.
fn address(typed: &str) -> Result<SocketAddr, String> {
    let localhost = || {
        let port = typed.strip_prefix("localhost:")?.parse().ok()?;
        Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    };
    typed.parse().ok().or_else(localhost).ok_or_else(|| {
        "expected an address of this machine and a port, such as 127.0.0.1:8765, localhost:8765 or \
         [::1]:8765; 0.0.0.0:8765 listens at all addresses"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn localhost_is_this_machine_and_other_names_are_no_addresses() {
        assert_eq!(address("localhost:8765").unwrap(), "127.0.0.1:8765".parse().unwrap());
        assert_eq!(address("[::1]:0").unwrap(), "[::1]:0".parse().unwrap());
        for wrong in ["localhost", "localhost:99999", "example.org:80", "8765", ""] {
            assert!(address(wrong).unwrap_err().contains("localhost:8765"), "{wrong}");
        }
    }
}
