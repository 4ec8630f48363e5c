//! Matrix products in f32.

use std::ops::Range;

use super::portable::product_f32;
use super::{Aligned, Isa, Left, PANEL, blocks};

/// A weight matrix `[outputs, inputs]`, packed in the order in which the inner loop reads it, with
/// the bias of each output.
pub struct PackedF32 {
    isa: Isa,
    inputs: usize,
    panels: usize,
    numbers: Aligned<f32>,
    bias: Aligned<f32>,
}

impl PackedF32 {
    /// Packs rows of `inputs` numbers, one row per output. Both numbers must be multiples of 32.
    pub fn pack(isa: Isa, weight: &[f32], bias: &[f32], inputs: usize) -> Self {
        let panels = bias.len() / PANEL;
        assert_eq!(
            weight.len(),
            inputs * bias.len(),
            "a weight a pair of output and input. This is a bug."
        );
        assert_eq!(
            (panels * PANEL, inputs % PANEL),
            (bias.len(), 0),
            "whole panels. This is a bug."
        );
        let mut numbers = Aligned::zeros(weight.len());
        for (panel, packed) in numbers.chunks_exact_mut(inputs * PANEL).enumerate() {
            for (input, packed) in packed.chunks_exact_mut(PANEL).enumerate() {
                for (column, number) in packed.iter_mut().enumerate() {
                    *number = weight[(panel * PANEL + column) * inputs + input];
                }
            }
        }
        Self { isa, inputs, panels, numbers, bias: Aligned::from(bias) }
    }

    pub fn panels(&self) -> usize {
        self.panels
    }

    /// Writes the given panels of `left · weight + bias` consecutively into `out`.
    pub fn multiply(&self, left: &Left<'_, f32>, panels: Range<usize>, out: &mut [f32]) {
        assert_eq!(left.depth, self.inputs, "the left matrix fits the weight. This is a bug.");
        for (panel, out) in panels.zip(out.chunks_exact_mut(left.rows * PANEL)) {
            let weights =
                &self.numbers[panel * self.inputs * PANEL..(panel + 1) * self.inputs * PANEL];
            multiply_panel(
                self.isa,
                left,
                weights,
                &self.bias[panel * PANEL..(panel + 1) * PANEL],
                out,
            );
        }
    }
}

/// `left · panel + bias` for one panel of 32 columns; the panel has a row of 32 numbers per input.
pub fn multiply_panel(
    isa: Isa,
    left: &Left<'_, f32>,
    panel: &[f32],
    bias: &[f32],
    out: &mut [f32],
) {
    left.check();
    assert!(
        panel.len() >= left.depth * PANEL && bias.len() == PANEL,
        "a whole panel. This is a bug."
    );
    assert_eq!(out.len(), left.rows * PANEL, "an output a row. This is a bug.");
    let most = match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512Vnni | Isa::Avx512 => super::x86::ROWS_512,
        #[cfg(target_arch = "x86_64")]
        Isa::AvxVnni | Isa::Avx2 => super::x86::ROWS_256,
        #[cfg(target_arch = "aarch64")]
        Isa::NeonDot => left.rows,
        Isa::Portable => left.rows,
    };
    for (start, rows) in blocks(left.rows, most) {
        let out = &mut out[start * PANEL..(start + rows) * PANEL];
        match isa {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `isa` names only what `Isa::detect` found; `check` and the assertions above
            // cover every address that the kernel reads or writes.
            Isa::Avx512Vnni | Isa::Avx512 => unsafe {
                by_rows!(rows, x86::f32_512(left, start, panel, bias, out), 1 2 3 4 5 6 7 8 9 10 11 12 13 14);
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Isa::AvxVnni | Isa::Avx2 => unsafe {
                by_rows!(rows, x86::f32_256(left, start, panel, bias, out), 1 2 3 4 5 6);
            },
            #[cfg(target_arch = "aarch64")]
            Isa::NeonDot => product_f32(left, start, panel, bias, out),
            Isa::Portable => product_f32(left, start, panel, bias, out),
        }
    }
}
