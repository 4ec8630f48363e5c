//! A state of the catalog, with everything that is derived from it. A selection uses one state
//! throughout.

use std::sync::{Arc, Mutex, OnceLock};

use serde::Serialize;

use super::background::Background;
use super::live_inputs::{LiveInputs, RowObservations};
use super::request::LazySuspicions;
use super::{EngineConfig, Error};
use crate::catalog::{Catalog, Tool};
use crate::embedding::Embedder;
use crate::feedback::{ServedScores, UsageRows, UsageVectors};
use crate::index::{VectorIndex, Vectors};
use crate::query::Lexicon;
use crate::selection::{
    KeywordRetriever, PolicyOrder, Retriever, SemanticRetriever, Signals, ToolActions,
    background_evidence, retrievers,
};

/// A catalog and its indexes, with the same rows. Immutable: a change of the catalog creates
/// another state, and running selections finish with this one.
#[derive(Clone)]
pub(super) struct State {
    pub config: Arc<EngineConfig>,
    pub catalog: Arc<Catalog>,
    pub order: Arc<PolicyOrder>,
    /// What the tools declare about the prompts that they serve.
    pub signals: Arc<Signals>,
    /// What changes while the engine runs, with observations by row.
    pub inputs: LiveInputs,
    pub observed: Arc<RowObservations>,
    pub embedder: Option<Arc<dyn Embedder>>,
    /// The keyword index of the tools.
    pub keyword: Arc<KeywordRetriever>,
    /// One per strategy, in the order keyword, semantic, hybrid; the last two need a model.
    pub retrievers: Vec<Arc<dyn Retriever>>,
    /// The search over the rows' vectors, moved by usage if there is any.
    pub search: Option<Arc<dyn VectorIndex>>,
    /// One per row.
    pub suspicions: Arc<[LazySuspicions]>,
    /// One row per tool, not moved by usage; `None` without a model.
    pub vectors: Option<Arc<Vectors>>,
    pub usage: Option<Arc<UsageVectors>>,
    /// The part of `usage` that applies to the catalog.
    pub learned: Option<AppliedUsage>,
    /// Tools that are held back: answers name them but do not contain them.
    pub held: Arc<HeldTools>,
    /// The vectors of the background prompts, to which no catalog is tailored.
    pub background: Arc<Background>,
    /// What decides whether tools fit; computed lazily.
    pub fit: Arc<FitBasis>,
    /// The number of changes of the catalog since the engine was built.
    pub version: u64,
}

/// Properties of the whole catalog that decide whether its tools fit a prompt.
#[derive(Default)]
pub(super) struct FitBasis {
    background: OnceLock<f32>,
    actions: OnceLock<ToolActions>,
}

/// The vectors of a catalog's rows, and a search over them, moved by usage if there is any.
pub(super) struct CatalogIndex {
    pub vectors: Arc<Vectors>,
    pub search: Arc<dyn VectorIndex>,
    pub learned: Option<AppliedUsage>,
}

/// How much of the usage applies to an engine's catalog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UsageReport {
    /// Number of tools of the catalog whose vectors were moved.
    pub applied: usize,
    /// Number of tools with usage that are not in the catalog.
    pub absent: usize,
}

/// The part of the usage that applies to a catalog.
#[derive(Clone)]
pub(super) struct AppliedUsage {
    pub rows: Arc<UsageRows>,
    pub report: UsageReport,
    pub fingerprint: String,
    /// What past prompts scored.
    pub served: Option<ServedScores>,
}

/// A tool that must be neither found nor called.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldTool {
    pub tool: Arc<Tool>,
    /// Why, and how to release it.
    pub because: String,
}

/// The tools that are held back, and the state whose catalog includes them.
#[derive(Default)]
pub(super) struct HeldTools {
    pub tools: Vec<HeldTool>,
    /// Computed lazily, with the catalog from which it was computed.
    pub with: Mutex<Option<(Arc<Catalog>, Arc<State>)>>,
}

/// The parts of a state that do not depend on the catalog; the next state reuses them.
#[derive(Clone)]
pub(super) struct EngineParts {
    pub config: Arc<EngineConfig>,
    pub embedder: Option<Arc<dyn Embedder>>,
    pub usage: Option<Arc<UsageVectors>>,
    pub inputs: LiveInputs,
    pub held: Arc<HeldTools>,
    pub background: Arc<Background>,
}

