//! `--session NAME`: a conversation over several commands.

use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::args::{Global, SessionArgs};
use super::exit;
use super::render;
use toolroute_catalog::json_fault;
#[cfg(feature = "mcp")]
use toolroute_run::execution::{CallHistory, CallLimits, CallStore, LoopGuard, SaveCalls};
use toolroute_session::{Session, SessionRecord};
use toolroute_vectors::durable::{self, Readers};

/// A session that is unused for longer than this starts anew, as over MCP.
const IDLE: Duration = Duration::from_secs(3_600);

/// Maximum length of a session name, which is part of a file name.
const NAME_CHARS: usize = 64;

/// The member of a session that has its calls, which are counted while commands run.
const CALLS: &str = "calls";

/// The contents of a session's file. The hash detects damage, which could change what was asked or
/// called.
#[derive(Serialize, Deserialize)]
struct SessionFile {
    /// SHA-256 of the session's JSON.
    sha256: String,
    session: Box<RawValue>,
}

impl SessionFile {
    fn of(session: &Map<String, Value>) -> serde_json::Result<Self> {
        let session = to_raw_value(session)?;
        Ok(Self { sha256: durable::sha256_hex(session.get().as_bytes()), session })
    }

    /// Reads a file; in an earlier version, it only contained the session.
    fn read(text: &str) -> Result<Map<String, Value>, String> {
        let Ok(file) = serde_json::from_str::<Self>(text) else {
            return serde_json::from_str(text).map_err(|error| json_fault(text, &error));
        };
        if durable::sha256_hex(file.session.get().as_bytes()) != file.sha256 {
            return Err("its bytes are not those that were written".to_owned());
        }
        serde_json::from_str(file.session.get()).map_err(|error| error.to_string())
    }
}

/// Where a session is stored. Several commands may work for it at the same time, so it is only read
/// and written while it is locked.
#[derive(Clone, Debug)]
struct SessionPath(PathBuf);

impl SessionPath {
    fn lock(&self) -> anyhow::Result<File> {
        durable::lock(&self.0)
            .with_context(|| format!("cannot keep the session at {}", self.0.display()))
    }

    /// Returns the stored session; empty if there is none.
    fn read(&self) -> anyhow::Result<Map<String, Value>> {
        match std::fs::read(&self.0) {
            Ok(text) => SessionFile::read(&String::from_utf8_lossy(&text)).map_err(|e| self.bad(e)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Map::new()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", self.0.display())),
        }
    }

    fn bad(&self, error: impl std::fmt::Display) -> anyhow::Error {
        let said = format!(
            "expected a session at {}, found a file that is none ({error}); remove it, or take \
             another name",
            self.0.display()
        );
        exit::bad_data(said)
    }

    fn write(&self, session: &Map<String, Value>) -> anyhow::Result<()> {
        let json = serde_json::to_vec(&SessionFile::of(session)?)?;
        // Prompts and results are private.
        durable::replace(&self.0, Readers::Owner, &json)
            .with_context(|| format!("cannot keep the session at {}", self.0.display()))
    }

    /// Removes a session that was not used for long. Returns whether there was one.
    fn remove_idle(&self) -> bool {
        let changed = std::fs::metadata(&self.0).and_then(|about| about.modified()).ok();
        let is_idle = changed.and_then(|at| at.elapsed().ok()).is_some_and(|idle| idle > IDLE);
        is_idle && std::fs::remove_file(&self.0).is_ok()
    }
}

#[cfg(feature = "mcp")]
impl SessionPath {
    fn locked_calls(&self) -> anyhow::Result<(CallHistory, SaveCalls)> {
        let (lock, mut session) = (self.lock()?, self.read()?);
        let calls = session.get(CALLS).cloned().unwrap_or_else(|| Value::Object(Map::new()));
        let calls = serde_json::from_value(calls).map_err(|error| self.bad(error))?;
        let path = self.clone();
        let save = move |calls: &CallHistory| {
            let saved = serde_json::to_value(calls).map_err(Into::into).and_then(|calls| {
                session.insert(CALLS.to_owned(), calls);
                path.write(&session)
            });
            if let Err(error) = saved {
                tracing::warn!("a call is not counted in the session: {error:#}");
            }
            drop(lock);
        };
        Ok((calls, Box::new(save)))
    }
}

#[cfg(feature = "mcp")]
impl CallStore for SessionPath {
    fn lock(&self) -> Option<(CallHistory, SaveCalls)> {
        let failed =
            |error| tracing::warn!("calls are not counted together with others: {error:#}");
        self.locked_calls().map_err(failed).ok()
    }
}

pub struct KeptSession {
    pub session: Session,
    path: Option<SessionPath>,
    /// Counts the calls in the session's file.
    #[cfg(feature = "mcp")]
    guard: Option<LoopGuard>,
}

impl KeptSession {
    /// Opens the typed session, or one for this command only.
    pub fn open(args: &SessionArgs, global: &Global) -> anyhow::Result<Self> {
        let Some(name) = &args.session else {
            return Ok(Self::new(Session::default(), None));
        };
        let path = path_of(name)?;
        let _lock = path.lock()?;
        if path.remove_idle() {
            let said = format!("the session `{name}` begins anew: it was silent for over an hour");
            render::warn(global, &said);
        }
        // From text, so that an error names the member.
        let text = Value::Object(path.read()?).to_string();
        let record: SessionRecord =
            serde_json::from_str(&text).map_err(|error| path.bad(json_fault(&text, &error)))?;
        Ok(Self::new(Session::restore(name.clone(), record), Some(path)))
    }

    fn new(session: Session, path: Option<SessionPath>) -> Self {
        Self {
            session,
            path,
            #[cfg(feature = "mcp")]
            guard: None,
        }
    }

    #[cfg(feature = "mcp")]
    #[must_use]
    pub fn with_limits(self, limits: CallLimits) -> Self {
        let stored = |path: &SessionPath| LoopGuard::stored(limits.clone(), Box::new(path.clone()));
        let guard = self.path.as_ref().map(stored);
        Self { session: self.session.with_limits(limits), guard, ..self }
    }

    /// Returns the loop guard, which counts a call for all commands of the session before it is sent.
    #[cfg(feature = "mcp")]
    pub fn guard(&self) -> &LoopGuard {
        self.guard.as_ref().unwrap_or_else(|| self.session.guard())
    }

    /// Saves the session for the next command. The calls stay as they are counted in the file.
    pub fn save(&self) -> anyhow::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let _lock = path.lock()?;
        let counted = path.read()?.remove(CALLS);
        let Value::Object(mut session) = serde_json::to_value(self.session.to_record())? else {
            anyhow::bail!("a session is no JSON object. This is a bug.");
        };
        session.remove(CALLS);
        session.extend(counted.map(|calls| (CALLS.to_owned(), calls)));
        path.write(&session)
    }
}

fn path_of(name: &str) -> anyhow::Result<SessionPath> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_good = (1..=NAME_CHARS).contains(&name.len())
        && name.chars().all(is_plain)
        && !name.starts_with('.');
    if !is_good {
        let found = render::shortened(name, render::MAX_ID_CHARS);
        return Err(exit::bad_arguments(format!(
            "expected --session with 1 to {NAME_CHARS} letters, digits, `-`, `_` and `.`, not \
             beginning with a dot; found `{found}`"
        )));
    }
    let folder = dirs::state_dir().or_else(dirs::data_local_dir).context(
        "this user has no state folder to keep sessions in; set XDG_STATE_HOME, or leave --session out",
    )?;
    Ok(SessionPath(folder.join("toolroute").join("sessions").join(format!("{name}.json"))))
}
