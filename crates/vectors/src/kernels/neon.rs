//! The int8 kernel for Arm with the byte dot product `sdot`. It multiplies a block of at most
//! [`ROWS`] rows by half a panel, 16 columns, and keeps every sum in a register.
//!
//! `sdot` multiplies signed bytes only. Therefore 128 is subtracted from each byte of the left
//! matrix by flipping its highest bit, and the sums start at 128 times the column's sum, which
//! compensates for it. All of this is integer arithmetic, and the last multiplication is fused with
//! the addition of the bias, as in the plain loops on Arm and in the kernels for x86-64. The
//! outputs are bit-identical.
//!
//! # Safety
//! Every function here reads `left` at rows `start..start + rows` over its whole depth, which is a
//! multiple of 32, `panel` over the same depth, a zero point and a scale per row, and 32 columns of
//! bias, scales and sums, and writes `rows · 32` numbers. The caller in `product_i8.rs` asserts
//! that these ranges exist and that the machine supports the instructions.

use std::arch::aarch64::*;
use std::arch::asm;

use super::portable::Dequantize;
use super::{Left, PANEL};

/// Rows of 16 columns whose sums fit in the 32 registers: 5 · 4, plus one part of each row, up to
/// four weight registers, and the mask for the highest bit. With 6 rows the compiler (LLVM 22)
/// spills sums.
pub const ROWS: usize = 5;

/// Bytes per register.
const PIECE: usize = 16;

/// The sums of one row over 16 columns.
type Sums = [int32x4_t; 4];

#[target_feature(enable = "neon,dotprod")]
pub unsafe fn i8_dot<const ROWS: usize>(
    left: &Left<'_, u8>,
    start: usize,
    panel: &[i8],
    back: Dequantize<'_>,
    out: &mut [f32],
) {
    // SAFETY: see the module.
    unsafe {
        for half in [0, 16] {
            let mut sums = [[vdupq_n_s32(0); 4]; ROWS];
            for (row, sums) in sums.iter_mut().enumerate() {
                let zero = 128 - *back.zeros.get_unchecked(start + row);
                for (at, sum) in sums.iter_mut().enumerate() {
                    let columns = vld1q_s32(back.columns.as_ptr().add(half + at * 4));
                    *sum = vmulq_n_s32(columns, zero);
                }
            }
            let mut weights = panel.as_ptr().add(half * 4);
            for piece in 0..left.depth / PIECE {
                let k = piece * PIECE;
                let tile = k / PANEL * left.tile_stride + start * PANEL + k % PANEL;
                let mut x = [vdupq_n_s8(0); ROWS];
                for (row, x) in x.iter_mut().enumerate() {
                    let bytes = vld1q_u8(left.numbers.as_ptr().add(tile + row * PANEL));
                    *x = vreinterpretq_s8_u8(veorq_u8(bytes, vdupq_n_u8(128)));
                }
                add_products::<0, ROWS>(&mut sums, weights, &x);
                add_products::<1, ROWS>(&mut sums, weights.add(PANEL * 4), &x);
                add_products::<2, ROWS>(&mut sums, weights.add(PANEL * 8), &x);
                add_products::<3, ROWS>(&mut sums, weights.add(PANEL * 12), &x);
                weights = weights.wrapping_add(PANEL * PIECE);
            }
            for (row, sums) in sums.iter().enumerate() {
                let to = out.as_mut_ptr().add(row * PANEL + half);
                store(*sums, start + row, half, back, to);
            }
        }
    }
}

/// Adds to each row's sums the products of the `GROUP`th four numbers of the row's register with
/// four weights of each column.
#[inline]
#[target_feature(enable = "neon,dotprod")]
unsafe fn add_products<const GROUP: usize, const ROWS: usize>(
    sums: &mut [Sums; ROWS],
    weights: *const i8,
    x: &[int8x16_t; ROWS],
) {
    // SAFETY: see the module.
    unsafe {
        for at in 0..4 {
            let weights = vld1q_s8(weights.add(at * 16));
            for (sums, x) in sums.iter_mut().zip(x) {
                sums[at] = sdot::<GROUP>(sums[at], weights, *x);
            }
        }
    }
}

/// `sum[i] + Σ weights[4·i + j] · x[4·GROUP + j]`. Written in assembly, because the intrinsic
/// `vdotq_laneq_s32` is not stable as of Rust 1.96 (rust-lang/rust#117224).
#[inline]
#[target_feature(enable = "neon,dotprod")]
fn sdot<const GROUP: usize>(sum: int32x4_t, weights: int8x16_t, x: int8x16_t) -> int32x4_t {
    let mut out = sum;
    // SAFETY: a single instruction, available by the target features above, that uses registers
    // only.
    unsafe {
        asm!(
            "sdot {out:v}.4s, {weights:v}.16b, {x:v}.4b[{group}]",
            out = inlateout(vreg) out,
            weights = in(vreg) weights,
            x = in(vreg) x,
            group = const GROUP,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    out
}

/// Converts one row's sums over 16 columns to f32.
#[inline]
#[target_feature(enable = "neon,dotprod")]
unsafe fn store(sums: Sums, row: usize, column: usize, back: Dequantize<'_>, to: *mut f32) {
    // SAFETY: see the module.
    unsafe {
        let scale = *back.row_scales.get_unchecked(row);
        for (at, sum) in sums.into_iter().enumerate() {
            let load = |from: &[f32]| vld1q_f32(from.as_ptr().add(column + at * 4));
            let scale = vmulq_n_f32(load(back.scales), scale);
            vst1q_f32(to.add(at * 4), vfmaq_f32(load(back.bias), vcvtq_f32_s32(sum), scale));
        }
    }
}
