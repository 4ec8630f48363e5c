//! The dot product, with the widest instructions of the machine.
//!
//! The sum uses a fixed number of lanes and fused multiply-add, so that every machine adds in the
//! same order and gets a bit-identical result.

use pulp::{Arch, Simd, WithSimd};

/// Number of partial sums: four registers of 16 floats, enough to hide the latency of a fused
/// multiply-add (4 cycles, two per cycle with 256-bit registers), and a divisor of 384.
const LANES: usize = 64;

/// Returns the dot product of two vectors. If their lengths differ, the longer one is truncated.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    Arch::new().dispatch(Pair { a, b })
}

/// Fills `scores` with the dot products of `query` and the rows of `matrix`, which are stored
/// consecutively.
pub(super) fn dot_rows(query: &[f32], matrix: &[f32], scores: &mut [f32]) {
    Arch::new().dispatch(Block { query, matrix, scores });
}

/// Fills `scores`, one vector per query, with the dot products of `queries` and the rows of `matrix`.
/// Both are stored consecutively, with `dimension` numbers each. The results are bit-identical to
/// [`dot_rows`], but the matrix is read only once.
pub(super) fn dot_matrix(
    queries: &[f32],
    matrix: &[f32],
    dimension: usize,
    scores: &mut [Vec<f32>],
) {
    Arch::new().dispatch(Product { queries, matrix, dimension: dimension.max(1), scores });
}

/// Number of rows that stay in the first-level cache while all queries use them: 24 KiB with 384
/// numbers per row.
const TILE: usize = 16;

struct Pair<'a> {
    a: &'a [f32],
    b: &'a [f32],
}

impl WithSimd for Pair<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f32 {
        sum_of_products(self.a, self.b)
    }
}

struct Block<'a> {
    query: &'a [f32],
    matrix: &'a [f32],
    scores: &'a mut [f32],
}

impl WithSimd for Block<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let rows = self.matrix.chunks_exact(self.query.len().max(1));
        for (score, row) in self.scores.iter_mut().zip(rows) {
            *score = sum_of_products(self.query, row);
        }
    }
}

struct Product<'a> {
    queries: &'a [f32],
    matrix: &'a [f32],
    dimension: usize,
    scores: &'a mut [Vec<f32>],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { queries, matrix, dimension, scores } = self;
        for (at, tile) in matrix.chunks(TILE * dimension).enumerate() {
            let first = at * TILE;
            let mut pairs = queries.chunks(2 * dimension).zip(scores.chunks_mut(2));
            // Two by two: each number is loaded once for two products. With narrower registers the sums
            // of four products would not fit.
            while S::F32_LANES >= 16
                && let Some((two, scores)) = pairs.next()
            {
                let (a, b) = two.split_at(dimension);
                if b.is_empty() {
                    score_tile(a, tile, &mut scores[0][first..]);
                    continue;
                }
                for (row, rows) in tile.chunks(2 * dimension).enumerate() {
                    let (x, y) = rows.split_at(dimension);
                    let row = first + 2 * row;
                    if y.is_empty() {
                        (scores[0][row], scores[1][row]) =
                            (sum_of_products(a, x), sum_of_products(b, x));
                    } else {
                        let sums = four_sums([a, b], [x, y]);
                        (scores[0][row], scores[0][row + 1]) = (sums[0], sums[1]);
                        (scores[1][row], scores[1][row + 1]) = (sums[2], sums[3]);
                    }
                }
            }
            for (two, scores) in pairs {
                for (query, scores) in two.chunks(dimension).zip(scores) {
                    score_tile(query, tile, &mut scores[first..]);
                }
            }
        }
    }
}

#[inline(always)]
fn score_tile(query: &[f32], tile: &[f32], scores: &mut [f32]) {
    for (score, row) in scores.iter_mut().zip(tile.chunks_exact(query.len())) {
        *score = sum_of_products(query, row);
    }
}

