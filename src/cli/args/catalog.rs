//! Arguments that name the sources of tools.

use std::path::PathBuf;

use clap::Args;

#[cfg(feature = "mcp")]
use super::pins::PinArgs;
#[cfg(feature = "mcp")]
use crate::cli::settings::{Settings, keys};

#[derive(Args, Clone)]
pub struct CatalogArgs {
    /// A file or folder of tools: MCP tools/list results, OpenAI, Anthropic, Gemini, Bedrock,
    /// OpenAPI, SKILL.md, JSONL, TOML and more; repeatable [env: TOOLROUTE_TOOLS, several separated
    /// as in PATH]
    #[arg(short, long, value_name = "PATH")]
    pub tools: Vec<PathBuf>,
    #[command(flatten)]
    pub live: LiveArgs,
    /// A file that overrides tiers and facets of tools by id pattern (an overlay); repeatable
    #[arg(long, value_name = "FILE")]
    pub overlay: Vec<PathBuf>,
    /// Use the prompt patterns that tool files declare (`routing.signals`, `critical`); those of
    /// overlays are always used
    #[arg(long)]
    pub author_signals: bool,
    /// Fail on the first invalid tool instead of skipping it; where rows are read, finish them all, and
    /// exit with 3 if one was invalid
    #[arg(long)]
    pub strict: bool,
}

/// Arguments that name MCP servers whose tools are added to the catalog.
#[derive(Args, Clone, Default)]
pub struct LiveArgs {
    /// A file with `mcpServers`, whose servers are asked for their tools once an hour [env:
    /// TOOLROUTE_SERVERS] [default of mcp, call, run and doctor: the file that `import` writes]
    #[cfg(feature = "mcp")]
    #[arg(long, value_name = "FILE")]
    pub servers: Option<PathBuf>,
    /// Ask all servers for their tools now
    #[cfg(feature = "mcp")]
    #[arg(long)]
    pub refresh: bool,
    /// The server of the tool that is called, if there is one: the others are not waited for as long
    #[cfg(feature = "mcp")]
    #[arg(skip)]
    pub called: Option<String>,
    /// The file that `--servers` names, for commands in messages
    #[cfg(feature = "mcp")]
    #[arg(skip)]
    pub typed: Option<PathBuf>,
    /// What `--tools` names, for commands in messages
    #[cfg(feature = "mcp")]
    #[arg(skip)]
    pub typed_tools: Vec<PathBuf>,
    #[cfg(feature = "mcp")]
    #[command(flatten)]
    pub pinning: PinArgs,
}

#[cfg(feature = "mcp")]
impl CatalogArgs {
    /// Notes which of the values were typed, for commands in messages.
    pub fn note_typed(&mut self, settings: &Settings) {
        if settings.is_typed(&keys::TOOLS) {
            self.live.typed_tools = self.tools.clone();
        }
        self.live.typed = self.live.servers.clone().filter(|_| settings.is_typed(&keys::SERVERS));
    }
}

impl LiveArgs {
    /// Uses the servers file that `import` writes, if none is named and it exists.
    #[cfg(feature = "mcp")]
    pub fn or_imported(&mut self) {
        if self.servers.is_none() {
            let imported = crate::cli::paths::servers().ok();
            self.servers = imported.filter(|path| path.is_file());
        }
    }

    /// The servers file, if one is named and this build can call servers.
    pub fn servers(&self) -> Option<&PathBuf> {
        #[cfg(feature = "mcp")]
        return self.servers.as_ref();
        #[cfg(not(feature = "mcp"))]
        None
    }
}
