//! int8 weights in the order in which the inner loop of [`super::PackedI8`] reads them. The order
//! is the same for all instruction sets, so that weights in the binary are used in place.

use std::borrow::Cow;
use std::ops::Deref;

use super::{Aligned, PANEL, QuantizedWeight};

/// Inputs whose numbers are adjacent: one 32-bit lane of the byte dot product.
const GROUP: usize = 4;

/// Alignment in bytes that packed numbers need to be used in place.
pub const LINE: usize = 64;

/// A [`QuantizedWeight`] in panels of 32 outputs. For each group of four inputs, a panel has the
/// four numbers of each of its 32 outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedWeight {
    pub inputs: usize,
    /// Borrowed if they are part of the binary.
    pub numbers: Cow<'static, [i8]>,
    /// The sum of each output's numbers.
    pub sums: Vec<i32>,
    /// The factor that converts each output's numbers to f32.
    pub scales: Vec<f32>,
}

impl PackedWeight {
    /// Packs a weight matrix. The numbers of outputs and inputs must be multiples of 32.
    pub fn of(weight: &QuantizedWeight) -> Self {
        let (inputs, outputs) = (weight.inputs, weight.scales.len());
        assert_eq!((outputs % PANEL, inputs % PANEL), (0, 0), "whole panels. This is a bug.");
        let mut numbers = vec![0; weight.numbers.len()];
        let panels = weight.numbers.chunks_exact(inputs * PANEL);
        for (packed, rows) in numbers.chunks_exact_mut(inputs * PANEL).zip(panels) {
            // Column by column: the packed panel stays in the first-level cache, and the weights
            // are read in order.
            for (column, row) in rows.chunks_exact(inputs).enumerate() {
                let fours = row.as_chunks::<GROUP>().0;
                let groups = packed.as_chunks_mut::<{ PANEL * GROUP }>().0;
                for (group, four) in groups.iter_mut().zip(fours) {
                    group[column * GROUP..(column + 1) * GROUP].copy_from_slice(four);
                }
            }
        }
        let rows = weight.numbers.chunks_exact(inputs);
        let sums = rows.map(|row| row.iter().map(|w| i32::from(*w)).sum()).collect();
        Self { inputs, numbers: numbers.into(), sums, scales: weight.scales.clone() }
    }

    /// Returns the weights in plain order.
    pub fn unpacked(&self) -> QuantizedWeight {
        let inputs = self.inputs;
        let mut numbers = vec![0; self.numbers.len()];
        let panels = self.numbers.chunks_exact(inputs * PANEL);
        for (rows, packed) in numbers.chunks_exact_mut(inputs * PANEL).zip(panels) {
            for (column, row) in rows.chunks_exact_mut(inputs).enumerate() {
                let groups = packed.as_chunks::<{ PANEL * GROUP }>().0;
                for (four, group) in row.as_chunks_mut::<GROUP>().0.iter_mut().zip(groups) {
                    four.copy_from_slice(&group[column * GROUP..(column + 1) * GROUP]);
                }
            }
        }
        QuantizedWeight { inputs, numbers: numbers.into(), scales: self.scales.clone() }
    }

    /// Whether there is a number for every pair of output and input, in whole panels.
    pub fn is_whole(&self) -> bool {
        let outputs = self.scales.len();
        outputs.is_multiple_of(PANEL)
            && self.inputs.is_multiple_of(PANEL)
            && self.sums.len() == outputs
            && self.inputs.checked_mul(outputs) == Some(self.numbers.len())
    }
}

/// Packed numbers aligned to [`LINE`]: borrowed from the binary if they are aligned there, else
/// copied.
pub enum Numbers {
    Shared(&'static [i8]),
    Own(Aligned<i8>),
}

impl Numbers {
    pub fn of(numbers: Cow<'static, [i8]>) -> Self {
        match numbers {
            Cow::Borrowed(numbers) if numbers.as_ptr().addr().is_multiple_of(LINE) => {
                Self::Shared(numbers)
            }
            other => Self::Own(Aligned::from(&*other)),
        }
    }
}

impl Deref for Numbers {
    type Target = [i8];

    #[inline(always)]
    fn deref(&self) -> &[i8] {
        match self {
            Self::Shared(numbers) => numbers,
            Self::Own(numbers) => numbers,
        }
    }
}
