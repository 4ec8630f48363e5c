//! The log of executions: the engine writes to it in the background, and reads observations from it.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use super::{Engine, Error};
use crate::embedding::{self, Embedder, Role};
use crate::feedback::{
    Execution, ExecutionStore, Observations, PromptVector, RecordOutcome, Recorder, RecorderHooks,
    StoreError, StoreOptions,
};

/// Prompts that are embedded at a time in the background. The number is small, because a selection
/// may wait for them. Most prompts were embedded for their selection already, and their vectors are
/// cached.
const CHUNK: usize = 8;

/// The path of the log, and its options.
pub(super) struct LogPlace {
    pub path: PathBuf,
    pub options: StoreOptions,
}

/// The queue of executions to write, and the latest observations from the log.
pub(super) struct Recording {
    recorder: Recorder,
    observed: Arc<RwLock<Arc<Observations>>>,
}

impl Recording {
    pub fn start(place: LogPlace, embedder: Option<Arc<dyn Embedder>>) -> Result<Self, Error> {
        let LogPlace { path, options } = place;
        let embedder = embedder.filter(|_| options.keep_vectors);
        let store = ExecutionStore::open(&path, options)?;
        let observed = Arc::new(RwLock::new(Arc::new(Observations::load(&store)?.numbered(1))));
        let (shown, mut version) = (observed.clone(), 1);
        let refresh = move |store: &ExecutionStore| match Observations::load(store) {
            Ok(read) => {
                version += 1;
                let read = Arc::new(read.numbered(version));
                *shown.write().unwrap_or_else(PoisonError::into_inner) = read;
            }
            // The previous observations stay in use.
            Err(error) => tracing::warn!("the log of executions is not read: {error}"),
        };
        let mut hooks =
            RecorderHooks { refresh: Some(Box::new(refresh)), ..RecorderHooks::default() };
        if let Some(embedder) = embedder {
            hooks.prepare = Some(Box::new(move |batch| {
                for chunk in batch.chunks_mut(CHUNK) {
                    if let Err(error) = add_vectors(chunk, embedder.as_ref()) {
                        tracing::debug!("executions are logged without vectors: {error}");
                    }
                }
            }));
        }
        let started = Recorder::start(store, hooks);
        let recorder = started.map_err(|error| StoreError::Io {
            path,
            what: error.to_string(),
            cure: "end other programs: the system gave no thread",
        })?;
        Ok(Self { recorder, observed })
    }
}

/// Embeds the prompts that have no vector.
#[doc(hidden)] // For our own crates.
pub fn add_vectors(
    executions: &mut [Execution],
    embedder: &dyn Embedder,
) -> Result<(), embedding::Error> {
    let has_none =
        |execution: &&mut Execution| execution.vector.is_none() && execution.prompt.is_some();
    let mut bare: Vec<&mut Execution> = executions.iter_mut().filter(has_none).collect();
    if bare.is_empty() {
        return Ok(());
    }
    let texts: Vec<&str> = bare.iter().filter_map(|run| run.prompt.as_deref()).collect();
    let embedded = embedder.embed(&texts, Role::Query)?;
    for (run, vector) in bare.iter_mut().zip(embedded.vectors.outer_iter()) {
        let model = embedder.identity().fingerprint.clone();
        run.vector = Some(PromptVector { model, values: vector.to_vec() });
    }
    Ok(())
}

impl Engine {
    /// Counts an execution and queues it for the log, which takes about a microsecond. It is
    /// written in the background, with the vector of its prompt.
    ///
    /// ```
    /// # use toolroute_catalog::Catalog;
    /// # use toolroute_rank::engine::Engine;
    /// # use toolroute_rank::feedback::{Execution, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("log.db");
    /// let engine = Engine::builder(Catalog::default())
    ///     .feedback(&path, StoreOptions::default())
    ///     .build()?;
    /// engine.record(Execution::new("fs__read_file".into(), "read the file", true))?;
    /// engine.close();
    /// assert_eq!(engine.observed().tool("fs__read_file").unwrap().runs, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoFeedback`] without [`super::EngineBuilder::feedback`]; an error if the execution
    /// is invalid.
    pub fn record(&self, execution: Execution) -> Result<RecordOutcome, Error> {
        let recorder = &self.recording()?.recorder;
        let (success, duration_ms) = (execution.success, execution.duration_ms);
        let recorded = recorder.record(execution)?;
        if recorded == RecordOutcome::Queued {
            self.metrics.count_run(success, duration_ms);
        }
        Ok(recorded)
    }

    /// Writes queued executions to the log and drops cached answers. Call it before the program
    /// ends; the engine stays usable.
    ///
    /// ```
    /// # use toolroute_catalog::Catalog;
    /// # use toolroute_rank::engine::Engine;
    /// let engine = Engine::builder(Catalog::default()).build()?;
    /// engine.close();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(&self) {
        if let Some(Err(error)) = self.recorder().map(Recorder::flush) {
            tracing::warn!("the log of runs is not complete: {error}");
        }
        self.cache.clear();
    }

    /// The observations from the engine's log, at most a few seconds old; empty without a log.
    ///
    /// ```
    /// # use toolroute_catalog::Catalog;
    /// # use toolroute_rank::engine::Engine;
    /// let engine = Engine::builder(Catalog::default()).build()?;
    /// assert_eq!(engine.observed().executions(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn observed(&self) -> Arc<Observations> {
        let Some(recording) = &self.recording else {
            return Arc::clone(&self.state().inputs.observations);
        };
        recording.observed.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The queue of the log, to wait for it or to read its counters; `None` without a log.
    /// Executions recorded here instead of with [`Engine::record`] are not counted.
    // Hidden: servers use it; other programs use `record` and `close`.
    #[doc(hidden)]
    pub fn recorder(&self) -> Option<&Recorder> {
        self.recording.as_ref().map(|recording| &recording.recorder)
    }

    fn recording(&self) -> Result<&Recording, Error> {
        self.recording.as_ref().ok_or(Error::NoFeedback)
    }
}
