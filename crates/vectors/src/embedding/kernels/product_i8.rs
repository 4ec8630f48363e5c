//! Matrix products in int8: symmetric weights with a scale a column, activations with a scale a
//! row, sums in 32 bits that cannot overflow (255 · 127 · depth stays below 2³¹ up to a depth of
//! 66,000).

use std::borrow::Cow;
use std::ops::Range;

use super::packed::{Numbers, PackedWeight};
use super::portable::{Dequantize, product_i8};
use super::tiles::Number;
use super::{Aligned, Isa, Left, PANEL, Tiles, blocks};

/// A weight matrix `[outputs, inputs]` rounded to int8, in plain order.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantizedWeight<'a> {
    pub inputs: usize,
    /// Row after row, from −127 to 127; borrowed where they are part of the program.
    pub numbers: Cow<'a, [i8]>,
    /// What an output's numbers are multiplied by.
    pub scales: Vec<f32>,
}

/// Bytes as the signed numbers that they are.
pub fn signed(bytes: &[u8]) -> &[i8] {
    // SAFETY: both are one byte wide, aligned to one, and every pattern is a value of both.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

impl QuantizedWeight<'_> {
    /// Rounds rows of `inputs` numbers, each with a scale of its own.
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

    /// The numbers that the rounded ones stand for.
    pub fn dequantize(&self) -> Vec<f32> {
        let rows = self.numbers.chunks_exact(self.inputs).zip(&self.scales);
        rows.flat_map(|(row, scale)| row.iter().map(move |w| f32::from(*w) * scale)).collect()
    }

    /// The same with numbers of its own.
    pub fn into_owned(self) -> QuantizedWeight<'static> {
        let Self { inputs, numbers, scales } = self;
        QuantizedWeight { inputs, numbers: Cow::Owned(numbers.into_owned()), scales }
    }
}

/// Rows of activations as bytes, each row with its own scale and the byte that stands for 0: what
/// follows a GELU is nearly all positive, and half of a symmetric range would lie idle.
#[derive(Clone, Default)]
pub struct QuantizedRows {
    pub tiles: Tiles<u8>,
    pub scales: Vec<f32>,
    pub zeros: Vec<i32>,
}

/// A [`PackedWeight`] with what multiplying takes.
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
    /// Numbers that are part of the program are read where they lie.
    pub fn new(isa: Isa, weight: PackedWeight<'static>, bias: &[f32]) -> Self {
        let whole = weight.is_whole() && bias.len() == weight.scales.len();
        assert!(whole, "a weight a pair of output and input. This is a bug.");
        let PackedWeight { inputs, numbers, sums, scales } = weight;
        Self {
            isa,
            inputs,
            panels: bias.len() / PANEL,
            numbers: Numbers::of(numbers),
            columns: aligned(&sums),
            scales: aligned(&scales),
            bias: aligned(bias),
        }
    }

    /// Panels of the output.
    pub fn panels(&self) -> usize {
        self.panels
    }

    /// The given panels of `left · weight + bias`, in f32, one after the other, into `out`.
    pub fn multiply(&self, left: &QuantizedRows, panels: Range<usize>, out: &mut [f32]) {
        let view = Left::all(&left.tiles);
        assert_eq!(view.depth, self.inputs, "the left matrix fits the weight. This is a bug.");
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
            multiply_panel(self.isa, &view, weights, back, out);
        }
    }
}

fn aligned<T: Number>(from: &[T]) -> Aligned<T> {
    let mut to = Aligned::zeros(from.len());
    to.copy_from_slice(from);
    to
}

fn multiply_panel(
    isa: Isa,
    left: &Left<'_, u8>,
    panel: &[i8],
    back: Dequantize<'_>,
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
                super::x86::product_i8_512(left, start, rows, panel, back, out);
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Isa::AvxVnni => unsafe {
                super::x86::product_i8_vnni_256(left, start, rows, panel, back, out);
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Isa::Avx512 | Isa::Avx2 => unsafe {
                super::x86::product_i8_256(left, start, rows, panel, back, out);
            },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            Isa::NeonDot => unsafe {
                super::neon::product_i8_dot(left, start, rows, panel, back, out);
            },
            Isa::Portable => product_i8(left, start, panel, back, out),
        }
    }
}
