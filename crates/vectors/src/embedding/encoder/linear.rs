//! One linear layer in either precision, and its input.

use std::ops::Range;

use super::weights::LinearWeights;
use crate::kernels::{Aligned, Isa, Left, Math, PackedF32, PackedI8, QuantizedRows, Tiles};

/// `x · weightᵀ + bias`, packed for the kernels.
pub(super) enum Linear {
    F32(PackedF32),
    /// The second part has a factor per input, applied before the input is rounded.
    Int8(PackedI8, Aligned<f32>),
}

/// Activations, and their int8 form if the next layer needs it.
#[derive(Default)]
pub(super) struct Input {
    pub tiles: Tiles<f32>,
    pub bytes: QuantizedRows,
}

impl Linear {
    pub fn new(isa: Isa, weights: LinearWeights) -> Self {
        match weights {
            LinearWeights::F32 { weight, bias, inputs } => {
                Self::F32(PackedF32::pack(isa, &weight, &bias, inputs))
            }
            LinearWeights::Int8 { weight, input_scales, bias } => {
                let mut factors = Aligned::zeros(input_scales.len());
                for (factor, scale) in factors.iter_mut().zip(&input_scales) {
                    *factor = 1.0 / scale;
                }
                Self::Int8(PackedI8::new(isa, weight, &bias), factors)
            }
        }
    }

    pub fn panels(&self) -> usize {
        match self {
            Self::F32(packed) => packed.panels(),
            Self::Int8(packed, _) => packed.panels(),
        }
    }

    /// Converts the input to the form that [`Linear::multiply`] reads.
    pub fn prepare(&self, input: &mut Input, math: &Math) {
        if let Self::Int8(_, factors) = self {
            math.quantize(&input.tiles, factors, &mut input.bytes);
        }
    }

    /// Computes the given panels of the output.
    pub fn multiply(&self, input: &Input, panels: Range<usize>, out: &mut [f32]) {
        match self {
            Self::F32(packed) => packed.multiply(&Left::all(&input.tiles), panels, out),
            Self::Int8(packed, _) => packed.multiply(&input.bytes, panels, out),
        }
    }
}
