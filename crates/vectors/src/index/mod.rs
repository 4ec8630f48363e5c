//! Finds rows: by vector, exactly ([`FlatIndex`]) or over a graph ([`HnswIndex`]), and by keyword
//! ([`Bm25`]). A [`Snapshot`] keeps the vectors on disk.
//!
//! This room must never know what a tool is. It sees *rows*: positions, counted from zero, of
//! texts and vectors in the order in which the caller gave them. Which row is which tool, and
//! whether that tool may be shown, is decided above.
//!
//! Scores are cosines: vectors have length one (see [`Vectors`]). Equal scores are ordered by row,
//! so the same input always gives the same hits.
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
pub use bm25::{Bm25, Bm25Settings, Field};
pub use error::{Error, Place};
pub use flat::FlatIndex;
pub use graph::{Graph, GraphError};
pub use hnsw::HnswIndex;
pub use snapshot::{ModelKey, Snapshot, SnapshotError, TextHash, text_hash};
pub use tokenizer::is_unspaced;
pub use tokenizer::{Term, name_words, query_terms};
pub use vectors::Vectors;

/// A row and how well it matched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Position in the order of indexing, from zero.
    pub row: u32,
    /// Cosine for vectors, BM25 for keywords; higher is better.
    pub score: f32,
}

/// Which rows to score.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// Every row, in order.
    All,
    /// These rows, in this order; a row may come twice.
    Only(&'a [u32]),
}

/// A set of unit vectors that can be searched and scored.
///
/// Both searches refuse a query of another dimension ([`Error::Dimension`]) and one that is zero or
/// not finite ([`Error::Zero`], [`Error::NotFinite`]); a query of another length than one is scaled
/// to it.
pub trait VectorIndex: Send + Sync {
    /// Number of rows.
    fn len(&self) -> usize;

    /// Numbers per vector.
    fn dimension(&self) -> usize;

    /// The `limit` rows with the highest cosine, by score descending, then row ascending.
    ///
    /// Fewer only where there are fewer rows. Scores are exact; where [`Self::is_exact`] is false a
    /// row that belongs in the list may be missing from it.
    fn search(&self, query: &[f32], limit: usize) -> Result<Vec<Hit>, Error>;

    /// The exact cosine of each of `rows`, in their order.
    ///
    /// [`Error::Row`] for a row that does not exist.
    fn score(&self, query: &[f32], rows: Rows<'_>) -> Result<Vec<f32>, Error>;

    /// The exact cosines of all rows for each query: the very numbers of [`Self::score`], with the rows read once for
    /// all queries.
    fn score_many(&self, queries: &[&[f32]]) -> Result<Vec<Vec<f32>>, Error>;

    /// Whether [`Self::search`] never misses a row.
    fn is_exact(&self) -> bool {
        true
    }

    /// The graph behind the search, to be kept in a [`Snapshot`]; none where there is none, or where
    /// rows have changed since it was made.
    fn graph(&self) -> Option<&Graph> {
        None
    }

    /// Rows that are found over a graph; the others are scanned.
    fn linked(&self) -> usize {
        0
    }

    /// An index of the rows after a change, `vectors`: `origins` says which row of this index each of
    /// them was, `None` of a new one. A graph stays over the rows that are as they were.
    fn after(&self, vectors: Arc<Vectors>, origins: &[Option<u32>]) -> Box<dyn VectorIndex>;

    /// Whether there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
