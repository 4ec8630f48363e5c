//! The file of pins: read whole, written whole, one writer at a time.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::definition::sha256;
use super::{Definition, Error};
use crate::durable::{self, Readers};

/// Version 1 had no checksum, and its hashes left out `_meta` and `icons`.
const VERSION: u32 = 2;

/// Definitions up to so many bytes are kept beside their hash, to show what has changed.
const KEPT_BYTES: usize = 1 << 18;

/// A tool is a newcomer for so many seconds: two weeks, in which a hostile server would have to go unnoticed.
const NEWCOMER: u64 = 14 * 24 * 3600;

/// Tools that are first listed within so many seconds of each other were set up together.
const SETTING_UP: u64 = 24 * 3600;

/// Pins by server and by the tool's name there.
pub(super) type ByServer = BTreeMap<String, BTreeMap<String, Pin>>;

#[derive(Debug, Serialize, Deserialize)]
struct Whole {
    version: u32,
    /// Of the text of `servers`: finds damage, not forgery. Absent in version 1.
    #[serde(default)]
    sha256: String,
    servers: Box<RawValue>,
}

/// What is known of one tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Pin {
    /// What was agreed to; absent for a new tool that waits for its approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreed: Option<Seen>,
    /// What is held back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<Seen>,
    /// When it was first listed as it is agreed to, in seconds since 1970. Absent where it was pinned by a version
    /// that kept no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
}

impl Pin {
    /// Whether nobody approved it and it came lately, to others that were there already. `oldest` is when the
    /// first of all tools was listed.
    pub fn is_newcomer(&self, oldest: u64, now: u64) -> bool {
        let is_approved = self.agreed.as_ref().is_some_and(|seen| seen.approved);
        let since =
            self.since.filter(|since| !is_approved && since.saturating_sub(oldest) > SETTING_UP);
        since.is_some_and(|since| now.saturating_sub(since) < NEWCOMER)
    }
}

/// When the first of all tools was listed, in seconds since 1970.
pub(super) fn oldest(servers: &ByServer) -> u64 {
    let pins = servers.values().flat_map(BTreeMap::values);
    pins.map(|pin| pin.since.unwrap_or_default()).min().unwrap_or(u64::MAX)
}

/// A definition that was seen.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Seen {
    pub sha256: String,
    /// [`Definition::shortcut`] of the tool that was seen last with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_sha256: Option<String>,
    /// As text, which is read only where somebody asks; null where it was too long to keep.
    pub definition: Box<RawValue>,
    /// Whether a person has agreed to it, and not only the first use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approved: bool,
    /// Whether it was taken in because only words had changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reworded: bool,
    /// Whether its hash is one of version 1.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hashed_before: bool,
}

impl Seen {
    pub fn of(definition: &Definition, tool_sha256: String) -> Self {
        let short = definition.canonical().len() <= KEPT_BYTES;
        let text = if short { definition.canonical() } else { "null" };
        let definition_text = RawValue::from_string(text.to_owned());
        let definition_text =
            definition_text.expect("a canonical definition is JSON. This is a bug.");
        let sha256 = definition.sha256().to_owned();
        let tool_sha256 = Some(tool_sha256);
        Self {
            sha256,
            tool_sha256,
            definition: definition_text,
            approved: false,
            reworded: false,
            hashed_before: false,
        }
    }

    /// Whether this is the definition that was seen.
    pub fn is_of(&self, definition: &Definition) -> bool {
        match self.hashed_before {
            true => self.sha256 == definition.sha256_before(),
            false => self.sha256 == definition.sha256(),
        }
    }

    pub fn definition(&self) -> Value {
        serde_json::from_str(self.definition.get()).unwrap_or_default()
    }
}

/// Two that say the same: a hash stands for its definition.
impl PartialEq for Seen {
    fn eq(&self, other: &Self) -> bool {
        self.sha256 == other.sha256
            && self.tool_sha256 == other.tool_sha256
            && (self.approved, self.reworded) == (other.approved, other.reworded)
            && self.hashed_before == other.hashed_before
    }
}