impl State {
    /// The pair is the catalog's vectors, if there is a model, and its keyword index.
    pub fn new(
        parts: EngineParts,
        catalog: Catalog,
        (index, keyword): (Option<CatalogIndex>, Arc<KeywordRetriever>),
        version: u64,
    ) -> Self {
        let EngineParts { config, embedder, usage, inputs, held, background } = parts;
        let tools = catalog.tools();
        let order = Arc::new(PolicyOrder::new(tools.iter().map(AsRef::as_ref)));
        let signals = Signals::new(tools, |id| catalog.row(id), &config.category_words);
        let observed = Arc::new(RowObservations::new(&catalog, &inputs.observations));
        let (mut search, mut vectors, mut learned) = (None, None, None);
        let mut semantic = None;
        if let Some(index) = index {
            let rows = index.learned.as_ref().map(|learned| learned.rows.clone());
            (vectors, learned) = (Some(index.vectors), index.learned);
            semantic = Some(SemanticRetriever::new(index.search.clone(), rows));
            search = Some(index.search);
        }
        let retrievers = retrievers(keyword.clone(), semantic, config.fusion);
        let suspicions = tools.iter().map(|_| LazySuspicions::default()).collect();
        // Computed now, so that the first prompt need not wait.
        catalog.link_needs();
        let catalog = Arc::new(catalog);
        Self {
            config,
            catalog,
            suspicions,
            order,
            signals,
            inputs,
            observed,
            embedder,
            keyword,
            retrievers,
            search,
            vectors,
            usage,
            learned,
            held,
            background,
            fit: Arc::default(),
            version,
        }
    }

    pub fn parts(&self) -> EngineParts {
        EngineParts {
            config: self.config.clone(),
            embedder: self.embedder.clone(),
            usage: self.usage.clone(),
            inputs: self.inputs.clone(),
            held: self.held.clone(),
            background: self.background.clone(),
        }
    }

    /// The same catalog with other live inputs.
    pub fn with_inputs(&self, inputs: LiveInputs) -> Self {
        let observed = Arc::new(RowObservations::new(&self.catalog, &inputs.observations));
        Self { inputs, observed, ..self.clone() }
    }

    /// Returns the words of the model and of the tools, for reading prompts; `None` without a
    /// model.
    pub fn vocabulary(&self) -> Option<Vocabulary<'_>> {
        let embedder = self.embedder.as_deref()?;
        Some(Vocabulary { embedder, tools: &self.keyword })
    }

    /// Returns the background evidence of the catalog: what 90 % of ordinary prompts reach in it.
    /// Returns 0 if the model's calibration does not use it.
    pub fn background_evidence(&self) -> Result<f32, Error> {
        let Some((model, tools)) = self.with_vectors() else { return Ok(0.0) };
        if model.calibration().is_none_or(|calibration| calibration.background == 0.0) {
            return Ok(0.0);
        }
        if let Some(found) = self.fit.background.get() {
            return Ok(*found);
        }
        let prompts = self.background.vectors(model)?;
        Ok(*self.fit.background.get_or_init(|| background_evidence(prompts, tools)))
    }

    /// What each tool does.
    pub fn tool_actions(&self) -> &ToolActions {
        self.fit.actions.get_or_init(|| ToolActions::new(self.catalog.tools()))
    }

    /// Whether a search may miss rows.
    pub fn is_approximate(&self) -> bool {
        self.search.as_ref().is_some_and(|search| !search.is_exact())
    }

    /// The model and the rows' vectors, if both exist.
    pub fn with_vectors(&self) -> Option<(&dyn Embedder, &Vectors)> {
        Some((self.embedder.as_deref()?, self.vectors.as_deref()?))
    }
}

/// The words of a model, and those of a catalog's tools.
pub(super) struct Vocabulary<'a> {
    embedder: &'a dyn Embedder,
    tools: &'a KeywordRetriever,
}

impl Lexicon for Vocabulary<'_> {
    fn contains(&self, word: &str) -> bool {
        self.embedder.knows_word(word)
    }

    fn catalog_words(&self) -> &[(Box<str>, u32)] {
        self.tools.words()
    }
}
