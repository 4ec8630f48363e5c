//! The approximate index, for catalogs too large to scan: the only file that knows `hnsw_rs`.
//!
//! The vendor builds the links, once; [`Graph`] keeps and walks them. Three hazards of the vendor
//! are shut out here. Its stock distances panic when rounding makes `1 − dot` negative or a vector
//! is not finite: ours is clamped, over [`Vectors`] that are checked. Its parallel insertion gives
//! another graph each time: rows are inserted one after the other, in order, by its seeded level
//! generator. Its file format: see `graph.rs`.

use std::sync::Arc;

use hnsw_rs::anndists::dist::distances::Distance;
use hnsw_rs::hnsw::{Hnsw, Point};

use super::dot::dot;
use super::graph::Layer;
use super::linked::Linked;
use super::{Error, FlatIndex, Graph, Hit, Rows, VectorIndex, Vectors};

/// Links per row and layer, twice as many on the ground floor.
///
/// Over 42,820 loosely clustered rows of 384, linked on one busy core (`benches/README.md`): 16 links
/// at a build width of 200 took 71 s and found 0.9933, 1.0000 and 1.0000 of the exact ten at search
/// widths 64, 96 and 128. On tighter clusters 16 links at width 100 took 24 s and found 0.990,
/// 1.000 and 1.000; 24 links at width 200 took 86 s and found 1.000 from width 32.
const LINKS: usize = 16;

/// Candidates kept while a row's links are chosen.
const BUILD_WIDTH: usize = 200;

/// Candidates kept during a search (`ef_search`), at least: one step above the width that found all
/// of the above, at 0.33 ms a search against 0.29.
const SEARCH_WIDTH: usize = 128;

/// More layers than this no catalog fills: a row reaches the sixteenth with probability 16⁻¹⁵. It is
/// also the vendor's own limit.
const LAYERS: usize = 16;

/// Below this many rows per hit wanted a scan is cheaper than a walk that wide.
const ROWS_PER_HIT: usize = 50;

/// Searches a graph of near neighbours instead of every row.
pub struct HnswIndex {
    vectors: Arc<Vectors>,
    /// None for an empty index.
    linked: Option<Linked>,
    exact: FlatIndex,
    /// Whether it walks also where a scan is cheaper.
    at_any_size: bool,
}

impl HnswIndex {
    /// Links all rows: minutes for a hundred thousand. The same vectors give the same graph.
    pub fn build(vectors: Arc<Vectors>) -> Self {
        let linked = (!vectors.is_empty()).then(|| Linked::new(link(&vectors), vectors.clone()));
        Self::over(vectors, linked)
    }

    /// Takes a graph that [`VectorIndex::graph`] gave for these same vectors.
    ///
    /// [`Error::OtherGraph`] where the numbers of rows differ. A graph of other vectors with as many
    /// rows is not noticed and finds poorly: keep both in one [`super::Snapshot`].
    pub fn with_graph(vectors: Arc<Vectors>, graph: Graph) -> Result<Self, Error> {
        if graph.len() != vectors.len() {
            return Err(Error::OtherGraph { expected: vectors.len(), got: graph.len() });
        }
        let linked = Linked::new(graph, vectors.clone());
        Ok(Self::over(vectors, Some(linked)))
    }

    fn over(vectors: Arc<Vectors>, linked: Option<Linked>) -> Self {
        let exact = FlatIndex::new(Arc::clone(&vectors));
        Self { vectors, linked, exact, at_any_size: false }
    }

    /// Walks the graph wherever fewer hits are wanted than there are rows, also where a scan is
    /// cheaper: below 50 rows a hit.
    #[must_use]
    pub fn at_any_size(self) -> Self {
        Self { at_any_size: true, ..self }
    }

    /// Searches with at least `width` candidates: wider finds more and takes longer.
    ///
    /// [`VectorIndex::search`] is this with the width that the house measured.
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
    fn len(&self) -> usize {
        self.vectors.len()
    }

    fn dimension(&self) -> usize {
        self.vectors.dimension()
    }

    fn search(&self, query: &[f32], limit: usize) -> Result<Vec<Hit>, Error> {
        self.search_with_width(query, limit, SEARCH_WIDTH)
    }

    fn score(&self, query: &[f32], rows: Rows<'_>) -> Result<Vec<f32>, Error> {
        self.vectors.score(query, rows)
    }

    fn score_many(&self, queries: &[&[f32]]) -> Result<Vec<Vec<f32>>, Error> {
        self.vectors.score_many(queries)
    }

    fn is_exact(&self) -> bool {
        false
    }

    fn graph(&self) -> Option<&Graph> {
        self.linked.as_ref().and_then(Linked::graph)
    }

    fn linked(&self) -> usize {
        self.linked.as_ref().map_or(0, Linked::len)
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

/// The vendor's points are row numbers, so that it holds no second copy of the matrix.
struct RowDistance(Arc<Vectors>);

impl Distance<u32> for RowDistance {
    fn eval(&self, a: &[u32], b: &[u32]) -> f32 {
        let vector = |point: &[u32]| {
            let row = point.first().and_then(|&row| self.0.get(row));
            row.expect("every point is the number of a row. This is a bug.")
        };
        // Clamped: the vendor asserts that no distance is negative, and rounding makes some so.
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
    // The vendor's entry is the first row to have reached the highest layer.
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
