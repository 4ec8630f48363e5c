//! The engine's public handle: holds the present state, and replaces it by the next.

use std::convert::Infallible;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::ad_hoc::AdHocCatalogs;
use super::analysis::Classifiers;
use super::builder::EngineBuilder;
use super::catalog_change::{self, ChangeReport};
use super::live_inputs::LiveInputs;
use super::recording::Recording;
use super::state::State;
use super::texts::TextCache;
use super::{
    Context, EngineConfig, Error, IndexReport, Metrics, Observations, SelectRequest, Selection,
    SignalWeights, Timings,
};
use crate::catalog::{Catalog, Change};
use crate::embedding::Embedder;
use crate::selection::{CacheKey, OpenBreakers, SelectionCache};

/// Returns the tools that must not be called now.
pub(super) type BlockedSource = Arc<dyn Fn() -> OpenBreakers + Send + Sync>;

/// A searchable catalog. `Send + Sync`, without global state; share it as an `Arc`.
///
/// Tools may be added, changed and removed while prompts are answered ([`Engine::change`]). A
/// selection uses one state of the catalog from its first step to its last.
pub struct Engine {
    config: Arc<EngineConfig>,
    pub(super) report: IndexReport,
    pub(super) cache: SelectionCache<Selection>,
    pub(super) metrics: Metrics,
    /// Only locked while a pointer is copied or replaced.
    state: RwLock<Arc<State>>,
    /// Held while the next state is computed, because each is derived from the previous one.
    writer: Mutex<()>,
    /// Computed from the model when a context is first analysed.
    pub(super) classifiers: OnceLock<Classifiers>,
    pub(super) ad_hoc: AdHocCatalogs,
    pub(super) texts: TextCache,
    /// The log of executions, if there is one.
    pub(super) recording: Option<Recording>,
    /// The version of the log's observations that the state holds.
    log_version: AtomicU64,
    blocked_source: RwLock<Option<BlockedSource>>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Engine")
            .field("tools", &state.catalog.len())
            .field("version", &state.version)
            .field("model", &state.embedder.as_ref().map(|model| &model.identity().name))
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// Starts to build an engine over a catalog.
    ///
    /// ```
    /// # use toolroute_catalog::{Catalog, Tool};
    /// # use toolroute_rank::engine::{Engine, EngineConfig};
    /// let catalog = Catalog::from_tools(vec![Tool::new(None, "read_file", "Reads a file")]).catalog;
    /// let config = EngineConfig { limit: 3, ..EngineConfig::default() };
    /// let engine = Engine::builder(catalog).config(config).build()?;
    /// assert_eq!(engine.catalog().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn builder(catalog: Catalog) -> EngineBuilder {
        EngineBuilder::new(catalog)
    }

    pub(super) fn new(state: State, report: IndexReport, recording: Option<Recording>) -> Self {
        Self {
            config: state.config.clone(),
            report,
            cache: SelectionCache::new(state.config.cache),
            metrics: Metrics::default(),
            ad_hoc: AdHocCatalogs::default(),
            texts: TextCache::default(),
            state: RwLock::new(Arc::new(state)),
            writer: Mutex::new(()),
            recording,
            log_version: AtomicU64::new(0),
            blocked_source: RwLock::default(),
            classifiers: OnceLock::new(),
        }
    }

    /// Returns the present state. A selection gets it once and uses it throughout.
    pub(super) fn state(&self) -> Arc<State> {
        // A poisoned lock is usable: only a pointer is replaced under it, so nothing can be half
        // written.
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the present catalog. Later changes create a new one and do not affect this one.
    ///
    /// ```
    /// # use toolroute_catalog::{Catalog, Tool};
    /// # use toolroute_rank::engine::Engine;
    /// # let tools = vec![Tool::new(Some("fs"), "read_file", "Reads a file")];
    /// # let engine = Engine::builder(Catalog::from_tools(tools).catalog).build()?;
    /// let catalog = engine.catalog();
    /// assert_eq!(catalog.get("fs__read_file").unwrap().name, "read_file");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn catalog(&self) -> Arc<Catalog> {
        self.state().catalog.clone()
    }

    /// The number of changes of the catalog since the engine was built. Data derived from the
    /// catalog is valid while this number does not change.
    ///
    /// ```
    /// # use toolroute_catalog::{Catalog, Change, Tool};
    /// # use toolroute_rank::engine::Engine;
    /// let engine = Engine::builder(Catalog::default()).build()?;
    /// assert_eq!(engine.version(), 0);
    /// engine.change(vec![Change::Register(Tool::new(None, "read_file", "Reads a file"))])?;
    /// assert_eq!(engine.version(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn version(&self) -> u64 {
        self.state().version
    }

    /// The settings that apply unless a request overrides them.
    ///
    /// ```
    /// # use toolroute_catalog::Catalog;
    /// # use toolroute_rank::engine::{DEFAULT_LIMIT, Engine};
    /// let engine = Engine::builder(Catalog::default()).build()?;
    /// assert_eq!(engine.config().limit, DEFAULT_LIMIT);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// How the index was built: embedded and reused texts, the snapshot's state, and how much usage
    /// was applied.
    ///
    /// ```
    /// # use toolroute_catalog::Catalog;
    /// # use toolroute_rank::engine::{Engine, SnapshotState};
    /// let engine = Engine::builder(Catalog::default()).build()?;
    /// assert_eq!(engine.index_report().snapshot, SnapshotState::Unused);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn index_report(&self) -> &IndexReport {
        &self.report
    }

    /// A hash of the catalog's tools, the model, the learned usage, the observations of the log, the
    /// weights and the blocked tools, in hexadecimal. Engines with equal configurations and equal
    /// fingerprints that hold back no tools give equal answers.
    #[doc(hidden)] // For our own crates.
    pub fn fingerprint(&self) -> String {
        self.state().fingerprint()
    }

    /// The engine's model; `None` if it ranks by keywords only.
    ///
    /// ```
    /// # use toolroute_catalog::Catalog;
    /// # use toolroute_rank::engine::Engine;
    /// let engine = Engine::builder(Catalog::default()).build()?;
    /// assert!(engine.embedder().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        self.state().embedder.clone()
    }

    /// Returns the tools for one prompt, best first.
    ///
    /// ```
    /// # use toolroute_catalog::{Catalog, Tool};
    /// # use toolroute_rank::engine::{Engine, SelectRequest};
    /// # let tools = vec![
    /// #     Tool::new(Some("fs"), "read_file", "Reads a file from disk"),
    /// #     Tool::new(Some("mail"), "send_email", "Sends an email to a person"),
    /// # ];
    /// # let engine = Engine::builder(Catalog::from_tools(tools).catalog).build()?;
    /// let selection = engine.select(&SelectRequest::new("send an email to Dana").limit(1))?;
    /// assert_eq!(selection.tools[0].tool.id.as_str(), "mail__send_email");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::EmptyPrompt`]; [`Error::Query`] for an invalid context; of a prompt of more than 128 KiB the ends are read;
    /// [`Error::NoModel`] for a strategy that needs a model;
    /// [`Error::UnknownCandidates`] if no candidate is in the catalog; errors of the embedder.
    pub fn select(&self, request: &SelectRequest) -> Result<Selection, Error> {
        self.refresh_inputs();
        let (start, state) = (Instant::now(), self.state());
        let versions = state.inputs.versions(state.version);
        let key = self.cache.is_on().then(|| CacheKey::new(request, versions));
        if let Some(found) = key.and_then(|key| self.cache.get(&key, start)) {
            self.metrics.count_cache_lookup(true);
            return Ok(Selection { cached: true, timings: Timings::default(), ..(*found).clone() });
        }
        let answer = self.select_analyzed(&state, request);
        self.metrics.count_selection(&answer, start.elapsed());
        if let (Some(key), Ok(answer)) = (key, &answer) {
            self.metrics.count_cache_lookup(false);
            self.cache.put(key, answer.clone(), start);
        }
        answer
    }

    fn select_analyzed(&self, state: &State, request: &SelectRequest) -> Result<Selection, Error> {
        if let Some((shorter, omission)) = request.without_middle() {
            let mut answer = self.select_analyzed(state, &shorter)?;
            answer.left_out.push(omission);
            return Ok(answer);
        }
        let analyzed = self.analyzed(request)?;
        let request = match &analyzed {
            Some((request, _)) => request,
            None => request,
        };
        let mut answer = [state.select(request)];
        state.name_held(std::slice::from_ref(request), &mut answer);
        let [answer] = answer;
        let analysis = analyzed.map(|(_, analysis)| Arc::new(analysis));
        Ok(Selection { analysis, ..answer? })
    }

    /// The same as [`Engine::select`] for many prompts; returns the answers in their order. All
    /// prompts are embedded together, equal ones once, and ranked in parallel. An error only
    /// concerns its own request.
    ///
    /// ```
    /// # use toolroute_catalog::{Catalog, Tool};
    /// # use toolroute_rank::engine::{Engine, SelectRequest};
    /// # let tools = vec![Tool::new(None, "read_file", "Reads a file from disk")];
    /// # let engine = Engine::builder(Catalog::from_tools(tools).catalog).build()?;
    /// let answers = engine.select_many(&["read a file", ""].map(SelectRequest::new));
    /// assert!(answers[0].is_ok() && answers[1].is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn select_many(&self, requests: &[SelectRequest]) -> Vec<Result<Selection, Error>> {
        self.refresh_inputs();
        self.select_many_in(&self.state(), requests)
    }

    /// The same as [`Engine::select_many`], in the catalog of a state.
    pub(super) fn select_many_in(
        &self,
        state: &State,
        requests: &[SelectRequest],
    ) -> Vec<Result<Selection, Error>> {
        let shorter: Vec<_> = requests.iter().map(SelectRequest::without_middle).collect();
        if shorter.iter().any(Option::is_some) {
            let shorter = requests.iter().zip(shorter).map(|(request, shorter)| match shorter {
                Some((shorter, omission)) => (shorter, Some(omission)),
                None => (request.clone(), None),
            });
            let (shorter, omissions): (Vec<_>, Vec<_>) = shorter.unzip();
            let mut answers = self.select_many_in(state, &shorter);
            for (answer, omission) in answers.iter_mut().zip(omissions) {
                if let Ok(answer) = answer {
                    answer.left_out.extend(omission);
                }
            }
            return answers;
        }
        let wants_analysis =
            |request: &SelectRequest| request.context.as_ref().is_some_and(Context::wants_analysis);
        let answers = match requests.iter().any(wants_analysis) {
            // Each request has its own files, which are analysed together with its prompt.
            true => requests.iter().map(|one| self.select_analyzed(state, one)).collect(),
            false => {
                let mut answers = state.select_many(requests);
                state.name_held(requests, &mut answers);
                answers
            }
        };
        for answer in &answers {
            let took = answer.as_ref().map_or(Duration::ZERO, |answer| answer.timings.total());
            self.metrics.count_selection(answer, took);
        }
        answers
    }

    /// Replaces the observations of the tools' runs and the weights learned from them; used from
    /// the next selection on. An engine with a log ([`EngineBuilder::feedback`]) does this by
    /// itself.
    ///
    /// ```
    /// # use toolroute_catalog::Catalog;
    /// # use toolroute_rank::engine::Engine;
    /// # use toolroute_rank::engine::{Observations, RunCounts};
    /// # let engine = Engine::builder(Catalog::default()).build()?;
    /// let counts: RunCounts = serde_json::from_str(
    ///     r#"{"tools": {"git__log": {"runs": 50, "successes": 45, "latency_ms": 120}}}"#,
    /// )?;
    /// engine.observe(Observations::from(counts));
    /// assert_eq!(engine.observed().tool("git__log").unwrap().runs, 50);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn observe(&self, observations: Observations) {
        let observations = Arc::new(observations);
        self.replace_inputs(|inputs| inputs.with_observations(observations));
    }

    /// Replaces the weights of the signals from the next selection on, and returns the previous
    /// ones.
    ///
    /// ```
    /// # use toolroute_catalog::Catalog;
    /// # use toolroute_rank::engine::{Engine, SignalWeights};
    /// # let engine = Engine::builder(Catalog::default()).build()?;
    /// let before = engine.set_weights(SignalWeights::OFF);
    /// assert_eq!(before, SignalWeights::default());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_weights(&self, weights: SignalWeights) -> SignalWeights {
        self.replace_inputs(|inputs| inputs.with_weights(weights)).weights
    }

    /// Excludes the tools that `blocked` returns from answers; an answer names them with this
    /// reason. `blocked` is called for each selection, so it must be fast. A later call of `watch`
    /// replaces it.
    #[doc(hidden)] // For our own crates.
    pub fn watch(&self, blocked: impl Fn() -> OpenBreakers + Send + Sync + 'static) {
        let source: BlockedSource = Arc::new(blocked);
        *self.blocked_source.write().unwrap_or_else(PoisonError::into_inner) = Some(source);
    }

    fn refresh_blocked(&self) {
        let source = self.blocked_source.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(blocked) = source.map(|source| source()) else { return };
        if *self.state().inputs.blocked != blocked {
            self.replace_inputs(|inputs| inputs.with_blocked(blocked));
        }
    }

    /// Updates the state with new observations from the log and with the blocked tools.
    pub(super) fn refresh_inputs(&self) {
        self.refresh_blocked();
        if self.recording.is_none() {
            return;
        }
        let log = self.observed();
        if self.log_version.swap(log.version(), Ordering::AcqRel) != log.version() {
            self.replace_inputs(|inputs| inputs.with_observations(log));
        }
    }

    /// Replaces the live inputs, and returns the previous ones.
    fn replace_inputs(&self, next: impl FnOnce(&LiveInputs) -> LiveInputs) -> LiveInputs {
        let replaced = self.replace_state(|before| {
            let inputs = before.inputs.clone();
            Ok::<_, Infallible>((before.with_inputs(next(&inputs)), inputs))
        });
        let Ok(before) = replaced;
        before
    }

    /// The counters since the engine was built.
    #[doc(hidden)] // For our own crates.
    pub fn metrics(&self) -> &Metrics {
        // The queue empties while nothing is recorded, so it is read whenever somebody asks.
        if let Some(recorder) = self.recorder() {
            self.metrics.set_queue(recorder.counts());
        }
        &self.metrics
    }

    /// Fails like [`Engine::select`] if none of the candidates is in the catalog.
    // Hidden: the evaluation uses it to reject rows before it embeds them. Others call `select`.
    #[doc(hidden)]
    pub fn check_candidates(&self, ids: &[String]) -> Result<(), Error> {
        self.state().check_candidates(ids)
    }

    /// Adds, replaces and removes tools. A selection sees all of these changes or none.
    ///
    /// Only new texts are embedded. The keywords of all tools are indexed again, while selections
    /// continue with the previous state. The snapshot's file is not written; use
    /// [`CatalogVectors::save`](super::CatalogVectors::save). If vectors are searched with a graph,
    /// it is kept for unchanged tools, and the others are scanned until an engine is built again;
    /// if these are more than half, all are scanned. Usage ([`EngineBuilder::usage`]) is applied to
    /// the resulting tools.
    ///
    /// ```
    /// # use toolroute_catalog::{Catalog, Change, Tool};
    /// # use toolroute_rank::engine::Engine;
    /// # let tools = vec![Tool::new(None, "read_file", "Reads a file")];
    /// # let engine = Engine::builder(Catalog::from_tools(tools).catalog).build()?;
    /// let report = engine.change(vec![
    ///     Change::Register(Tool::new(None, "send_email", "Sends an email")),
    ///     Change::Remove("read_file".to_owned()),
    /// ])?;
    /// assert_eq!((report.version, report.tools), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Catalog`] for an invalid tool, an id that exists already or one that does not
    /// exist; errors of the embedder. The catalog is unchanged then.
    pub fn change(&self, changes: Vec<Change>) -> Result<ChangeReport, Error> {
        self.replace_state(|before| catalog_change::apply(before, changes))
    }

    /// Replaces the present state by the next, and returns the report about it.
    pub(super) fn replace_state<T, E>(
        &self,
        next: impl FnOnce(&State) -> Result<(State, T), E>,
    ) -> Result<T, E> {
        let _writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let (after, report) = next(&self.state())?;
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(after);
        Ok(report)
    }
}

#[cfg(test)]
mod tests;
