//! The engine that users hold: the present state, and its replacement by the next.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::analysis::Classifiers;
use super::builder::EngineBuilder;
use super::change::{self, ChangeReport};
use super::live_inputs::LiveInputs;
use super::metrics::Metrics;
use super::passing::Passing;
use super::recording::Recording;
use super::state::State;
use super::{
    Candidacies, Context, EngineConfig, Error, IndexReport, MetricsSnapshot, Observations,
    SelectRequest, Selection, SignalWeights, Timings,
};
use crate::catalog::{Catalog, Change, Tool};
use crate::selection::{CacheKey, OpenBreakers, SelectionCache};

/// Says which tools are not to be called now. Asked at each selection, so it must be quick.
pub(super) type Watch = Arc<dyn Fn() -> OpenBreakers + Send + Sync>;

/// A catalog made searchable. `Send + Sync`, without global state; share it by `Arc`.
///
/// Tools may come, change and go while prompts are answered ([`Engine::change`]). A selection sees
/// one state of the catalog from its first step to its last; the next one sees the next.
pub struct Engine {
    config: Arc<EngineConfig>,
    pub(super) report: IndexReport,
    pub(super) cache: SelectionCache<Selection>,
    pub(super) metrics: Metrics,
    /// Held only as long as it takes to copy or replace a pointer.
    state: RwLock<Arc<State>>,
    /// One change at a time: each is made from the state that the one before left.
    changing: Mutex<()>,
    /// Made from the model when a context is first analysed.
    pub(super) classifiers: OnceLock<Classifiers>,
    /// Tools and texts that belong to no catalog.
    pub(super) passing: Passing,
    /// A log of executions, where one is kept.
    pub(super) recording: Option<Recording>,
    /// The version of the log's observations that the state knows.
    heard: AtomicU64,
    /// Says which tools are not to be called now.
    pub(super) watched: RwLock<Option<Watch>>,
}

impl Engine {
    pub fn builder(catalog: Catalog) -> EngineBuilder {
        EngineBuilder::new(catalog)
    }

    pub(super) fn new(state: State, report: IndexReport, recording: Option<Recording>) -> Self {
        Self {
            config: state.config.clone(),
            report,
            cache: SelectionCache::new(state.config.cache),
            metrics: Metrics::default(),
            passing: Passing::default(),
            state: RwLock::new(Arc::new(state)),
            changing: Mutex::new(()),
            recording,
            heard: AtomicU64::new(0),
            watched: RwLock::default(),
            classifiers: OnceLock::new(),
        }
    }

    /// The present state: what every answer is made from, first step to last.
    pub(super) fn state(&self) -> Arc<State> {
        // A lock is poisoned only by a panic while a pointer is copied: there is nothing torn.
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The catalog as it is now; a later change makes another and leaves this one as it is.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.state().catalog.clone()
    }

    /// How often the catalog has changed since the engine was built: what was made from one
    /// version holds as long as it stays.
    pub fn version(&self) -> u64 {
        self.state().version
    }

    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// What building the index took: embedded, reused, and the snapshot's state.
    pub fn index_report(&self) -> &IndexReport {
        &self.report
    }

    /// Tells engines apart that may answer differently: the catalog's tools, the model and what was
    /// learned.
    pub fn fingerprint(&self) -> String {
        self.state().fingerprint()
    }

    /// The tools for one prompt, best first.
    ///
    /// # Errors
    /// [`Error::EmptyPrompt`]; [`Error::NoModel`] for a strategy that needs one;
    /// [`Error::UnknownCandidates`] where no candidate is in the catalog; and what embedding may
    /// raise.
    pub fn select(&self, request: &SelectRequest) -> Result<Selection, Error> {
        self.listen();
        let (start, state) = (Instant::now(), self.state());
        let versions = state.inputs.versions(state.version);
        let key = self.cache.is_on().then(|| CacheKey::new(request, versions));
        if let Some(found) = key.and_then(|key| self.cache.get(&key, start)) {
            self.metrics.looked_up(true);
            return Ok(Selection { cached: true, timings: Timings::default(), ..(*found).clone() });
        }
        let answer = self.select_analyzed(&state, request);
        self.metrics.selected(&answer, start.elapsed());
        if let (Some(key), Ok(answer)) = (key, &answer) {
            self.metrics.looked_up(false);
            self.cache.put(key, answer.clone(), start);
        }
        answer
    }

    fn select_analyzed(&self, state: &State, request: &SelectRequest) -> Result<Selection, Error> {
        let analyzed = self.analyzed(request)?;
        let asked = match &analyzed {
            Some((request, _)) => request,
            None => request,
        };
        let mut answer = [state.select(asked)];
        state.name_held(std::slice::from_ref(asked), &mut answer);
        let [answer] = answer;
        let analysis = analyzed.map(|(_, analysis)| Arc::new(analysis));
        Ok(Selection { analysis, ..answer? })
    }

    /// [`Engine::select`] for many prompts: embedded together, equal ones once, and ranked side by
    /// side. One bad request does not fail the others.
    pub fn select_many(&self, requests: &[SelectRequest]) -> Vec<Result<Selection, Error>> {
        self.listen();
        let state = self.state();
        let wants =
            |request: &SelectRequest| request.context.as_ref().is_some_and(Context::wants_analysis);
        let answers = match requests.iter().any(wants) {
            // Each has files of its own to be read.
            true => requests.iter().map(|one| self.select_analyzed(&state, one)).collect(),
            false => {
                let mut answers = state.select_many(requests);
                state.name_held(requests, &mut answers);
                answers
            }
        };
        for answer in &answers {
            let took = answer.as_ref().map_or(Duration::ZERO, |answer| answer.timings.total());
            self.metrics.selected(answer, took);
        }
        answers
    }

