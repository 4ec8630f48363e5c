//! Plain loops: the reference in the tests of every other kernel, and the fallback for machines
//! without a kernel of their own.

use super::math::{ALWAYS_FUSED, mul_add};
use super::{Left, PANEL};

/// `out[r] = bias + left[r] · panel`, for `rows` rows from `start`; 32 columns.
pub fn product_f32(
    left: &Left<'_, f32>,
    start: usize,
    panel: &[f32],
    bias: &[f32],
    out: &mut [f32],
) {
    for (at, out) in out.chunks_exact_mut(PANEL).enumerate() {
        let mut sums = [0.0f32; PANEL];
        sums.copy_from_slice(bias);
        for (k, weights) in panel.chunks_exact(PANEL).take(left.depth).enumerate() {
            let tile = k / PANEL * left.tile_stride;
            let x = left.numbers[tile + (start + at) * PANEL + k % PANEL];
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum = mul_add::<ALWAYS_FUSED>(x, *weight, *sum);
            }
        }
        out.copy_from_slice(&sums);
    }
}

/// The parameters that convert int8 products of a panel to f32.
#[derive(Clone, Copy)]
pub struct Dequantize<'a> {
    /// The sum of each column's weights, which is multiplied by a row's zero point.
    pub columns: &'a [i32],
    /// One scale per column.
    pub scales: &'a [f32],
    pub bias: &'a [f32],
    /// One scale per row of the left matrix.
    pub row_scales: &'a [f32],
    /// The byte that represents 0, one per row.
    pub zeros: &'a [i32],
}

/// `out[r] = bias + row_scale · scale · (left[r] − zero) · panel` for the rows from `start`.
pub fn product_i8(
    left: &Left<'_, u8>,
    start: usize,
    panel: &[i8],
    back: Dequantize<'_>,
    out: &mut [f32],
) {
    for (at, out) in out.chunks_exact_mut(PANEL).enumerate() {
        let mut sums = [0i32; PANEL];
        for (sum, column) in sums.iter_mut().zip(back.columns) {
            *sum = -back.zeros[start + at] * column;
        }
        for (group, weights) in panel.chunks_exact(PANEL * 4).take(left.depth / 4).enumerate() {
            let k = group * 4;
            let from = k / PANEL * left.tile_stride + (start + at) * PANEL + k % PANEL;
            let x = &left.numbers[from..from + 4];
            for (sum, weights) in sums.iter_mut().zip(weights.chunks_exact(4)) {
                let products = x.iter().zip(weights).map(|(x, w)| i32::from(*x) * i32::from(*w));
                *sum += products.sum::<i32>();
            }
        }
        let scale = back.row_scales[start + at];
        for (column, out) in out.iter_mut().enumerate() {
            let scale = scale * back.scales[column];
            *out = mul_add::<ALWAYS_FUSED>(sums[column] as f32, scale, back.bias[column]);
        }
    }
}
