//! The servers of a router, which run its tools.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;
use toolroute::session::Session;
use toolroute::{Catalog, Tool};
use toolroute_catalog::Problem;
use toolroute_rank::engine::NEAR_BEST;
use toolroute_run::execution::{
    Arguments, BASE_VARIABLES, DEFAULT_MAX_CHARS, McpOptions, Outcome, ProcessOptions, Report,
    ServersFile,
};
use toolroute_run::pins::{Mode, Pins};
use toolroute_serve::{Assembly, CallRequest, Keep, Notes, Service, Status, Upstreams};

use crate::error::{self, ArgumentError, CallError, CatalogError, ConfirmationNeeded};
use crate::settings::Settings;
use crate::threads;

/// Threads for connections: two, so that a long answer of one server does not delay the others.
const THREADS: usize = 2;

/// Maximum time to wait for the first tool lists. A server that is downloaded first takes minutes.
const FIRST_LISTS: Duration = Duration::from_secs(120);

/// The interval at which Python is asked for signals while a call runs.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(100);

/// Maximum time to wait for the end of the servers of a router that was not closed.
const LAST_SERVERS: Duration = Duration::from_secs(10);

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
        overlay_problems(settings, Vec::new())?;
        let told = Told::default();
        let assembly = Assembly { notes: told.notes(), ..assembly(file, settings)? };
        let service = threads::run(|| assembly.build()).map_err(error::of_service)?;
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(THREADS).enable_all().on_thread_start(threads::join_own_pool);
        let runtime = builder.build();
        let runtime = runtime.map_err(|error| {
            CallError::new_err(format!("cannot start threads for servers: {error}"))
        })?;
        let starting = {
            let _inside = runtime.enter();
            service.start()
        };
        let opened = Self { runtime: Some(runtime), service };
        opened.wait(async { tokio::time::timeout(FIRST_LISTS, starting).await.ok() })?;
        let service = &opened.service;
        problems.extend(told.take());
        problems.extend(service.servers().into_iter().filter_map(|server| match server.status {
            Status::Unavailable { because } => {
                Some(format!("the server `{}` cannot be had: {because}", server.name))
            }
            _ => None,
        }));
        // A server that has not answered may have the tool.
        let is_unknown =
            |status: &Status| matches!(status, Status::Starting | Status::Unavailable { .. });
        if !service.servers().iter().any(|server| is_unknown(&server.status)) {
            let tools = service.engine().catalog().iter().cloned().collect();
            problems.extend(overlay_problems(settings, tools)?);
            problems.extend(service.unmatched_patterns().into_iter().map(|pattern| {
                format!(
                    "the pattern `{pattern}` of `allow` or `deny` matches no tool of the servers"
                )
            }));
        }
        Ok((opened, problems))
    }

    /// Runs work and waits for its end or for a signal, such as an interrupt from the keyboard, whose
    /// exception is returned after the work has been cancelled.
    fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> PyResult<T> {
        let runtime = self.runtime()?;
        let mut task = runtime.spawn(work);
        runtime.block_on(async {
            loop {
                match tokio::time::timeout(BETWEEN_SIGNALS, &mut task).await {
                    Ok(ended) => {
                        return ended.map_err(|error| {
                            CallError::new_err(format!("the call failed: {error}"))
                        });
                    }
                    Err(_) => {
                        // At the end of the program, Python can no longer be asked.
                        if let Some(Err(signal)) = Python::try_attach(|py| py.check_signals()) {
                            task.abort();
                            (&mut task).await.ok();
                            return Err(signal);
                        }
                    }
                }
            }
        })
    }

    /// Calls a tool and returns the report as JSON.
    pub fn call(&self, call: Call) -> PyResult<String> {
        self.wait(call.run(Arc::clone(&self.service)))?
    }

    /// Starts a call. At its end `done` is called with the report as JSON or with an exception, and
    /// `None` for the other.
    pub fn start(&self, call: Call, done: Py<PyAny>) -> PyResult<RunningCall> {
        let runtime = self.runtime()?;
        let task = runtime.spawn(call.run(Arc::clone(&self.service)));
        let running = RunningCall { task: task.abort_handle() };
        runtime.spawn(async move {
            let answer = task.await.unwrap_or_else(|error| {
                Err(CallError::new_err(format!("the call failed: {error}")))
            });
            // At the end of the program nobody waits for the answer.
            Python::try_attach(|py| {
                let (report, failed) = match answer {
                    Ok(report) => (Some(report), None),
                    Err(error) => (None, Some(error.into_value(py))),
                };
                // This fails if the event loop is closed, and nobody waits either.
                done.call1(py, (report, failed)).ok();
            });
        });
        Ok(running)
    }

    /// Returns a page of an answer that was cut, as JSON.
    pub fn read_more(&self, handle: &str, offset: usize) -> PyResult<String> {
        let page = self.service.read_more(handle, offset, DEFAULT_MAX_CHARS);
        let page = page.map_err(error::of_service)?;
        serde_json::to_string(&page).map_err(|error| CallError::new_err(error.to_string()))
    }

    fn runtime(&self) -> PyResult<&Runtime> {
        let closed = || CallError::new_err("the router is closed; make another");
        self.runtime.as_ref().ok_or_else(closed)
    }

    /// Stops the servers.
    pub fn close(&self) {
        if let Some(runtime) = &self.runtime {
            runtime.block_on(self.service.close());
        }
    }
}