    /// The tools for an obligation, such as `REPORT(query.math)`, policy first: which to run, which
    /// to try after it, and what the others lack. `have` are the kinds of data at hand.
    pub fn candidates_for(&self, obligation: &str, have: &[String]) -> Candidacies {
        self.listen();
        self.state().candidates_for(obligation, have)
    }

    /// Takes in what a log says of the tools' runs, and the weights that were learned from it; the
    /// next selection knows. An engine with a log of its own does so by itself.
    pub fn observe(&self, observations: Observations) {
        let observations = Arc::new(observations);
        self.replace_inputs(|inputs| inputs.with_observations(observations));
    }

    /// Replaces the weights of the signals, and gives back those before; the next selection knows.
    pub fn set_weights(&self, weights: SignalWeights) -> SignalWeights {
        self.replace_inputs(|inputs| inputs.with_weights(weights)).weights
    }

    /// Has this asked, from now on, which tools are not to be called: they are left out of answers,
    /// each with that as its reason. It is asked at each selection, and the latest counts.
    pub fn watch(&self, blocked: impl Fn() -> OpenBreakers + Send + Sync + 'static) {
        let watch: Watch = Arc::new(blocked);
        *self.watched.write().unwrap_or_else(PoisonError::into_inner) = Some(watch);
    }

    /// Takes in which tools are not to be called now.
    fn look(&self) {
        let watch = self.watched.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(blocked) = watch.map(|watch| watch()) else { return };
        if *self.state().inputs.blocked != blocked {
            self.replace_inputs(|inputs| inputs.with_blocked(blocked));
        }
    }

    /// Takes in what the log has come to say since the selection before.
    pub(super) fn listen(&self) {
        self.look();
        if self.recording.is_none() {
            return;
        }
        let log = self.observed();
        if self.heard.swap(log.version(), Ordering::AcqRel) != log.version() {
            self.replace_inputs(|inputs| inputs.with_observations(log));
        }
    }

    /// Replaces the live inputs, and gives back those before.
    fn replace_inputs(&self, next: impl FnOnce(&LiveInputs) -> LiveInputs) -> LiveInputs {
        let _one_at_a_time = self.changing();
        let before = self.state();
        let after = before.with_inputs(next(&before.inputs));
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(after);
        before.inputs.clone()
    }

    /// What was counted since the engine was built.
    pub fn metrics(&self) -> MetricsSnapshot {
        self.metrics.snapshot()
    }

    /// The counters and histograms as Prometheus reads them.
    pub fn metrics_text(&self) -> String {
        self.metrics.render()
    }

    /// Counts a request that a server answered with its help. `route` is one of a few.
    pub fn count_request(&self, route: &str, status: u16, took: Duration) {
        self.metrics.requested(route, status, took);
    }

    /// Counts a request that a proxy passed on: `cut`, or a word for why its tools were not cut.
    pub fn count_proxied(&self, result: &'static str) {
        self.metrics.proxied(result);
    }

    /// Counts a reload of a server's sources.
    pub fn count_reload(&self, has_succeeded: bool) {
        self.metrics.reloaded(has_succeeded);
    }

    /// Takes in how many requests a server has at work, and how many wait.
    pub fn count_load(&self, working: usize, waiting: usize) {
        self.metrics.loaded(working, waiting);
    }

    /// Whether a request with these candidates can be answered; no candidates are no hindrance.
    ///
    /// # Errors
    /// [`Error::UnknownCandidates`] where none of them is in the catalog.
    pub fn check_candidates(&self, ids: &[String]) -> Result<(), Error> {
        self.state().check_candidates(ids)
    }

    /// Adds a tool; the next selection sees it.
    ///
    /// # Errors
    /// As [`Engine::change`].
    pub fn register(&self, tool: Tool) -> Result<ChangeReport, Error> {
        self.change(vec![Change::Register(tool)])
    }

    /// Puts a tool in the place of the one with its id.
    ///
    /// # Errors
    /// As [`Engine::change`].
    pub fn update(&self, tool: Tool) -> Result<ChangeReport, Error> {
        self.change(vec![Change::Update(tool)])
    }

    /// Takes a tool out, by any spelling of its id that [`Catalog::get`] knows.
    ///
    /// # Errors
    /// As [`Engine::change`].
    pub fn remove(&self, id: impl Into<String>) -> Result<ChangeReport, Error> {
        self.change(vec![Change::Remove(id.into())])
    }

    /// Makes several changes at once: a selection sees all of them or none.
    ///
    /// Only texts that are new go through the model; the words of all tools are indexed again,
    /// while selections go on over the state before. Nothing is written to the snapshot's file.
    /// Where vectors are searched over a graph, it stays over the tools that are as they were, and the
    /// others are scanned beside it until an engine is built anew; where these are more than half,
    /// all are scanned. What was learned ([`EngineBuilder::usage`]) is applied to
    /// the tools that are there then.
    ///
    /// # Errors
    /// [`Error::Catalog`] for a tool that cannot be used, an id that is taken or one that is not
    /// there, and what embedding may raise; then nothing has changed.
    pub fn change(&self, changes: Vec<Change>) -> Result<ChangeReport, Error> {
        self.replace_state(|before| change::next(before, changes))
    }

    /// Puts the next state in the place of the present one, and gives what is told of it.
    pub(super) fn replace_state<T>(
        &self,
        next: impl FnOnce(&State) -> Result<(State, T), Error>,
    ) -> Result<T, Error> {
        let _one_at_a_time = self.changing();
        let (after, told) = next(&self.state())?;
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(after);
        Ok(told)
    }

    fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
