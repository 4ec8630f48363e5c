//! Checks listed tools against the pins.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use serde::Serialize;

use super::file::{ByServer, Pin, PinCache, PinnedDefinition, Stamp, oldest};
use super::quarantine::{PinCheck, Reason, Verdict};
use super::{Definition, Error, FieldChange, definition};
use toolroute_catalog::{Tool, ToolId, suspicions};
use toolroute_vectors::durable::now_s;

/// How tools are handled that no person has approved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// A new tool is accepted, and its definition is pinned. A change of descriptions alone is
    /// accepted too, if nothing in it is suspicious; other changes are held back.
    #[default]
    FirstUse,
    /// New and changed tools are held back until a person approves them.
    Strict,
}

/// The pins of one file. Each use checks whether the file has changed, because another process may
/// approve tools at any time.
#[derive(Clone, Debug)]
pub struct Pins {
    path: PathBuf,
    mode: Mode,
    /// Whether commands in messages name the file.
    is_named: bool,
    kept: Arc<PinCache>,
}

/// A tool as it is listed now.
#[derive(Clone)]
struct ListedTool {
    sha256: String,
    shortcut: String,
    /// `None` if the shortcut matched that of the accepted definition.
    definition: Option<Definition>,
}

impl ListedTool {
    fn of(tool: &Tool, pin: Option<&Pin>) -> Self {
        let shortcut = Definition::shortcut(tool);
        let agreed = pin.and_then(|pin| pin.agreed.as_ref());
        if let Some(seen) = agreed.filter(|seen| seen.tool_sha256.as_ref() == Some(&shortcut)) {
            return Self { sha256: seen.sha256.clone(), shortcut, definition: None };
        }
        let definition = Definition::of(tool);
        Self { sha256: definition.sha256.clone(), shortcut, definition: Some(definition) }
    }

    /// Whether this is a definition that was agreed to, except in strict mode also one with names in another order.
    fn is(&self, agreed: &PinnedDefinition, mode: Mode) -> bool {
        let is_reordered = |now: &Definition| {
            let now = serde_json::from_str(&now.canonical).unwrap_or_default();
            mode != Mode::Strict && definition::is_reordered(&agreed.definition(), &now)
        };
        agreed.sha256 == self.sha256 || self.definition.as_ref().is_some_and(is_reordered)
    }

    fn seen(self, tool: &Tool) -> PinnedDefinition {
        let definition = self.definition.unwrap_or_else(|| Definition::of(tool));
        PinnedDefinition::of(definition, self.shortcut)
    }
}

/// What a person approves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approve {
    /// One tool, by id or `server:name`; if given, `sha256` must be a prefix of the hash of the
    /// definition that is held back, of at least eight digits.
    Tool { id: String, sha256: Option<String> },
    /// All tools of a server.
    Server(String),
    /// All tools.
    All,
}

/// One tool of [`Pins::list`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PinEntry {
    /// The id of the tool.
    pub id: ToolId,
    /// The server of the tool.
    pub server: String,
    /// What pins say of it.
    pub state: PinState,
    /// The hash of the accepted definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The hash of the definition that is held back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_sha256: Option<String>,
    /// Whether the tool was listed recently, after other tools, and no person has approved it
    /// ([`Routing::newcomer`](toolroute_catalog::Routing)).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub newcomer: bool,
}

/// How a definition that is held back differs from the accepted one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PinDiff {
    /// The hash of the definition that is held back; `None` if none is.
    pub held_sha256: Option<String>,
    /// What differs from the agreed definition.
    pub changes: Vec<FieldChange>,
}

/// What pins say of a tool's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PinState {
    /// Accepted on first use.
    FirstUse,
    /// Approved by a person.
    Approved,
    /// Accepted because only its descriptions had changed.
    Reworded,
    /// Held back: differs from the accepted definition.
    Changed,
    /// Held back: never accepted.
    New,
}

impl PinState {
    fn of(pin: &Pin) -> Self {
        match (&pin.agreed, &pin.held) {
            (None, _) => Self::New,
            (Some(_), Some(_)) => Self::Changed,
            (Some(seen), None) if seen.approved => Self::Approved,
            (Some(seen), None) if seen.reworded => Self::Reworded,
            (Some(_), None) => Self::FirstUse,
        }
    }

    /// Whether the tool is held back.
    pub fn is_held(self) -> bool {
        matches!(self, Self::Changed | Self::New)
    }
}

impl fmt::Display for PinState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::FirstUse => "first use",
            Self::Approved => "approved",
            Self::Reworded => "reworded",
            Self::Changed => "changed",
            Self::New => "new",
        })
    }
}

