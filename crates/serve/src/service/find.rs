//! Finds tools, and names the servers whose tools are missing from the answer.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use toolroute_catalog::Tool;
use toolroute_rank::engine::{self, Fit, NoTools, SelectRequest, Selection};
use toolroute_session::Session;
use toolroute_vectors::durable::now_ms;

use super::recent::RecentSelection;
use super::{Error, Service, off_thread};

/// A request for the tools that fit a prompt.
#[derive(Clone, Debug, Default)]
pub struct FindRequest {
    pub request: SelectRequest,
    /// The conversation of the request. The prompt is read together with earlier ones, and the
    /// session remembers the offered tools.
    pub session: Arc<Session>,
    pub profile: Option<String>,
    /// Finds only tools of this server.
    pub server: Option<String>,
    /// Leaves out tools with a lower score.
    pub min_score: Option<f32>,
}

impl FindRequest {
    pub fn new(query: impl Into<String>) -> Self {
        Self { request: SelectRequest::new(query), ..Self::default() }
    }
}

/// The selected tools, and the servers whose tools could not be considered.
#[derive(Clone, Debug, Serialize)]
pub struct FindResult {
    #[serde(flatten)]
    pub selection: Selection,
    /// Servers whose tools are missing from the selection, or cannot be called now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<UnavailableServer>,
    #[serde(skip)]
    pub took_ms: f64,
}

impl FindResult {
    fn new(selection: Selection, mut unavailable: Vec<UnavailableServer>, took: Duration) -> Self {
        // The tools of a server may have come in since its state was read.
        let has_come = |server: &str| {
            selection.tools.iter().any(|found| found.tool.server.as_deref() == Some(server))
        };
        unavailable.retain(|state| !(state.is_starting && has_come(&state.server)));
        Self { selection, unavailable, took_ms: took.as_secs_f64() * 1_000.0 }
    }
}

/// A server that is unavailable, or has unavailable tools.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnavailableServer {
    pub server: String,
    pub because: String,
    /// Whether the server is starting: the same request may soon have another result.
    #[serde(skip)]
    pub is_starting: bool,
    /// Whether the server is down or disabled, and none of its tools are known from before.
    #[serde(skip)]
    pub is_lost: bool,
    /// Whether its list has changed and is not read yet.
    #[serde(skip)]
    pub is_changing: bool,
}

/// The number of prompts that are ranked together. Each has a copy of the request's context.
const PROMPTS_AT_A_TIME: usize = 64;

/// A result for each of many prompts, in their order. An error concerns only its own prompt.
pub(crate) type ManyResults = Vec<Result<FindResult, engine::Error>>;

/// Why tools of a server may be missing whose list has changed.
const CHANGING: &str =
    "its list of tools has changed and is not read yet; ask again in a few seconds";

impl Service {
    /// Waits for lists that servers announced, as far as the request is about them: a new tool is to be
    /// found right after its server told of it. The wait is short; [`Service::find`] names the servers
    /// that took longer.
    pub(crate) async fn announced_lists(&self, find: &FindRequest) {
        if self.list_changes.awaited().is_empty() {
            return;
        }
        // An unknown profile is the error of the search.
        let Ok(view) = self.view(find.profile.as_deref()) else { return };
        let (named, only) = (self.named(view), find.server.as_deref());
        let is_meant = |name: &str| only.is_none_or(|only| only == name) && named(name);
        self.list_changes.wait(is_meant).await;
    }

    /// Selects tools within a profile, on the runtime's blocking pool.
    ///
    /// # Errors
    /// [`Error::UnknownProfile`], [`Error::UnknownServer`], and the errors of
    /// [`Engine::select`](toolroute_rank::engine::Engine::select).
    #[doc(hidden)] // For our own crates.
    pub async fn find(self: &Arc<Self>, find: FindRequest) -> Result<FindResult, Error> {
        self.expect_catalog()?;
        let began = Instant::now();
        let unavailable = self.unavailable(&find)?;
        let service = Arc::clone(self);
        let (selection, find) = off_thread(move || (service.select(&find), find)).await?;
        let found = FindResult::new(selection?, unavailable, began.elapsed());
        self.remember(&find, &found);
        Ok(found)
    }

    /// Like [`Service::find`], on the calling thread and without an entry in [`Service::recent`].
    #[doc(hidden)] // For our own crates.
    pub fn select(&self, find: &FindRequest) -> Result<Selection, Error> {
        let mut selection = self.engine.select(&self.narrowed(find)?)?;
        leave_out(&mut selection, find.min_score);
        find.session.note_selection(&find.request.prompt, &selection);
        Ok(selection)
    }

    /// Like [`Service::find`] for each of many prompts, on the calling thread and without an entry
    /// in [`Service::recent`]. The prompts belong to no session.
    pub(crate) fn find_many(
        &self,
        find: &FindRequest,
        prompts: &[String],
    ) -> Result<ManyResults, Error> {
        let unavailable = self.unavailable(find)?;
        let request = self.narrowed(find)?;
        let mut results = Vec::with_capacity(prompts.len());
        for prompts in prompts.chunks(PROMPTS_AT_A_TIME) {
            let began = Instant::now();
            let answers = self.engine.select_many(&with_prompts(&request, prompts));
            results.extend(results_of(answers, (find, &unavailable), began));
        }
        Ok(results)
    }

