//! `--session NAME`: a conversation over several commands.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::args::{Global, SessionArgs};
use super::exit::{self, Failure};
use super::render;
use toolroute_catalog::json_fault;
#[cfg(feature = "mcp")]
use toolroute_run::execution::CallLimits;
use toolroute_session::{Session, SessionRecord};
use toolroute_vectors::durable::{self, Readers};

/// A session that is unused for longer than this starts anew, as over MCP.
const IDLE: Duration = Duration::from_secs(3_600);

/// Maximum length of a session name, which is part of a file name.
const NAME_CHARS: usize = 64;

/// The contents of a session's file. The hash detects damage, which could change what was asked or
/// called.
#[derive(Serialize, Deserialize)]
struct SessionFile {
    /// SHA-256 of the session's JSON.
    sha256: String,
    session: Box<RawValue>,
}

impl SessionFile {
    fn of(record: &SessionRecord) -> serde_json::Result<Self> {
        let session = serde_json::value::to_raw_value(record)?;
        Ok(Self { sha256: durable::sha256_hex(session.get().as_bytes()), session })
    }

    /// Reads a file; in an earlier version, it only contained the session.
    fn read(text: &str) -> Result<SessionRecord, String> {
        let Ok(file) = serde_json::from_str::<Self>(text) else {
            return serde_json::from_str(text).map_err(|error| json_fault(text, &error));
        };
        if durable::sha256_hex(file.session.get().as_bytes()) != file.sha256 {
            return Err("its bytes are not those that were written".to_owned());
        }
        serde_json::from_str(file.session.get()).map_err(|error| error.to_string())
    }
}

pub struct KeptSession {
    pub session: Session,
    path: Option<PathBuf>,
}

impl KeptSession {
    /// Opens the typed session, or one for this command only.
    pub fn open(args: &SessionArgs, global: &Global) -> anyhow::Result<Self> {
        let Some(name) = &args.session else {
            return Ok(Self { session: Session::default(), path: None });
        };
        let path = path_of(name)?;
        let record = read(&path, name, global)?;
        Ok(Self { session: Session::restore(name.clone(), record), path: Some(path) })
    }

    #[cfg(feature = "mcp")]
    #[must_use]
    pub fn with_limits(self, limits: CallLimits) -> Self {
        Self { session: self.session.with_limits(limits), ..self }
    }

    /// Saves the session for the next command.
    pub fn save(&self) -> anyhow::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let json = serde_json::to_vec(&SessionFile::of(&self.session.record())?)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        // Prompts and results are private.
        durable::replace(path, Readers::Owner, &json)
            .with_context(|| format!("cannot keep the session at {}", path.display()))
    }
}

fn path_of(name: &str) -> anyhow::Result<PathBuf> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_good = (1..=NAME_CHARS).contains(&name.len())
        && name.chars().all(is_plain)
        && !name.starts_with('.');
    if !is_good {
        let found = render::shortened(name, render::MAX_ID_CHARS);
        let said = format!(
            "expected --session with 1 to {NAME_CHARS} letters, digits, `-`, `_` and `.`, not \
             beginning with a dot; found `{found}`"
        );
        return Err(Failure { code: exit::BAD_ARGUMENTS, said }.into());
    }
    let folder = dirs::state_dir().or_else(dirs::data_local_dir).context(
        "this user has no state folder to keep sessions in; set XDG_STATE_HOME, or leave --session out",
    )?;
    Ok(folder.join("toolroute").join("sessions").join(format!("{name}.json")))
}

fn read(path: &Path, name: &str, global: &Global) -> anyhow::Result<SessionRecord> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Default::default()),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", path.display()));
        }
    };
    let changed = std::fs::metadata(path).and_then(|about| about.modified()).ok();
    if changed.and_then(|at| at.elapsed().ok()).is_some_and(|silent| silent > IDLE) {
        let said = format!("the session `{name}` begins anew: it was silent for over an hour");
        render::warn(global, &said);
        return Ok(SessionRecord::default());
    }
    SessionFile::read(&String::from_utf8_lossy(&text)).map_err(|error| {
        let said = format!(
            "expected a session at {}, found a file that is none ({error}); remove it, or take \
             another name",
            path.display()
        );
        Failure { code: exit::BAD_DATA, said }.into()
    })
}
