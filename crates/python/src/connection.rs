//! The servers of a router, which run its tools.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use toolroute::session::Session;
use toolroute_rank::engine::NEAR_BEST;
use toolroute_run::execution::{
    Arguments, BASE_VARIABLES, ExecutorOptions, McpOptions, Outcome, ProcessOptions, Report,
    ServersFile,
};
use toolroute_run::pins::{Mode, Pins};
use toolroute_serve::{Assembly, CallRequest, Notes, Service, Status, Upstreams};

use crate::error::{self, ArgumentError, CallError, CatalogError, ConfirmationNeeded};
use crate::settings::Settings;

/// Threads for connections: two, so that a long answer of one server does not delay the others.
const THREADS: usize = 2;

/// Maximum time to wait for the first tool lists. A server that is downloaded first takes minutes.
const FIRST_LISTS: Duration = Duration::from_secs(120);

/// Maximum time to wait for threads that cannot be interrupted.
const LAST_THREADS: Duration = Duration::from_millis(200);

/// The servers that were started, and the threads that communicate with them.
pub struct Connection {
    runtime: Option<Runtime>,
    pub service: Arc<Service>,
}

impl Connection {
    /// Starts the servers of a file and asks them for their tools. Also returns the problems of the
    /// file and of the servers.
    pub fn open(path: &Path, settings: &Settings) -> PyResult<(Self, Vec<String>)> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let said = format!("cannot read the servers file {}: {error}", path.display());
            CatalogError::new_err(said)
        })?;
        let file = ServersFile::parse(&text, &|name| std::env::var(name).ok());
        let file =
            file.map_err(|error| CatalogError::new_err(format!("{}: {error}", path.display())))?;
        let mut problems = file.problems.clone();
        let told = Told::default();
        let service = Assembly { notes: told.notes(), ..assembly(file, settings)? }
            .build()
            .map_err(error::of_service)?;
        let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
        let runtime = runtime.map_err(|error| {
            CallError::new_err(format!("cannot start threads for servers: {error}"))
        })?;
        let starting = {
            let _inside = runtime.enter();
            service.start()
        };
        runtime.block_on(async { tokio::time::timeout(FIRST_LISTS, starting).await.ok() });
        problems.extend(told.take());
        problems.extend(service.servers().into_iter().filter_map(|server| match server.status {
            Status::Unavailable { because } => {
                Some(format!("the server `{}` cannot be had: {because}", server.name))
            }
            _ => None,
        }));
        Ok((Self { runtime: Some(runtime), service }, problems))
    }

    /// Calls a tool and returns the report as JSON.
    pub fn call(&self, call: &Call<'_>) -> PyResult<String> {
        let Some(runtime) = &self.runtime else {
            return Err(CallError::new_err("the router is closed; make another"));
        };
        let request = CallRequest {
            id: call.id,
            arguments: call.arguments,
            session: call.session,
            confirmed: call.confirmed,
            question: call.prompt,
            budget_tokens: None,
            profile: None,
            alone: false,
            on_event: &|_| {},
        };
        let report = runtime.block_on(self.service.call(request));
        report_json(&report.map_err(error::of_service)?)
    }

    /// Stops the servers.
    pub fn close(&self) {
        if let Some(runtime) = &self.runtime {
            runtime.block_on(self.service.close());
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(LAST_THREADS);
        }
    }
}

/// What the service says while its servers start, such as which tools are held back.
#[derive(Clone)]
struct Told(Arc<Mutex<Option<Vec<String>>>>);

impl Default for Told {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Some(Vec::new()))))
    }
}

impl Told {
    fn notes(&self) -> Notes {
        let told = self.clone();
        Notes::new(move |line| {
            if let Some(lines) = &mut *told.0.lock().unwrap_or_else(PoisonError::into_inner) {
                lines.push(line.to_owned());
            }
        })
    }

    /// Returns what was said. Later lines are dropped.
    fn take(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
    }
}

/// A tool to call.
pub struct Call<'a> {
    pub id: &'a str,
    pub arguments: &'a Arguments,
    pub session: &'a Session,
    pub prompt: &'a str,
    pub confirmed: bool,
}

/// Returns the report as JSON if a tool answered; any other outcome is an exception.
fn report_json(report: &Report) -> PyResult<String> {
    match &report.outcome {
        Outcome::Answered(_) => {
            let text = serde_json::to_string(report);
            text.map_err(|error| CallError::new_err(error.to_string()))
        }
        Outcome::Confirm { message, .. } => {
            let said = format!("{message}: call again with `confirmed=True`");
            Err(ConfirmationNeeded::new_err(said))
        }
        Outcome::Clarify { message, .. } => Err(ArgumentError::new_err(message.clone())),
        _ => Err(CallError::new_err(report.message_and_errors(|_| true))),
    }
}

/// Parses the arguments, which must be a JSON object.
pub fn arguments(text: &str) -> PyResult<Arguments> {
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        _ => Err(CallError::new_err("expected the arguments as a mapping of names to values")),
    }
}

fn assembly(file: ServersFile, settings: &Settings) -> PyResult<Assembly> {
    let mut assembly = settings.assembly()?;
    // Anyone may write what a server lists, so tools far below the best score are excluded.
    assembly.config.policy.near_best.get_or_insert(NEAR_BEST);
    let base = BASE_VARIABLES
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
    let process = ProcessOptions { base_env: base.collect() };
    let servers = Upstreams {
        options: McpOptions { process, ..McpOptions::default() },
        ..Upstreams::new(file)
    };
    assembly.servers = Some(servers);
    let permissions = settings.permissions();
    assembly.executor = ExecutorOptions { permissions, ..ExecutorOptions::default() };
    assembly.pins = pins(settings)?;
    Ok(assembly)
}

/// Opens the pins of the named file, or else those that the command line uses.
fn pins(settings: &Settings) -> PyResult<Option<Pins>> {
    if let Some(path) = &settings.pins {
        return Ok(Some(Pins::new(path, Mode::FirstUse).name_file_in_commands()));
    }
    let data: Option<PathBuf> = dirs::data_dir();
    let data = data.ok_or_else(|| {
        CatalogError::new_err("this user has no data folder; say where the pins are with pins=")
    })?;
    Ok(Some(Pins::new(data.join("toolroute").join("pins.json"), Mode::FirstUse)))
}