impl Pins {
    /// Uses the pins in this file, which need not exist yet.
    pub fn new(path: impl AsRef<Path>, mode: Mode) -> Self {
        Self { path: path.as_ref().to_owned(), mode, is_named: false, kept: Arc::default() }
    }

    /// Makes the commands in messages name the file (`--pins FILE`), because `toolroute pins` would
    /// otherwise read another file.
    #[must_use]
    #[doc(hidden)] // For our own crates.
    pub fn name_file_in_commands(self) -> Self {
        Self { is_named: true, ..self }
    }

    /// The file that commands in messages must name, if any.
    #[doc(hidden)] // For our own crates.
    pub fn file_in_commands(&self) -> Option<&Path> {
        self.is_named.then_some(&self.path)
    }

    /// The file of the pins.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How new and changed definitions are treated.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// A number that changes when the file changes. It costs one look at the file's metadata.
    #[doc(hidden)] // For our own crates.
    pub fn stamp(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        Stamp::of_file(&self.path).hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the key of a server for [`Pins::check`]. It is needed if the name alone does not
    /// identify the server: an entry with the same name and another fingerprint is another server,
    /// with definitions of its own.
    #[doc(hidden)] // For our own crates.
    pub fn key(server: &str, fingerprint: &str) -> String {
        let print: String = fingerprint.chars().take(FINGERPRINT_DIGITS).collect();
        format!("{server}@{print:0>FINGERPRINT_DIGITS$}")
    }

    /// Separates the tools that a server lists into those that may be used and those that are held
    /// back, and pins those that it sees for the first time. `server` is a name, or a key from
    /// [`Pins::key`]. Tools that were listed recently, after others, are marked as
    /// [newcomers](toolroute_catalog::Routing::newcomer).
    ///
    /// # Errors
    /// The pins cannot be read or written. No tool of the server may then be used.
    pub fn check(&self, server: &str, tools: Vec<Tool>) -> Result<PinCheck, Error> {
        self.check_at(now_s(), server, tools)
    }

    /// Like [`Pins::check`], at the time `now` in seconds since 1970.
    pub(super) fn check_at(
        &self,
        now: u64,
        server: &str,
        tools: Vec<Tool>,
    ) -> Result<PinCheck, Error> {
        let before = self.kept.read(&self.path)?;
        let pin = |tool: &Tool| before.get(server).and_then(|pins| pins.get(&tool.name));
        // This happens before the file is locked, and on all cores, because it is most of the work
        // at start-up.
        let listed: Vec<_> = tools.par_iter().map(|tool| ListedTool::of(tool, pin(tool))).collect();
        let result = self.check_against((&before, now), server, (tools.clone(), listed.clone()));
        let (checked, None) = result else {
            let part = |servers: &ByServer| {
                Ok(self.check_against((servers, now), server, (tools, listed)))
            };
            return self.kept.update(&self.path, part);
        };
        // No pin changed. This is the usual case, and works with a read-only file too.
        Ok(checked)
    }

    /// Separates tools that were listed earlier into those whose definitions are the accepted ones
    /// by now, and all others. Nothing is pinned: by now the server may list other definitions.
    pub(super) fn check_again(&self, server: &str, tools: Vec<Tool>) -> Result<PinCheck, Error> {
        let servers = self.kept.read(&self.path)?;
        let (oldest, now) = (oldest(&servers), now_s());
        let mut checked = PinCheck::default();
        for mut tool in tools {
            let pin = servers.get(server).and_then(|pins| pins.get(&tool.name));
            let verdict = match pin.and_then(|pin| Some((pin, pin.agreed.as_ref()?))) {
                None => Verdict::Held(Reason::New),
                Some((pin, agreed)) if ListedTool::of(&tool, Some(pin)).is(agreed, self.mode) => {
                    tool.set_newcomer(pin.is_newcomer(oldest, now));
                    Verdict::Accepted
                }
                Some(_) => Verdict::Held(Reason::Changed),
            };
            checked.add((server_name(server), self.file_in_commands()), tool, verdict);
        }
        Ok(checked)
    }

    /// Checks the tools, and returns the changed pins if any changed.
    fn check_against(
        &self,
        (servers, now): (&ByServer, u64),
        server: &str,
        (tools, listed): (Vec<Tool>, Vec<ListedTool>),
    ) -> (PinCheck, Option<ByServer>) {
        let known = servers.get(server);
        let mut changed: BTreeMap<String, Pin> = BTreeMap::new();
        let mut checked = PinCheck::default();
        let mut names: HashMap<String, String> = HashMap::new();
        let oldest = oldest(servers);
        for (mut tool, listed) in tools.into_iter().zip(listed) {
            let first = names.entry(tool.name.clone()).or_insert(listed.sha256.clone());
            let verdict = if *first == listed.sha256 {
                let before = changed.get(&tool.name);
                let before = before.or_else(|| known?.get(&tool.name));
                let mut pin = before.cloned().unwrap_or_default();
                let verdict = self.judge(&mut pin, (&tool, listed), now);
                tool.set_newcomer(pin.is_newcomer(oldest, now));
                if before != Some(&pin) {
                    changed.insert(tool.name.clone(), pin);
                }
                verdict
            } else {
                Verdict::Held(Reason::Duplicate)
            };
            checked.add((server_name(server), self.file_in_commands()), tool, verdict);
        }
        let after = (!changed.is_empty()).then(|| {
            let mut after = servers.clone();
            after.entry(server.to_owned()).or_default().extend(changed);
            after
        });
        (checked, after)
    }

    /// Decides on a tool and updates its pin.
    fn judge(&self, pin: &mut Pin, (tool, listed): (&Tool, ListedTool), now: u64) -> Verdict {
        let Some(agreed) = &mut pin.agreed else {
            if pin.held.is_none() && self.mode == Mode::FirstUse {
                pin.since = Some(now);
                pin.agreed = Some(listed.seen(tool));
                return Verdict::Accepted;
            }
            // Computing a definition is most of a check's cost, and not needed if it is held already.
            if !pin.holds(&listed.sha256) {
                pin.held = Some(listed.seen(tool));
            }
            return Verdict::Held(Reason::New);
        };
        if agreed.sha256 == listed.sha256 {
            agreed.tool_sha256 = Some(listed.shortcut);
            pin.held = None;
            return Verdict::Accepted;
        }
        if listed.is(agreed, self.mode) {
            pin.held = None;
            return Verdict::Accepted;
        }
        let before = agreed.definition();
        let seen = listed.seen(tool);
        let after = seen.definition();
        let is_reworded = self.mode == Mode::FirstUse
            && definition::is_reworded(&before, &after)
            && suspicions(tool).is_empty();
        if is_reworded {
            *agreed = PinnedDefinition { reworded: true, ..seen };
            pin.held = None;
            // A tool with new descriptions counts as newly listed.
            pin.since = Some(now);
            return Verdict::Reworded(definition::changes(&before, &after));
        }
        if !pin.holds(&seen.sha256) {
            pin.held = Some(seen);
        }
        Verdict::Held(Reason::Changed)
    }

    /// Approves tools that are held back and newcomers, and returns their ids.
    ///
    /// # Errors
    /// The tool or server was never listed, the hash is not that of the definition that is held
    /// back, or an error of [`Pins::check`].
    pub fn approve(&self, what: &Approve) -> Result<Vec<ToolId>, Error> {
        self.kept.update(&self.path, |before| {
            let chosen = chosen(before, what, self.file_in_commands())?;
            let (mut after, mut approved) = (before.clone(), Vec::new());
            let (oldest, now) = (oldest(before), now_s());
            for (server, name) in chosen {
                let pin = after.get_mut(&server).and_then(|pins| pins.get_mut(&name));
                let Some(pin) = pin else { continue };
                let is_newcomer = pin.is_newcomer(oldest, now);
                let held = pin.held.take();
                if let Some(seen) = held.or_else(|| pin.agreed.take_if(|_| is_newcomer)) {
                    pin.agreed = Some(PinnedDefinition { approved: true, ..seen });
                    approved.push(ToolId::scoped(Some(server_name(&server)), &name));
                }
            }
            let is_changed = !approved.is_empty();
            Ok((approved, is_changed.then_some(after)))
        })
    }

    /// Returns every tool that was ever listed, by server and name.
    ///
    /// # Errors
    /// The pins cannot be read.
    pub fn list(&self) -> Result<Vec<PinEntry>, Error> {
        let servers = self.kept.read(&self.path)?;
        let (oldest, now) = (oldest(&servers), now_s());
        let listed = servers.iter().flat_map(|(server, pins)| {
            pins.iter().map(move |(name, pin)| PinEntry {
                id: ToolId::scoped(Some(server_name(server)), name),
                server: server.clone(),
                state: PinState::of(pin),
                sha256: pin.agreed.as_ref().map(|seen| seen.sha256.clone()),
                held_sha256: pin.held.as_ref().map(|seen| seen.sha256.clone()),
                newcomer: pin.is_newcomer(oldest, now),
            })
        });
        Ok(listed.collect())
    }

    /// Returns the differences between the definition that is held back and the accepted one; for a
    /// new tool all members.
    ///
    /// # Errors
    /// The tool was never listed, or the pins cannot be read.
    pub fn diff(&self, id: &str) -> Result<PinDiff, Error> {
        let servers = self.kept.read(&self.path)?;
        let found = find(&servers, id, self.file_in_commands())?;
        let pin = found.first().map(|(server, name)| &servers[server][name]);
        let Some((pin, held)) = pin.and_then(|pin| Some((pin, pin.held.as_ref()?))) else {
            return Ok(PinDiff::default());
        };
        let before =
            pin.agreed.as_ref().map_or_else(|| serde_json::json!({}), PinnedDefinition::definition);
        let changes = definition::changes(&before, &held.definition());
        Ok(PinDiff { held_sha256: Some(held.sha256.clone()), changes })
    }
}
fn chosen(
    servers: &ByServer,
    what: &Approve,
    file: Option<&Path>,
) -> Result<Vec<(String, String)>, Error> {
    let pins_file = || file.map(Path::to_owned);
    let of_server = |(server, pins): (&String, &BTreeMap<String, Pin>)| {
        pins.keys().map(|name| (server.clone(), name.clone())).collect::<Vec<_>>()
    };
    match what {
        Approve::All => Ok(servers.iter().flat_map(of_server).collect()),
        Approve::Server(server) => {
            let named = |(key, _): &(&String, _)| *key == server || server_name(key) == server;
            let found: Vec<_> = servers.iter().filter(named).flat_map(of_server).collect();
            if found.is_empty() {
                return Err(Error::UnknownServer { server: server.clone(), file: pins_file() });
            }
            Ok(found)
        }
        Approve::Tool { id, sha256 } => {
            let found = find(servers, id, file)?;
            let Some(wanted) = sha256.as_ref().map(|hash| hash.to_lowercase()) else {
                return Ok(found);
            };
            let is_hash = wanted.bytes().all(|digit| digit.is_ascii_hexdigit());
            if !is_hash || !(HASH_DIGITS..=64).contains(&wanted.len()) {
                let (id, found, file) = (id.clone(), wanted, pins_file());
                return Err(Error::BadHash { id, fewest: HASH_DIGITS, found, file });
            }
            let held = |(server, name): &(String, String)| servers[server][name].held.as_ref();
            let is_meant = |place: &&(String, String)| {
                held(place).is_some_and(|held| held.sha256.starts_with(&wanted))
            };
            let meant: Vec<_> = found.iter().filter(is_meant).cloned().collect();
            match found.iter().find_map(held) {
                Some(other) if meant.is_empty() => {
                    let found = other.sha256.chars().take(12).collect();
                    let (id, file) = (id.clone(), pins_file());
                    Err(Error::OtherHash { id, expected: wanted, found, file })
                }
                _ => Ok(meant),
            }
        }
    }
}

/// Returns the server keys and tool names of an id (`server__name` or `server:name`), those held
/// back first.
fn find(servers: &ByServer, id: &str, file: Option<&Path>) -> Result<Vec<(String, String)>, Error> {
    let all = servers.iter().flat_map(|(key, pins)| pins.iter().map(move |pin| (key, pin)));
    let all = all.filter(|(key, (name, _))| {
        let rest = id.strip_prefix(server_name(key));
        let rest = rest.and_then(|rest| rest.strip_prefix("__").or_else(|| rest.strip_prefix(':')));
        rest == Some(name.as_str()) || server_name(key).is_empty() && id == name.as_str()
    });
    let mut found: Vec<_> = all.collect();
    found.sort_by_key(|(_, (_, pin))| pin.held.is_none());
    if found.is_empty() {
        let file = file.map(Path::to_owned);
        return Err(Error::UnknownTool { id: id.to_owned(), file });
    }
    Ok(found.into_iter().map(|(key, (name, _))| (key.clone(), name.clone())).collect())
}

/// The fewest digits of a hash that approve a definition. Fewer could match another one by chance.
const HASH_DIGITS: usize = 8;

/// The number of digits that [`Pins::key`] adds.
const FINGERPRINT_DIGITS: usize = 16;

/// Returns the server's name from a key.
fn server_name(key: &str) -> &str {
    let is_print = |end: &str| {
        end.len() == FINGERPRINT_DIGITS && end.bytes().all(|digit| digit.is_ascii_hexdigit())
    };
    key.rsplit_once('@').filter(|(_, end)| is_print(end)).map_or(key, |(name, _)| name)
}
