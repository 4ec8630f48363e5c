//! The approximate index, for catalogs that are too large to scan. The only file that uses
//! `hnsw_rs`.
//!
//! The crate builds the links once; [`Graph`] stores and searches them. This file avoids three
//! problems of the crate. Its distance functions panic if rounding makes `1 − dot` negative or if a
//! vector is not finite; ours clamps the distance, and [`Vectors`] are finite. Its parallel
//! insertion builds a different graph each time; here rows are inserted sequentially, with its
//! seeded level generator. Its file format is unsafe: see `graph.rs`.

use std::sync::Arc;

use hnsw_rs::anndists::dist::distances::Distance;
use hnsw_rs::hnsw::{Hnsw, Point};

use super::dot::dot;
use super::graph::Layer;
use super::linked::PartialGraph;
use super::{Error, FlatIndex, Graph, Hit, VectorIndex, Vectors};

/// Links per row and layer; the bottom layer has twice as many.
///
/// Over 42,820 loosely clustered rows of 384 numbers, built on one busy core (`benches/README.md`):
/// 16 links with a build width of 200 took 71 s and found 0.9933, 1.0000 and 1.0000 of the exact
/// ten best rows with search widths 64, 96 and 128. On tighter clusters, 16 links with width 100
/// took 24 s and found 0.990, 1.000 and 1.000; 24 links with width 200 took 86 s and found 1.000
/// from width 32.
const LINKS: usize = 16;

/// Candidates considered when a row's links are chosen (`ef_construction`).
const BUILD_WIDTH: usize = 200;

/// Minimum number of candidates of a search (`ef_search`): one step above the width that found
/// everything in the measurements above; a search takes 0.33 ms instead of 0.29.
const SEARCH_WIDTH: usize = 128;

/// Maximum number of layers. No catalog needs more: a row reaches the sixteenth with probability
/// 16⁻¹⁵. It is also the limit of `hnsw_rs`.
const LAYERS: usize = 16;

/// With fewer rows per requested hit, a scan is faster than a search of that width.
const ROWS_PER_HIT: usize = 50;

/// An approximate index that searches a graph of near neighbours.
pub struct HnswIndex {
    vectors: Arc<Vectors>,
    /// `None` for an empty index.
    linked: Option<PartialGraph>,
    exact: FlatIndex,
    /// Whether the graph is used even where a scan is faster.
    at_any_size: bool,
}

impl HnswIndex {
    /// Builds the graph: minutes for a hundred thousand rows. Equal vectors give an equal graph.
    pub fn build(vectors: Arc<Vectors>) -> Self {
        let linked =
            (!vectors.is_empty()).then(|| PartialGraph::new(link(&vectors), vectors.clone()));
        Self::over(vectors, linked)
    }

    /// Uses a graph that [`VectorIndex::graph`] returned for these vectors.
    ///
    /// Returns [`Error::OtherGraph`] if the numbers of rows differ. A graph of other vectors with
    /// the same number of rows is not detected and gives bad results; keep both in one
    /// [`super::Snapshot`].
    pub fn with_graph(vectors: Arc<Vectors>, graph: Graph) -> Result<Self, Error> {
        if graph.len() != vectors.len() {
            return Err(Error::OtherGraph { expected: vectors.len(), got: graph.len() });
        }
        let linked = PartialGraph::new(graph, vectors.clone());
        Ok(Self::over(vectors, Some(linked)))
    }

    fn over(vectors: Arc<Vectors>, linked: Option<PartialGraph>) -> Self {
        let exact = FlatIndex::new(Arc::clone(&vectors));
        Self { vectors, linked, exact, at_any_size: false }
    }

    /// Uses the graph even where a scan is faster, that is below 50 rows per requested hit.
    #[must_use]
    pub fn at_any_size(self) -> Self {
        Self { at_any_size: true, ..self }
    }