impl Drop for Connection {
    /// Stops the servers on a thread of its own and waits for it without Python's lock, because the
    /// thread that drops a router holds the lock, and all threads of the runtime may wait for it.
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        let service = Arc::clone(&self.service);
        let (closed, wait) = mpsc::channel();
        std::thread::spawn(move || {
            runtime.block_on(service.close());
            runtime.shutdown_timeout(LAST_THREADS);
            closed.send(()).ok();
        });
        // During its end, Python may have stopped the threads that wait for its lock.
        Python::try_attach(|py| py.detach(move || wait.recv_timeout(LAST_SERVERS).ok()));
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

/// A call as Python asks for it.
#[derive(FromPyObject)]
pub struct Order {
    id: String,
    /// A JSON object.
    arguments: String,
    prompt: String,
    confirmed: bool,
    pub session: Option<String>,
}

/// A tool to call.
pub struct Call {
    order: Order,
    arguments: Arguments,
    session: Arc<Session>,
}

impl Call {
    pub fn new(order: Order, session: Arc<Session>) -> PyResult<Self> {
        Ok(Self { arguments: arguments(&order.arguments)?, order, session })
    }

    async fn run(self, service: Arc<Service>) -> PyResult<String> {
        let request = CallRequest {
            id: &self.order.id,
            arguments: &self.arguments,
            session: &self.session,
            confirmed: self.order.confirmed,
            question: &self.order.prompt,
            budget_tokens: None,
            profile: None,
            user: None,
            alone: false,
            on_event: &|_| {},
        };
        let report = service.call(request).await;
        report_json(&report.map_err(error::of_service)?)
    }
}

/// A call that was started.
#[pyclass(frozen, module = "toolroute._toolroute")]
pub struct RunningCall {
    task: AbortHandle,
}

#[pymethods]
impl RunningCall {
    /// Cancels the call at the server, unless it has ended.
    fn cancel(&self) {
        self.task.abort();
    }
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
    let executor = settings.executor(&file)?;
    let servers = Upstreams {
        options: McpOptions { process, ..McpOptions::default() },
        keep: overlaid(settings),
        ..Upstreams::new(file)
    };
    assembly.servers = Some(servers);
    assembly.executor = executor;
    assembly.no_fallback = settings.calls.no_fallback;
    assembly.fallback_by_meaning = settings.calls.fallback_by_meaning;
    assembly.pins = pins(settings)?;
    Ok(assembly)
}

/// Returns the function that applies the overlays to what a server lists, if there are overlays.
fn overlaid(settings: &Settings) -> Option<Keep> {
    let options = settings.load_options();
    if options.overlays.is_empty() {
        return None;
    }
    Some(Arc::new(move |server: &str, tools: Vec<Tool>| {
        match Catalog::load_with(&[], tools.clone(), &options) {
            Ok(loaded) => loaded.catalog.iter().cloned().collect(),
            Err(error) => {
                warn(&format!("no overlay is applied to the tools of `{server}`: {error}"));
                tools
            }
        }
    }))
}

/// Gives a Python warning from any thread.
fn warn(said: &str) {
    // Without the warning there is nobody to tell: at the end of the program, Python can no longer be asked.
    Python::try_attach(|py| {
        let said = CString::new(said.replace('\0', " ")).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &said, 1).ok();
    });
}

/// Returns the warnings of the overlays for some tools; an error in one is an exception.
fn overlay_problems(settings: &Settings, tools: Vec<Tool>) -> PyResult<Vec<String>> {
    let options = settings.load_options();
    let loaded = threads::run(|| Catalog::load_with(&[], tools, &options));
    let loaded = loaded.map_err(|error| CatalogError::new_err(error.to_string()))?;
    let is_of_overlay = |problem: &&Problem| {
        problem.file.as_ref().is_some_and(|file| options.overlays.contains(file))
    };
    let problems = loaded.problems.iter().filter(is_of_overlay);
    let (errors, warnings): (Vec<&Problem>, Vec<&Problem>) =
        problems.partition(|problem| problem.is_error());
    let texts =
        |problems: Vec<&Problem>| problems.into_iter().map(ToString::to_string).collect::<Vec<_>>();
    match errors.is_empty() {
        true => Ok(texts(warnings)),
        false => {
            let said = format!("the overlay cannot be used: {}", texts(errors).join("; "));
            Err(CatalogError::new_err(said))
        }
    }
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
