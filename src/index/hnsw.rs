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
    graph: Option<Graph>,
    exact: FlatIndex,
}

impl HnswIndex {
    /// Links all rows: minutes for a hundred thousand. The same vectors give the same graph.
    pub fn build(vectors: Arc<Vectors>) -> Self {
        let graph = (!vectors.is_empty()).then(|| link(&vectors));
        Self { exact: FlatIndex::new(Arc::clone(&vectors)), vectors, graph }
    }

    /// Takes a graph that [`VectorIndex::graph`] gave for these same vectors.
    ///
    /// [`Error::OtherGraph`] where the numbers of rows differ. A graph of other vectors with as many
    /// rows is not noticed and finds poorly: keep both in one [`super::Snapshot`].
    pub fn with_graph(vectors: Arc<Vectors>, graph: Graph) -> Result<Self, Error> {
        if graph.len() != vectors.len() {
            return Err(Error::OtherGraph { expected: vectors.len(), got: graph.len() });
        }
        let exact = FlatIndex::new(Arc::clone(&vectors));
        Ok(Self { vectors, graph: Some(graph), exact })
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
        let Some(graph) = self.graph.as_ref().filter(|g| g.len() / ROWS_PER_HIT >= wanted) else {
            return self.exact.search(&query, limit);
        };
        let mut hits = graph.search(&self.vectors, &query, width.max(wanted * 2));
        if hits.len() < wanted {
            // Many equal vectors can link only to each other and cut off the rest.
            return self.exact.search(&query, limit);
        }
        hits.truncate(limit);
        Ok(hits)
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

    fn is_exact(&self) -> bool {
        false
    }

    fn graph(&self) -> Option<&Graph> {
        self.graph.as_ref()
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
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Rows around a few hundred centres, as descriptions of tools lie around subjects.
    fn clustered(rows: u32, dimension: u32, seed: u32) -> Vec<Vec<f32>> {
        let mut state = u64::from(seed) + 1;
        let mut noise = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        let mut vector = move || (0..dimension).map(|_| noise()).collect::<Vec<f32>>();
        let centres: Vec<_> = (0..(rows / 20).max(1)).map(|_| vector()).collect();
        let around = |row: u32| {
            let centre = &centres[(row as usize * 7) % centres.len()];
            centre.iter().zip(vector()).map(|(c, n)| c + 0.5 * n).collect()
        };
        (0..rows).map(around).collect()
    }

    fn index(rows: &[Vec<f32>]) -> HnswIndex {
        HnswIndex::build(Arc::new(Vectors::from_rows(rows).unwrap()))
    }

    #[test]
    fn finds_nearly_all_of_what_a_scan_finds() {
        let rows = clustered(2_000, 48, 1);
        let index = index(&rows);
        let (mut found, mut all) = (0, 0);
        for query in rows.iter().step_by(40) {
            let query: Vec<_> = query.iter().rev().zip(query).map(|(a, b)| a * 0.2 + b).collect();
            let exact = index.exact.search(&query, 10).unwrap();
            let near: HashSet<_> =
                index.search(&query, 10).unwrap().iter().map(|h| h.row).collect();
            found += exact.iter().filter(|hit| near.contains(&hit.row)).count();
            all += exact.len();
        }
        assert!(found * 100 >= all * 99, "found {found} of {all}");
    }

    #[test]
    fn two_builds_are_one_graph_and_scores_are_exact() {
        let rows = clustered(600, 24, 2);
        let (one, two) = (index(&rows), index(&rows));
        assert_eq!(one.graph(), two.graph());
        for query in &rows[..20] {
            let hits = one.search(query, 5).unwrap();
            assert_eq!(hits, two.search(query, 5).unwrap());
            let places: Vec<_> = hits.iter().map(|hit| hit.row).collect();
            let scores: Vec<_> = hits.iter().map(|hit| hit.score).collect();
            assert_eq!(one.score(query, Rows::Only(&places)).unwrap(), scores);
            assert!(hits.is_sorted_by(|a, b| a.score > b.score || a.row < b.row));
        }
    }

    #[test]
    fn equal_vectors_neither_panic_nor_shorten_the_answer() {
        let mut rows = vec![vec![0.1, 0.7, -0.7]; 700];
        rows.extend(clustered(300, 3, 3));
        let index = index(&rows);
        let rows: HashSet<_> =
            index.search(&[0.1, 0.7, -0.7], 15).unwrap().iter().map(|hit| hit.row).collect();
        assert_eq!(rows.len(), 15);
        assert_eq!(index.search(&[1.0, 0.0, 0.0], 15).unwrap().len(), 15);
    }

    #[test]
    fn few_rows_and_none_are_searched_too() {
        for rows in 0..4 {
            let matrix = ndarray::Array2::from_elem((rows, 3), 1.0);
            let index = HnswIndex::build(Arc::new(Vectors::new(matrix).unwrap()));
            assert_eq!(index.search(&[1.0, 0.0, 0.0], 2).unwrap().len(), rows.min(2));
        }
    }

    #[test]
    fn a_kept_graph_answers_like_the_built_one() {
        let rows = clustered(800, 16, 4);
        let built = index(&rows);
        let kept = Graph::from_bytes(&built.graph().unwrap().to_bytes()).unwrap();
        let again = HnswIndex::with_graph(Arc::clone(&built.vectors), kept.clone()).unwrap();
        assert_eq!(built.search(&rows[5], 10), again.search(&rows[5], 10));
        let fewer = Arc::new(Vectors::from_rows(&rows[1..]).unwrap());
        let refused = HnswIndex::with_graph(fewer, kept).err();
        assert_eq!(refused, Some(Error::OtherGraph { expected: 799, got: 800 }));
    }
}
