//! The dot product, with the widest instructions of the machine.
//!
//! The sum uses a fixed number of lanes and fused multiply-add, so that every machine adds in the
//! same order and gets a bit-identical result.

use pulp::{Arch, Simd, WithSimd};

use crate::kernels::Aligned;

/// Number of partial sums: four registers of 16 floats, enough to hide the latency of a fused
/// multiply-add (4 cycles, two per cycle with 256-bit registers), and a divisor of 384.
const LANES: usize = 64;

/// Numbers in the widest registers, those of AVX-512.
const WIDE: usize = 16;

/// Returns the dot product of two vectors. If their lengths differ, the longer one is truncated.
#[doc(hidden)] // For our own crates.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
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

/// Number of rows that stay in the first-level cache while all queries use them: 18 KiB with 384
/// numbers per row.
const TILE: usize = 12;

struct Pair<'a> {
    a: &'a [f32],
    b: &'a [f32],
}

impl WithSimd for Pair<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        product(simd, self.a, self.b)
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
    fn with_simd<S: Simd>(self, simd: S) {
        score_tile(simd, self.query, self.matrix, self.scores);
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

    /// In a file, rows start anywhere, so that each load of a register crosses two cache lines. The
    /// rows of a tile are therefore copied to where they are aligned, once for all queries.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { queries, matrix, dimension, scores } = self;
        // With narrower registers the sums of six products would not fit.
        let is_wide = S::F32_LANES == WIDE && dimension.is_multiple_of(LANES) && scores.len() > 1;
        let mut aligned = Aligned::zeros(if is_wide { TILE * dimension } else { 0 });
        for (at, mut tile) in matrix.chunks(TILE * dimension).enumerate() {
            let first = at * TILE;
            if is_wide {
                let copy = &mut aligned[..tile.len()];
                copy.copy_from_slice(tile);
                tile = copy;
            }
            for (two, scores) in queries.chunks(2 * dimension).zip(scores.chunks_mut(2)) {
                let (a, b) = two.split_at(dimension);
                if is_wide && let [to_a, to_b] = scores {
                    score_pair(simd, [a, b], tile, [&mut to_a[first..], &mut to_b[first..]]);
                    continue;
                }
                for (query, scores) in two.chunks(dimension).zip(scores) {
                    score_tile(simd, query, tile, &mut scores[first..]);
                }
            }
        }
    }
}

/// Fills `scores` with the products of one query and consecutive rows.
#[inline(always)]
fn score_tile<S: Simd>(simd: S, query: &[f32], tile: &[f32], scores: &mut [f32]) {
    for (score, row) in scores.iter_mut().zip(tile.chunks_exact(query.len().max(1))) {
        *score = product(simd, query, row);
    }
}

/// Fills the scores of two queries, whose length is a multiple of [`LANES`]. Three rows are taken at
/// a time, so that each number is loaded once for two or three products.
#[inline(always)]
fn score_pair<S: Simd>(simd: S, queries: [&[f32]; 2], tile: &[f32], scores: [&mut [f32]; 2]) {
    let dimension = queries[0].len();
    let [to_a, to_b] = scores;
    let threes = tile.chunks_exact(3 * dimension);
    let (rest, done) = (threes.remainder(), threes.len() * 3);
    for (at, rows) in threes.enumerate() {
        let row = |at: usize| &rows[at * dimension..][..dimension];
        let rows = [row(0), row(1), row(2)];
        let [of_a, of_b] = six_products::<S, { LANES / WIDE }>(simd, queries, rows);
        to_a[3 * at..][..3].copy_from_slice(&of_a);
        to_b[3 * at..][..3].copy_from_slice(&of_b);
    }
    score_tile(simd, queries[0], rest, &mut to_a[done..]);
    score_tile(simd, queries[1], rest, &mut to_b[done..]);
}

/// Returns the dot product. Registers of other widths than those of x86 are left to the compiler.
#[inline(always)]
fn product<S: Simd>(simd: S, a: &[f32], b: &[f32]) -> f32 {
    let is_whole = a.len() == b.len() && a.len().is_multiple_of(LANES);
    match S::F32_LANES {
        WIDE if is_whole => one_product::<S, { LANES / WIDE }>(simd, a, b),
        8 if is_whole => one_product::<S, { LANES / 8 }>(simd, a, b),
        _ => sum_of_products(a, b),
    }
}

/// The sums of `N` registers stay in registers, which the compiler does not achieve with arrays of
/// numbers: it stored each sum to memory, which took four times as long.
#[inline(always)]
fn one_product<S: Simd, const N: usize>(simd: S, a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [simd.splat_f32s(0.0); N];
    for (a, b) in blocks::<S, N>(a).iter().zip(blocks::<S, N>(b)) {
        for lane in 0..N {
            sums[lane] = simd.mul_add_f32s(a[lane], b[lane], sums[lane]);
        }
    }
    fold_registers(simd, sums)
}

/// Returns the products of two queries with three rows: 24 sums, which fit in the 32 registers of
/// AVX-512 together with the numbers.
#[inline(always)]
fn six_products<S: Simd, const N: usize>(
    simd: S,
    queries: [&[f32]; 2],
    rows: [&[f32]; 3],
) -> [[f32; 3]; 2] {
    let queries = queries.map(blocks::<S, N>);
    let count = queries[0].len();
    // Equal lengths spare the loop its checks.
    let queries = queries.map(|query| &query[..count]);
    let rows = rows.map(|row| &blocks::<S, N>(row)[..count]);
    let mut sums = [[[simd.splat_f32s(0.0); N]; 3]; 2];
    for block in 0..count {
        for lane in 0..N {
            for (query, sums) in queries.iter().zip(&mut sums) {
                for (row, sums) in rows.iter().zip(sums) {
                    sums[lane] =
                        simd.mul_add_f32s(query[block][lane], row[block][lane], sums[lane]);
                }
            }
        }
    }
    sums.map(|sums| sums.map(|sums| fold_registers(simd, sums)))
}

/// Returns the numbers as blocks of `N` registers, without the rest.
#[inline(always)]
fn blocks<S: Simd, const N: usize>(numbers: &[f32]) -> &[[S::f32s; N]] {
    S::as_simd_f32s(numbers).0.as_chunks::<N>().0
}

/// The same as [`fold`], in registers: pulp adds halves too.
#[inline(always)]
fn fold_registers<S: Simd, const N: usize>(simd: S, mut sums: [S::f32s; N]) -> f32 {
    let mut width = N / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] = simd.add_f32s(sums[lane], sums[lane + width]);
        }
        width /= 2;
    }
    simd.reduce_sum_f32s(sums[0])
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
    fn blocks_and_products_of_matrices_give_the_bits_of_single_rows() {
        for (queries, rows, dimension) in
            [(1, 5, 70), (2, 2, 384), (3, 37, 384), (5, 16, 3), (4, 33, 64), (2, 12, 128)]
        {
            let (many, matrix) = (numbers(queries * dimension, 1), numbers(rows * dimension, 2));
            let mut scores = vec![vec![0.0; rows]; queries];
            dot_matrix(&many, &matrix, dimension, &mut scores);
            let bits = |scores: &[f32]| scores.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            let mut block = vec![0.0; rows];
            for (query, scores) in many.chunks(dimension).zip(scores) {
                dot_rows(query, &matrix, &mut block);
                let single: Vec<f32> =
                    matrix.chunks(dimension).map(|row| dot(query, row)).collect();
                let case = format!("{queries}·{rows}·{dimension}");
                assert_eq!((bits(&block), bits(&scores)), (bits(&single), bits(&single)), "{case}");
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
