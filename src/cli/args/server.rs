//! What may be typed after `mcp`, `serve` and `proxy`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::builder::TypedValueParser as _;
use clap::{Args, ValueEnum};

use super::call::{LimitArgs, RightsArgs, StandInArgs};
use super::catalog::CatalogArgs;
use super::engine::{EngineArgs, ModelChoice};
use super::select::SelectArgs;
use super::stores::{LedgerChoice, RecordArgs};
use crate::cli::limit::Limit;
use crate::cli::settings::{Configure, Settings, configure, keys};
use crate::cli::words::{joined, word};
use toolroute_rank::engine::DEFAULT_LIMIT;
use toolroute_vectors::embedding::Precision;

#[derive(Args)]
pub struct McpArgs {
    /// Serve Streamable HTTP at this address, under /mcp and /mcp/PROFILE, instead of stdin and
    /// stdout; port 0 takes any that is free
    #[arg(long, value_name = "ADDR:PORT", value_parser = address)]
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
pub struct ServeArgs {
    /// Where to listen; port 0 takes any that is free
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8765", value_parser = address)]
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
    /// Where requests go, such as `https://api.openai.com`
    #[arg(long, value_name = "URL")]
    pub upstream: String,
    /// Where to listen; port 0 takes any that is free
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8766", value_parser = address)]
    pub addr: SocketAddr,
    #[command(flatten)]
    pub listen: ListenArgs,
    /// Bytes of a body that is looked into; a larger one is passed on as it is
    #[arg(long, value_name = "N", default_value_t = 64 << 20)]
    pub max_body: usize,
    #[command(flatten)]
    pub choice: ModelChoice,
    /// How the model is run
    #[arg(long, default_value = keys::PRECISION.default, value_parser = word::<Precision>(), value_name = joined::<Precision>())]
    pub precision: Precision,
}

impl Configure for McpArgs {
    fn configure(&mut self, settings: &Settings) {
        self.limit.configure(settings);
        self.record.configure(settings);
        self.catalog.configure(settings);
        self.catalog.live.or_imported();
        self.engine.configure(settings);
        self.select.configure(settings);
    }
}

configure!(ServeArgs: record, ledger, limit, catalog, engine, select);

impl Configure for ProxyArgs {
    fn configure(&mut self, settings: &Settings) {
        self.choice.configure(settings);
        settings.put(&keys::PRECISION, &mut self.precision);
    }
}

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
    #[arg(long, value_name = "N", default_value_t = toolroute_serve::filter::DEFAULT_KEEP, value_parser = clap::value_parser!(u16).range(1..).map(usize::from))]
    pub keep: usize,
}

/// An address and a port; `localhost` is that of this machine, whatever a resolver would say.
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
