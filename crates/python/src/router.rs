//! A router: an engine for tools from Python, files or servers.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use rayon::prelude::*;
use toolroute::engine::{PastPrompt, UsageVectors};
use toolroute::session::Session;
use toolroute::{Catalog, Context, Engine, SelectRequest, Tool};
use toolroute_rank::engine::{Degradation, SnapshotState};
use toolroute_rank::selection::ToolFilter;
use toolroute_run::execution::schema_warnings;
use toolroute_serve::filter::Conversation;
use toolroute_serve::{Assembly, Sessions};

use crate::calls::CallChecks;
use crate::connection::{Call, Connection, Order, RunningCall};
use crate::error::{self, CallError, CatalogError, RequestError, ToolrouteError};
use crate::given::{placed, read_tools};
use crate::rows::{self, RankedRows, Row};
use crate::selection::NativeSelection;
use crate::settings::{self, Settings};
use crate::threads::{self, Owned};

/// The number of prompts that are ranked at a time, the same as in the command `batch`.
const CHUNK: usize = 256;

/// An engine with its servers, sessions and learned usage.
#[pyclass(frozen, module = "toolroute._toolroute")]
pub struct NativeRouter {
    engine: Owned<Engine>,
    connection: Option<Owned<Connection>>,
    checks: CallChecks,
    problems: Vec<String>,
    /// For each given object, the ids of the tools that were read from it; empty for catalogs of
    /// files and servers.
    given_ids: Vec<Vec<String>>,
    sessions: Sessions,
    usage: Mutex<Option<UsageVectors>>,
}

#[pymethods]
impl NativeRouter {
    /// A router over tools, each a JSON object in one of the formats that catalogs have. An empty
    /// text stands for an object that could not be written as JSON; `problems` says why.
    #[staticmethod]
    #[pyo3(signature = (tools, settings, problems=Vec::new()))]
    fn of_tools(
        py: Python<'_>,
        tools: Vec<String>,
        settings: &str,
        mut problems: Vec<String>,
    ) -> PyResult<Self> {
        let settings: Settings = settings::read(settings)?;
        py.detach(|| {
            let (given, unread) = threads::run(|| read_tools(&tools));
            problems.extend(unread);
            if settings.strict && !problems.is_empty() {
                return Err(CatalogError::new_err(problems.join("\n")));
            }
            let tools = given.iter().flatten().cloned().collect();
            let loaded = Catalog::load_with(&[], tools, &settings.load_options());
            let loaded = loaded.map_err(|error| CatalogError::new_err(error.to_string()))?;
            problems.extend(loaded.problems.iter().map(|problem| placed(problem, &given)));
            let warnings = threads::run(|| {
                let warnings = loaded.catalog.tools().par_iter();
                warnings.flat_map_iter(|tool| schema_warnings(tool)).collect::<Vec<_>>()
            });
            problems.extend(warnings.iter().map(ToString::to_string));
            let ids = |tools: Vec<Tool>| -> Vec<String> {
                let ids = tools.into_iter().map(|tool| tool.id.to_string());
                ids.filter(|id| loaded.catalog.get(id).is_some()).collect()
            };
            let given_ids = given.into_iter().map(ids).collect();
            Ok(Self { given_ids, ..Self::over(loaded.catalog, &settings, problems)? })
        })
    }

    /// A router over files and folders.
    #[staticmethod]
    fn of_paths(py: Python<'_>, paths: Vec<PathBuf>, settings: &str) -> PyResult<Self> {
        let settings: Settings = settings::read(settings)?;
        py.detach(|| {
            let options = settings.load_options();
            let loaded = threads::run(|| Catalog::load(&paths, &options));
            let loaded = loaded.map_err(|error| CatalogError::new_err(error.to_string()))?;
            let mut problems: Vec<String> =
                loaded.problems.iter().map(ToString::to_string).collect();
            if loaded.catalog.is_empty() {
                let paths: Vec<String> =
                    paths.iter().map(|path| path.display().to_string()).collect();
                problems.push(format!("no usable tool in {}", paths.join(", ")));
            }
            Self::over(loaded.catalog, &settings, problems)
        })
    }

    /// A router over the servers of a file.
    #[staticmethod]
    fn of_servers(py: Python<'_>, path: PathBuf, settings: &str) -> PyResult<Self> {
        let settings: Settings = settings::read(settings)?;
        py.detach(|| {
            let (connection, problems) = Connection::open(&path, &settings)?;
            let engine = Arc::clone(connection.service.engine());
            let sessions = Sessions::new(settings.calls.limits());
            Ok(Self { sessions, ..Self::with(engine, Some(connection), problems) })
        })
    }

    /// The problems of tools, files and servers.
    #[getter]
    fn problems(&self) -> Vec<String> {
        self.problems.clone()
    }

