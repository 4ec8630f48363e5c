//! The file of pins: read whole, written whole, one writer at a time.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Definition, Error};
use crate::durable::{self, Readers};

const VERSION: u32 = 1;

/// Definitions up to so many bytes are kept beside their hash, to show what has changed.
const KEPT_BYTES: usize = 1 << 18;

/// Pins by server and by the tool's name there.
pub(super) type ByServer = BTreeMap<String, BTreeMap<String, Pin>>;

#[derive(Debug, Serialize, Deserialize)]
struct Whole {
    version: u32,
    servers: ByServer,
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
}

/// A definition that was seen.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Seen {
    pub sha256: String,
    /// As text, which is read only where somebody asks; null where it was too long to keep.
    pub definition: Box<RawValue>,
    /// Whether a person has agreed to it, and not only the first use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approved: bool,
}

impl Seen {
    pub fn of(definition: &Definition) -> Self {
        let short = definition.canonical().len() <= KEPT_BYTES;
        let text = if short { definition.canonical() } else { "null" };
        let definition_text = RawValue::from_string(text.to_owned());
        let definition_text =
            definition_text.expect("a canonical definition is JSON. This is a bug.");
        let sha256 = definition.sha256().to_owned();
        Self { sha256, definition: definition_text, approved: false }
    }

    pub fn definition(&self) -> Value {
        serde_json::from_str(self.definition.get()).unwrap_or_default()
    }
}

/// Two that say the same: a hash stands for its definition.
impl PartialEq for Seen {
    fn eq(&self, other: &Self) -> bool {
        self.sha256 == other.sha256 && self.approved == other.approved
    }
}

/// The pins as they are on disk; none where there is no file.
pub(super) fn read(path: &Path) -> Result<ByServer, Error> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(ByServer::new()),
        Err(source) => return Err(Error::Io { action: "read", path: path.to_owned(), source }),
    };
    let other = |found: String| Error::NotPins { path: path.to_owned(), expected: VERSION, found };
    let whole: Whole = serde_json::from_str(&text).map_err(|error| other(error.to_string()))?;
    if whole.version != VERSION {
        return Err(other(format!("version {}", whole.version)));
    }
    Ok(whole.servers)
}

/// Reads the pins, lets them be changed, and writes them where they were, with nobody else between.
pub(super) fn update<T>(
    path: &Path,
    change: impl FnOnce(&mut ByServer) -> Result<T, Error>,
) -> Result<T, Error> {
    let _lock = lock(path)?;
    let before = read(path)?;
    let mut after = before.clone();
    let done = change(&mut after)?;
    if after != before {
        write(path, after)?;
    }
    Ok(done)
}

/// Held until the file is dropped. A file beside the pins, because those are replaced.
fn lock(path: &Path) -> Result<File, Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let beside = PathBuf::from(name);
    let failed = |source| Error::Io { action: "lock", path: path.to_owned(), source };
    std::fs::create_dir_all(folder(path)).map_err(failed)?;
    let file = File::options().create(true).truncate(false).write(true).open(beside);
    let file = file.map_err(failed)?;
    file.lock().map_err(failed)?;
    Ok(file)
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A power cut leaves the old pins or the new ones.
fn write(path: &Path, servers: ByServer) -> Result<(), Error> {
    let failed = |source| Error::Io { action: "write", path: path.to_owned(), source };
    let text = serde_json::to_string_pretty(&Whole { version: VERSION, servers });
    let text = text.map_err(|error| failed(error.into()))?;
    durable::replace(path, Readers::Owner, text.as_bytes()).map_err(failed)
}
