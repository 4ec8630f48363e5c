//! The pin file, which is read and written as a whole, by one writer at a time.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Definition, Error};
use toolroute_vectors::durable::{self, Readers, sha256_hex};

const VERSION: u32 = 2;

/// Definitions up to this size in bytes are stored beside their hash, to show changes.
const KEPT_BYTES: usize = 1 << 18;

/// The time in seconds for which a tool is a newcomer: two weeks, in which a hostile server would
/// have to stay unnoticed.
const NEWCOMER_SECONDS: u64 = 14 * 24 * 3600;

/// Tools that are listed within this time in seconds after the first of all tools belong to the
/// initial set-up and are not newcomers.
const SETUP_SECONDS: u64 = 24 * 3600;

/// Pins by server, and then by the tool's name on that server.
pub(super) type ByServer = BTreeMap<String, BTreeMap<String, Pin>>;

#[derive(Debug, Serialize, Deserialize)]
struct PinFile {
    version: u32,
    /// The hash of the text of `servers`. It detects damage but not forgery.
    sha256: String,
    servers: Box<RawValue>,
}

/// The pin of one tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Pin {
    /// The accepted definition; absent for a new tool that waits for approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreed: Option<PinnedDefinition>,
    /// The definition that is held back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<PinnedDefinition>,
    /// When the tool was first listed, or its descriptions last changed, in seconds since 1970.
    /// Absent if it was never accepted without approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
}

impl Pin {
    /// Whether the definition with this hash is held back.
    pub fn holds(&self, sha256: &str) -> bool {
        self.held.as_ref().is_some_and(|held| held.sha256 == sha256)
    }

    /// Whether the tool was listed recently, after other tools, and no person has approved it.
    /// `oldest` is the time at which the first of all tools was listed.
    pub fn is_newcomer(&self, oldest: u64, now: u64) -> bool {
        let is_approved = self.agreed.as_ref().is_some_and(|seen| seen.approved);
        let since =
            self.since.filter(|since| !is_approved && since.saturating_sub(oldest) > SETUP_SECONDS);
        since.is_some_and(|since| now.saturating_sub(since) < NEWCOMER_SECONDS)
    }
}

/// Returns the time at which the first of all tools was listed, in seconds since 1970: 0 if it is
/// unknown for a tool, and `u64::MAX` if there are no tools.
pub(super) fn oldest(servers: &ByServer) -> u64 {
    let pins = servers.values().flat_map(BTreeMap::values);
    pins.map(|pin| pin.since.unwrap_or_default()).min().unwrap_or(u64::MAX)
}

/// A definition in the pin file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PinnedDefinition {
    pub sha256: String,
    /// [`Definition::shortcut`] of the last listed tool with this definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_sha256: Option<String>,
    /// The definition as text, parsed on demand; null if it was too long to store.
    pub definition: Box<RawValue>,
    /// Whether a person has approved it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approved: bool,
    /// Whether it was accepted because only descriptions had changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reworded: bool,
}

impl PinnedDefinition {
    pub fn of(Definition { canonical, sha256 }: Definition, tool_sha256: String) -> Self {
        let text = if canonical.len() <= KEPT_BYTES { canonical } else { "null".to_owned() };
        let definition = RawValue::from_string(text);
        let definition = definition.expect("a canonical definition is JSON. This is a bug.");
        let tool_sha256 = Some(tool_sha256);
        Self { sha256, tool_sha256, definition, approved: false, reworded: false }
    }

    pub fn definition(&self) -> Value {
        serde_json::from_str(self.definition.get()).unwrap_or_default()
    }
}

/// Compares hashes instead of definitions.
impl PartialEq for PinnedDefinition {
    fn eq(&self, other: &Self) -> bool {
        self.sha256 == other.sha256
            && self.tool_sha256 == other.tool_sha256
            && (self.approved, self.reworded) == (other.approved, other.reworded)
    }
}

/// A cache of the pin file, which is read again after a change.
#[derive(Debug, Default)]
pub(super) struct PinCache(Mutex<Option<(Stamp, Arc<ByServer>)>>);

/// Identifies a version of the file, which each write replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    #[cfg(unix)]
    inode: u64,
}

impl Stamp {
    /// The present version of a file; `None` if it does not exist.
    pub fn of_file(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().as_ref().map(Self::of)
    }

    fn of(about: &Metadata) -> Self {
        Self {
            modified: about.modified().ok(),
            bytes: about.len(),
            #[cfg(unix)]
            inode: std::os::unix::fs::MetadataExt::ino(about),
        }
    }
}

impl PinCache {
    /// Returns the pins on disk; empty if there is no file.
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

    /// Reads the pins, applies a change and writes them, under a lock.
    pub fn update<T>(
        &self,
        path: &Path,
        change: impl FnOnce(&ByServer) -> Result<(T, Option<ByServer>), Error>,
    ) -> Result<T, Error> {
        let failed = |source| Error::Io { action: "lock", path: path.to_owned(), source };
        let _lock = durable::lock(path).map_err(failed)?;
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
    let whole: PinFile = serde_json::from_str(text).map_err(unread)?;
    let servers = whole.servers.get();
    match whole.version {
        VERSION if whole.sha256 == sha256_hex(servers.as_bytes()) => {
            serde_json::from_str(servers).map_err(unread)
        }
        VERSION => Err(other("bytes that are not those that were written".to_owned())),
        version => Err(other(format!("version {version}"))),
    }
}

/// Writes atomically: a power cut leaves the old pins or the new ones.
fn write(path: &Path, servers: ByServer) -> Result<(), Error> {
    let failed = |source| Error::Io { action: "write", path: path.to_owned(), source };
    let text = || {
        let servers = RawValue::from_string(serde_json::to_string_pretty(&servers)?)?;
        let sha256 = sha256_hex(servers.get().as_bytes());
        serde_json::to_string_pretty(&PinFile { version: VERSION, sha256, servers })
    };
    let text = text().map_err(|error| failed(error.into()))?;
    durable::replace(path, Readers::Owner, text.as_bytes()).map_err(failed)
}