    fn __len__(&self) -> usize {
        self.engine.catalog().len()
    }

    /// How many texts of tools were embedded, because no snapshot held their vectors.
    #[getter]
    fn embedded(&self) -> usize {
        self.engine.index_report().embedded
    }

    /// Equal for routers with the same tools, the same model and the same learned usage.
    #[getter]
    fn fingerprint(&self) -> String {
        self.engine.fingerprint()
    }

    /// The ids of all tools, in their order.
    fn ids(&self) -> Vec<String> {
        self.engine.catalog().iter().map(|tool| tool.id.to_string()).collect()
    }

    /// For each given object, the ids of the tools that were read from it. Objects with the same id
    /// have it all.
    fn given_ids(&self) -> Vec<Vec<String>> {
        self.given_ids.clone()
    }

    /// The id of the tool that is meant by an id, `server:tool` or a name.
    fn resolve(&self, name: &str) -> Option<String> {
        self.engine.catalog().get(name).map(|tool| tool.id.to_string())
    }

    /// The ids nearest to a name that no tool has, at most three.
    fn near(&self, name: &str) -> Vec<String> {
        self.engine.catalog().near(name, 3).iter().map(ToString::to_string).collect()
    }

    /// A tool as JSON; `None` where there is no such tool.
    fn tool(&self, id: &str) -> Option<String> {
        let catalog = self.engine.catalog();
        let alone = Catalog::from_tools(vec![catalog.get(id)?.clone()]).catalog;
        Some(alone.to_jsonl())
    }

    /// Estimated tokens of a tool's definition in a prompt.
    fn tokens(&self, id: &str) -> Option<usize> {
        self.engine.catalog().get(id).map(Tool::definition_tokens)
    }

    #[pyo3(signature = (prompt, options, session=None))]
    fn select(
        &self,
        py: Python<'_>,
        prompt: &str,
        options: &str,
        session: Option<&str>,
    ) -> PyResult<NativeSelection> {
        py.detach(|| {
            let options: SelectRequest = settings::read(options)?;
            let request = SelectRequest { prompt: prompt.to_owned(), ..options };
            let session = session.map(|name| self.session(name)).transpose()?;
            let request = match &session {
                Some(session) => session.request(request),
                None => request,
            };
            let selection =
                threads::run(|| self.engine.select(&request)).map_err(error::of_engine)?;
            if let Some(session) = &session {
                session.note_selection(prompt, &selection);
            }
            Ok(NativeSelection {
                prompt: prompt.to_owned(),
                session: session.and_then(|session| session.name().map(str::to_owned)),
                selection: Arc::new(selection),
            })
        })
    }

    /// Ranks many prompts; an error names the first prompt that fails.
    fn select_many(
        &self,
        py: Python<'_>,
        prompts: Vec<String>,
        options: &str,
    ) -> PyResult<Vec<NativeSelection>> {
        py.detach(|| {
            let options: SelectRequest = settings::read(options)?;
            let request =
                |prompt: &String| SelectRequest { prompt: prompt.clone(), ..options.clone() };
            let requests: Vec<SelectRequest> = prompts.iter().map(request).collect();
            let mut answers = Vec::with_capacity(prompts.len());
            for chunk in requests.chunks(CHUNK) {
                // Raises KeyboardInterrupt if the user has interrupted.
                Python::attach(|py| py.check_signals())?;
                answers.extend(threads::run(|| self.engine.select_many(chunk)));
            }
            let rows = prompts.into_iter().zip(answers).enumerate();
            rows.map(|(row, (prompt, answer))| match answer {
                Ok(selection) => {
                    Ok(NativeSelection { prompt, session: None, selection: Arc::new(selection) })
                }
                Err(error) => Err(RequestError::new_err(format!("prompt {row}: {error}"))),
            })
            .collect()
        })
    }

    /// Ranks the rows of a table. A row is a prompt with the ids of its only candidates, which are
    /// tools of the router or of a JSON text.
    #[pyo3(signature = (rows, options, tools=None))]
    fn rank_rows(
        &self,
        py: Python<'_>,
        rows: Vec<Row>,
        options: &str,
        tools: Option<&str>,
    ) -> PyResult<RankedRows> {
        py.detach(|| rows::rank(&self.engine, &rows, &settings::read(options)?, tools))
    }

