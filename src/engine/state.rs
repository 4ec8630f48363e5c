//! What a selection looks at from its first step to its last: one state of the catalog, with all
//! that was made from it.

use std::sync::Arc;

use super::EngineConfig;
use super::learning::Learned;
use crate::catalog::Catalog;
use crate::embedding::Embedder;
use crate::feedback::UsageVectors;
use crate::index::{VectorIndex, Vectors};
use crate::selection::{
    HybridRetriever, KeywordRetriever, PolicyOrder, Retriever, SemanticRetriever,
};

/// A catalog and its indexes, whose rows agree. Nobody changes one: a change of the catalog makes
/// another, and who still holds this one goes on with it.
pub(super) struct State {
    pub config: Arc<EngineConfig>,
    pub catalog: Arc<Catalog>,
    pub order: PolicyOrder,
    pub embedder: Option<Arc<dyn Embedder>>,
    /// One a strategy, in the order keyword, semantic, hybrid; the last two need a model.
    pub retrievers: Vec<Arc<dyn Retriever>>,
    pub approximate: bool,
    /// The tools' own vectors, before anything was learned, a row a tool; none without a model.
    pub vectors: Option<Arc<Vectors>>,
    pub usage: Option<Arc<UsageVectors>>,
    /// What of `usage` concerns these tools.
    pub learned: Option<Learned>,
    /// Changes of the catalog since the engine was built.
    pub version: u64,
}

/// The vectors of a catalog's rows, and a search over them: as they are, or as past prompts have
/// moved them.
pub(super) struct Indexed {
    pub vectors: Arc<Vectors>,
    pub index: Box<dyn VectorIndex>,
    pub learned: Option<Learned>,
}

/// What stays the same from one state of an engine to the next.
#[derive(Clone)]
pub(super) struct Lasting {
    pub config: Arc<EngineConfig>,
    pub embedder: Option<Arc<dyn Embedder>>,
    pub usage: Option<Arc<UsageVectors>>,
}

impl State {
    pub fn new(lasting: Lasting, catalog: Catalog, indexed: Option<Indexed>, version: u64) -> Self {
        let Lasting { config, embedder, usage } = lasting;
        let tools = catalog.tools();
        let keyword = KeywordRetriever::new(tools);
        let order = PolicyOrder::new(tools.iter().map(AsRef::as_ref));
        let mut retrievers: Vec<Arc<dyn Retriever>> = vec![keyword.clone()];
        let (mut approximate, mut vectors, mut learned) = (false, None, None);
        if let Some(indexed) = indexed {
            approximate = !indexed.index.is_exact();
            vectors = Some(indexed.vectors);
            let rows = indexed.learned.as_ref().map(|learned| learned.rows.clone());
            learned = indexed.learned;
            let semantic = SemanticRetriever::with_usage(indexed.index.into(), rows);
            retrievers.push(semantic.clone());
            retrievers.push(HybridRetriever::new(semantic, keyword, config.fusion));
        }
        let catalog = Arc::new(catalog);
        Self {
            config,
            catalog,
            order,
            embedder,
            retrievers,
            approximate,
            vectors,
            usage,
            learned,
            version,
        }
    }

    pub fn lasting(&self) -> Lasting {
        Lasting {
            config: self.config.clone(),
            embedder: self.embedder.clone(),
            usage: self.usage.clone(),
        }
    }

    /// The model, where the rows have vectors as well.
    pub fn with_vectors(&self) -> Option<(&dyn Embedder, &Vectors)> {
        Some((self.embedder.as_deref()?, self.vectors.as_deref()?))
    }
}
