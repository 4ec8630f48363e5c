//! Kernels for x86-64. A kernel multiplies a block of rows by one panel of 32 columns and keeps
//! every sum in a register; the constants `ROWS_*` give the maximum number of rows.
//!
//! # Safety
//! Every function here reads `left` at rows `start..start + rows` over its whole depth, `panel`
//! over the same depth, and 32 columns of bias and scales, and writes `rows · 32` numbers. The
//! callers in `product_f32.rs` and `product_i8.rs` assert that these ranges exist and that the
//! machine supports the instructions.

use std::arch::x86_64::*;

use super::portable::Dequantize;
use super::{Left, PANEL};

/// Rows whose sums fit in 32 registers together with the weights: 14 · 2 + 3.
pub const ROWS_512: usize = 14;
/// Rows of 16 columns whose sums fit in 16 registers: 6 · 2 + 3.
pub const ROWS_256: usize = 6;
/// Rows of 8 columns, with two sums each: 6 · 2 + 3 registers.
pub const ROWS_MADD: usize = 6;

#[target_feature(enable = "avx512f")]
pub unsafe fn f32_512<const ROWS: usize>(
    left: &Left<'_, f32>,
    start: usize,
    panel: &[f32],
    bias: &[f32],
    out: &mut [f32],
) {
    // SAFETY: see the module.
    unsafe {
        let first = [_mm512_loadu_ps(bias.as_ptr()), _mm512_loadu_ps(bias.as_ptr().add(16))];
        let mut sums = [first; ROWS];
        let mut weights = panel.as_ptr();
        let mut depth = left.depth;
        let mut tile = left.numbers.as_ptr().add(start * PANEL);
        while depth > 0 {
            let here = depth.min(PANEL);
            for k in 0..here {
                let (low, high) = (_mm512_loadu_ps(weights), _mm512_loadu_ps(weights.add(16)));
                _mm_prefetch::<_MM_HINT_T0>(weights.wrapping_add(PREFETCH_F32).cast());
                _mm_prefetch::<_MM_HINT_T0>(weights.wrapping_add(PREFETCH_F32 + 16).cast());
                weights = weights.add(PANEL);
                for (row, sums) in sums.iter_mut().enumerate() {
                    let x = _mm512_set1_ps(*tile.add(row * PANEL + k));
                    sums[0] = _mm512_fmadd_ps(x, low, sums[0]);
                    sums[1] = _mm512_fmadd_ps(x, high, sums[1]);
                }
            }
            depth -= here;
            tile = tile.wrapping_add(left.tile_stride);
        }
        for (row, sums) in sums.iter().enumerate() {
            let out = out.as_mut_ptr().add(row * PANEL);
            _mm512_storeu_ps(out, sums[0]);
            _mm512_storeu_ps(out.add(16), sums[1]);
        }
    }
}

/// Prefetch distance of weights in f32 numbers: 4 KiB, about what is read during one cache miss.
const PREFETCH_F32: usize = 1024;
/// Prefetch distance of int8 weights in bytes.
const PREFETCH_I8: usize = 2048;