    /// Returns the ids of `among` that a conversation needs: at most `keep`, besides those that it
    /// used, and none that the options exclude. Returns `None` if all are kept. `body` is a JSON
    /// object with the messages.
    #[pyo3(signature = (body, keep, among, options=""))]
    fn needed(
        &self,
        py: Python<'_>,
        body: &str,
        keep: usize,
        among: Vec<String>,
        options: &str,
    ) -> PyResult<Option<Vec<String>>> {
        py.detach(|| {
            let conversation = Conversation::parse(body)
                .map_err(|error| RequestError::new_err(error.to_string()))?;
            let options: SelectRequest = settings::read(options)?;
            let prompt = conversation.prompt();
            let request = SelectRequest { prompt: prompt.clone().unwrap_or_default(), ..options };
            let all = among.len();
            let among = self.admitted(among, &request)?;
            if prompt.is_none() || among.len() <= keep {
                return Ok((among.len() < all).then_some(among));
            }
            let context = request.context.clone().unwrap_or_default();
            let context = Context { conversation: conversation.history(), ..context };
            let request = request.limit(keep).adaptive(false);
            let request = request.candidates(among.clone()).context(context);
            let selection =
                threads::run(|| self.engine.select(&request)).map_err(error::of_engine)?;
            // As `POST /v1/tools/filter` does.
            if selection.degraded == Some(Degradation::UnreadLanguage) {
                return Ok((among.len() < all).then_some(among));
            }
            let kept: BTreeSet<&str> =
                selection.tools.iter().map(|found| found.tool.id.as_str()).collect();
            let catalog = self.engine.catalog();
            let is_used = |id: &str| {
                conversation.needs(id)
                    || catalog.get(id).is_some_and(|tool| conversation.needs(&tool.name))
            };
            let stays = |id: &String| kept.contains(id.as_str()) || is_used(id);
            Ok(Some(among.into_iter().filter(stays).collect()))
        })
    }

    /// Learns which tools served which prompts, in addition to what was learned before; returns the
    /// report as JSON.
    fn learn(&self, py: Python<'_>, past: Vec<(String, Vec<String>)>) -> PyResult<String> {
        py.detach(|| {
            let past: Vec<PastPrompt> =
                past.into_iter().map(|(prompt, tools)| PastPrompt { prompt, tools }).collect();
            let mut kept = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
            let mut usage = match kept.take() {
                Some(usage) => usage,
                None => self.engine.empty_usage().map_err(error::of_engine)?,
            };
            let learned = threads::run(|| {
                let report = self.engine.learn(&mut usage, &past, &|_, _| {})?;
                self.engine.apply_usage(usage.clone())?;
                Ok(report)
            });
            *kept = Some(usage);
            let report = learned.map_err(error::of_engine)?;
            serde_json::to_string(&report)
                .map_err(|error| ToolrouteError::new_err(error.to_string()))
        })
    }

    /// Saves what was learned to a file; returns false if nothing was learned. A file that is not
    /// of this kind is not overwritten.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<bool> {
        py.detach(|| {
            let kept = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(usage) = kept.as_ref().filter(|usage| !usage.is_empty()) else {
                return Ok(false);
            };
            if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty())
                && !folder.is_dir()
            {
                let (path, folder) = (path.display(), folder.display());
                let said = format!("cannot write {path}: there is no folder {folder}; make it");
                return Err(ToolrouteError::new_err(said));
            }
            let replaced = if path.exists() { UsageVectors::load(&path).map(drop) } else { Ok(()) };
            let saved = replaced.and_then(|()| usage.save(&path));
            saved.map_err(|error| ToolrouteError::new_err(error.to_string()))?;
            Ok(true)
        })
    }

    /// Checks that this process can write the log.
    fn check_log(&self) -> PyResult<()> {
        if self.engine.is_here() {
            return Ok(());
        }
        Err(RequestError::new_err(
            "only the process that made this router can write its log, and this process is a fork \
             of it; make the router here: Router(tools, feedback=FILE)",
        ))
    }

    /// Logs that a tool was run for a prompt.
    #[pyo3(signature = (answer, id, ok, duration_ms=None))]
    fn record(
        &self,
        py: Python<'_>,
        answer: &NativeSelection,
        id: &str,
        ok: bool,
        duration_ms: Option<u64>,
    ) -> PyResult<()> {
        self.check_log()?;
        py.detach(|| {
            let offer = answer.selection.offer(&answer.prompt);
            let mut execution = offer.execution(&id.into(), ok);
            execution.session.clone_from(&answer.session);
            execution.duration_ms = duration_ms;
            let recorded = self.engine.record(execution);
            recorded.map(drop).map_err(error::of_engine)
        })
    }

    /// Checks that a tool which Python runs may run.
    fn confirm(&self, id: &str, confirmed: bool) -> PyResult<()> {
        self.checks.confirm(&self.known(id)?, confirmed)
    }

    /// Adapts arguments to the schema of a tool which Python runs; returns them as JSON. `apart`
    /// names the arguments that JSON cannot express.
    fn prepare(
        &self,
        py: Python<'_>,
        id: &str,
        given: &str,
        apart: Vec<String>,
    ) -> PyResult<String> {
        py.detach(|| self.checks.prepare(&self.known(id)?, given, &apart))
    }

    /// Calls a tool of a server; returns the report as JSON.
    fn call(&self, py: Python<'_>, order: Order) -> PyResult<String> {
        py.detach(|| self.connection()?.call(self.call_of(order)?))
    }

    /// Starts a call of a tool of a server. At its end `done` is called on another thread, with the
    /// report as JSON or with an exception, and `None` for the other.
    fn start(&self, order: Order, done: Py<PyAny>) -> PyResult<RunningCall> {
        self.connection()?.start(self.call_of(order)?, done)
    }

    /// Returns a page of an answer that was cut, as JSON.
    fn read_more(&self, py: Python<'_>, handle: &str, offset: usize) -> PyResult<String> {
        py.detach(|| self.connection()?.read_more(handle, offset))
    }

    /// Writes the log and stops the servers. A fork has neither.
    fn close(&self, py: Python<'_>) {
        if self.engine.is_here() {
            py.detach(|| match &self.connection {
                Some(connection) => connection.close(),
                None => self.engine.close(),
            });
        }
    }
}

