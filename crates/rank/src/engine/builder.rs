//! Builds an engine from a catalog and, optionally, a model.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use super::indexing::{self, IndexReport, OnProgress, Place};
use super::live_inputs::LiveInputs;
use super::recording::{LogPlace, Recording};
use super::state::{CatalogIndex, EngineParts, State};
use super::{Engine, EngineConfig, Error, SelectRequest, learning};
use crate::catalog::Catalog;
use crate::embedding::{CachedEmbedder, Embedder, VectorCheck};
use crate::feedback::{StoreOptions, UsageVectors};
use crate::index::{self, IndexKind};
use crate::selection::{Fusion, KeywordRetriever, NEAREST, ToolFilter};

/// Collects the parts of an engine; [`EngineBuilder::build`] embeds and indexes.
#[must_use = "nothing is indexed before `build`"]
pub struct EngineBuilder {
    catalog: Catalog,
    config: EngineConfig,
    embedder: Option<Arc<dyn Embedder>>,
    snapshot: Option<Place>,
    usage: Option<Arc<UsageVectors>>,
    log: Option<LogPlace>,
    on_progress: Option<Box<OnProgress>>,
}

impl EngineBuilder {
    pub(super) fn new(catalog: Catalog) -> Self {
        Self {
            catalog,
            config: EngineConfig::default(),
            embedder: None,
            snapshot: None,
            usage: None,
            log: None,
            on_progress: None,
        }
    }

    /// Sets the model. Without one, the engine ranks by keywords only. Vectors that are not of the
    /// model's dimension, or whose length is not 1, are an error of what asked for them.
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(Arc::new(VectorCheck::new(embedder)));
        self
    }

    /// Sets the configuration; it is checked by [`EngineBuilder::build`].
    pub fn config(mut self, config: EngineConfig) -> Self {
        self.config = config;
        self
    }

    /// Sets a file for the vectors. Texts in it are not embedded again, and new ones are added. A
    /// damaged snapshot, or one of another model, is rebuilt; any other kind of file is an error.
    /// Missing folders are created.
    pub fn snapshot(mut self, path: impl AsRef<Path>) -> Self {
        self.snapshot = Some(Place { path: path.as_ref().to_owned(), move_foreign: false });
        self
    }

    /// The same as [`EngineBuilder::snapshot`], for a file in a cache folder whose name the user
    /// did not choose: any other kind of file is renamed instead of refused.
    pub fn cache(mut self, path: impl AsRef<Path>) -> Self {
        self.snapshot = Some(Place { path: path.as_ref().to_owned(), move_foreign: true });
        self
    }

    /// Sets usage learned from past prompts, which moves the vectors of the tools that served them.
    /// Ignored without a model. The snapshot contains the vectors without usage.
    pub fn usage(mut self, usage: UsageVectors) -> Self {
        self.usage = Some(Arc::new(usage));
        self
    }

    /// Sets a log of executions, which [`Engine::record`] writes and [`Engine::observed`] reads. It
    /// is created if it does not exist, in a folder that must exist.
    pub fn feedback(mut self, path: impl AsRef<Path>, options: StoreOptions) -> Self {
        self.log = Some(LogPlace { path: path.as_ref().to_owned(), options });
        self
    }

    /// Sets a callback for progress, which gets the number of embedded texts and the total.
    pub fn on_progress(mut self, tell: impl Fn(usize, usize) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Box::new(tell));
        self
    }

    /// Embeds the texts that are not in the snapshot, and indexes all tools.
    ///
    /// # Errors
    /// If embedding fails, the configuration is out of range, the usage belongs to another model,
    /// the file of [`EngineBuilder::snapshot`] is not a snapshot, or the log of
    /// [`EngineBuilder::feedback`] is unusable. A snapshot that cannot be read or written is not an
    /// error: [`IndexReport`] has its state.
    pub fn build(mut self) -> Result<Engine, Error> {
        check(&self.config)?;
        if self.config.fusion.is_plain() {
            // Usage changes cosines, which the plain blend uses unchanged.
            self.usage = None;
        }
        let tools = self.catalog.tools();
        // Keyword index and vectors are independent and take most of the start-up time. They run on
        // the caller's thread pool, because callers may have their own.
        let (vectors, keyword) = rayon::join(
            || self.embedder.as_ref().map(|embedder| self.index(embedder.as_ref())),
            || KeywordRetriever::new(tools),
        );
        let (indexed, report) = match vectors.transpose()? {
            Some((indexed, report)) => {
                let scanned = reason_to_scan(&self.config, report.tools);
                (Some(indexed), IndexReport { scanned, ..report })
            }
            None => (None, IndexReport::default()),
        };
        let query_cache = self.config.query_cache;
        let embedder = self.embedder.map(|model| cached(model, query_cache));
        let inputs = LiveInputs::new(self.config.signals);
        let start = |log| Recording::start(log, embedder.clone());
        let recording = self.log.map(start).transpose()?;
        let config = Arc::new(self.config);
        let (held, background) = (Arc::default(), Arc::default());
        let parts = EngineParts { config, embedder, usage: self.usage, inputs, held, background };
        let state = State::new(parts, self.catalog, (indexed, keyword), 0);
        let usage = state.learned.as_ref().map(|learned| learned.report);
        Ok(Engine::new(state, IndexReport { usage, ..report }, recording))
    }

    /// Indexes the tools' vectors, moved by usage if there is any.
    fn index(&self, embedder: &dyn Embedder) -> Result<(CatalogIndex, IndexReport), Error> {
        let (tools, snapshot) = (self.catalog.tools(), self.snapshot.as_ref());
        let tell = self.on_progress.as_deref();
        let Some(usage) = &self.usage else {
            return indexing::index(tools, embedder, self.config.index, snapshot, tell);
        };
        let kind = learning::kind_of_moved(self.config.index);
        let exact = IndexKind::Exact;
        let (own, mut report) = indexing::index(tools, embedder, exact, snapshot, tell)?;
        report.index = Some(kind);
        let search = |vectors| Ok(index::build(vectors, kind)?);
        Ok((learning::apply(usage, tools, embedder.identity(), (own.vectors, search))?, report))
    }
}

