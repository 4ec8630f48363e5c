//! The inner loops of inference: matrix products in f32 and int8, and the operations between them;
//! and memory-mapped files.
//!
//! All `unsafe` code is here. Each block states the invariant that makes it sound, and
//! everything public is safe to call. The instruction set is detected once at run time
//! ([`Isa::detect`]), and every variant is tested against the portable one.
//!
//! Matrices are stored as [`Tiles`]: panels of 32 columns. Weight matrices are packed once, in the
//! order in which the inner loop reads them; int8 weights are also stored in that order.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
/// Calls the variant of a kernel that is compiled for the given number of rows.
macro_rules! by_rows {
    ($rows:expr, $isa:ident::$kernel:ident $arguments:tt, $($count:literal)+) => {
        match $rows {
            $($count => super::$isa::$kernel::<$count> $arguments,)+
            _ => unreachable!("blocks are no larger than asked for. This is a bug."),
        }
    };
}

mod isa;
mod mapped;
mod math;
#[cfg(target_arch = "aarch64")]
mod neon;
mod packed;
mod pool;
mod portable;
mod product_f32;
mod product_i8;
#[cfg(test)]
mod tests;
mod tiles;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use isa::Isa;
pub use mapped::Mapped;
pub use math::Math;
pub use packed::{LINE, PackedWeight};
pub use pool::{Pool, PoolGuard};
pub use product_f32::{PackedF32, multiply_panel};
pub use product_i8::{PackedI8, QuantizedRows, QuantizedWeight, signed};
pub use tiles::{Aligned, PANEL, Tiles};

/// A left matrix, stored in tiles: number `k` of row `r` is at `k / 32 * tile_stride + r * 32 + k %
/// 32`.
#[derive(Clone, Copy)]
pub struct Left<'a, T> {
    pub numbers: &'a [T],
    pub tile_stride: usize,
    pub rows: usize,
    /// Numbers per row: the depth of the product.
    pub depth: usize,
}

impl<'a, T> Left<'a, T> {
    /// A view of all rows of a tiled matrix.
    pub fn all(tiles: &'a Tiles<T>) -> Self
    where
        T: tiles::Number,
    {
        let (rows, depth) = (tiles.rows(), tiles.panels() * PANEL);
        Self { numbers: tiles.as_slice(), tile_stride: rows * PANEL, rows, depth }
    }

    /// Panics if the slice is shorter than rows and depth require, because the kernels do not check
    /// bounds.
    fn check(&self) {
        let tiles = self.depth.div_ceil(PANEL);
        assert!(self.rows > 0 && tiles > 0, "an empty product was asked for. This is a bug.");
        let last = self.depth - (tiles - 1) * PANEL;
        let end = (tiles - 1) * self.tile_stride + (self.rows - 1) * PANEL + last;
        assert!(end <= self.numbers.len(), "the left matrix is too short. This is a bug.");
    }
}

/// Splits `rows` into blocks `(start, rows)` of about equal size, none larger than `most`.
fn blocks(rows: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = rows.div_ceil(most);
    (0..count).map(move |block| {
        let start = rows * block / count;
        (start, rows * (block + 1) / count - start)
    })
}
