//! Rounds weights to int8 so that the error of the layer's outputs is small.
//!
//! The encoder runs over some example texts in f32 and records the inputs of each linear layer.
//! 1. Some inputs are tens of times larger than the others and would make the quantization step of
//!    the whole row coarse. Each input is divided by a scale and its weights are multiplied by it,
//!    which splits the difficulty between both (SmoothQuant, Xiao et al. 2022, with the norms of
//!    both instead of their maxima).
//! 2. Weights are rounded one input after the other. The rounding error of each is compensated by
//!    the inputs that are correlated with it (GPTQ, Frantar et al. 2022, in the form of QuIP's
//!    LDLQ, Chee et al. 2023).
//!
//! The result is the same on every machine with AVX2 and FMA or better and on every 64-bit Arm:
//! their f32 kernels are bit-identical, and this module neither fuses nor reorders operations.

use rayon::prelude::*;

use super::Encoder;
use super::weights::{BertWeights, LinearWeights, Table};
use crate::embedding::Error;
use crate::kernels::{Isa, Left, PANEL, PackedF32, PackedWeight, QuantizedWeight, Tiles};

/// Number of inputs whose errors compensate each other. A larger block would need more examples.
const BLOCK: usize = 384;

/// Added to the mean square of each input, as a share of the average over inputs. The examples are
/// few, so their correlations are uncertain. With 0.01 the error on other texts was larger.
const DAMPING: f64 = 0.1;

/// Minimum norm of an input or of its weights, so that no scale is 0.
const LEAST: f64 = 1e-4;

/// Rounds weights, optimised for the inputs that `encoder`, which has the same weights, gets from
/// the examples.
pub(in crate::embedding) fn rounded(
    weights: BertWeights,
    encoder: &Encoder,
    examples: &[Vec<u32>],
) -> Result<BertWeights, Error> {
    let examples: Vec<&[u32]> = examples.iter().map(Vec::as_slice).collect();
    let BertWeights { words, positions, norm, layers } = weights;
    let (mut waiting, mut layers) = (layers.into_iter(), Vec::new());
    encoder.watch(&examples, |inputs, tokens| {
        let mut inputs = inputs.into_iter();
        layers.extend(waiting.next().map(|layer| {
            layer.map(|linear| match (linear, inputs.next()) {
                (LinearWeights::F32 { weight, bias, .. }, Some(x)) => {
                    let (weight, input_scales) =
                        round(encoder.isa, weight, &LayerInputs::new(x, tokens));
                    let weight = PackedWeight::of(&weight);
                    LinearWeights::Int8 { weight, input_scales, bias }
                }
                (other, _) => other,
            })
        }));
    })?;
    let words = match words {
        Table::F32 { numbers, width } => Table::Int8(QuantizedWeight::quantize(&numbers, width)),
        rounded => rounded,
    };
    Ok(BertWeights { words, positions, norm, layers })
}

/// Recorded inputs of a linear layer, stored by input, with one number per example token.
struct LayerInputs {
    numbers: Vec<f32>,
    /// A multiple of 32; the padding is 0.
    tokens: usize,
}

impl LayerInputs {
    fn new(x: &Tiles<f32>, count: usize) -> Self {
        let tokens = count.next_multiple_of(PANEL);
        let mut numbers = vec![0.0; x.panels() * PANEL * tokens];
        for (panel, turned) in numbers.chunks_exact_mut(PANEL * tokens).enumerate() {
            for token in 0..count {
                for (input, number) in x.piece(panel, token).iter().enumerate() {
                    turned[input * tokens + token] = *number;
                }
            }
        }
        Self { numbers, tokens }
    }