#[target_feature(enable = "avx2,fma")]
pub unsafe fn f32_256<const ROWS: usize>(
    left: &Left<'_, f32>,
    start: usize,
    panel: &[f32],
    bias: &[f32],
    out: &mut [f32],
) {
    // SAFETY: see the module.
    unsafe {
        for half in [0, 16] {
            let bias = bias.as_ptr().add(half);
            let mut sums = [[_mm256_loadu_ps(bias), _mm256_loadu_ps(bias.add(8))]; ROWS];
            for k in 0..left.depth {
                let weights = panel.as_ptr().add(k * PANEL + half);
                let (low, high) = (_mm256_loadu_ps(weights), _mm256_loadu_ps(weights.add(8)));
                let tile = left
                    .numbers
                    .as_ptr()
                    .add(k / PANEL * left.tile_stride + start * PANEL + k % PANEL);
                for (row, sums) in sums.iter_mut().enumerate() {
                    let x = _mm256_broadcast_ss(&*tile.add(row * PANEL));
                    sums[0] = _mm256_fmadd_ps(x, low, sums[0]);
                    sums[1] = _mm256_fmadd_ps(x, high, sums[1]);
                }
            }
            for (row, sums) in sums.iter().enumerate() {
                let out = out.as_mut_ptr().add(row * PANEL + half);
                _mm256_storeu_ps(out, sums[0]);
                _mm256_storeu_ps(out.add(8), sums[1]);
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub unsafe fn i8_512<const ROWS: usize>(
    left: &Left<'_, u8>,
    start: usize,
    panel: &[i8],
    back: Dequantize<'_>,
    out: &mut [f32],
) {
    // SAFETY: see the module.
    unsafe {
        let columns = back.columns.as_ptr();
        let columns =
            [_mm512_loadu_si512(columns.cast()), _mm512_loadu_si512(columns.add(16).cast())];
        let mut sums = [[_mm512_setzero_si512(); 2]; ROWS];
        for (row, sums) in sums.iter_mut().enumerate() {
            let zero = _mm512_set1_epi32(-*back.zeros.get_unchecked(start + row));
            sums[0] = _mm512_mullo_epi32(zero, columns[0]);
            sums[1] = _mm512_mullo_epi32(zero, columns[1]);
        }
        let mut weights = panel.as_ptr();
        let mut tile = left.numbers.as_ptr().add(start * PANEL);
        for _ in 0..left.depth / PANEL {
            for group in 0..PANEL / 4 {
                let (low, high) = (
                    _mm512_loadu_si512(weights.cast()),
                    _mm512_loadu_si512(weights.add(64).cast()),
                );
                _mm_prefetch::<_MM_HINT_T0>(weights.wrapping_add(PREFETCH_I8));
                _mm_prefetch::<_MM_HINT_T0>(weights.wrapping_add(PREFETCH_I8 + 64));
                weights = weights.add(PANEL * 4);
                for (row, sums) in sums.iter_mut().enumerate() {
                    let x = tile.add(row * PANEL + group * 4).cast::<i32>().read_unaligned();
                    let x = _mm512_set1_epi32(x);
                    sums[0] = _mm512_dpbusd_epi32(sums[0], x, low);
                    sums[1] = _mm512_dpbusd_epi32(sums[1], x, high);
                }
            }
            tile = tile.wrapping_add(left.tile_stride);
        }
        let load = |from: &[f32], at: usize| _mm512_loadu_ps(from.as_ptr().add(at));
        for (row, sums) in sums.iter().enumerate() {
            let scale = _mm512_set1_ps(*back.row_scales.get_unchecked(start + row));
            for (half, sum) in sums.iter().enumerate() {
                let scale = _mm512_mul_ps(scale, load(back.scales, half * 16));
                let sum =
                    _mm512_fmadd_ps(_mm512_cvtepi32_ps(*sum), scale, load(back.bias, half * 16));
                _mm512_storeu_ps(out.as_mut_ptr().add(row * PANEL + half * 16), sum);
            }
        }
    }
}

/// The body of both encodings of the 256-bit byte dot product.
macro_rules! i8_vnni_256 {
    ($name:ident, $features:literal, $dot:ident) => {
        #[target_feature(enable = $features)]
        pub unsafe fn $name<const ROWS: usize>(
            left: &Left<'_, u8>,
            start: usize,
            panel: &[i8],
            back: Dequantize<'_>,
            out: &mut [f32],
        ) {
            // SAFETY: see the module.
            unsafe {
                for half in [0, 16] {
                    let columns = back.columns.as_ptr().add(half);
                    let columns = [
                        _mm256_loadu_si256(columns.cast()),
                        _mm256_loadu_si256(columns.add(8).cast()),
                    ];
                    let mut sums = [[_mm256_setzero_si256(); 2]; ROWS];
                    for (row, sums) in sums.iter_mut().enumerate() {
                        let zero = _mm256_set1_epi32(-*back.zeros.get_unchecked(start + row));
                        sums[0] = _mm256_mullo_epi32(zero, columns[0]);
                        sums[1] = _mm256_mullo_epi32(zero, columns[1]);
                    }
                    for group in 0..left.depth / 4 {
                        let weights = panel.as_ptr().add(group * PANEL * 4 + half * 4);
                        let (low, high) = (
                            _mm256_loadu_si256(weights.cast()),
                            _mm256_loadu_si256(weights.add(32).cast()),
                        );
                        let k = group * 4;
                        let tile = left
                            .numbers
                            .as_ptr()
                            .add(k / PANEL * left.tile_stride + start * PANEL + k % PANEL);
                        for (row, sums) in sums.iter_mut().enumerate() {
                            let x = tile.add(row * PANEL).cast::<i32>().read_unaligned();
                            let x = _mm256_set1_epi32(x);
                            sums[0] = $dot(sums[0], x, low);
                            sums[1] = $dot(sums[1], x, high);
                        }
                    }
                    for (row, sums) in sums.iter().enumerate() {
                        store_i8_256(
                            *sums,
                            start + row,
                            half,
                            back,
                            out.as_mut_ptr().add(row * PANEL + half),
                        );
                    }
                }
            }
        }
    };
}

i8_vnni_256!(i8_vnni_avx, "avx2,fma,avxvnni", _mm256_dpbusd_avx_epi32);
// The same body with the other encoding of the instruction, so that machines with AVX-512 but
// without AVX-VNNI test it.
#[cfg(test)]
i8_vnni_256!(i8_vnni_evex, "avx2,fma,avx512vnni,avx512vl", _mm256_dpbusd_epi32);

/// Widens a block's bytes to 16 bits, row by row, because AVX2's byte product saturates.
#[target_feature(enable = "avx2")]
pub unsafe fn widen(left: &Left<'_, u8>, start: usize, rows: usize, wide: &mut Vec<i16>) {
    wide.resize(rows * left.depth, 0);
    // SAFETY: see the module; `wide` has a number for each one of the block.
    unsafe {
        for row in 0..rows {
            let mut to = wide.as_mut_ptr().add(row * left.depth);
            let mut from = left.numbers.as_ptr().add((start + row) * PANEL);
            for _ in 0..left.depth / PANEL {
                for half in [0, 16] {
                    let bytes = _mm_loadu_si128(from.add(half).cast());
                    _mm256_storeu_si256(to.add(half).cast(), _mm256_cvtepu8_epi16(bytes));
                }
                (from, to) = (from.wrapping_add(left.tile_stride), to.add(PANEL));
            }
        }
    }
}

/// `wide` is a block of [`widen`].
#[target_feature(enable = "avx2,fma")]
pub unsafe fn i8_madd<const ROWS: usize>(
    wide: &[i16],
    start: usize,
    panel: &[i8],
    back: Dequantize<'_>,
    out: &mut [f32],
) {
    let depth = wide.len() / ROWS;
    // SAFETY: see the module.
    unsafe {
        for column in (0..PANEL).step_by(8) {
            // Two sums per column, added at the end.
            let mut sums = [[_mm256_setzero_si256(); 2]; ROWS];
            for group in 0..depth / 4 {
                let weights = panel.as_ptr().add(group * PANEL * 4 + column * 4);
                let low = _mm256_cvtepi8_epi16(_mm_loadu_si128(weights.cast()));
                let high = _mm256_cvtepi8_epi16(_mm_loadu_si128(weights.add(16).cast()));
                for (row, sums) in sums.iter_mut().enumerate() {
                    let x = wide.as_ptr().add(row * depth + group * 4);
                    let x = _mm256_set1_epi64x(x.cast::<i64>().read_unaligned());
                    sums[0] = _mm256_add_epi32(sums[0], _mm256_madd_epi16(x, low));
                    sums[1] = _mm256_add_epi32(sums[1], _mm256_madd_epi16(x, high));
                }
            }
            for (row, sums) in sums.iter().enumerate() {
                // Adds adjacent pairs, then restores the lane order: 0 1 4 5 | 2 3 6 7 → 0 … 7.
                let sum =
                    _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_hadd_epi32(sums[0], sums[1]));
                let columns = _mm256_loadu_si256(back.columns.as_ptr().add(column).cast());
                let zero = _mm256_set1_epi32(-*back.zeros.get_unchecked(start + row));
                let sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(zero, columns));
                let to = out.as_mut_ptr().add(row * PANEL + column);
                _mm256_storeu_ps(to, dequantized_256(sum, start + row, column, back));
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn dequantized_256(sum: __m256i, row: usize, column: usize, back: Dequantize<'_>) -> __m256 {
    // SAFETY: see the module.
    unsafe {
        let scale = _mm256_set1_ps(*back.row_scales.get_unchecked(row));
        let scale = _mm256_mul_ps(scale, _mm256_loadu_ps(back.scales.as_ptr().add(column)));
        _mm256_fmadd_ps(
            _mm256_cvtepi32_ps(sum),
            scale,
            _mm256_loadu_ps(back.bias.as_ptr().add(column)),
        )
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn store_i8_256(
    sums: [__m256i; 2],
    row: usize,
    column: usize,
    back: Dequantize<'_>,
    to: *mut f32,
) {
    // SAFETY: see the module.
    unsafe {
        _mm256_storeu_ps(to, dequantized_256(sums[0], row, column, back));
        _mm256_storeu_ps(to.add(8), dequantized_256(sums[1], row, column + 8, back));
    }
}