/// Returns the products of two queries with two rows, those of the first query first.
#[inline(always)]
fn four_sums([a, b]: [&[f32]; 2], [x, y]: [&[f32]; 2]) -> [f32; 4] {
    let ((a_blocks, a_rest), (b_blocks, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let ((x_blocks, x_rest), (y_blocks, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    let (mut ax, mut ay) = ([0.0_f32; LANES], [0.0_f32; LANES]);
    let (mut bx, mut by) = ([0.0_f32; LANES], [0.0_f32; LANES]);
    for ((a, b), (x, y)) in a_blocks.iter().zip(b_blocks).zip(x_blocks.iter().zip(y_blocks)) {
        for lane in 0..LANES {
            ax[lane] = a[lane].mul_add(x[lane], ax[lane]);
            ay[lane] = a[lane].mul_add(y[lane], ay[lane]);
            bx[lane] = b[lane].mul_add(x[lane], bx[lane]);
            by[lane] = b[lane].mul_add(y[lane], by[lane]);
        }
    }
    for (lane, ((a, b), (x, y))) in
        a_rest.iter().zip(b_rest).zip(x_rest.iter().zip(y_rest)).enumerate()
    {
        ax[lane] = a.mul_add(*x, ax[lane]);
        ay[lane] = a.mul_add(*y, ay[lane]);
        bx[lane] = b.mul_add(*x, bx[lane]);
        by[lane] = b.mul_add(*y, by[lane]);
    }
    [fold(ax), fold(ay), fold(bx), fold(by)]
}

#[inline(always)]
fn sum_of_products(a: &[f32], b: &[f32]) -> f32 {
    let common = a.len().min(b.len());
    let (a_blocks, a_rest) = a[..common].as_chunks::<LANES>();
    let (b_blocks, b_rest) = b[..common].as_chunks::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            sums[lane] = x[lane].mul_add(y[lane], sums[lane]);
        }
    }
    for (lane, (x, y)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[lane] = x.mul_add(*y, sums[lane]);
    }
    fold(sums)
}

/// Adds the upper half of the lanes to the lower half until one is left, as vector registers do.
#[inline(always)]
fn fold(mut sums: [f32; LANES]) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
        width /= 2;
    }
    sums[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        (0..count as u32).map(|i| ((i * 37 + seed * 101) % 199) as f32 / 99.5 - 1.0).collect()
    }

    #[test]
    fn agrees_with_a_sum_in_double_precision_at_every_length() {
        for count in 0..=200 {
            let (a, b) = (numbers(count, 1), numbers(count, 2));
            let exact: f64 = a.iter().zip(&b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
            assert!((f64::from(dot(&a, &b)) - exact).abs() < 1e-4, "at {count}");
        }
    }

    #[test]
    fn a_block_of_rows_gives_the_bits_of_single_rows() {
        let (query, matrix) = (numbers(70, 1), numbers(70 * 5, 2));
        let mut scores = [0.0; 5];
        dot_rows(&query, &matrix, &mut scores);
        for (row, score) in matrix.chunks(70).zip(scores) {
            assert_eq!(dot(&query, row).to_bits(), score.to_bits());
        }
    }

    #[test]
    fn a_product_of_matrices_gives_the_bits_of_single_rows() {
        for (queries, rows, dimension) in
            [(1, 5, 70), (2, 2, 384), (3, 37, 384), (5, 16, 3), (4, 33, 64)]
        {
            let (many, matrix) = (numbers(queries * dimension, 1), numbers(rows * dimension, 2));
            let mut scores = vec![vec![0.0; rows]; queries];
            dot_matrix(&many, &matrix, dimension, &mut scores);
            for (query, scores) in many.chunks(dimension).zip(scores) {
                for (row, score) in matrix.chunks(dimension).zip(scores) {
                    assert_eq!(
                        dot(query, row).to_bits(),
                        score.to_bits(),
                        "{queries}·{rows}·{dimension}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_widest_instructions_give_the_bits_of_none() {
        let (a, b) = (numbers(384, 3), numbers(384, 4));
        let plain = sum_of_products(&a, &b);
        assert_eq!(dot(&a, &b).to_bits(), plain.to_bits());
    }
}
