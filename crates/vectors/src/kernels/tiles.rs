//! Matrices in the layout that the kernels read: panels of 32 columns.

use std::ops::{Deref, DerefMut, Range};

/// Columns of a panel: two 512-bit registers of f32, four 256-bit ones.
pub const PANEL: usize = 32;

/// Numbers aligned to a cache line, so that no vector load crosses a line.
#[derive(Clone, Default)]
pub struct Aligned<T> {
    lines: Vec<Line>,
    len: usize,
    of: std::marker::PhantomData<T>,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Number types for which every bit pattern is valid.
pub trait Number: Copy + private::Sealed {}
impl Number for f32 {}
impl Number for i32 {}
impl Number for u8 {}
impl Number for i8 {}

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for i32 {}
    impl Sealed for u8 {}
    impl Sealed for i8 {}
}

impl<T: Number> Aligned<T> {
    /// Creates `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let lines = (len * size_of::<T>()).div_ceil(64);
        Self { lines: vec![Line([0; 64]); lines], len, of: std::marker::PhantomData }
    }

    /// Changes the length to `len`. The values are unspecified.
    pub fn resize(&mut self, len: usize) {
        self.lines.resize((len * size_of::<T>()).div_ceil(64), Line([0; 64]));
        self.len = len;
    }
}

impl<T: Number> From<&[T]> for Aligned<T> {
    fn from(numbers: &[T]) -> Self {
        let mut aligned = Self::zeros(numbers.len());
        aligned.copy_from_slice(numbers);
        aligned
    }
}

impl<T: Number> Deref for Aligned<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `zeros` and `resize` ensure that `lines` holds at least `len * size_of::<T>()`
        // initialised bytes. They are aligned to 64, and every bit pattern is a valid `Number`.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl<T: Number> DerefMut for Aligned<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `&mut self` makes this the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

/// A matrix of `rows × panels·32` numbers, stored panel by panel and row-major within a panel.
/// Workers that write different panels share no cache line, and an attention head of 32 dimensions
/// is exactly one panel.
#[derive(Clone, Default)]
pub struct Tiles<T> {
    rows: usize,
    panels: usize,
    numbers: Aligned<T>,
}

impl<T: Number> Tiles<T> {
    /// Creates a matrix of zeros.
    pub fn new(rows: usize, panels: usize) -> Self {
        Self { rows, panels, numbers: Aligned::zeros(rows * panels * PANEL) }
    }

    /// Changes the shape and reuses the memory. The values are unspecified.
    pub fn reshape(&mut self, rows: usize, panels: usize) {
        self.numbers.resize(rows * panels * PANEL);
        (self.rows, self.panels) = (rows, panels);
    }

    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.rows
    }

    #[inline(always)]
    pub fn panels(&self) -> usize {
        self.panels
    }

    /// All numbers, panel by panel.
    pub fn as_slice(&self) -> &[T] {
        &self.numbers
    }

    #[cfg(test)]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.numbers
    }

    /// The 32 numbers of a row in one panel.
    #[inline(always)]
    pub fn piece(&self, panel: usize, row: usize) -> &[T; PANEL] {
        &self.numbers.as_chunks().0[panel * self.rows + row]
    }

    #[inline(always)]
    pub fn piece_mut(&mut self, panel: usize, row: usize) -> &mut [T; PANEL] {
        &mut self.numbers.as_chunks_mut().0[panel * self.rows + row]
    }

    /// Splits the panels into `parts` ranges of about equal length and returns each range
    /// with its numbers. Groups of `group` panels are not split.
    pub fn split(&mut self, parts: usize, group: usize) -> Vec<(Range<usize>, &mut [T])> {
        let (groups, size) = (self.panels / group, self.rows * PANEL);
        let mut rest: &mut [T] = &mut self.numbers;
        let mut split = Vec::with_capacity(parts);
        for part in 0..parts {
            let range = groups * part / parts * group..groups * (part + 1) / parts * group;
            let (mine, others) = std::mem::take(&mut rest).split_at_mut(range.len() * size);
            split.push((range, mine));
            rest = others;
        }
        split
    }
}
