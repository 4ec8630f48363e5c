//! Where tools come from.

use std::path::PathBuf;

use clap::Args;

#[cfg(feature = "mcp")]
use super::pins::PinArgs;
use crate::cli::settings::{Configure, Settings, keys};

#[derive(Args, Clone)]
pub struct CatalogArgs {
    /// A file or folder of tools, repeatable: MCP tools/list results, OpenAI, Anthropic, OpenAPI 3,
    /// JSONL, TOML [env: TOOLROUTE_TOOLS, several separated as in PATH]
    #[arg(short, long, value_name = "PATH")]
    pub tools: Vec<PathBuf>,
    #[command(flatten)]
    pub live: LiveArgs,
    /// Files that set tiers and facets for tools by id pattern
    #[arg(long, value_name = "FILE")]
    pub overlay: Vec<PathBuf>,
    /// Take the patterns over prompts that files of tools declare (`routing.signals`, `critical`);
    /// those of overlays are always taken
    #[arg(long)]
    pub author_signals: bool,
    /// Fail on the first bad tool or row instead of leaving it out
    #[arg(long)]
    pub strict: bool,
}

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

impl Configure for CatalogArgs {
    fn configure(&mut self, settings: &Settings) {
        settings.put_paths(&keys::TOOLS, &mut self.tools);
        settings.put_paths(&keys::OVERLAY, &mut self.overlay);
        settings.put(&keys::AUTHOR_SIGNALS, &mut self.author_signals);
        #[cfg(feature = "mcp")]
        {
            settings.put_path(&keys::SERVERS, &mut self.live.servers);
            self.live.pinning.configure(settings);
        }
    }
}

impl LiveArgs {
    /// Takes the servers file that `import` writes, where none is named and there is one.
    #[cfg(feature = "mcp")]
    pub fn or_imported(&mut self) {
        if self.servers.is_none() {
            let imported = crate::cli::paths::servers().ok();
            self.servers = imported.filter(|path| path.is_file());
        }
    }

    /// The servers file, where one was named and servers can be called at all.
    pub fn servers(&self) -> Option<&PathBuf> {
        #[cfg(feature = "mcp")]
        return self.servers.as_ref();
        #[cfg(not(feature = "mcp"))]
        None
    }
}
