//! Merges the servers of other programs into our servers file.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Map, Value};

use super::clients::Place;
use super::report::{Imported, Origin, Report, State};
use super::server_entry::{fault, is_allowed, is_ours, read as read_entry, same, with_private};
use super::{codex, jsonc};
use crate::cli::exit;
use crate::cli::paths;

/// A server found in another program's file.
struct Found {
    name: String,
    entry: Map<String, Value>,
    place: Place,
    /// Why it is disabled, if that is because of its address.
    refused: Option<String>,
}

/// Reads the files and adds their servers to our servers file.
pub fn run(places: &[Place], allow_private: bool, report: &mut Report) -> anyhow::Result<()> {
    let mut found = Vec::new();
    for place in places {
        match of_file(place, allow_private, report) {
            Ok(servers) => found.extend(servers),
            // A broken file of a program that the user did not name must not prevent the import of
            // others.
            Err(error) if !place.was_named => report.notes.push(format!("left out: {error:#}")),
            Err(error) => return Err(error),
        }
    }
    // Another import may run at the same time.
    let _lock = match report.dry_run || found.is_empty() {
        true => None,
        false => Some(paths::lock(&report.servers)?),
    };
    let before = paths::read(&report.servers)?;
    let start = before.clone().unwrap_or_else(|| "{\n  \"mcpServers\": {}\n}\n".to_owned());
    let mut target = Target::of(&report.servers, start)?;
    for found in found {
        let from = found.place.path.clone();
        let mut is_disabled = found.entry.get("disabled") == Some(&Value::Bool(true));
        let (theirs, refused) = (found.name.clone(), found.refused.clone());
        let (name, state) = target.add(found)?;
        if let Some(note) = refused {
            match target.servers.get(&name).is_some_and(is_allowed) {
                true => is_disabled = false,
                false => report.notes.push(note),
            }
        }
        let ours = name.clone();
        report.origins.push(Origin { file: from.clone(), name: theirs, ours, is_disabled });
        report.imported.push(Imported { name, from, state });
    }
    let changed = report.imported.iter().any(|one| one.state != State::AlreadyThere);
    if changed && !report.dry_run {
        report.backups.extend(paths::back_up(&report.servers)?);
        paths::put(&report.servers, target.text.as_bytes())?;
    }
    report.text = target.text;
    Ok(())
}

fn of_file(place: &Place, allow_private: bool, report: &mut Report) -> anyhow::Result<Vec<Found>> {
    let text = paths::read(&place.path)?;
    let text =
        text.ok_or_else(|| exit::io(format!("there is no file {}", place.path.display())))?;
    let is_toml = place.path.extension().is_some_and(|extension| extension == "toml");
    let root = if is_toml { codex::value(&text) } else { jsonc::value(&text).map_err(Into::into) };
    let root = root.map_err(|error| bad(&place.path, &error))?;
    report.read.push(place.path.clone());
    let mut found = Vec::new();
    for (project, servers) in lists(&root) {
        let project = project.or_else(|| place.project.clone());
        for (name, value) in servers {
            if value.as_object().is_some_and(is_ours) {
                continue;
            }
            let because = match value.as_object() {
                Some(entry) => fault(name, entry),
                None => Some("is no object"),
            };
            if let Some(because) = because {
                report.notes.push(format!(
                    "server `{name}` of {} {because} and was left out",
                    place.path.display()
                ));
            } else if let Some(read) = read_entry(name, value, project.as_deref(), allow_private) {
                report.notes.extend(read.notes);
                let (name, place) = (name.clone(), place.clone());
                found.push(Found { name, entry: read.entry, place, refused: read.refused });
            }
        }
    }
    Ok(found)
}

fn bad(path: &Path, error: &anyhow::Error) -> anyhow::Error {
    let said = format!("{}: expected a configuration with servers, found: {error}", path.display());
    exit::bad_data(said)
}

/// The lists of servers in a document; those of a project with its folder.
fn lists(root: &Value) -> Vec<(Option<PathBuf>, &Map<String, Value>)> {
    let own = ["mcpServers", "servers", "mcp_servers"].iter().filter_map(|key| root.get(key));
    // The settings of VS Code, in both spellings.
    let settings = [root.pointer("/mcp/servers"), root.get("mcp.servers")].into_iter().flatten();
    let mut lists: Vec<_> =
        own.chain(settings).filter_map(|list| Some((None, list.as_object()?))).collect();
    // Claude Code has a list for each folder in which it was started.
    for (folder, project) in root.get("projects").and_then(Value::as_object).into_iter().flatten() {
        if let Some(servers) = project.get("mcpServers").and_then(Value::as_object) {
            lists.push((Some(PathBuf::from(folder)), servers));
        }
    }
    lists
}

/// Our servers file while it is being changed.
struct Target {
    text: String,
    member: &'static str,
    servers: Map<String, Value>,
}

impl Target {
    fn of(path: &Path, text: String) -> anyhow::Result<Self> {
        let root = jsonc::value(&text).map_err(|error| bad(path, &error.into()))?;
        let member = if root.get("mcpServers").is_none() && root.get("servers").is_some() {
            "servers"
        } else {
            "mcpServers"
        };
        let servers = match root.get(member) {
            None => Map::new(),
            Some(Value::Object(servers)) => servers.clone(),
            Some(_) => return Err(bad(path, &anyhow::anyhow!("`{member}` is no object"))),
        };
        Ok(Self { text, member, servers })
    }

    /// Adds a server under its name, or under another if a different server has that name. A server
    /// that exists under any name is not added again, because all its tools would be duplicated.
    fn add(&mut self, found: Found) -> anyhow::Result<(String, State)> {
        let Found { name, entry, place, .. } = found;
        if let Some(known) = self.known(&name, &entry) {
            let Some(allowed) =
                self.servers.get(&known).and_then(|ours| with_private(ours, &entry))
            else {
                return Ok((known, State::AlreadyThere));
            };
            self.put(&known, allowed)?;
            return Ok((known, State::Allowed));
        }
        let others = (1..).map(|number| match number {
            1 => format!("{name}-{}", place.word),
            number => format!("{name}-{}-{number}", place.word),
        });
        for candidate in std::iter::once(name.clone()).chain(others) {
            if !self.servers.contains_key(&candidate) {
                let state = if candidate == name { State::Added } else { State::Renamed };
                self.put(&candidate, entry)?;
                return Ok((candidate, state));
            }
        }
        Err(anyhow::anyhow!("no name is free for server `{name}`"))
    }

    /// The name under which the same server exists, preferring `name`.
    fn known(&self, name: &str, entry: &Map<String, Value>) -> Option<String> {
        let is_same = |there: &Value| there.as_object().is_some_and(|there| same(there, entry));
        if self.servers.get(name).is_some_and(is_same) {
            return Some(name.to_owned());
        }
        let mut servers = self.servers.iter();
        servers.find(|(_, there)| is_same(there)).map(|(known, _)| known.clone())
    }

    fn put(&mut self, name: &str, entry: Map<String, Value>) -> anyhow::Result<()> {
        let value = Value::Object(entry);
        let text = jsonc::set(&self.text, &[self.member], name, &value);
        self.text = text.context("the servers file is no JSON object")?;
        self.servers.insert(name.to_owned(), value);
        Ok(())
    }
}
