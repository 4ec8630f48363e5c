//! The options that Python passes as JSON.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toolroute::catalog::LoadOptions;
use toolroute::{EngineConfig, SelectRequest};
use toolroute_rank::feedback::StoreOptions;
use toolroute_run::execution::{
    CallLimits, Confirm, DEFAULT_MAX_CHARS, ExecutorOptions, LONGEST_REQUEST,
    LONGEST_REQUEST_MAX_S, Patterns, Permissions, ServersFile, Timing,
};
use toolroute_serve::{Assembly, VectorFile};

use crate::error::{RequestError, ToolrouteError};
use crate::models;

/// The options of a router.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub config: EngineConfig,
    pub model: Option<String>,
    pub precision: Option<String>,
    pub strict: bool,
    pub overlay: Vec<PathBuf>,
    pub author_signals: bool,
    pub index: Option<PathBuf>,
    pub usage: Option<PathBuf>,
    pub feedback: Option<PathBuf>,
    pub pins: Option<PathBuf>,
    /// Whether destructive tools run without `confirmed`.
    pub yes: bool,
    pub calls: CallSettings,
}

/// How tools of servers are called, as the options of the command line say.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallSettings {
    read_only: bool,
    allow: Vec<String>,
    deny: Vec<String>,
    timeout: Option<u64>,
    longest_request: Option<u64>,
    max_chars: Option<usize>,
    pub no_fallback: bool,
    pub fallback_by_meaning: bool,
    same_call: Option<u32>,
    same_cycle: Option<u32>,
    session_calls: Option<u32>,
    session_cost: Option<u32>,
}

impl CallSettings {
    /// Returns the limits on the calls of a session.
    pub fn limits(&self) -> CallLimits {
        let usual = CallLimits::default();
        CallLimits {
            same_call: self.same_call.unwrap_or(usual.same_call),
            same_cycle: self.same_cycle.unwrap_or(usual.same_cycle),
            calls: self.session_calls,
            cost: self.session_cost,
        }
    }

    fn timing(&self, file: &ServersFile) -> PyResult<Timing> {
        let longest_request = self.longest_request.unwrap_or(LONGEST_REQUEST.as_secs());
        if !(1..=LONGEST_REQUEST_MAX_S).contains(&longest_request) {
            let expected = format!("expected 1 to {LONGEST_REQUEST_MAX_S} seconds");
            return Err(RequestError::new_err(format!(
                "longest_request={longest_request}: {expected}"
            )));
        }
        Ok(Timing {
            timeout: self.timeout.map(|s| Duration::from_millis(s.saturating_mul(1_000))),
            longest_request: Duration::from_secs(longest_request),
            hints: file.hints.clone(),
            ..Timing::default()
        })
    }
}

fn patterns(given: &[String]) -> PyResult<Patterns> {
    Patterns::new(given).map_err(|error| RequestError::new_err(error.to_string()))
}

impl Settings {
    /// How tools are loaded.
    pub fn load_options(&self) -> LoadOptions {
        LoadOptions {
            strict: self.strict,
            overlays: self.overlay.clone(),
            author_signals: self.author_signals,
        }
    }

    /// Returns what an engine for tools and one for servers have in common.
    pub fn assembly(&self) -> PyResult<Assembly> {
        if let Some(path) = self.index.as_ref().filter(|path| path.is_dir()) {
            let said = format!(
                "index: expected a file, found the folder {}; name a file in it",
                path.display()
            );
            return Err(ToolrouteError::new_err(said));
        }
        Ok(Assembly {
            config: self.config.clone(),
            model: models::model(self.model.as_deref(), self.precision.as_deref())?,
            vectors: self.index.clone().map_or(VectorFile::None, VectorFile::Snapshot),
            usage: self.usage.clone(),
            log: self.feedback.clone().map(|path| (path, StoreOptions::default())),
            ..Assembly::default()
        })
    }

    /// Returns which tools may run.
    pub fn permissions(&self) -> Permissions {
        let confirm = if self.yes { Confirm::Never } else { Confirm::default() };
        Permissions { confirm, ..Permissions::default() }
    }

    /// Returns how the tools of a servers file are called.
    pub fn executor(&self, file: &ServersFile) -> PyResult<ExecutorOptions> {
        let calls = &self.calls;
        let permissions = Permissions {
            allow: patterns(&calls.allow)?,
            deny: patterns(&calls.deny)?,
            read_only: calls.read_only,
            offers: file.offers.clone(),
            ..self.permissions()
        };
        Ok(ExecutorOptions {
            permissions,
            timing: calls.timing(file)?,
            max_chars: calls.max_chars.unwrap_or(DEFAULT_MAX_CHARS),
            redactor: file.redactor.clone(),
            ..ExecutorOptions::default()
        })
    }
}

#[pyfunction]
pub fn check_settings(settings: &str) -> PyResult<()> {
    read::<Settings>(settings).map(drop)
}

#[pyfunction]
pub fn check_select(options: &str) -> PyResult<()> {
    read::<SelectRequest>(options).map(drop)
}

/// Reads options. An empty text means the defaults.
pub fn read<T: Default + DeserializeOwned>(text: &str) -> PyResult<T> {
    if text.is_empty() {
        return Ok(T::default());
    }
    let read = serde_json::from_str(text);
    read.map_err(|error| RequestError::new_err(without_position(&error.to_string())))
}

/// Removes the position from an error of the parser, because the caller never sees the JSON.
fn without_position(said: &str) -> String {
    said.rsplit_once(" at line ").map_or(said, |(said, _)| said).to_owned()
}
