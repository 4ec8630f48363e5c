//! A navigable graph of near neighbours, and the search in it.
//!
//! `hnsw.rs` builds the links with the crate `hnsw_rs`; this file stores and searches them. The
//! crate's own file format is not used: it is written in place into two files without a checksum,
//! and reading a damaged file ends the process, prints to stdout or reads out of bounds (hnsw_rs
//! 0.3.5, `hnswio.rs:818,1159,1163,1172`). Here the links are row numbers that are all validated
//! when read, so that searching a [`Graph`] cannot panic. Searching it ourselves also avoids the
//! crate's lock, reference count and heap allocation per visited row.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::dot::dot;
use super::top::{Top, Worst};
use super::{Hit, Vectors};

/// Layers of links between rows, after Malkov and Yashunin (arXiv 1603.09320).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    rows: u32,
    entry: u32,
    /// From the bottom layer, which has every row, to the top layer, which has the entry point.
    layers: Vec<Layer>,
}

/// `links[starts[row]..starts[row + 1]]` are the neighbours of `row`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layer {
    starts: Vec<u32>,
    links: Vec<u32>,
}

impl Layer {
    /// Builds a layer from the neighbours of each row, in row order.
    pub fn new<I: IntoIterator<Item = Vec<u32>>>(neighbours: I) -> Self {
        let (mut starts, mut links) = (vec![0], Vec::new());
        for row in neighbours {
            links.extend(row);
            starts.push(links.len() as u32);
        }
        Self { starts, links }
    }

    fn neighbours(&self, row: u32) -> &[u32] {
        let row = row as usize;
        &self.links[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    fn is_sound(&self, rows: u32) -> bool {
        self.starts.len() == rows as usize + 1
            && self.starts.first() == Some(&0)
            && self.starts.last().map(|end| *end as usize) == Some(self.links.len())
            && self.starts.is_sorted()
            && self.links.iter().all(|&row| row < rows)
    }
}

/// Why stored bytes are not a valid graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    #[error("the stored graph has {got} bytes, expected {expected}: build the index again")]
    Length { expected: u64, got: u64 },

    #[error("the stored graph links to rows that do not exist: build the index again")]
    Unsound,
}

impl Graph {
    pub(super) fn new(entry: u32, layers: Vec<Layer>) -> Result<Self, GraphError> {
        let starts = layers.first().map_or(0, |ground| ground.starts.len());
        let rows = starts.saturating_sub(1) as u32;
        let sound = entry < rows && layers.iter().all(|layer| layer.is_sound(rows));
        if sound { Ok(Self { rows, entry, layers }) } else { Err(GraphError::Unsound) }
    }

    pub fn len(&self) -> usize {
        self.rows as usize
    }

    /// Whether the graph has no rows; a graph always has at least one.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the best rows that a search with `width` candidates in the bottom layer finds.
    ///
    /// `vectors` must have at least as many rows as the graph, and the dimension of `query`.
    pub(super) fn search(&self, vectors: &Vectors, query: &[f32], width: usize) -> Vec<Hit> {
        let hit = |row| Hit { row, score: similarity(vectors, query, row) };
        let mut best = hit(self.entry);
        for layer in self.layers.iter().skip(1).rev() {
            while let Some(better) = best_neighbour(layer, best, hit) {
                best = better;
            }
        }
        match self.layers.first() {
            Some(ground) => self.spread(ground, best, width, hit),
            None => Vec::new(),
        }
    }

    /// Searches best-first from `start` until no candidate can improve the best `width` rows.
    fn spread(
        &self,
        ground: &Layer,
        start: Hit,
        width: usize,
        hit: impl Fn(u32) -> Hit,
    ) -> Vec<Hit> {
        let mut seen = Visited::new(self.len());
        let mut top = Top::new(width.max(1), self.len());
        // The greatest of the reversed order is the best.
        let mut open = BinaryHeap::from([Reverse(Worst(start))]);
        seen.first_visit(start.row);
        top.push(start);
        while let Some(Reverse(Worst(from))) = open.pop() {
            if top.is_full() && top.worst().is_some_and(|worst| from.score < worst.score) {
                break;
            }
            for &row in ground.neighbours(from.row) {
                if seen.first_visit(row) {
                    let found = hit(row);
                    if top.push(found) {
                        open.push(Reverse(Worst(found)));
                    }
                }
            }
        }
        top.into_sorted()
    }
}

/// Returns 0 for a row without a vector, which cannot occur if the caller keeps the contract of
/// `search`.
fn similarity(vectors: &Vectors, query: &[f32], row: u32) -> f32 {
    vectors.get(row).map_or(0.0, |vector| dot(query, vector))
}

/// Returns the best neighbour of `from` if it is better than `from`.
fn best_neighbour(layer: &Layer, from: Hit, hit: impl Fn(u32) -> Hit) -> Option<Hit> {
    let neighbours = layer.neighbours(from.row).iter().map(|&row| hit(row));
    neighbours.filter(|found| found.score > from.score).max_by(|a, b| a.score.total_cmp(&b.score))
}

/// A bit per row: whether the search has visited it.
struct Visited(Vec<u64>);

impl Visited {
    fn new(rows: usize) -> Self {
        Self(vec![0; rows.div_ceil(64)])
    }

