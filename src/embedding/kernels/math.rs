//! What stands between two products: GELU, softmax, layer norm, rounding to bytes.
//!
//! Plain loops over 32 lanes, compiled by `pulp` for each instruction set. They run row by row in
//! a fixed order, so a row's result does not depend on its neighbours.

use pulp::{Arch, Simd, WithSimd};

use super::{PANEL, QuantizedRows, Tiles};

type Lanes = [f32; PANEL];

/// The functions, for the machine's instructions.
#[derive(Clone, Copy)]
pub struct Math {
    arch: Arch,
}

/// Below this a row has no direction.
pub const NORM_FLOOR: f32 = 1e-12;

impl Default for Math {
    fn default() -> Self {
        Self { arch: Arch::new() }
    }
}

/// A closure that is compiled anew for each instruction set.
struct Run<F>(F);

impl<F: FnOnce()> WithSimd for Run<F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        (self.0)();
    }
}

impl Math {
    /// `x · Φ(x)` of each number, within 1.5e-6 of the definition by the error function.
    pub fn gelu(&self, numbers: &mut [f32]) {
        self.arch.dispatch(Run(
            #[inline(always)]
            || {
                for lanes in numbers.as_chunks_mut::<PANEL>().0 {
                    for x in lanes {
                        *x = gelu(*x);
                    }
                }
            },
        ));
    }

    /// `exp(x − max)` of each row, and the rows' sums. `scores` holds tiles of `sums.len()` rows.
    pub fn exponentials(&self, scores: &mut [f32], sums: &mut [f32]) {
        self.arch.dispatch(Run(
            #[inline(always)]
            || {
                let rows = sums.len();
                let pieces = scores.as_chunks_mut::<PANEL>().0;
                for (row, sum) in sums.iter_mut().enumerate() {
                    let mut largest = [f32::NEG_INFINITY; PANEL];
                    for piece in pieces[row..].iter().step_by(rows) {
                        largest = zip(largest, *piece, f32::max);
                    }
                    let largest = fold(largest, f32::max);
                    let mut total = [0.0; PANEL];
                    for piece in pieces[row..].iter_mut().step_by(rows) {
                        for lane in 0..PANEL {
                            piece[lane] = exp(piece[lane] - largest);
                            total[lane] += piece[lane];
                        }
                    }
                    *sum = fold(total, |a, b| a + b);
                }
            },
        ));
    }

    /// Divides each row of one panel by its number.
    pub fn divide_rows(&self, panel: &mut [f32], by: &[f32]) {
        self.arch.dispatch(Run(
            #[inline(always)]
            || {
                for (piece, by) in panel.as_chunks_mut::<PANEL>().0.iter_mut().zip(by) {
                    let factor = 1.0 / by;
                    for x in piece {
                        *x *= factor;
                    }
                }
            },
        ));
    }

    /// `x ← norm(x + add)`: layer norm over each row, times `gain`, plus `shift`.
    pub fn add_norm(
        &self,
        x: &mut Tiles<f32>,
        add: Option<&Tiles<f32>>,
        norm: (&[f32], &[f32], f32),
    ) {
        self.arch.dispatch(Run(
            #[inline(always)]
            || {
                for row in 0..x.rows() {
                    add_norm_row(x, add, norm, row);
                }
            },
        ));
    }

    /// Rounds each row to bytes with the row's own scale.
    pub fn quantize(&self, x: &Tiles<f32>, out: &mut QuantizedRows) {
        out.tiles.reshape(x.rows(), x.panels());
        out.scales.clear();
        self.arch.dispatch(Run(
            #[inline(always)]
            || {
                for row in 0..x.rows() {
                    let scale = quantize_row(x, &mut out.tiles, row);
                    out.scales.push(scale);
                }
            },
        ));
    }
}

