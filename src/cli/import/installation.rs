//! Adds our gateway to another program's configuration, and removes it again.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::clients::Client;
use super::{codex, jsonc};
use crate::cli::exit;
use crate::cli::paths;
use toolroute_vectors::durable::sha256_hex;

/// The gateway's name in the program's configuration.
const NAME: &str = "toolroute";

pub struct Request {
    pub client: Client,
    pub servers: PathBuf,
    /// Servers of the program that the gateway provides now and that are removed from the program.
    pub replaced_servers: BTreeSet<String>,
}

/// A server that stays in its program's file, because the gateway cannot run it.
#[derive(Serialize)]
pub struct RemainingServer {
    pub name: String,
    pub because: String,
}

/// The result for a program's configuration.
#[derive(Serialize)]
pub struct Installation {
    pub file: PathBuf,
    pub done: InstallOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<PathBuf>,
    /// Servers that the gateway runs now and that are removed, or in a dry run would be.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub removed: BTreeSet<String>,
    /// Servers that should have been removed but were kept.
    #[serde(rename = "stay", skip_serializing_if = "Vec::is_empty")]
    pub remaining: Vec<RemainingServer>,
    #[serde(skip)]
    pub word: &'static str,
    /// Whether this is a dry run and nothing was written.
    #[serde(skip)]
    pub dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InstallOutcome {
    #[serde(rename = "put")]
    Installed,
    AlreadyThere,
    /// Byte-identical to the file before.
    Restored,
    /// The file was changed since, so only our changes were undone.
    #[serde(rename = "taken_out")]
    Removed,
    NothingToUndo,
}

impl Installation {
    fn new(target: &Path, done: InstallOutcome, word: &'static str, dry_run: bool) -> Self {
        let (removed, remaining) = Default::default();
        Self { file: target.to_owned(), done, backup: None, removed, remaining, word, dry_run }
    }
}

impl fmt::Display for Installation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, word) = (self.file.display(), self.word);
        match self.done {
            InstallOutcome::Installed if self.dry_run => write!(f, "{file} would have the gateway"),
            InstallOutcome::Restored if self.dry_run => {
                write!(f, "{file} would be as it was before")
            }
            InstallOutcome::Removed if self.dry_run => {
                write!(f, "{file} was changed since; the gateway would be taken out of it")
            }
            InstallOutcome::Installed => write!(
                f,
                "{file} has the gateway now; restart {word}. To take it out again: \
                 toolroute import --into {word} --undo"
            ),
            InstallOutcome::AlreadyThere => write!(f, "{file} has the gateway already"),
            InstallOutcome::Restored => write!(f, "{file} is as it was before"),
            InstallOutcome::Removed => write!(
                f,
                "{file} was changed since; the gateway is out of it, and the servers that it \
                 replaced are back"
            ),
            InstallOutcome::NothingToUndo => write!(f, "{file} has no gateway that was put there"),
        }
    }
}

/// What undoing needs to know, stored beside the program's file.
#[derive(Serialize, Deserialize)]
struct Record {
    /// The text before; `None` if the file did not exist.
    before: Option<String>,
    /// SHA-256 of the text that we wrote.
    after: String,
}

fn record_path(target: &Path) -> PathBuf {
    PathBuf::from(format!("{}.toolroute-undo", target.display()))
}