    /// Products of each pair of the given inputs, summed over the tokens.
    fn products(&self, isa: Isa, inputs: std::ops::Range<usize>, scales: &[f32]) -> Vec<f64> {
        let count = inputs.len();
        let mut numbers =
            self.numbers[inputs.start * self.tokens..inputs.end * self.tokens].to_vec();
        for (row, scale) in numbers.chunks_exact_mut(self.tokens).zip(&scales[inputs]) {
            row.iter_mut().for_each(|x| *x /= scale);
        }
        let mut left = Tiles::new(count, self.tokens / PANEL);
        for (at, piece) in numbers.as_chunks::<PANEL>().0.iter().enumerate() {
            *left.piece_mut(at % left.panels(), at / left.panels()) = *piece;
        }
        let packed = PackedF32::pack(isa, &numbers, &vec![0.0; count], self.tokens);
        let mut out = vec![0.0; count * count];
        packed.multiply(&Left::all(&left), 0..packed.panels(), &mut out);
        let at = |row: usize, column: usize| {
            out[(column / PANEL * count + row) * PANEL + column % PANEL]
        };
        (0..count * count).map(|both| f64::from(at(both / count, both % count))).collect()
    }
}

/// Returns row-major weights as int8, and the scales of their inputs.
fn round(isa: Isa, mut weight: Vec<f32>, seen: &LayerInputs) -> (QuantizedWeight, Vec<f32>) {
    let inputs = seen.numbers.len() / seen.tokens;
    let input_scales = input_scales(&weight, seen, inputs);
    for row in weight.chunks_exact_mut(inputs) {
        row.iter_mut().zip(&input_scales).for_each(|(weight, scale)| *weight *= scale);
    }
    let starts: Vec<usize> = (0..inputs).step_by(BLOCK).collect();
    let blocks: Vec<Lower> = starts
        .into_par_iter()
        .map(|start| start..(start + BLOCK).min(inputs))
        .map(|block| Lower::of(seen.products(isa, block.clone(), &input_scales), block.len()))
        .collect();
    let rows: Vec<(Vec<i8>, f32)> =
        weight.par_chunks_exact(inputs).map(|row| round_row(row, &blocks)).collect();
    let scales = rows.iter().map(|(_, scale)| *scale).collect();
    let numbers: Vec<i8> = rows.into_iter().flat_map(|(numbers, _)| numbers).collect();
    (QuantizedWeight { inputs, numbers: numbers.into(), scales }, input_scales)
}

/// The square root of the ratio of each input's norm to the norm of its weights.
fn input_scales(weight: &[f32], seen: &LayerInputs, inputs: usize) -> Vec<f32> {
    let mut squares = vec![0.0; inputs];
    for row in weight.chunks_exact(inputs) {
        squares.iter_mut().zip(row).for_each(|(sum, w)| *sum += f64::from(*w) * f64::from(*w));
    }
    let lengths = seen.numbers.chunks_exact(seen.tokens).map(|row| {
        let squares: f64 = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        (squares / seen.tokens as f64).sqrt().max(LEAST)
    });
    let scale = |(length, squares): (f64, &f64)| (length / squares.sqrt().max(LEAST)).sqrt() as f32;
    lengths.zip(&squares).map(scale).collect()
}

/// The unit lower triangular matrix L of the decomposition L·D·Lᵀ of a symmetric matrix, row-major.
struct Lower {
    rows: Vec<f64>,
    size: usize,
}

impl Lower {
    fn of(mut matrix: Vec<f64>, size: usize) -> Self {
        let mean = (0..size).map(|at| matrix[at * size + at]).sum::<f64>() / size as f64;
        let mut diagonal = vec![0.0; size];
        for row in 0..size {
            let (above, this) = matrix.split_at_mut(row * size);
            let this = &mut this[..=row];
            this[row] += mean * DAMPING + f64::MIN_POSITIVE;
            for (column, other) in above.chunks_exact(size).enumerate() {
                // Up to this column, `this` holds L·D.
                let known: f64 = (0..column).map(|at| this[at] * other[at]).sum();
                this[column] -= known;
            }
            for column in 0..row {
                let scaled = this[column] / diagonal[column];
                this[row] -= this[column] * scaled;
                this[column] = scaled;
            }
            diagonal[row] = this[row];
        }
        Self { rows: matrix, size }
    }
}