#[inline(always)]
fn add_norm_row(
    x: &mut Tiles<f32>,
    add: Option<&Tiles<f32>>,
    norm: (&[f32], &[f32], f32),
    row: usize,
) {
    let (gain, shift, epsilon) = norm;
    let width = (x.panels() * PANEL) as f32;
    let mut sum = [0.0; PANEL];
    for panel in 0..x.panels() {
        let piece = x.piece_mut(panel, row);
        if let Some(add) = add {
            for (x, add) in piece.iter_mut().zip(add.piece(panel, row)) {
                *x += add;
            }
        }
        for lane in 0..PANEL {
            sum[lane] += piece[lane];
        }
    }
    let mean = fold(sum, |a, b| a + b) / width;
    let mut squares = [0.0; PANEL];
    for panel in 0..x.panels() {
        let piece = x.piece(panel, row);
        for lane in 0..PANEL {
            let apart = piece[lane] - mean;
            squares[lane] = apart.mul_add(apart, squares[lane]);
        }
    }
    let variance = fold(squares, |a, b| a + b) / width;
    let factor = 1.0 / (variance + epsilon).sqrt();
    for panel in 0..x.panels() {
        let columns = panel * PANEL..(panel + 1) * PANEL;
        let (gain, shift) = (&gain[columns.clone()], &shift[columns]);
        let piece = x.piece_mut(panel, row);
        for lane in 0..PANEL {
            piece[lane] = ((piece[lane] - mean) * factor).mul_add(gain[lane], shift[lane]);
        }
    }
}

#[inline(always)]
fn quantize_row(x: &Tiles<f32>, out: &mut Tiles<u8>, row: usize) -> f32 {
    let mut largest = [0.0; PANEL];
    for panel in 0..x.panels() {
        let piece = x.piece(panel, row);
        for lane in 0..PANEL {
            largest[lane] = f32::max(largest[lane], piece[lane].abs());
        }
    }
    let largest = fold(largest, f32::max);
    // A row of zeros stays one, whatever its scale.
    let factor = if largest > 0.0 { 127.0 / largest } else { 0.0 };
    for panel in 0..x.panels() {
        let piece = x.piece(panel, row);
        let out = out.piece_mut(panel, row);
        for lane in 0..PANEL {
            // Adding 1.5 · 2²³ rounds to an integer and leaves it in the low bits.
            out[lane] = piece[lane].mul_add(factor, ROUND + 128.0).to_bits() as u8;
        }
    }
    largest / 127.0
}

const ROUND: f32 = 12_582_912.0;

#[inline(always)]
fn zip(a: Lanes, b: Lanes, f: impl Fn(f32, f32) -> f32) -> Lanes {
    let mut out = a;
    for lane in 0..PANEL {
        out[lane] = f(a[lane], b[lane]);
    }
    out
}

#[inline(always)]
fn fold(mut lanes: Lanes, f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut width = PANEL / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] = f(lanes[lane], lanes[lane + width]);
        }
        width /= 2;
    }
    lanes[0]
}

/// `exp(x)` for `x ≤ 0`, within 2 units in the last place; 0 below −87. Cody and Waite's reduction
/// and the series to the sixth power.
#[inline(always)]
fn exp(x: f32) -> f32 {
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = f32::max(x, -87.0);
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-LN2_LOW, n.mul_add(-LN2_HIGH, x));
    let mut p = 1.0 / 720.0;
    for coefficient in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        p = r.mul_add(p, coefficient);
    }
    // The low bits of `shifted` hold n: added to the exponent they multiply by 2ⁿ.
    f32::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 23))
}

/// Where Φ is 0 or 1 for an f32.
const GELU_EDGE: f32 = 5.0;

/// `(Φ(x) − ½) / x` on [−5, 5] as a polynomial in `2x²/25 − 1`, from the constant up: a Chebyshev
/// fit of the error function, weighted by x.
const GELU: [f32; 13] = [
    0.141_363_78,
    -0.070_296_355,
    0.051_521_037,
    -0.040_440_924,
    0.031_435_326,
    -0.023_279_42,
    0.016_434_962,
    -0.011_136_664,
    0.006_340_374_7,
    -0.002_716_318,
    0.001_791_278_7,
    -0.001_600_970_5,
    0.000_583_855_44,
];

