//! The exact search: compares the query with every row.

use std::sync::Arc;

use rayon::prelude::*;

use super::dot::dot_rows;
use super::top::Top;
use super::{Error, Hit, VectorIndex, Vectors};

/// Rows scored at a time. Their scores (1 KiB) stay in the first-level cache while they are ranked.
const BLOCK: usize = 256;

/// Size of the matrix, in numbers, from which a scan uses several threads: 10,400 rows of 384.
///
/// Medians on a busy two-core Sapphire Rapids with one and two threads (`benches/README.md`):
/// 10,000 rows 0.8 and 0.5 ms, 20,000 rows 1.9 and 1.0 ms, 42,820 rows 7.1 and 3.1 ms. Below this
/// size, one thread is well within 3 ms and leaves the other cores to other prompts.
const PARALLEL_FROM: usize = 4_000_000;

/// Blocks in one unit of parallel work.
const BLOCKS_PER_JOB: usize = 16;

/// An exact index: compares a query with every row.
pub struct FlatIndex {
    vectors: Arc<Vectors>,
}

impl FlatIndex {
    /// Creates an index over `vectors`. Nothing is computed in advance.
    pub fn new(vectors: Arc<Vectors>) -> Self {
        Self { vectors }
    }

    fn scan(&self, query: &[f32], limit: usize) -> Top {
        let rows_at_once = BLOCK * BLOCKS_PER_JOB;
        let pieces = self.vectors.as_slice().par_chunks(rows_at_once * query.len().max(1));
        pieces
            .enumerate()
            .map(|(at, piece)| scan_piece(query, piece, at * rows_at_once, limit))
            .reduce(|| Top::new(limit, 0), Top::merge)
    }
}

/// Returns the best rows of a contiguous part of the matrix that starts at row `first`.
fn scan_piece(query: &[f32], piece: &[f32], first: usize, limit: usize) -> Top {
    let dimension = query.len().max(1);
    let mut top = Top::new(limit, piece.len() / dimension);
    let mut scores = [0.0; BLOCK];
    for (at, block) in piece.chunks(BLOCK * dimension).enumerate() {
        let scores = &mut scores[..block.len() / dimension];
        dot_rows(query, block, scores);
        for (offset, &score) in scores.iter().enumerate() {
            top.push(Hit { row: (first + at * BLOCK + offset) as u32, score });
        }
    }
    top
}

impl VectorIndex for FlatIndex {
    fn vectors(&self) -> &Vectors {
        &self.vectors
    }

    fn search(&self, query: &[f32], limit: usize) -> Result<Vec<Hit>, Error> {
        let query = self.vectors.prepare(query)?;
        let numbers = self.vectors.as_slice();
        let top = if numbers.len() < PARALLEL_FROM {
            scan_piece(&query, numbers, 0, limit)
        } else {
            self.scan(&query, limit)
        };
        Ok(top.into_sorted())
    }

    fn after(&self, vectors: Arc<Vectors>, _: &[Option<u32>]) -> Box<dyn VectorIndex> {
        Box::new(Self::new(vectors))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::top::best_first;
    use super::*;
    use crate::index::Rows;

    fn by_sorting_all(index: &FlatIndex, query: &[f32], limit: usize) -> Vec<Hit> {
        let scores = index.score(query, Rows::All).unwrap();
        let hits = scores.into_iter().enumerate();
        let mut hits: Vec<_> = hits.map(|(at, score)| Hit { row: at as u32, score }).collect();
        hits.sort_by(best_first);
        hits.truncate(limit);
        hits
    }

    /// Coarse values, so that equal rows and equal scores are frequent.
    fn vector(dimension: usize) -> impl Strategy<Value = Vec<f32>> {
        prop::collection::vec((-3_i8..=3).prop_map(f32::from), dimension)
            .prop_filter("has a direction", |v| v.iter().any(|x| *x != 0.0))
    }

    proptest! {
        #[test]
        fn finds_what_sorting_every_row_finds(
            (rows, query) in (1_usize..90).prop_flat_map(|dimension| {
                (prop::collection::vec(vector(dimension), 1..600), vector(dimension))
            }),
            limit in 0_usize..40,
        ) {
            let index = FlatIndex::new(Arc::new(Vectors::from_rows(&rows).unwrap()));
            let expected = by_sorting_all(&index, &query, limit);
            prop_assert_eq!(index.search(&query, limit).unwrap(), expected.clone());
            let query = index.vectors.prepare(&query).unwrap();
            prop_assert_eq!(index.scan(&query, limit).into_sorted(), expected);
        }
    }

    #[test]
    fn a_shared_scan_counts_rows_across_pieces() {
        let rows = BLOCK * BLOCKS_PER_JOB * 2 + 7;
        let vectors: Vec<_> = (0..rows).map(|row| [row as f32 - 4_000.5, 1_000.0]).collect();
        let index = FlatIndex::new(Arc::new(Vectors::from_rows(&vectors).unwrap()));
        let query = [0.6, 0.8];
        let expected = by_sorting_all(&index, &query, 20);
        assert_eq!(index.scan(&query, 20).into_sorted(), expected);
        assert_eq!(index.search(&query, 20).unwrap(), expected);
    }

    #[test]
    fn ties_go_to_the_earlier_row() {
        let index = FlatIndex::new(Arc::new(Vectors::from_rows(&[[1.0, 0.0]; 9]).unwrap()));
        let rows: Vec<_> = index.search(&[1.0, 0.0], 4).unwrap().iter().map(|h| h.row).collect();
        assert_eq!(rows, [0, 1, 2, 3]);
    }

    #[test]
    fn a_limit_beyond_the_rows_gives_all_of_them_and_none_gives_none() {
        let index = FlatIndex::new(Arc::new(Vectors::from_rows(&[[1.0], [-1.0]]).unwrap()));
        assert_eq!(index.search(&[1.0], usize::MAX).unwrap().len(), 2);
        assert_eq!(index.search(&[1.0], 0).unwrap(), []);
        let empty = FlatIndex::new(Arc::new(Vectors::from_rows::<[f32; 1]>(&[]).unwrap()));
        assert!(empty.is_empty());
        assert!(empty.search(&[1.0], 3).is_err(), "an empty matrix has no dimension to match");
    }

    #[test]
    fn refuses_queries_that_have_no_direction() {
        let index = FlatIndex::new(Arc::new(Vectors::from_rows(&[[1.0, 0.0]]).unwrap()));
        let refused = |query: &[f32]| index.search(query, 1).unwrap_err().to_string();
        assert!(refused(&[0.0, 0.0]).contains("all zeros"));
        assert!(refused(&[f32::NAN, 0.0]).contains("the query vector holds NaN"));
        assert!(refused(&[1.0]).contains("has 1 numbers, expected 2"));
    }
}
