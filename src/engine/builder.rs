//! From a catalog and, perhaps, a model to an engine.

use std::path::PathBuf;
use std::sync::Arc;

use super::indexing::{self, IndexReport, OnProgress};
use super::{Engine, EngineConfig, Error};
use crate::catalog::Catalog;
use crate::embedding::Embedder;
use crate::selection::{
    Fusion, HybridRetriever, KeywordRetriever, PolicyOrder, Retriever, SemanticRetriever,
};

/// Gathers what an engine needs; [`EngineBuilder::build`] does the work.
#[must_use = "nothing is indexed before `build`"]
pub struct EngineBuilder {
    catalog: Catalog,
    config: EngineConfig,
    embedder: Option<Arc<dyn Embedder>>,
    snapshot: Option<PathBuf>,
    on_progress: Option<Box<OnProgress>>,
}

impl EngineBuilder {
    pub(super) fn new(catalog: Catalog) -> Self {
        let config = EngineConfig::default();
        Self { catalog, config, embedder: None, snapshot: None, on_progress: None }
    }

    /// The model. Without one the engine ranks by words alone.
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    pub fn config(mut self, config: EngineConfig) -> Self {
        self.config = config;
        self
    }

    /// A file that keeps the vectors: what it holds is not embedded again, and what is new is
    /// written to it. One that is damaged or of another model is rebuilt.
    pub fn snapshot(mut self, path: impl Into<PathBuf>) -> Self {
        self.snapshot = Some(path.into());
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
    /// Where embedding fails, or the configuration is out of range. A snapshot that cannot be
    /// read or written is no error: [`IndexReport`] says what became of it.
    pub fn build(self) -> Result<Engine, Error> {
        check(&self.config)?;
        let tools = self.catalog.tools();
        let keyword = KeywordRetriever::new(tools);
        let order = PolicyOrder::new(tools.iter().map(AsRef::as_ref));
        let mut retrievers: Vec<Arc<dyn Retriever>> = vec![keyword.clone()];
        let (mut report, mut approximate) = (IndexReport::default(), false);
        if let Some(embedder) = &self.embedder {
            let snapshot = self.snapshot.as_deref();
            let tell = self.on_progress.as_deref();
            let kind = self.config.index;
            let (index, done) = indexing::index(tools, embedder.as_ref(), kind, snapshot, tell)?;
            (report, approximate) = (done, !index.is_exact());
            let semantic = SemanticRetriever::new(index.into());
            let fusion = self.config.fusion;
            retrievers.push(semantic.clone());
            retrievers.push(HybridRetriever::new(semantic, keyword, fusion));
        }
        Ok(Engine {
            config: self.config,
            catalog: Arc::new(self.catalog),
            order,
            embedder: self.embedder,
            retrievers,
            approximate,
            report,
        })
    }
}

fn check(config: &EngineConfig) -> Result<(), Error> {
    match config.fusion {
        Fusion::Weighted { semantic_weight: found, .. } if !(0.0..=1.0).contains(&found) => {
            Err(Error::BadWeight { found })
        }
        _ => Ok(()),
    }
}
