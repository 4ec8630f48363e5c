//! Builds the retrievers of a catalog, one per strategy.

use std::sync::Arc;

use super::plain::PlainRetriever;
use super::{Fusion, HybridRetriever, KeywordRetriever, Retriever, SemanticRetriever, Strategy};

/// Returns one retriever per strategy, in the order keyword, semantic, hybrid. Without vectors,
/// returns only the keyword retriever.
pub fn retrievers(
    keyword: Arc<KeywordRetriever>,
    semantic: Option<Arc<SemanticRetriever>>,
    fusion: Fusion,
) -> Vec<Arc<dyn Retriever>> {
    if fusion.is_plain() {
        return PlainRetriever::all(&keyword, semantic.as_ref());
    }
    let mut all: Vec<Arc<dyn Retriever>> = vec![keyword.clone()];
    if let Some(semantic) = semantic {
        all.push(semantic.clone());
        all.push(HybridRetriever::new(semantic, keyword, fusion));
    }
    all
}

/// Resolves `auto`: hybrid with a model, keyword without. Any other strategy is returned unchanged.
pub fn resolve_strategy(asked: Strategy, has_model: bool) -> Strategy {
    match (asked, has_model) {
        (Strategy::Auto, true) => Strategy::Hybrid,
        (Strategy::Auto, false) => Strategy::Keyword,
        (asked, _) => asked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolroute_catalog::Tool;
    use toolroute_vectors::index::{FlatIndex, Vectors};

    #[test]
    fn what_is_at_hand_decides_which_strategies_there_are() {
        let keyword = KeywordRetriever::new(&[Arc::new(Tool::new(None, "a", ""))]);
        let names = |all: Vec<Arc<dyn Retriever>>| -> Vec<Strategy> {
            all.iter().map(|one| one.strategy()).collect()
        };
        let fusion = Fusion::default();
        assert_eq!(names(retrievers(keyword.clone(), None, fusion)), [Strategy::Keyword]);
        let vectors = Arc::new(Vectors::from_rows(&[[1.0, 0.0]]).unwrap());
        let semantic = SemanticRetriever::new(Arc::new(FlatIndex::new(vectors)));
        let all = retrievers(keyword, Some(semantic), fusion);
        assert_eq!(names(all), [Strategy::Keyword, Strategy::Semantic, Strategy::Hybrid]);
        assert_eq!(resolve_strategy(Strategy::Auto, true), Strategy::Hybrid);
        assert_eq!(resolve_strategy(Strategy::Auto, false), Strategy::Keyword);
        assert_eq!(resolve_strategy(Strategy::Semantic, false), Strategy::Semantic);
    }
}