impl NativeRouter {
    fn over(catalog: Catalog, settings: &Settings, mut problems: Vec<String>) -> PyResult<Self> {
        let assembly = Assembly { catalog, ..settings.assembly()? };
        let engine = threads::run(|| assembly.engine()).map_err(error::of_service)?;
        if let SnapshotState::NotSaved { because } = &engine.index_report().snapshot {
            problems.push(format!("the vectors are not kept: {because}"));
        }
        let checks = CallChecks::new(settings.permissions());
        let router = Self { checks, ..Self::with(Arc::new(engine), None, problems) };
        if let Some(path) = &settings.usage {
            let usage = UsageVectors::load(path);
            let usage = usage.map_err(|error| ToolrouteError::new_err(error.to_string()))?;
            *router.usage.lock().unwrap_or_else(PoisonError::into_inner) = Some(usage);
        }
        Ok(router)
    }

    fn with(engine: Arc<Engine>, connection: Option<Connection>, problems: Vec<String>) -> Self {
        let (sessions, usage) = (Sessions::default(), Mutex::default());
        let checks = CallChecks::default();
        let engine = Owned::new(engine);
        let connection = connection.map(|connection| Owned::new(Arc::new(connection)));
        Self { engine, connection, checks, problems, given_ids: Vec::new(), sessions, usage }
    }

    /// Returns the ids that the candidates, the policy and the patterns of a request admit.
    fn admitted(&self, ids: Vec<String>, request: &SelectRequest) -> PyResult<Vec<String>> {
        let filter = match &request.context {
            None => ToolFilter::default(),
            Some(context) => {
                let enabled = context.enabled_tools.as_deref();
                ToolFilter::new(enabled, &context.excluded_tools, context.stage)
                    .map_err(|error| RequestError::new_err(error.to_string()))?
            }
        };
        let candidates: Option<PyResult<Vec<Tool>>> =
            request.candidates.as_ref().map(|ids| ids.iter().map(|id| self.known(id)).collect());
        let candidates = candidates.transpose()?;
        let policy = request.policy.unwrap_or_default();
        let catalog = self.engine.catalog();
        let admits = |tool: &Tool| {
            let named =
                candidates.as_ref().is_none_or(|all| all.iter().any(|one| one.id == tool.id));
            named && filter.admit(tool).is_ok() && policy.admit(tool, None).is_ok()
        };
        Ok(ids.into_iter().filter(|id| catalog.get(id).is_some_and(admits)).collect())
    }

    /// Returns a tool of the catalog.
    fn known(&self, id: &str) -> PyResult<Tool> {
        let found = self.engine.catalog().get(id).cloned();
        found.ok_or_else(|| {
            RequestError::new_err(format!("expected a tool of this router, found {id:?}"))
        })
    }

    /// Returns the servers of the router.
    fn connection(&self) -> PyResult<&Connection> {
        let said = match &self.connection {
            Some(connection) if connection.is_here() => return Ok(connection),
            Some(_) => {
                "only the process that made this router can call its servers, and this process is \
                 a fork of it; make the router here: Router.from_servers(FILE)"
            }
            None => "expected a router of servers: Router.from_servers",
        };
        Err(CallError::new_err(said))
    }

    fn call_of(&self, order: Order) -> PyResult<Call> {
        let session = order.session.as_deref().map(|name| self.session(name)).transpose()?;
        Call::new(order, session.unwrap_or_default())
    }

    /// Returns the session with this name, which is created if necessary.
    fn session(&self, name: &str) -> PyResult<Arc<Session>> {
        self.sessions.named(None, name).map_err(error::of_service)
    }
}
