//! What a selection looks at from its first step to its last: one state of the catalog, with all
//! that was made from it.

use std::sync::Arc;

use super::EngineConfig;
use crate::catalog::Catalog;
use crate::embedding::Embedder;
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
    /// A row a tool; none without a model.
    pub vectors: Option<Arc<Vectors>>,
    /// Changes of the catalog since the engine was built.
    pub version: u64,
}

/// The vectors of a catalog's rows, and a search over them.
pub(super) struct Indexed {
    pub vectors: Arc<Vectors>,
    pub index: Box<dyn VectorIndex>,
}

/// What stays the same from one state of an engine to the next.
#[derive(Clone)]
pub(super) struct Lasting {
    pub config: Arc<EngineConfig>,
    pub embedder: Option<Arc<dyn Embedder>>,
}

impl State {
    pub fn new(lasting: Lasting, catalog: Catalog, indexed: Option<Indexed>, version: u64) -> Self {
        let Lasting { config, embedder } = lasting;
        let tools = catalog.tools();
        let keyword = KeywordRetriever::new(tools);
        let order = PolicyOrder::new(tools.iter().map(AsRef::as_ref));
        let mut retrievers: Vec<Arc<dyn Retriever>> = vec![keyword.clone()];
        let (mut approximate, mut vectors) = (false, None);
        if let Some(indexed) = indexed {
            approximate = !indexed.index.is_exact();
            vectors = Some(indexed.vectors);
            let semantic = SemanticRetriever::new(indexed.index.into());
            retrievers.push(semantic.clone());
            retrievers.push(HybridRetriever::new(semantic, keyword, config.fusion));
        }
        let catalog = Arc::new(catalog);
        Self { config, catalog, order, embedder, retrievers, approximate, vectors, version }
    }

    pub fn lasting(&self) -> Lasting {
        Lasting { config: self.config.clone(), embedder: self.embedder.clone() }
    }

    /// The model, where the rows have vectors as well.
    pub fn with_vectors(&self) -> Option<(&dyn Embedder, &Vectors)> {
        Some((self.embedder.as_deref()?, self.vectors.as_deref()?))
    }
}
