//! The operations between two matrix products: GELU, softmax, layer norm, rounding to bytes.
//!
//! They are plain loops over 32 lanes, compiled once for each register width. They process rows in
//! a fixed order, so the result of a row does not depend on its neighbours.

use super::{Isa, PANEL, QuantizedRows, Tiles};

type Lanes = [f32; PANEL];

/// The operations, compiled for one instruction set.
#[derive(Clone, Copy)]
pub struct Math {
    isa: Isa,
}

/// Defines a method of [`Math`] that runs a generic function compiled for the machine's instruction
/// set. The function's const parameter tells whether a fused multiply-add is available.
macro_rules! compiled_for_each {
    ($(#[$doc:meta])* $name:ident = $body:ident($($argument:ident: $type:ty),*)) => {
        $(#[$doc])*
        pub fn $name(&self, $($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2,fma")]
            fn wide($($argument: $type),*) {
                $body::<true>($($argument),*);
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn middle($($argument: $type),*) {
                $body::<true>($($argument),*);
            }
            match self.isa {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `isa` names only what `Isa::detect` found on this machine.
                Isa::Avx512Vnni | Isa::Avx512 => unsafe { wide($($argument),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                Isa::AvxVnni | Isa::Avx2 => unsafe { middle($($argument),*) },
                #[cfg(target_arch = "aarch64")]
                Isa::NeonDot => $body::<ALWAYS_FUSED>($($argument),*),
                Isa::Portable => $body::<ALWAYS_FUSED>($($argument),*),
            }
        }
    };
}

impl Math {
    /// For the given instruction set, which the machine must support.
    pub(super) fn for_isa(isa: Isa) -> Self {
        Self { isa }
    }

    compiled_for_each! {
        /// `x · Φ(x)` of each number, within 2e-6 of the definition by the error function.
        gelu = gelu_all(numbers: &mut [f32])
    }

    compiled_for_each! {
        /// Replaces each number by `exp(x − max)` of its row and stores the sum of each row.
        /// `scores` consists of tiles of `sums.len()` rows.
        exponentials = exponentials(scores: &mut [f32], sums: &mut [f32])
    }

    compiled_for_each! {
        /// Divides row `r` of a panel by `by[r]`.
        divide_rows = divide_rows(panel: &mut [f32], by: &[f32])
    }

    compiled_for_each! {
        /// `x ← norm(x + add)`: layer norm over each row, times the gain, plus the shift.
        add_norm = add_norm(x: &mut Tiles<f32>, add: Option<&Tiles<f32>>, norm: Norm<'_>)
    }

    compiled_for_each! {
        /// Multiplies each column by its factor and rounds each row to bytes, with a scale per row.
        quantize = quantize(x: &Tiles<f32>, factors: &[f32], out: &mut QuantizedRows)
    }
}

impl Default for Math {
    fn default() -> Self {
        Self::for_isa(Isa::detect())
    }
}

/// Gain, bias and ε.
type Norm<'a> = (&'a [f32], &'a [f32], f32);

/// Whether every machine of this architecture has a fused multiply-add. This is true on 64-bit Arm,
/// so all kernels there round in the same way as those for AVX2 and AVX-512 and vectors are
/// bit-identical.
pub(super) const ALWAYS_FUSED: bool = cfg!(target_arch = "aarch64");

/// `a · b + c`, fused if that is a single instruction, not a library call.
#[inline(always)]
pub(super) fn mul_add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
fn gelu_all<const FUSED: bool>(numbers: &mut [f32]) {
    for lanes in numbers.as_chunks_mut::<PANEL>().0 {
        for x in lanes {
            *x = gelu::<FUSED>(*x);
        }
    }
}

#[inline(always)]
fn exponentials<const FUSED: bool>(scores: &mut [f32], sums: &mut [f32]) {
    let rows = sums.len();
    let pieces = scores.as_chunks_mut::<PANEL>().0;
    for (row, sum) in sums.iter_mut().enumerate() {
        let mut largest = [f32::NEG_INFINITY; PANEL];
        for piece in pieces[row..].iter().step_by(rows) {
            largest = zip(largest, *piece, larger);
        }
        let largest = fold(largest, larger);
        let mut total = [0.0; PANEL];
        for piece in pieces[row..].iter_mut().step_by(rows) {
            for lane in 0..PANEL {
                piece[lane] = exp::<FUSED>(piece[lane] - largest);
                total[lane] += piece[lane];
            }
        }
        *sum = fold(total, |a, b| a + b);
    }
}

#[inline(always)]
fn divide_rows<const FUSED: bool>(panel: &mut [f32], by: &[f32]) {
    for (piece, by) in panel.as_chunks_mut::<PANEL>().0.iter_mut().zip(by) {
        let factor = 1.0 / by;
        for x in piece {
            *x *= factor;
        }
    }
}

#[inline(always)]
fn add_norm<const FUSED: bool>(x: &mut Tiles<f32>, add: Option<&Tiles<f32>>, norm: Norm<'_>) {
    for row in 0..x.rows() {
        add_norm_row::<FUSED>(x, add, norm, row);
    }
}

#[inline(always)]
fn quantize<const FUSED: bool>(x: &Tiles<f32>, factors: &[f32], out: &mut QuantizedRows) {
    out.tiles.reshape(x.rows(), x.panels());
    out.scales.resize(x.rows(), 0.0);
    out.zeros.resize(x.rows(), 0);
    for row in 0..x.rows() {
        (out.scales[row], out.zeros[row]) = quantize_row::<FUSED>(x, factors, &mut out.tiles, row);
    }
}

/// A single comparison; `f32::max` also handles NaN, which is slower.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
fn add_norm_row<const FUSED: bool>(
    x: &mut Tiles<f32>,
    add: Option<&Tiles<f32>>,
    norm: Norm<'_>,
    row: usize,
) {
    let (gain, shift, epsilon) = norm;
    let width = (x.panels() * PANEL) as f32;
    let mut sum = [0.0; PANEL];
    for panel in 0..x.panels() {
        let piece = x.piece_mut(panel, row);
        if let Some(add) = add {
            *piece = zip(*piece, *add.piece(panel, row), |x, add| x + add);
        }
        sum = zip(sum, *piece, |sum, x| sum + x);
    }
    let mean = fold(sum, |a, b| a + b) / width;
    let mut squares = [0.0; PANEL];
    for panel in 0..x.panels() {
        squares =
            zip(squares, *x.piece(panel, row), |sum, x| mul_add::<FUSED>(x - mean, x - mean, sum));
    }
    let variance = fold(squares, |a, b| a + b) / width;
    let factor = 1.0 / (variance + epsilon).sqrt();
    let (gain, shift) = (gain.as_chunks::<PANEL>().0, shift.as_chunks::<PANEL>().0);
    for (panel, (gain, shift)) in gain.iter().zip(shift).enumerate() {
        let piece = x.piece_mut(panel, row);
        let gained = zip(*piece, *gain, |x, gain| (x - mean) * factor * gain);
        *piece = zip(gained, *shift, |x, shift| x + shift);
    }
}

#[inline(always)]
fn quantize_row<const FUSED: bool>(
    x: &Tiles<f32>,
    factors: &[f32],
    out: &mut Tiles<u8>,
    row: usize,
) -> (f32, i32) {
    let factors = &factors.as_chunks::<PANEL>().0[..x.panels()];
    // The range includes 0, because 0 must be represented exactly.
    let (mut least, mut most) = ([0.0; PANEL], [0.0; PANEL]);
    for (panel, factors) in factors.iter().enumerate() {
        let piece = zip(*x.piece(panel, row), *factors, |x, factor| x * factor);
        least = zip(least, piece, |a, b| -larger(-a, -b));
        most = zip(most, piece, larger);
    }
    let (least, most) = (fold(least, |a, b| -larger(-a, -b)), fold(most, larger));
    // 254 instead of 255, because both ends may round up. A row of zeros stays zero.
    let factor = if most > least { 254.0 / (most - least) } else { 0.0 };
    let zero = (-least * factor + ROUND) - ROUND;
    for (panel, factors) in factors.iter().enumerate() {
        let piece = zip(*x.piece(panel, row), *factors, |x, factor| x * factor);
        // Adding 1.5 · 2²³ rounds to an integer and leaves it in the low bits.
        let round = |x| mul_add::<FUSED>(x, factor, ROUND + zero).to_bits();
        let mut rounded = [0u32; PANEL];
        for (rounded, x) in rounded.iter_mut().zip(&piece) {
            *rounded = round(*x);
        }
        let mut bytes = [0u8; PANEL];
        for (byte, rounded) in bytes.iter_mut().zip(&rounded) {
            *byte = *rounded as u8;
        }
        *out.piece_mut(panel, row) = bytes;
    }
    ((most - least) / 254.0, zero as i32)
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

/// `exp(x)` for `x ≤ 0`, within 2 units in the last place; 0 below −87. Uses Cody and Waite's range
/// reduction and a polynomial of degree six.
#[inline(always)]
fn exp<const FUSED: bool>(x: f32) -> f32 {
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = larger(x, -87.0);
    let shifted = mul_add::<FUSED>(x, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = mul_add::<FUSED>(n, -LN2_LOW, mul_add::<FUSED>(n, -LN2_HIGH, x));
    let mut p = 1.0 / 720.0;
    for coefficient in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        p = mul_add::<FUSED>(r, p, coefficient);
    }
    // The low bits of `shifted` are n; adding them to the exponent multiplies by 2ⁿ.
    f32::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 23))
}

/// Beyond ±5, Φ is 0 or 1 in f32.
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
fn gelu<const FUSED: bool>(x: f32) -> f32 {
    let inside = -larger(-larger(x, -GELU_EDGE), -GELU_EDGE);
    let u = mul_add::<FUSED>(inside * inside, 2.0 / (GELU_EDGE * GELU_EDGE), -1.0);
    let mut p = GELU[12];
    for coefficient in GELU[..12].iter().rev() {
        p = mul_add::<FUSED>(u, p, *coefficient);
    }
    x * mul_add::<FUSED>(inside, p, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error function in f64, by its series and its continued fraction.
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
        let factors: Vec<f32> = (0..64).map(|at| 0.25 + at as f32 / 16.0).collect();
        math.quantize(&x, &factors, &mut quantized);
        for row in 0..2 {
            for panel in 0..2 {
                let piece = x.piece(panel, row).iter().zip(&factors[panel * PANEL..]);
                for ((x, factor), q) in piece.zip(quantized.tiles.piece(panel, row)) {
                    let x = x * factor;
                    let back =
                        (f32::from(*q) - quantized.zeros[row] as f32) * quantized.scales[row];
                    assert!((x - back).abs() <= quantized.scales[row] * 0.5001, "{x} {back}");
                }
            }
        }
        math.quantize(&zeroes, &factors, &mut quantized);
        assert!(quantized.tiles.as_slice().iter().all(|q| i32::from(*q) == quantized.zeros[0]));
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