    /// Like [`Service::find_many`], among tools that come with the request, which `key` identifies.
    /// They are ranked as if they were the catalog, without a profile.
    pub(crate) fn find_among<E: From<engine::Error>>(
        &self,
        find: &FindRequest,
        prompts: &[String],
        (key, tools): (&str, impl Fn() -> Result<Vec<Tool>, E>),
    ) -> Result<ManyResults, E> {
        let mut results = Vec::with_capacity(prompts.len());
        for prompts in prompts.chunks(PROMPTS_AT_A_TIME) {
            let (began, requests) = (Instant::now(), with_prompts(&find.request, prompts));
            let answers = self.engine.select_many_among(key, &tools, &requests)?;
            results.extend(results_of(answers, (find, &[]), began));
        }
        Ok(results)
    }

    /// The engine's request: restricted to the profile and the server, with what the session knows.
    fn narrowed(&self, find: &FindRequest) -> Result<SelectRequest, Error> {
        self.expect_catalog()?;
        let view = self.view(find.profile.as_deref())?;
        let mut request = find.session.request(find.request.clone());
        let mut context = request.context.take().unwrap_or_default();
        let held = self.engine.held_back();
        let catalog = self.engine.catalog();
        let known = catalog.tools().iter().map(AsRef::as_ref);
        let known = known.chain(held.iter().map(|held| held.tool.as_ref()));
        view.narrow(&mut context, find.server.as_deref(), known)?;
        request.context = Some(context);
        request.limit = request.limit.or(view.profile.limit);
        Ok(request)
    }

    /// Fails unless clients of a profile may know of the server.
    pub(crate) fn expect_server(&self, server: &str, profile: Option<&str>) -> Result<(), Error> {
        let named = self.named(self.view(profile)?);
        let catalog = self.engine.catalog();
        let mut known: Vec<String> = self.servers().into_iter().map(|state| state.name).collect();
        known.extend(catalog.iter().filter_map(|tool| tool.server.clone()));
        known.sort();
        known.dedup();
        known.retain(|name| named(name));
        if known.iter().any(|name| name == server) {
            return Ok(());
        }
        Err(Error::UnknownServer { name: server.to_owned(), known })
    }

    fn unavailable(&self, find: &FindRequest) -> Result<Vec<UnavailableServer>, Error> {
        let view = self.view(find.profile.as_deref())?;
        let states = self.servers();
        let awaited = self.list_changes.awaited();
        let is_complete =
            awaited.is_empty() && states.iter().all(|state| state.lacking().is_none());
        if find.server.is_none() && is_complete {
            // The usual case. Everything else iterates over the catalog.
            return Ok(Vec::new());
        }
        let named = self.named(view);
        if let Some(server) = &find.server {
            self.expect_server(server, find.profile.as_deref())?;
        }
        let meant = |name: &str| find.server.as_deref().is_none_or(|server| server == name);
        let states = states.into_iter();
        let meant = states.filter(|state| named(&state.name) && meant(&state.name));
        Ok(meant
            .filter_map(|state| {
                // A disabled server is of interest only to those who ask for it.
                let disabled = || find.server.as_ref().and_then(|_| state.disabled());
                let because = state.lacking().or_else(disabled);
                let (is_starting, is_lost) = (state.is_awaited(), state.is_lost());
                let is_changing = because.is_none() && awaited.contains(&state.name);
                let because = because.or_else(|| is_changing.then(|| CHANGING.to_owned()))?;
                let server = state.name;
                Some(UnavailableServer { server, because, is_starting, is_lost, is_changing })
            })
            .collect())
    }

    fn remember(&self, find: &FindRequest, found: &FindResult) {
        let tools = found.selection.tools.iter();
        let recent = RecentSelection {
            number: 0,
            at_ms: now_ms().unsigned_abs(),
            query: find.request.prompt.clone(),
            profile: find.profile.clone(),
            tools: tools.map(|found| (found.tool.id.clone(), found.score)).collect(),
            confidence: found.selection.confidence,
            took_ms: found.took_ms,
        };
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).push(recent);
    }
}

/// Leaves out tools that score less than the request admits.
fn leave_out(selection: &mut Selection, min_score: Option<f32>) {
    let Some(least) = min_score else { return };
    selection.tools.retain(|found| found.score >= least);
    selection.held_back.retain(|found| found.score >= least);
    if selection.tools.is_empty() {
        selection.no_tools = selection.no_tools.or(Some(NoTools::Filtered));
        selection.fit = Fit::None;
    }
}

fn with_prompts(request: &SelectRequest, prompts: &[String]) -> Vec<SelectRequest> {
    let with = |prompt: &String| SelectRequest { prompt: prompt.clone(), ..request.clone() };
    prompts.iter().map(with).collect()
}

fn results_of(
    answers: Vec<Result<Selection, engine::Error>>,
    (find, unavailable): (&FindRequest, &[UnavailableServer]),
    began: Instant,
) -> impl Iterator<Item = Result<FindResult, engine::Error>> {
    let took = began.elapsed();
    let (min_score, unavailable) = (find.min_score, unavailable.to_vec());
    let result = move |mut selection: Selection| {
        leave_out(&mut selection, min_score);
        FindResult::new(selection, unavailable.clone(), took)
    };
    answers.into_iter().map(move |answer| answer.map(&result))
}
