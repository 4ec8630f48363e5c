//! Executions on their way from an engine to a log, and what the log says back.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use rayon::prelude::*;

use super::neighbors::cosine;
use super::{Engine, Error};
use crate::embedding::{Embedder, Role};
use crate::feedback::{
    DUPLICATE, Execution, ExecutionStore, NearDuplicate, Observations, PromptVector, RecordOutcome,
    Recorder, RecorderCounts, RecorderHooks, RecorderOptions, StoreError, StoreOptions,
};
use crate::selection::Strategy;

/// Prompts embedded at a time in the background: a selection that comes meanwhile waits for these
/// few at most. Most were embedded for their selection, and are remembered.
const CHUNK: usize = 8;

/// A log, and what is kept in it.
pub(super) struct LogPlace {
    pub path: PathBuf,
    pub options: StoreOptions,
}

/// A log that an engine writes to, and what it says.
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
            // What was seen before still holds.
            Err(error) => tracing::warn!("the log of executions is not read: {error}"),
        };
        let mut hooks =
            RecorderHooks { refresh: Some(Box::new(refresh)), ..RecorderHooks::default() };
        if let Some(embedder) = embedder {
            hooks.prepare = Some(Box::new(move |batch| add_vectors(batch, embedder.as_ref())));
        }
        let started = Recorder::start(store, RecorderOptions::default(), hooks);
        let recorder = started.map_err(|error| StoreError::Io {
            path,
            what: error.to_string(),
            cure: "end other programs: the system gave no thread",
        })?;
        Ok(Self { recorder, observed })
    }
}

/// Embeds the prompts that came without a vector. One that cannot be embedded goes without.
fn add_vectors(batch: &mut [Execution], embedder: &dyn Embedder) {
    let has_none =
        |execution: &&mut Execution| execution.vector.is_none() && execution.prompt.is_some();
    let mut bare: Vec<&mut Execution> = batch.iter_mut().filter(has_none).collect();
    for chunk in bare.chunks_mut(CHUNK) {
        let texts: Vec<&str> = chunk.iter().filter_map(|run| run.prompt.as_deref()).collect();
        let embedded = match embedder.embed(&texts, Role::Query) {
            Ok(embedded) => embedded,
            Err(error) => {
                tracing::debug!("executions are logged without vectors: {error}");
                continue;
            }
        };
        for (run, vector) in chunk.iter_mut().zip(embedded.vectors.outer_iter()) {
            let model = embedder.identity().fingerprint.clone();
            run.vector = Some(PromptVector { model, values: vector.to_vec() });
        }
    }
}

impl Engine {
    /// Takes an execution for the log, in about a microsecond; it is written in the background, with
    /// the vector of its prompt.
    ///
    /// # Errors
    /// [`Error::NoFeedback`] without [`super::EngineBuilder::feedback`]; and where the execution
    /// cannot be logged.
    pub fn record(&self, execution: Execution) -> Result<RecordOutcome, Error> {
        let recorder = &self.recording()?.recorder;
        self.metrics.executed(&execution);
        let recorded = recorder.record(execution)?;
        self.metrics.waiting(recorder.counts().waiting());
        Ok(recorded)
    }

    /// [`Engine::record`] of what an executor has run: without a log it is only counted.
    #[cfg(feature = "execution")]
    pub(super) fn note(&self, execution: Execution) {
        if self.recording.is_none() {
            self.metrics.executed(&execution);
        } else if let Err(error) = self.record(execution) {
            tracing::warn!("a run is not logged: {error}");
        }
    }

    /// Ends in good order: what is not written yet is written, and cached answers are dropped.
    pub fn close(&self) {
        if let Some(recording) = &self.recording {
            if let Err(error) = recording.recorder.flush() {
                tracing::warn!("the log of runs is not complete: {error}");
            }
            self.metrics.waiting(recording.recorder.counts().waiting());
        }
        self.cache.clear();
    }

    /// What the log says, as of some seconds ago at most; nothing without a log.
    pub fn observed(&self) -> Arc<Observations> {
        let Some(recording) = &self.recording else { return Arc::default() };
        recording.observed.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until what was recorded is written and [`Engine::observed`] knows it.
    ///
    /// # Errors
    /// [`Error::NoFeedback`]; and where something could not be written.
    pub fn flush_feedback(&self) -> Result<(), Error> {
        Ok(self.recording()?.recorder.flush()?)
    }

    /// What became of recorded executions; `None` without a log.
    pub fn feedback_counts(&self) -> Option<RecorderCounts> {
        self.recording.as_ref().map(|recording| recording.recorder.counts())
    }

    fn recording(&self) -> Result<&Recording, Error> {
        self.recording.as_ref().ok_or(Error::NoFeedback)
    }

    /// Pairs of tools whose texts mean nearly the same, by rows. It compares each with each: for
    /// maintenance, not for answers.
    ///
    /// # Errors
    /// [`Error::NoModel`].
    pub fn near_duplicates(&self) -> Result<Vec<NearDuplicate>, Error> {
        let state = self.state();
        let no_model = Error::NoModel { strategy: Strategy::Semantic };
        let vectors = state.vectors.as_deref().ok_or(no_model)?;
        let rows = 0..state.catalog.len() as u32;
        let pairs_of = |row: u32| {
            let others = (row + 1..rows.end).map(move |other| (other, cosine(vectors, row, other)));
            others.filter(|(_, cosine)| *cosine >= DUPLICATE).collect::<Vec<_>>()
        };
        let pairs: Vec<_> = rows.clone().into_par_iter().map(pairs_of).collect();
        let id = |row: u32| state.catalog.tools()[row as usize].id.clone();
        let named = rows.zip(pairs).flat_map(|(row, near)| {
            let pair = |(other, cosine)| NearDuplicate { a: id(row), b: id(other), cosine };
            near.into_iter().map(pair).collect::<Vec<_>>()
        });
        Ok(named.collect())
    }
}
