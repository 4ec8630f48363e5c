//! What a selection looks at from its first step to its last: one state of the catalog, with all
//! that was made from it.

use std::sync::Arc;

use super::EngineConfig;
use super::held::Held;
use super::learning::Learned;
use super::live_inputs::{LiveInputs, RowObservations};
use super::request::Looked;
use crate::catalog::Catalog;
use crate::embedding::Embedder;
use crate::feedback::UsageVectors;
use crate::index::{VectorIndex, Vectors};
use crate::query::Lexicon;
use crate::selection::{
    KeywordRetriever, PolicyOrder, Retriever, SemanticRetriever, Signals, retrievers,
};

/// A catalog and its indexes, whose rows agree. Nobody changes one: a change of the catalog makes
/// another, and who still holds this one goes on with it.
#[derive(Clone)]
pub(super) struct State {
    pub config: Arc<EngineConfig>,
    pub catalog: Arc<Catalog>,
    pub order: Arc<PolicyOrder>,
    /// What the tools declare of when they are right.
    pub signals: Arc<Signals>,
    /// What changes while the engine runs, and its observations by row.
    pub inputs: LiveInputs,
    pub observed: Arc<RowObservations>,
    pub embedder: Option<Arc<dyn Embedder>>,
    /// The words of the tools.
    pub keyword: Arc<KeywordRetriever>,
    /// One a strategy, in the order keyword, semantic, hybrid; the last two need a model.
    pub retrievers: Vec<Arc<dyn Retriever>>,
    /// The search over the rows' vectors, or over what learning made of them.
    pub search: Option<Arc<dyn VectorIndex>>,
    /// What is suspicious in each tool, as far as somebody asked.
    pub looked: Arc<[Looked]>,
    /// A row a tool, before anything was learned; none without a model.
    pub vectors: Option<Arc<Vectors>>,
    pub usage: Option<Arc<UsageVectors>>,
    /// What of `usage` concerns the catalog.
    pub learned: Option<Learned>,
    /// What nobody may find, and answers name.
    pub held: Arc<Held>,
    /// Changes of the catalog since the engine was built.
    pub version: u64,
}

/// The vectors of a catalog's rows, and a search over them or over what learning made of them.
pub(super) struct Indexed {
    pub vectors: Arc<Vectors>,
    pub index: Arc<dyn VectorIndex>,
    pub learned: Option<Learned>,
}

/// What stays the same from one state of an engine to the next.
#[derive(Clone)]
pub(super) struct Lasting {
    pub config: Arc<EngineConfig>,
    pub embedder: Option<Arc<dyn Embedder>>,
    pub usage: Option<Arc<UsageVectors>>,
    pub inputs: LiveInputs,
    pub held: Arc<Held>,
}

impl State {
    /// `indexed` are the catalog's vectors, where there is a model, and its words.
    pub fn new(
        lasting: Lasting,
        catalog: Catalog,
        indexed: (Option<Indexed>, Arc<KeywordRetriever>),
        version: u64,
    ) -> Self {
        let Lasting { config, embedder, usage, inputs, held } = lasting;
        let tools = catalog.tools();
        let order = Arc::new(PolicyOrder::new(tools.iter().map(AsRef::as_ref)));
        let signals = Signals::new(tools, |id| catalog.row(id), &config.category_words);
        let observed = Arc::new(RowObservations::new(&catalog, &inputs.observations));
        let (mut search, mut vectors, mut learned) = (None, None, None);
        let mut semantic = None;
        let (indexed, keyword) = indexed;
        if let Some(indexed) = indexed {
            let rows = indexed.learned.as_ref().map(|learned| learned.rows.clone());
            (vectors, learned) = (Some(indexed.vectors), indexed.learned);
            semantic = Some(SemanticRetriever::with_usage(indexed.index.clone(), rows));
            search = Some(indexed.index);
        }
        let retrievers = retrievers(keyword.clone(), semantic, config.fusion);
        let looked = tools.iter().map(|_| Looked::default()).collect();
        let catalog = Arc::new(catalog);
        Self {
            config,
            catalog,
            looked,
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
            version,
        }
    }

    pub fn lasting(&self) -> Lasting {
        Lasting {
            config: self.config.clone(),
            embedder: self.embedder.clone(),
            usage: self.usage.clone(),
            inputs: self.inputs.clone(),
            held: self.held.clone(),
        }
    }

    /// This with other observations or weights.
    pub fn with_inputs(&self, inputs: LiveInputs) -> Self {
        let observed = Arc::new(RowObservations::new(&self.catalog, &inputs.observations));
        Self { inputs, observed, ..self.clone() }
    }

    /// What is known of words; a model's vocabulary says which of them are English.
    pub fn vocabulary(&self) -> Option<Vocabulary<'_>> {
        let embedder = self.embedder.as_deref()?;
        Some(Vocabulary { embedder, tools: &self.keyword })
    }

    /// Whether a search may miss a row.
    pub fn is_approximate(&self) -> bool {
        self.search.as_ref().is_some_and(|search| !search.is_exact())
    }

    /// The model, where the rows have vectors as well.
    pub fn with_vectors(&self) -> Option<(&dyn Embedder, &Vectors)> {
        Some((self.embedder.as_deref()?, self.vectors.as_deref()?))
    }
}

/// The words that a model reads, and those of a catalog's tools.
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
