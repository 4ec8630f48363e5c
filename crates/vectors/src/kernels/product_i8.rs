//! Matrix products in int8: symmetric weights with a scale per column, activations with a scale per
//! row, 32-bit sums. The sums cannot overflow: 255 · 127 · depth is below 2³¹ up to a depth of
//! 66,000.

use std::borrow::Cow;
use std::ops::Range;

use super::packed::{Numbers, PackedWeight};
use super::portable::{Dequantize, product_i8};
use super::{Aligned, Isa, Left, PANEL, Tiles, blocks};

/// A weight matrix `[outputs, inputs]` rounded to int8, in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantizedWeight {
    pub inputs: usize,
    /// Row-major, from −127 to 127; borrowed if they are part of the binary.
    pub numbers: Cow<'static, [i8]>,
    /// The factor that converts each output's numbers to f32.
    pub scales: Vec<f32>,
}

/// Reinterprets bytes as signed numbers.
pub fn signed(bytes: &[u8]) -> &[i8] {
    // SAFETY: both types have size and alignment 1, and every bit pattern is valid for both.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

impl QuantizedWeight {
    /// Rounds rows of `inputs` numbers, each row with its own scale.
    pub fn quantize(weight: &[f32], inputs: usize) -> Self {
        let mut numbers = Vec::with_capacity(weight.len());
        let mut scales = Vec::with_capacity(weight.len() / inputs.max(1));
        for row in weight.chunks_exact(inputs) {
            let largest = row.iter().fold(0.0f32, |largest, x| largest.max(x.abs()));
            let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
            numbers.extend(row.iter().map(|x| (x / scale).round_ties_even() as i8));
            scales.push(scale);
        }
        Self { inputs, numbers: numbers.into(), scales }
    }

    /// Converts the rounded numbers back to f32.
    pub fn dequantize(&self) -> Vec<f32> {
        let rows = self.numbers.chunks_exact(self.inputs).zip(&self.scales);
        rows.flat_map(|(row, scale)| row.iter().map(move |w| f32::from(*w) * scale)).collect()
    }
}

/// Activations as bytes, with a scale and a zero point per row. The range is asymmetric because the
/// output of a GELU is nearly all positive, so half of a symmetric range would be unused.
#[derive(Clone, Default)]
pub struct QuantizedRows {
    pub tiles: Tiles<u8>,
    pub scales: Vec<f32>,
    pub zeros: Vec<i32>,
}

/// A [`PackedWeight`] with the bias and the instruction set that the product needs.
pub struct PackedI8 {
    isa: Isa,
    inputs: usize,
    panels: usize,
    numbers: Numbers,
    columns: Aligned<i32>,
    scales: Aligned<f32>,
    bias: Aligned<f32>,
}

impl PackedI8 {
    /// Weights that are part of the binary are used in place.
    pub fn new(isa: Isa, weight: PackedWeight, bias: &[f32]) -> Self {
        let whole = weight.is_whole() && bias.len() == weight.scales.len();
        assert!(whole, "a weight a pair of output and input. This is a bug.");
        let PackedWeight { inputs, numbers, sums, scales } = weight;
        Self {
            isa,
            inputs,
            panels: bias.len() / PANEL,
            numbers: Numbers::of(numbers),
            columns: Aligned::from(&*sums),
            scales: Aligned::from(&*scales),
            bias: Aligned::from(bias),
        }
    }

    pub fn panels(&self) -> usize {
        self.panels
    }

    /// Writes the given panels of `left · weight + bias`, in f32, consecutively into `out`.
    pub fn multiply(&self, left: &QuantizedRows, panels: Range<usize>, out: &mut [f32]) {
        let view = Left::all(&left.tiles);
        assert_eq!(view.depth, self.inputs, "the left matrix fits the weight. This is a bug.");
        let mut wide = Vec::new();
        for (panel, out) in panels.zip(out.chunks_exact_mut(view.rows * PANEL)) {
            let columns = panel * PANEL..(panel + 1) * PANEL;
            let weights =
                &self.numbers[panel * self.inputs * PANEL..(panel + 1) * self.inputs * PANEL];
            let back = Dequantize {
                columns: &self.columns[columns.clone()],
                scales: &self.scales[columns.clone()],
                bias: &self.bias[columns],
                row_scales: &left.scales,
                zeros: &left.zeros,
            };
            multiply_panel(self.isa, &view, weights, back, &mut wide, out);
        }
    }
}

fn multiply_panel(
    isa: Isa,
    left: &Left<'_, u8>,
    panel: &[i8],
    back: Dequantize<'_>,
    wide: &mut Vec<i16>,
    out: &mut [f32],
) {
    left.check();
    let whole = panel.len() == left.depth * PANEL
        && back.row_scales.len() == left.rows
        && back.zeros.len() == left.rows;
    assert!(
        whole && out.len() == left.rows * PANEL,
        "a whole panel, a scale and an output a row. This is a bug."
    );
    let most = match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512Vnni => super::x86::ROWS_512,
        #[cfg(target_arch = "x86_64")]
        Isa::AvxVnni => super::x86::ROWS_256,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 | Isa::Avx2 => super::x86::ROWS_MADD,
        #[cfg(target_arch = "aarch64")]
        Isa::NeonDot => super::neon::ROWS,
        Isa::Portable => left.rows,
    };
    for (start, rows) in blocks(left.rows, most) {
        let out = &mut out[start * PANEL..(start + rows) * PANEL];
        match isa {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `isa` names only what `Isa::detect` found; `check` and the assertions above
            // cover every address that the kernel reads or writes.
            Isa::Avx512Vnni => unsafe {
                by_rows!(rows, x86::i8_512(left, start, panel, back, out), 1 2 3 4 5 6 7 8 9 10 11 12 13 14);
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Isa::AvxVnni => unsafe {
                by_rows!(rows, x86::i8_vnni_avx(left, start, panel, back, out), 1 2 3 4 5 6);
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Isa::Avx512 | Isa::Avx2 => unsafe {
                super::x86::widen(left, start, rows, wide);
                by_rows!(rows, x86::i8_madd(wide, start, panel, back, out), 1 2 3 4 5 6);
            },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            Isa::NeonDot => unsafe {
                by_rows!(rows, neon::i8_dot(left, start, panel, back, out), 1 2 3 4 5);
            },
            Isa::Portable => product_i8(left, start, panel, back, out),
        }
    }
}