    /// Searches with at least `width` candidates. A wider search finds more of the exact hits and
    /// takes longer.
    ///
    /// [`VectorIndex::search`] is the same with a default width.
    pub fn search_with_width(
        &self,
        query: &[f32],
        limit: usize,
        width: usize,
    ) -> Result<Vec<Hit>, Error> {
        let query = self.vectors.prepare(query)?;
        let wanted = limit.min(self.vectors.len());
        let Some(linked) = self.linked.as_ref().filter(|_| self.walks_for(wanted)) else {
            return self.exact.search(&query, limit);
        };
        let width = width.max(wanted * 2);
        match linked.search(&self.vectors, &query, (wanted, width)) {
            Some(hits) => Ok(hits),
            None => self.exact.search(&query, limit),
        }
    }

    fn walks_for(&self, wanted: usize) -> bool {
        let rows = self.vectors.len();
        wanted < rows && (self.at_any_size || rows / ROWS_PER_HIT >= wanted)
    }
}

impl VectorIndex for HnswIndex {
    fn vectors(&self) -> &Vectors {
        &self.vectors
    }

    fn search(&self, query: &[f32], limit: usize) -> Result<Vec<Hit>, Error> {
        self.search_with_width(query, limit, SEARCH_WIDTH)
    }

    fn is_exact(&self) -> bool {
        false
    }

    fn graph(&self) -> Option<&Graph> {
        self.linked.as_ref().and_then(PartialGraph::graph)
    }

    fn linked(&self) -> usize {
        self.linked.as_ref().map_or(0, PartialGraph::len)
    }

    fn after(&self, vectors: Arc<Vectors>, origins: &[Option<u32>]) -> Box<dyn VectorIndex> {
        let linked = self.linked.as_ref().and_then(|linked| linked.after(&vectors, origins));
        match linked {
            Some(linked) => {
                let at_any_size = self.at_any_size;
                Box::new(Self { at_any_size, ..Self::over(vectors, Some(linked)) })
            }
            None => Box::new(FlatIndex::new(vectors)),
        }
    }
}

/// Computes distances by row number, so that `hnsw_rs` holds no second copy of the matrix.
struct RowDistance(Arc<Vectors>);

impl Distance<u32> for RowDistance {
    fn eval(&self, a: &[u32], b: &[u32]) -> f32 {
        let vector = |point: &[u32]| {
            let row = point.first().and_then(|&row| self.0.get(row));
            row.expect("every point is the number of a row. This is a bug.")
        };
        // Clamped, because `hnsw_rs` asserts that distances are not negative and rounding makes
        // some negative.
        (1.0 - dot(vector(a), vector(b))).max(0.0)
    }
}

type Links = Vec<Vec<Vec<u32>>>;

fn link(vectors: &Arc<Vectors>) -> Graph {
    let rows = vectors.len();
    let distance = RowDistance(Arc::clone(vectors));
    let vendor = Hnsw::new(LINKS, rows, LAYERS, BUILD_WIDTH, distance);
    for row in 0..rows {
        vendor.insert_slice((&[row as u32], row));
    }
    let points = vendor.get_point_indexation();
    let top = usize::from(vendor.get_max_level_observed());
    let mut links: Links = vec![vec![Vec::new(); rows]; top + 1];
    for point in points {
        take_links(&point, &mut links);
    }
    // The entry point of `hnsw_rs` is the first row that reached the highest layer.
    let entry = points.get_layer_iterator(top).next().map_or(0, |point| point.get_origin_id());
    let layers = links.into_iter().map(Layer::new).collect();
    Graph::new(entry as u32, layers)
        .expect("the vendor links rows that were inserted. This is a bug.")
}

fn take_links(point: &Point<'_, u32>, links: &mut Links) {
    let row = point.get_origin_id();
    for (layer, neighbours) in links.iter_mut().zip(point.get_neighborhood_id()) {
        let mut others: Vec<u32> = neighbours.iter().map(|n| n.d_id as u32).collect();
        others.retain(|&other| other as usize != row);
        layer[row] = others;
    }
}

#[cfg(test)]
mod tests;
