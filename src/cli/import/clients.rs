//! Where programs keep their servers.

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

pub const ALL: [Client; 5] =
    [Client::ClaudeDesktop, Client::ClaudeCode, Client::Cursor, Client::Vscode, Client::Codex];

impl Client {
    /// The word after a server's name where two programs have different servers of that name.
    pub fn word(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
            Self::Codex => "codex",
        }
    }

    /// The member that its servers stand in.
    pub fn member(self) -> &'static str {
        match self {
            Self::Vscode => "servers",
            Self::Codex => "mcp_servers",
            _ => "mcpServers",
        }
    }
}

/// A file with servers in it.
#[derive(Clone, Debug)]
pub struct Place {
    pub path: PathBuf,
    pub word: &'static str,
    /// The folder that the program would start the servers in.
    pub project: Option<PathBuf>,
    /// Whether the user named it, or its program: then it must be read.
    pub was_named: bool,
}

impl Place {
    pub fn of_file(path: &Path) -> Self {
        Self { path: path.to_owned(), word: "imported", project: None, was_named: true }
    }
}

/// The folders that programs look into.
pub struct Home {
    pub home: PathBuf,
    /// The user's folder for configurations: `~/.config`, `~/Library/Application Support` or
    /// `%APPDATA%`.
    pub config: Option<PathBuf>,
    pub codex: Option<PathBuf>,
    pub project: PathBuf,
}

impl Home {
    /// Every file in which a program may have servers, the user's own before the project's.
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
                vec![user(self.codex_folder().join("config.toml")), project(".codex/config.toml")]
            }
        }
    }

    /// The user's own file, into which the gateway is put.
    pub fn target(&self, client: Client) -> Option<PathBuf> {
        self.places(client)
            .into_iter()
            .find(|place| place.project.is_none())
            .map(|place| place.path)
    }

    fn codex_folder(&self) -> PathBuf {
        self.codex.clone().unwrap_or_else(|| self.home.join(".codex"))
    }
}