fn record(target: &Path) -> anyhow::Result<Option<Record>> {
    let text = paths::read(&record_path(target))?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

impl Request {
    /// The server entry with which the program starts the gateway.
    fn entry(&self) -> anyhow::Result<Value> {
        let program = paths::program().context("cannot tell where this program is")?;
        let mut entry = json!({"command": program, "args": ["mcp", "--servers", self.servers]});
        if self.client == Client::Vscode {
            entry["type"] = json!("stdio");
        }
        Ok(entry)
    }

    fn with_gateway(&self, text: &str) -> anyhow::Result<String> {
        let entry = self.entry()?;
        if self.client == Client::Codex {
            return codex::set(text, NAME, &entry, &self.replaced_servers);
        }
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        let member = self.client.member();
        let others = self.replaced_servers.iter().filter(|name| *name != NAME);
        let text = others.fold(text.to_owned(), |text, name| {
            jsonc::remove(&text, &[member], name).unwrap_or(text)
        });
        let set = jsonc::set(&text, &[member], NAME, &entry);
        set.context("it is no JSON object")
    }

    /// The text without the gateway, and with the servers of `before` that are missing.
    fn without(&self, text: &str, before: &str) -> anyhow::Result<String> {
        if self.client == Client::Codex {
            return codex::restore(text, NAME, before);
        }
        let member = self.client.member();
        let mut text = jsonc::remove(text, &[member], NAME).unwrap_or_else(|| text.to_owned());
        let now = jsonc::value(&text).context("it is no JSON")?;
        let earlier = jsonc::value(before).unwrap_or_default();
        for (name, entry) in earlier[member].as_object().into_iter().flatten() {
            if name != NAME && now[member].get(name).is_none() {
                let put = jsonc::set(&text, &[member], name, entry);
                text = put.context("it is no JSON object")?;
            }
        }
        Ok(text)
    }
}

fn failed(target: &Path, error: &anyhow::Error) -> anyhow::Error {
    let said = format!("{}: nothing was changed: {error:#}", target.display());
    exit::bad_data(said)
}

/// Adds the gateway, beside the other servers or in their place.
pub fn put(target: &Path, request: &Request, dry_run: bool) -> anyhow::Result<Installation> {
    let word = request.client.word();
    let before = paths::read(target)?;
    let text = before.clone().unwrap_or_default();
    let after = request.with_gateway(&text).map_err(|error| failed(target, &error))?;
    let mut put = Installation::new(target, InstallOutcome::Installed, word, dry_run);
    if after == text {
        put.done = InstallOutcome::AlreadyThere;
        return Ok(put);
    }
    put.removed.clone_from(&request.replaced_servers);
    if dry_run {
        return Ok(put);
    }
    let known = record(target)?;
    let first = match known {
        // The gateway was installed before, and the file was not changed since.
        Some(known) if known.after == sha256_hex(text.as_bytes()) => known.before,
        Some(known) => {
            let earlier = known.before.unwrap_or_default();
            Some(request.without(&text, &earlier).map_err(|error| failed(target, &error))?)
        }
        None => before,
    };
    put.backup = paths::back_up(target)?;
    let record = Record { before: first, after: sha256_hex(after.as_bytes()) };
    paths::put(&record_path(target), serde_json::to_string(&record)?.as_bytes())?;
    paths::put(target, after.as_bytes())?;
    Ok(put)
}

/// Undoes [`put`]: restores the file or, if it was changed since, removes only what was added.
pub fn undo(target: &Path, request: &Request, dry_run: bool) -> anyhow::Result<Installation> {
    let word = request.client.word();
    let mut put = Installation::new(target, InstallOutcome::NothingToUndo, word, dry_run);
    let (Some(record), Some(text)) = (record(target)?, paths::read(target)?) else {
        return Ok(put);
    };
    let untouched = sha256_hex(text.as_bytes()) == record.after;
    put.done = if untouched { InstallOutcome::Restored } else { InstallOutcome::Removed };
    let earlier = record.before.as_deref();
    let restored = if untouched {
        record.before.clone()
    } else {
        let back = request.without(&text, earlier.unwrap_or_default());
        Some(back.map_err(|error| failed(target, &error))?)
    };
    if dry_run {
        return Ok(put);
    }
    match restored {
        Some(restored) => {
            put.backup = if untouched { None } else { paths::back_up(target)? };
            paths::put(target, restored.as_bytes())?;
        }
        None => std::fs::remove_file(target)
            .with_context(|| format!("cannot remove {}", target.display()))?,
    }
    std::fs::remove_file(record_path(target)).ok();
    Ok(put)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_wrote_since_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("mcp.json");
        std::fs::write(&target, "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}").unwrap();
        let replaced_servers = BTreeSet::from(["a".to_owned()]);
        let servers = "/s.json".into();
        let request = Request { client: Client::ClaudeCode, servers, replaced_servers };
        put(&target, &request, false).unwrap();
        let text = std::fs::read_to_string(&target).unwrap();
        std::fs::write(&target, jsonc::set(&text, &[], "theme", &json!("dark")).unwrap()).unwrap();
        assert_eq!(undo(&target, &request, false).unwrap().done, InstallOutcome::Removed);
        let text = std::fs::read_to_string(&target).unwrap();
        let found = jsonc::value(&text).unwrap();
        assert_eq!(
            found,
            json!({"theme": "dark", "mcpServers": {"a": {"command": "x"}}}),
            "{text}"
        );
    }
}
