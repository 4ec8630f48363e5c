//! From a catalog and, perhaps, a model to an engine.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};

use super::indexing::{self, IndexReport, OnProgress, Place};
use super::learned::Learned;
use super::metrics::Metrics;
use super::{Engine, EngineConfig, Error, Recorder};
use crate::catalog::Catalog;
use crate::embedding::{CachedEmbedder, Embedder};
use crate::selection::{Fusion, PolicyOrder, SelectionCache, Signals, retrievers};

/// Gathers what an engine needs; [`EngineBuilder::build`] does the work.
#[must_use = "nothing is indexed before `build`"]
pub struct EngineBuilder {
    catalog: Catalog,
    config: EngineConfig,
    embedder: Option<Arc<dyn Embedder>>,
    recorder: Option<Arc<dyn Recorder>>,
    snapshot: Option<Place>,
    on_progress: Option<Box<OnProgress>>,
}

impl EngineBuilder {
    pub(super) fn new(catalog: Catalog) -> Self {
        let config = EngineConfig::default();
        Self { catalog, config, embedder: None, recorder: None, snapshot: None, on_progress: None }
    }

    /// The model. Without one the engine ranks by words alone.
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// Who keeps a log of the tools' runs.
    pub fn recorder(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.recorder = Some(recorder);
        self
    }

    pub fn config(mut self, config: EngineConfig) -> Self {
        self.config = config;
        self
    }

    /// A file that keeps the vectors: what it holds is not embedded again, and what is new is
    /// written to it. One that is damaged or of another model is rebuilt; a file that never was a
    /// snapshot is refused. The folder around it is made where there is none.
    pub fn snapshot(mut self, path: impl Into<PathBuf>) -> Self {
        self.snapshot = Some(Place { path: path.into(), move_foreign: false });
        self
    }

    /// [`EngineBuilder::snapshot`] in a folder of caches, where nobody chose the name: a file there
    /// that never was a snapshot is kept under another name instead.
    pub fn cache(mut self, path: impl Into<PathBuf>) -> Self {
        self.snapshot = Some(Place { path: path.into(), move_foreign: true });
        self
    }

    /// Told how many texts of how many are embedded.
    pub fn on_progress(mut self, tell: impl Fn(usize, usize) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Box::new(tell));
        self
    }

    /// Embeds what the snapshot does not hold, and indexes everything.
    ///
    /// # Errors
    /// Where embedding fails, the configuration is out of range, or the file of
    /// [`EngineBuilder::snapshot`] is somebody's. A snapshot that cannot be read or written is no
    /// error: [`IndexReport`] says what became of it.
    pub fn build(self) -> Result<Engine, Error> {
        check(&self.config)?;
        let tools = self.catalog.tools();
        let order = PolicyOrder::new(tools.iter().map(AsRef::as_ref));
        let signals = Signals::new(tools, |id| self.catalog.row(id));
        let (mut report, mut approximate, mut vectors) = (IndexReport::default(), false, None);
        if let Some(embedder) = &self.embedder {
            let snapshot = self.snapshot.as_ref();
            let tell = self.on_progress.as_deref();
            let kind = self.config.index;
            let (index, done) = indexing::index(tools, embedder.as_ref(), kind, snapshot, tell)?;
            (report, approximate) = (done, !index.is_exact());
            vectors = Some(index.into());
        }
        let retrievers = retrievers(tools, vectors, self.config.fusion);
        let query_cache = self.config.query_cache;
        let learned = Learned::default().weighing(self.config.signals);
        Ok(Engine {
            cache: SelectionCache::new(self.config.cache),
            metrics: Metrics::default(),
            recorder: self.recorder,
            config: self.config,
            catalog: Arc::new(self.catalog),
            order,
            signals,
            learned: RwLock::new(Arc::new(learned)),
            embedder: self.embedder.map(|model| cached(model, query_cache)),
            retrievers,
            approximate,
            report,
        })
    }
}

/// The model behind a cache of so many prompts; 0 is the model alone.
fn cached(model: Arc<dyn Embedder>, prompts: usize) -> Arc<dyn Embedder> {
    match NonZeroUsize::new(prompts) {
        Some(prompts) => Arc::new(CachedEmbedder::new(model, prompts)),
        None => model,
    }
}

fn check(config: &EngineConfig) -> Result<(), Error> {
    if !(0.0..=1.0).contains(&config.min_confidence) {
        return Err(Error::BadConfidence { found: config.min_confidence });
    }
    match config.fusion {
        Fusion::Weighted { semantic_weight: found, .. } if !(0.0..=1.0).contains(&found) => {
            Err(Error::BadWeight { found })
        }
        Fusion::Rrf { k: found } if !(found.is_finite() && found >= 0.0) => {
            Err(Error::BadRrfK { found })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fusion_that_would_give_no_order_is_refused() {
        let build = |fusion| {
            let config = EngineConfig { fusion, ..EngineConfig::default() };
            Engine::builder(Catalog::default()).config(config).build().map(drop)
        };
        for found in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0] {
            let rrf = build(Fusion::Rrf { k: found });
            assert!(matches!(rrf, Err(Error::BadRrfK { .. })), "{found}: {rrf:?}");
            let Fusion::Weighted { normalization, .. } = Fusion::default() else { panic!() };
            let weighted = build(Fusion::Weighted { semantic_weight: found, normalization });
            assert!(matches!(weighted, Err(Error::BadWeight { .. })), "{found}: {weighted:?}");
        }
        build(Fusion::Rrf { k: 0.0 }).unwrap();
    }
}
