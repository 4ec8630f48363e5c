//! The inner loops of inference: matrix products in f32 and int8, and what stands between them.
//!
//! The only place with `unsafe`. Each block states the invariant that makes it sound; everything
//! public here is safe to call. Which instructions are used is decided once, when the program
//! runs ([`Isa::detect`]), and every variant is tested against the portable one.
//!
//! Matrices are [`Tiles`]: panels of 32 columns. A weight matrix is packed once, panel by panel,
//! in the order in which the inner loop reads it; one in int8 is stored so.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
/// Calls a kernel that is compiled for each number of rows.
macro_rules! by_rows {
    ($rows:expr, $kernel:ident $arguments:tt, $($count:literal)+) => {
        match $rows {
            $($count => $kernel::<$count> $arguments,)+
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
pub use pool::{Pool, Turn};
pub use product_f32::{PackedF32, multiply_panel};
pub use product_i8::{PackedI8, QuantizedRows, QuantizedWeight, signed};
pub use tiles::{Aligned, PANEL, Tiles};

/// Rows of the left matrix, tile by tile: number `k` of row `r` stands at
/// `k / 32 * tile_stride + r * 32 + k % 32`.
#[derive(Clone, Copy)]
pub struct Left<'a, T> {
    pub numbers: &'a [T],
    pub tile_stride: usize,
    pub rows: usize,
    /// Numbers a row: the depth of the product.
    pub depth: usize,
}

impl<'a, T> Left<'a, T> {
    /// All rows of a matrix in tiles.
    pub fn all(tiles: &'a Tiles<T>) -> Self
    where
        T: tiles::Number,
    {
        let (rows, depth) = (tiles.rows(), tiles.panels() * PANEL);
        Self { numbers: tiles.as_slice(), tile_stride: rows * PANEL, rows, depth }
    }

    /// Panics where the numbers do not cover the rows and depth: the kernels read without looking.
    fn check(&self) {
        let tiles = self.depth.div_ceil(PANEL);
        assert!(self.rows > 0 && tiles > 0, "an empty product was asked for. This is a bug.");
        let last = self.depth - (tiles - 1) * PANEL;
        let end = (tiles - 1) * self.tile_stride + (self.rows - 1) * PANEL + last;
        assert!(end <= self.numbers.len(), "the left matrix is too short. This is a bug.");
    }
}

/// Cuts `rows` into blocks of about equal size, none above `most`.
fn blocks(rows: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = rows.div_ceil(most);
    (0..count).map(move |block| {
        let start = rows * block / count;
        (start, rows * (block + 1) / count - start)
    })
}