#[inline(always)]
fn gelu(x: f32) -> f32 {
    let inside = f32::min(f32::max(x, -GELU_EDGE), GELU_EDGE);
    let u = (inside * inside).mul_add(2.0 / (GELU_EDGE * GELU_EDGE), -1.0);
    let mut p = GELU[12];
    for coefficient in GELU[..12].iter().rev() {
        p = u.mul_add(p, *coefficient);
    }
    x * inside.mul_add(p, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error function by its series and its continued fraction, in f64.
    fn phi(x: f64) -> f64 {
        let z = x.abs() / std::f64::consts::SQRT_2;
        let erf = if z < 3.0 {
            let (mut term, mut sum) = (z, z);
            for n in 1..200 {
                term *= -z * z / f64::from(n);
                sum += term / f64::from(2 * n + 1);
            }
            sum * 2.0 / std::f64::consts::PI.sqrt()
        } else {
            let mut fraction = 0.0;
            for n in (1..60).rev() {
                fraction = f64::from(n) / 2.0 / (z + fraction);
            }
            1.0 - (-z * z).exp() / (std::f64::consts::PI.sqrt() * (z + fraction))
        };
        if x < 0.0 { 0.5 - erf / 2.0 } else { 0.5 + erf / 2.0 }
    }

    #[test]
    fn gelu_is_that_of_the_error_function() {
        let inputs: Vec<f32> = (-12_800..12_800).map(|at| at as f32 / 1_600.0).collect();
        let mut outputs = inputs.clone();
        Math::default().gelu(&mut outputs);
        for (x, y) in inputs.iter().zip(&outputs) {
            let right = f64::from(*x) * phi(f64::from(*x));
            assert!((f64::from(*y) - right).abs() < 2e-6, "gelu({x}) = {y}, not {right}");
        }
    }

    #[test]
    fn exponentials_sum_and_stay_finite_at_the_edges() {
        let mut scores = vec![0.0f32; 64];
        for (at, score) in scores.iter_mut().enumerate() {
            *score = at as f32 * 2.0 - 100.0;
        }
        scores[3] = -1e30;
        let expected: Vec<f64> = scores.iter().map(|x| (f64::from(*x) - 26.0).exp()).collect();
        let mut sums = [0.0];
        Math::default().exponentials(&mut scores, &mut sums);
        for (got, right) in scores.iter().zip(&expected) {
            assert!((f64::from(*got) - right).abs() < 1e-6 * right.max(1e-3), "{got} {right}");
        }
        assert!((f64::from(sums[0]) - expected.iter().sum::<f64>()).abs() < 1e-5);
    }

    #[test]
    fn rows_are_normed_and_rounded_each_by_itself() {
        let mut x = Tiles::new(2, 2);
        for (at, number) in x.as_mut_slice().iter_mut().enumerate() {
            *number = (at as f32 * 0.7).sin() * 3.0 + 1.0;
        }
        let mut zeroes = Tiles::<f32>::new(1, 2);
        let mut quantized = QuantizedRows::default();
        let math = Math::default();
        math.quantize(&x, &mut quantized);
        for row in 0..2 {
            for panel in 0..2 {
                for (x, q) in x.piece(panel, row).iter().zip(quantized.tiles.piece(panel, row)) {
                    let back = (f32::from(*q) - 128.0) * quantized.scales[row];
                    assert!((x - back).abs() <= quantized.scales[row] * 0.5001, "{x} {back}");
                }
            }
        }
        math.quantize(&zeroes, &mut quantized);
        assert!(quantized.tiles.as_slice().iter().all(|q| *q == 128));
        let (gain, shift) = ([2.0; 64], [0.5; 64]);
        math.add_norm(&mut x, None, (&gain, &shift, 1e-12));
        let row: Vec<f32> = (0..2).flat_map(|panel| x.piece(panel, 1).to_vec()).collect();
        let mean = row.iter().sum::<f32>() / 64.0;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / 64.0;
        assert!((mean - 0.5).abs() < 1e-5 && (variance - 4.0).abs() < 1e-4, "{mean} {variance}");
        math.add_norm(&mut zeroes, None, (&gain, &shift, 1e-12));
        assert!(zeroes.as_slice().iter().all(|x| *x == 0.5));
    }
}