/// Adds a cache for the vectors of prompts; with `prompts` 0, returns the model unchanged.
fn cached(model: Arc<dyn Embedder>, prompts: usize) -> Arc<dyn Embedder> {
    match NonZeroUsize::new(prompts) {
        Some(prompts) => Arc::new(CachedEmbedder::new(model, prompts)),
        None => model,
    }
}

/// Returns why vectors are scanned although the configuration asks for a graph.
fn reason_to_scan(config: &EngineConfig, tools: usize) -> Option<String> {
    match config.index {
        IndexKind::Hnsw if config.fusion.is_plain() => {
            Some("the plain blend needs the score of each of them".to_owned())
        }
        IndexKind::Hnsw if tools <= NEAREST => {
            Some(format!("a search is for the {NEAREST} nearest, and there are {tools} tools"))
        }
        _ => None,
    }
}

fn check(config: &EngineConfig) -> Result<(), Error> {
    if !(0.0..=1.0).contains(&config.min_confidence) {
        return Err(Error::BadConfidence { found: config.min_confidence });
    }
    config.band_for(&SelectRequest::default())?;
    config.policy_for(&SelectRequest::default())?;
    if let Some((found, _)) = config.small_models.bad_pattern() {
        return Err(Error::BadModelRule { found: found.to_owned() });
    }
    for patterns in config.profiles.values() {
        ToolFilter::new(Some(patterns), &[], None)?;
    }
    match config.fusion {
        Fusion::Weighted { semantic_weight: found } if !(0.0..=1.0).contains(&found) => {
            Err(Error::BadWeight { found })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_patterns_that_cannot_be_read_are_refused_at_once() {
        let mut config = EngineConfig::default();
        config.profiles.insert("few".into(), vec!["git__[".into()]);
        let built = Engine::builder(Catalog::default()).config(config).build().map(drop);
        assert!(built.unwrap_err().to_string().contains("git__["));
        let mut config = EngineConfig::default();
        config.small_models.patterns.push("(".into());
        let built = Engine::builder(Catalog::default()).config(config).build().map(drop);
        assert!(matches!(built, Err(Error::BadModelRule { .. })));
    }

    #[test]
    fn a_fusion_that_would_give_no_order_is_refused() {
        let build = |fusion| {
            let config = EngineConfig { fusion, ..EngineConfig::default() };
            Engine::builder(Catalog::default()).config(config).build().map(drop)
        };
        for found in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0] {
            let weighted = build(Fusion::Weighted { semantic_weight: found });
            assert!(matches!(weighted, Err(Error::BadWeight { .. })), "{found}: {weighted:?}");
        }
    }
}
