//! Chooses the index by the number of rows.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Error, FlatIndex, Graph, HnswIndex, VectorIndex, Vectors};

/// Number of rows from which [`IndexKind::Auto`] uses the graph.
///
/// At 42,820 rows of 384 numbers a scan takes 3 ms on two idle threads and 7 to 8 ms on busy ones,
/// the graph 0.3 ms; at 10,000 rows 0.8 and 0.25 ms, a difference that is small compared with
/// embedding the prompt. But building the graph takes about 1.5 ms per row. So the graph is used
/// only where the scan would dominate the latency. Measured with `cargo bench --bench search`; see
/// `benches/README.md`.
pub const HNSW_FROM_ROWS: usize = 50_000;

/// How vectors are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum IndexKind {
    /// [`Self::Exact`] below [`HNSW_FROM_ROWS`], [`Self::Hnsw`] from there.
    #[default]
    Auto,
    /// Compares the query with every row.
    Exact,
    /// Searches a graph of near neighbours, whatever the number of rows.
    Hnsw,
}

impl IndexKind {
    /// Resolves `Auto` for a number of rows; never returns `Auto`.
    #[doc(hidden)] // For our own crates.
    pub fn for_rows(self, rows: usize) -> Self {
        match self {
            Self::Auto if rows >= HNSW_FROM_ROWS => Self::Hnsw,
            Self::Auto => Self::Exact,
            chosen => chosen,
        }
    }
}

/// Builds an index over `vectors`. Building a graph takes about 1.5 ms per row.
pub fn build(vectors: Arc<Vectors>, kind: IndexKind) -> Result<Box<dyn VectorIndex>, Error> {
    restore(vectors, kind, None)
}

/// The same as [`build`], but reuses a stored graph if `kind` resolves to a graph.
///
/// Returns [`Error::OtherGraph`] if the graph has a different number of rows.
pub fn restore(
    vectors: Arc<Vectors>,
    kind: IndexKind,
    graph: Option<Graph>,
) -> Result<Box<dyn VectorIndex>, Error> {
    let index = match (kind.for_rows(vectors.len()), graph) {
        (IndexKind::Hnsw, Some(graph)) => HnswIndex::with_graph(vectors, graph)?,
        (IndexKind::Hnsw, None) => HnswIndex::build(vectors),
        _ => return Ok(Box::new(FlatIndex::new(vectors))),
    };
    // An explicit `Hnsw` uses the graph even where a scan would be faster.
    Ok(Box::new(if kind == IndexKind::Hnsw { index.at_any_size() } else { index }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(rows: u16) -> Arc<Vectors> {
        let rows: Vec<_> = (0..rows).map(|row| [f32::from(row), 1.0]).collect();
        Arc::new(Vectors::from_rows(&rows).unwrap())
    }

    #[test]
    fn auto_scans_few_rows_and_links_many() {
        assert_eq!(IndexKind::Auto.for_rows(HNSW_FROM_ROWS - 1), IndexKind::Exact);
        assert_eq!(IndexKind::Auto.for_rows(HNSW_FROM_ROWS), IndexKind::Hnsw);
        assert_eq!(IndexKind::Hnsw.for_rows(1), IndexKind::Hnsw);
        assert!(build(vectors(9), IndexKind::Auto).unwrap().is_exact());
    }

    #[test]
    fn a_graph_is_kept_and_taken_up_again() {
        let first = build(vectors(300), IndexKind::Hnsw).unwrap();
        let graph = first.graph().cloned();
        assert!(graph.is_some() && !first.is_exact());
        let again = restore(vectors(300), IndexKind::Hnsw, graph.clone()).unwrap();
        assert_eq!(first.search(&[1.0, 1.0], 5), again.search(&[1.0, 1.0], 5));
        let refused = restore(vectors(299), IndexKind::Hnsw, graph).err();
        assert_eq!(refused, Some(Error::OtherGraph { expected: 299, got: 300 }));
    }
}