/// Rounds the weights of one output, from the last input of each block to the first.
fn round_row(row: &[f32], blocks: &[Lower]) -> (Vec<i8>, f32) {
    let largest = row.iter().fold(0.0f32, |largest, w| largest.max(w.abs()));
    let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
    let mut numbers = vec![0; row.len()];
    let mut start = 0;
    for Lower { rows, size } in blocks {
        let row = &row[start..start + size];
        let mut wanted: Vec<f64> = row.iter().map(|w| f64::from(*w)).collect();
        for at in (0..*size).rev() {
            let rounded = (wanted[at] / f64::from(scale)).round_ties_even().clamp(-127.0, 127.0);
            numbers[start + at] = rounded as i8;
            let off = f64::from(row[at]) - rounded * f64::from(scale);
            let lower = &rows[at * size..at * size + at];
            wanted.iter_mut().zip(lower).for_each(|(wanted, l)| *wanted += off * l);
        }
        start += size;
    }
    (numbers, scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudo-random numbers between −1 and 1.
    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_triangle_is_that_of_its_matrix() {
        let mut matrix = vec![4.0, 2.0, 0.4, 2.0, 5.0, 1.0, 0.4, 1.0, 3.0];
        let lower = Lower::of(matrix.clone(), 3);
        (0..3).for_each(|at| matrix[at * 3 + at] += DAMPING * 4.0);
        let d0 = 4.4;
        let (l10, l20) = (2.0 / d0, 0.4 / d0);
        let d1 = 5.4 - l10 * l10 * d0;
        let l21 = (1.0 - l10 * l20 * d0) / d1;
        for (at, right) in [(3, l10), (6, l20), (7, l21)] {
            assert!((lower.rows[at] - right).abs() < 1e-12, "{at}");
        }
    }

    /// Mean squared error of the outputs.
    fn loss(seen: &LayerInputs, weight: &[f32], rounded: &[f32]) -> f64 {
        let inputs = seen.numbers.len() / seen.tokens;
        let off = |row: usize, token: usize| -> f64 {
            let at = |k: usize| f64::from(seen.numbers[k * seen.tokens + token]);
            let w = |k: usize| f64::from(weight[row * inputs + k] - rounded[row * inputs + k]);
            (0..inputs).map(|k| at(k) * w(k)).sum()
        };
        (0..32 * seen.tokens).map(|at| off(at / seen.tokens, at % seen.tokens).powi(2)).sum()
    }

    #[test]
    fn large_and_related_inputs_cost_less_than_when_each_weight_goes_its_own_way() {
        let (inputs, tokens) = (64, 96);
        let mut seen = LayerInputs { numbers: numbers(inputs * tokens, 3), tokens };
        let first = seen.numbers[..tokens].to_vec();
        for (at, row) in seen.numbers.chunks_exact_mut(tokens).enumerate() {
            let large = if at == 7 { 40.0 } else { 1.0 };
            row.iter_mut().zip(&first).for_each(|(x, first)| *x = (*x * 0.3 + first) * large);
        }
        let weight = numbers(32 * inputs, 5);
        let (rounded, scales) = round(Isa::detect(), weight.clone(), &seen);
        assert!(scales[7] > 4.0 * scales[8], "{} {}", scales[7], scales[8]);
        let mut back = rounded.dequantize();
        for row in back.chunks_exact_mut(inputs) {
            row.iter_mut().zip(&scales).for_each(|(w, scale)| *w /= scale);
        }
        let plain = QuantizedWeight::quantize(&weight, inputs).dequantize();
        let (ours, plain) = (loss(&seen, &weight, &back), loss(&seen, &weight, &plain));
        assert!(ours < plain / 4.0, "{ours} {plain}");
    }

    #[test]
    fn inputs_and_weights_of_nothing_but_zeros_are_rounded_to_zeros() {
        let seen = LayerInputs { numbers: vec![0.0; 32 * 32], tokens: 32 };
        let (rounded, scales) = round(Isa::detect(), vec![0.0; 32 * 32], &seen);
        assert!(rounded.numbers.iter().all(|w| *w == 0));
        assert!(scales.iter().chain(&rounded.scales).all(|scale| scale.is_normal()));
    }
}
