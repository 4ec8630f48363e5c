//! Where other programs store their MCP servers.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

/// A program with a list of MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Client {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    Vscode,
    Codex,
}

impl Client {
    /// Suffix for a server's name if two programs have different servers of that name.
    pub fn word(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
            Self::Codex => "codex",
        }
    }

    /// The JSON member that contains the servers.
    pub fn member(self) -> &'static str {
        match self {
            Self::Vscode => "servers",
            Self::Codex => "mcp_servers",
            _ => "mcpServers",
        }
    }
}

/// A file with servers.
#[derive(Clone, Debug)]
pub struct Place {
    pub path: PathBuf,
    pub word: &'static str,
    /// The working directory in which the program would start the servers.
    pub project: Option<PathBuf>,
    /// Whether the user named the file or its program; then it must be readable.
    pub was_named: bool,
}

impl Place {
    pub fn of_file(path: &Path) -> Self {
        Self { path: path.to_owned(), word: "imported", project: None, was_named: true }
    }
}

/// The folders in which programs store their configuration.
pub struct Home {
    pub home: PathBuf,
    /// The user's configuration folder: `~/.config`, `~/Library/Application Support` or
    /// `%APPDATA%`.
    pub config: Option<PathBuf>,
    pub codex: Option<PathBuf>,
    pub project: PathBuf,
}

impl Home {
    /// Every file that may contain the program's servers, the user's before the project's.
    pub fn places(&self, client: Client) -> Vec<Place> {
        let word = client.word();
        let user = |path: PathBuf| Place { path, word, project: None, was_named: false };
        let project = |path: &str| Place {
            path: self.project.join(path),
            word,
            project: Some(self.project.clone()),
            was_named: false,
        };
        let config = |path: &str| self.config.as_ref().map(|config| user(config.join(path)));
        match client {
            Client::ClaudeDesktop => {
                config("Claude/claude_desktop_config.json").into_iter().collect()
            }
            Client::ClaudeCode => vec![user(self.home.join(".claude.json")), project(".mcp.json")],
            Client::Cursor => {
                vec![user(self.home.join(".cursor/mcp.json")), project(".cursor/mcp.json")]
            }
            Client::Vscode => {
                let users = ["Code/User/mcp.json", "Code/User/settings.json"];
                let own = [".vscode/mcp.json", ".vscode/settings.json"];
                users.into_iter().filter_map(config).chain(own.into_iter().map(project)).collect()
            }
            Client::Codex => {
                let folder = self.codex.clone().unwrap_or_else(|| self.home.join(".codex"));
                vec![user(folder.join("config.toml")), project(".codex/config.toml")]
            }
        }
    }

    /// The user's own file, to which the gateway is added.
    pub fn target(&self, client: Client) -> Option<PathBuf> {
        self.places(client)
            .into_iter()
            .find(|place| place.project.is_none())
            .map(|place| place.path)
    }
}