/// The pins of one file, as they were read last: read again where the file is another.
#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<Option<(Stamp, Arc<ByServer>)>>);

/// Tells a file from the one that replaces it. Each is written anew and moved into place.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    #[cfg(unix)]
    inode: u64,
}

impl Stamp {
    fn of(about: &Metadata) -> Self {
        Self {
            modified: about.modified().ok(),
            bytes: about.len(),
            #[cfg(unix)]
            inode: std::os::unix::fs::MetadataExt::ino(about),
        }
    }
}

impl Kept {
    /// The pins as they are on disk; none where there is no file.
    pub fn read(&self, path: &Path) -> Result<Arc<ByServer>, Error> {
        let failed = |source| Error::Io { action: "read", path: path.to_owned(), source };
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Arc::default()),
            Err(source) => return Err(failed(source)),
        };
        let stamp = Stamp::of(&file.metadata().map_err(failed)?);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, pins)) = kept.as_ref().filter(|(known, _)| *known == stamp) {
            return Ok(Arc::clone(pins));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let pins = Arc::new(parse(&text, path)?);
        *kept = Some((stamp, Arc::clone(&pins)));
        Ok(pins)
    }

    /// Reads the pins and writes what becomes of them where they were, with nobody else between.
    pub fn update<T>(
        &self,
        path: &Path,
        change: impl FnOnce(&ByServer) -> Result<(T, Option<ByServer>), Error>,
    ) -> Result<T, Error> {
        let _lock = lock(path)?;
        let (done, after) = change(&*self.read(path)?)?;
        if let Some(after) = after {
            write(path, after)?;
        }
        Ok(done)
    }
}

fn parse(text: &str, path: &Path) -> Result<ByServer, Error> {
    let other = |found: String| Error::NotPins { path: path.to_owned(), expected: VERSION, found };
    let unread = |error: serde_json::Error| other(error.to_string());
    let whole: Whole = serde_json::from_str(text).map_err(unread)?;
    let servers = whole.servers.get();
    match whole.version {
        VERSION if whole.sha256 == sha256(servers.as_bytes()) => {
            serde_json::from_str(servers).map_err(unread)
        }
        VERSION => Err(other("bytes that are not those that were written".to_owned())),
        1 if whole.sha256.is_empty() => {
            let mut pins: ByServer = serde_json::from_str(servers).map_err(unread)?;
            for pin in pins.values_mut().flat_map(BTreeMap::values_mut) {
                let seen = pin.agreed.iter_mut().chain(&mut pin.held);
                seen.for_each(|seen| seen.hashed_before = true);
            }
            Ok(pins)
        }
        version => Err(other(format!("version {version}"))),
    }
}

/// Held until the file is dropped. A file beside the pins, because those are replaced.
fn lock(path: &Path) -> Result<File, Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let beside = PathBuf::from(name);
    let failed = |source| Error::Io { action: "lock", path: path.to_owned(), source };
    path.parent().map_or(Ok(()), durable::private_folder).map_err(failed)?;
    durable::private_file(&beside).map_err(failed)?;
    let file = File::options().write(true).open(beside).map_err(failed)?;
    file.lock().map_err(failed)?;
    Ok(file)
}

/// A power cut leaves the old pins or the new ones.
fn write(path: &Path, servers: ByServer) -> Result<(), Error> {
    let failed = |source| Error::Io { action: "write", path: path.to_owned(), source };
    let text = || {
        let servers = RawValue::from_string(serde_json::to_string_pretty(&servers)?)?;
        let sha256 = sha256(servers.get().as_bytes());
        serde_json::to_string_pretty(&Whole { version: VERSION, sha256, servers })
    };
    let text = text().map_err(|error| failed(error.into()))?;
    durable::replace(path, Readers::Owner, text.as_bytes()).map_err(failed)
}
