//! Finds rows by vector, exactly ([`FlatIndex`]) or with a graph ([`HnswIndex`]), and by keyword
//! ([`Bm25`]). A [`Snapshot`] stores the vectors on disk.
//!
//! This module must never know what a tool is. It works with *rows*: positions, counted from zero,
//! of texts and vectors in the caller's order. The caller knows which row is which tool, and
//! whether that tool may be shown.
//!
//! Scores of vectors are cosines, because all vectors are normalised (see [`Vectors`]). Equal
//! scores are ordered by row, so the same input always gives the same hits.
//!
//! ```
//! use std::sync::Arc;
//! use toolroute_vectors::index::{self, IndexKind, Vectors};
//!
//! let vectors = Arc::new(Vectors::from_rows(&[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])?);
//! let index = index::build(vectors, IndexKind::Auto)?;
//! let hits = index.search(&[0.0, 1.0], 2)?;
//! assert_eq!(hits.iter().map(|hit| hit.row).collect::<Vec<_>>(), [1, 2]);
//! # Ok::<(), index::Error>(())
//! ```

use std::sync::Arc;

mod auto;
mod bm25;
mod dot;
mod error;
mod flat;
mod graph;
mod hnsw;
mod linked;
mod snapshot;
mod tokenizer;
mod top;
mod vectors;

pub use auto::{HNSW_FROM_ROWS, IndexKind, build, restore};
pub use bm25::{Bm25, Bm25Builder, Bm25Settings, Field};
#[doc(hidden)] // For our own crates.
pub use dot::dot;
pub use error::{Error, Place};
pub use flat::FlatIndex;
pub use graph::{Graph, GraphError};
pub use hnsw::HnswIndex;
pub use snapshot::{Snapshot, SnapshotError, TextHash, text_hash};
pub use tokenizer::is_unspaced;
pub use tokenizer::{Term, name_words, query_terms};
pub use vectors::Vectors;

/// A row and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Position in the order of indexing, counted from zero.
    pub row: u32,
    /// Cosine for vectors, BM25 for keywords; higher is better.
    pub score: f32,
}

/// Which rows to score.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// Every row, in order.
    All,
    /// These rows, in this order. Rows may repeat.
    Only(&'a [u32]),
}

/// A searchable set of unit vectors.
///
/// `search` and `score` return [`Error::Dimension`] for a query of a different dimension,
/// [`Error::Zero`] for a zero vector and [`Error::NotFinite`] for a vector that is not finite.
/// Queries are normalised.
pub trait VectorIndex: Send + Sync {
    /// The vectors of the rows.
    fn vectors(&self) -> &Vectors;

    /// Number of rows.
    fn len(&self) -> usize {
        self.vectors().len()
    }

    /// Length of a vector.
    fn dimension(&self) -> usize {
        self.vectors().dimension()
    }

    /// Returns the `limit` rows with the highest cosine, by descending score, then ascending row.
    ///
    /// Returns fewer hits only if there are fewer rows. Scores are exact. If [`Self::is_exact`] is
    /// false, the result may lack a row that belongs in it.
    fn search(&self, query: &[f32], limit: usize) -> Result<Vec<Hit>, Error>;

    /// Returns the exact cosine of each of `rows`, in their order.
    ///
    /// Returns [`Error::Row`] if a row does not exist.
    fn score(&self, query: &[f32], rows: Rows<'_>) -> Result<Vec<f32>, Error> {
        self.vectors().score(query, rows)
    }

    /// Returns the exact cosines of all rows, one vector per query. They are bit-identical to
    /// [`Self::score`], but the rows are read only once.
    fn score_many(&self, queries: &[&[f32]]) -> Result<Vec<Vec<f32>>, Error> {
        self.vectors().score_many(queries)
    }

    /// Whether [`Self::search`] never misses a row.
    fn is_exact(&self) -> bool {
        true
    }

    /// The graph, to be stored in a [`Snapshot`]. `None` if the index has none, or if rows have
    /// changed since it was built.
    fn graph(&self) -> Option<&Graph> {
        None
    }

    /// Number of rows that the graph covers; the others are scanned.
    fn linked(&self) -> usize {
        0
    }

    /// Returns an index of `vectors`, the rows after a change. `origins` has the row of each of
    /// them in this index, `None` for a new one. An existing graph keeps covering the unchanged
    /// rows.
    fn after(&self, vectors: Arc<Vectors>, origins: &[Option<u32>]) -> Box<dyn VectorIndex>;

    /// Whether there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