    fn first_visit(&mut self, row: u32) -> bool {
        let (word, bit) = (&mut self.0[row as usize / 64], 1_u64 << (row % 64));
        let first = *word & bit == 0;
        *word |= bit;
        first
    }
}

/// Serialised form, in little-endian `u32`: `rows`, `entry`, number of layers, number of links per
/// layer, then starts and links of each layer.
impl Graph {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let head = [self.rows, self.entry, self.layers.len() as u32];
        let sizes = self.layers.iter().map(|layer| layer.links.len() as u32);
        let body = self.layers.iter().flat_map(|layer| layer.starts.iter().chain(&layer.links));
        let numbers = head.into_iter().chain(sizes).chain(body.copied());
        numbers.flat_map(u32::to_le_bytes).collect()
    }

    /// Nothing is allocated before the stated sizes are known to add up to the number of bytes.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, GraphError> {
        let (words, rest) = bytes.as_chunks::<4>();
        let word = |at: usize| words.get(at).map(|word| u32::from_le_bytes(*word));
        let got = bytes.len() as u64;
        let (Some(rows), Some(entry), Some(layers)) = (word(0), word(1), word(2)) else {
            return Err(GraphError::Length { expected: 12, got });
        };
        let first = 3 + u64::from(layers);
        let sizes = words.get(3..first as usize).unwrap_or_default();
        let links = sizes.iter().map(|size| u64::from(u32::from_le_bytes(*size)));
        let starts = u64::from(layers).saturating_mul(u64::from(rows) + 1);
        let numbers = links.fold(first.saturating_add(starts), u64::saturating_add);
        let expected = numbers.saturating_mul(4);
        if expected != got || !rest.is_empty() || sizes.len() != layers as usize {
            return Err(GraphError::Length { expected, got });
        }
        let mut body = words[first as usize..].iter().map(|word| u32::from_le_bytes(*word));
        let layers = sizes.iter().map(|size| Layer {
            starts: body.by_ref().take(rows as usize + 1).collect(),
            links: body.by_ref().take(u32::from_le_bytes(*size) as usize).collect(),
        });
        Self::new(entry, layers.collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chain(rows: u32) -> Graph {
        let neighbours = |row: u32| {
            [row.checked_sub(1), (row + 1 < rows).then_some(row + 1)].into_iter().flatten()
        };
        Graph::new(0, vec![Layer::new((0..rows).map(|row| neighbours(row).collect()))]).unwrap()
    }

    #[test]
    fn walks_links_to_the_best_row() {
        let turn = |row: u32| [(row as f32 / 20.0).cos(), (row as f32 / 20.0).sin()];
        let vectors = Vectors::from_rows(&(0..30).map(turn).collect::<Vec<_>>()).unwrap();
        let found = chain(30).search(&vectors, &turn(17), 3);
        assert_eq!(found.iter().map(|hit| hit.row).collect::<Vec<_>>(), [17, 16, 18]);
    }

    #[test]
    fn refuses_links_to_nowhere() {
        assert_eq!(Graph::new(0, vec![Layer::new([vec![1]])]), Err(GraphError::Unsound));
        assert_eq!(Graph::new(1, vec![Layer::new([vec![0]])]), Err(GraphError::Unsound));
        let one_short = vec![Layer::new([vec![], vec![]]), Layer::new([vec![]])];
        assert_eq!(Graph::new(0, one_short), Err(GraphError::Unsound));
        assert_eq!(Graph::new(0, vec![]), Err(GraphError::Unsound));
    }

    #[test]
    fn comes_back_from_bytes_and_never_from_fewer() {
        let (graph, bytes) = (chain(9), chain(9).to_bytes());
        assert_eq!(Graph::from_bytes(&bytes), Ok(graph));
        for length in 0..bytes.len() {
            let error = Graph::from_bytes(&bytes[..length]).unwrap_err();
            assert!(matches!(error, GraphError::Length { .. }), "{length}: {error}");
        }
    }

    #[test]
    fn sizes_beyond_memory_are_refused_unallocated() {
        let bytes: Vec<u8> = [u32::MAX; 3].into_iter().flat_map(u32::to_le_bytes).collect();
        assert!(matches!(Graph::from_bytes(&bytes), Err(GraphError::Length { .. })));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_graph_or_an_error(bytes in prop::collection::vec(0_u8..4, 0..200)) {
            if let Ok(graph) = Graph::from_bytes(&bytes) {
                prop_assert_eq!(graph.to_bytes(), bytes);
            }
        }

        #[test]
        fn a_changed_byte_is_refused_or_harmless(at in 0_usize..200, to in any::<u8>()) {
            let mut bytes = chain(9).to_bytes();
            let at = at % bytes.len();
            bytes[at] = to;
            if let Ok(graph) = Graph::from_bytes(&bytes) {
                let vectors = Vectors::from_rows(&[[1.0]; 9]).unwrap();
                graph.search(&vectors, &[1.0], 4);
            }
        }
    }
}
