//! The matrix of vectors that all indexes share.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use ndarray::Array2;

use super::dot::dot;
use super::{Error, Place, Rows};
use crate::kernels::{Aligned, Mapped};

/// How far the squared length of a vector may differ from 1 before the vector is normalised.
///
/// A vector of 384 numbers normalised in f32 is within a few 1e-7. Vectors within the tolerance are
/// not changed, so that those loaded from a snapshot are bit-identical to those saved.
const UNIT_TOLERANCE: f64 = 1e-5;

/// Immutable unit vectors, one per row. Share them as `Arc<Vectors>`.
///
/// Every row is finite and non-zero. Rows are normalised on construction, so that a dot product is
/// a cosine.
#[derive(Clone)]
pub struct Vectors {
    numbers: Numbers,
    rows: usize,
    dimension: usize,
}

/// Where the numbers are: in memory, or in a memory-mapped file from a byte on.
#[derive(Clone)]
enum Numbers {
    Owned(Vec<f32>),
    Mapped { file: Arc<Mapped>, start: usize },
}

impl Vectors {
    /// Creates vectors from a matrix `[rows, dimension]`.
    ///
    /// Returns [`Error::Zero`] or [`Error::NotFinite`] with the first invalid row.
    pub fn new(rows: Array2<f32>) -> Result<Self, Error> {
        let shape = rows.dim();
        let (mut numbers, start) = match rows.is_standard_layout() {
            true => rows.into_raw_vec_and_offset(),
            false => (rows.iter().copied().collect(), None),
        };
        numbers.drain(..start.unwrap_or(0));
        Self::of_numbers(numbers, shape)
    }

    /// Creates vectors from `rows` × `dimension` numbers; more numbers than that are dropped.
    pub(super) fn of_numbers(
        mut numbers: Vec<f32>,
        (rows, dimension): (usize, usize),
    ) -> Result<Self, Error> {
        let most = u32::MAX as usize;
        if rows > most {
            return Err(Error::TooMany { rows, most });
        }
        if dimension == 0 && rows > 0 {
            return Err(Error::Zero { place: Place::Row(0) });
        }
        numbers.truncate(rows * dimension);
        for (at, row) in numbers.chunks_exact_mut(dimension.max(1)).enumerate() {
            if let Some(scale) = scale_to_unit(row, Place::Row(at as u32))? {
                for number in row {
                    *number = (f64::from(*number) * scale) as f32;
                }
            }
        }
        Ok(Self { numbers: Numbers::Owned(numbers), rows, dimension })
    }

    /// Uses `rows` × `dimension` numbers of a file from the byte `start` on, without a copy, if they
    /// are aligned and normalised and the machine is little-endian like the file.
    pub(super) fn mapped(
        file: Arc<Mapped>,
        start: usize,
        (rows, dimension): (usize, usize),
    ) -> Option<Self> {
        let bytes = file.get(start..)?.get(..rows.checked_mul(dimension)?.checked_mul(4)?)?;
        let numbers: &[f32] = bytemuck::try_cast_slice(bytes).ok()?;
        let normalised = |row: &[f32]| matches!(scale_to_unit(row, Place::Query), Ok(None));
        // Systems other than Unix cannot replace a mapped file.
        let usable = cfg!(unix)
            && cfg!(target_endian = "little")
            && u32::try_from(rows).is_ok()
            && numbers.chunks_exact(dimension.max(1)).all(normalised);
        usable.then_some(Self { numbers: Numbers::Mapped { file, start }, rows, dimension })
    }

    /// Creates vectors from rows of equal length.
    ///
    /// Returns [`Error::Dimension`] with the first row of a different length.
    pub fn from_rows<R: AsRef<[f32]>>(rows: &[R]) -> Result<Self, Error> {
        let dimension = rows.first().map_or(0, |row| row.as_ref().len());
        let mut numbers = Vec::with_capacity(rows.len().saturating_mul(dimension));
        for (at, row) in rows.iter().enumerate() {
            let row = row.as_ref();
            if row.len() != dimension {
                let place = Place::Row(at as u32);
                return Err(Error::Dimension { place, expected: dimension, got: row.len() });
            }
            numbers.extend_from_slice(row);
        }
        Self::of_numbers(numbers, (rows.len(), dimension))
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Length of a row.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Returns a row, or `None` if it does not exist.
    pub fn get(&self, row: u32) -> Option<&[f32]> {
        let start = (row as usize).checked_mul(self.dimension())?;
        if row as usize >= self.len() {
            return None;
        }
        self.as_slice().get(start..start + self.dimension())
    }

    /// All rows, stored consecutively.
    pub fn as_slice(&self) -> &[f32] {
        match &self.numbers {
            Numbers::Owned(numbers) => numbers,
            Numbers::Mapped { file, start } => {
                let bytes = &file[*start..*start + self.rows * self.dimension * 4];
                bytemuck::cast_slice(bytes)
            }
        }
    }

    #[cfg(test)]
    pub(super) fn is_mapped(&self) -> bool {
        matches!(self.numbers, Numbers::Mapped { .. })
    }

    /// Checks a query and normalises it for dot products.
    pub(super) fn prepare<'q>(&self, query: &'q [f32]) -> Result<Cow<'q, [f32]>, Error> {
        let (expected, got) = (self.dimension(), query.len());
        if got != expected {
            return Err(Error::Dimension { place: Place::Query, expected, got });
        }
        Ok(match scale_to_unit(query, Place::Query)? {
            None => Cow::Borrowed(query),
            Some(scale) => query.iter().map(|x| (f64::from(*x) * scale) as f32).collect(),
        })
    }

    /// Implements [`VectorIndex::score_many`](super::VectorIndex::score_many).
    pub(super) fn score_many(&self, queries: &[&[f32]]) -> Result<Vec<Vec<f32>>, Error> {
        let mut prepared = Aligned::zeros(queries.len() * self.dimension());
        for (query, to) in queries.iter().zip(prepared.chunks_exact_mut(self.dimension().max(1))) {
            to.copy_from_slice(&self.prepare(query)?);
        }
        let mut scores = vec![vec![0.0; self.len()]; queries.len()];
        super::dot::dot_matrix(&prepared, self.as_slice(), self.dimension(), &mut scores);
        Ok(scores)
    }

    /// Implements [`VectorIndex::score`](super::VectorIndex::score).
    pub(super) fn score(&self, query: &[f32], rows: Rows<'_>) -> Result<Vec<f32>, Error> {
        let query = self.prepare(query)?;
        match rows {
            Rows::All => {
                let mut scores = vec![0.0; self.len()];
                super::dot::dot_rows(&query, self.as_slice(), &mut scores);
                Ok(scores)
            }
            Rows::Only(rows) => rows
                .iter()
                .map(|&row| match self.get(row) {
                    Some(vector) => Ok(dot(&query, vector)),
                    None => Err(Error::Row { row, rows: self.len() }),
                })
                .collect(),
        }
    }
}

impl PartialEq for Vectors {
    fn eq(&self, other: &Self) -> bool {
        (self.rows, self.dimension) == (other.rows, other.dimension)
            && self.as_slice() == other.as_slice()
    }
}

impl fmt::Debug for Vectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} vectors of {} numbers", self.rows, self.dimension)
    }
}

/// Returns the factor that normalises a vector, or `None` if it is normalised already.
fn scale_to_unit(vector: &[f32], place: Place) -> Result<Option<f64>, Error> {
    let squared: f64 = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    if !squared.is_finite() {
        // f64 can hold the square of every finite f32, so an overflow means that the vector has a
        // number that is not finite.
        let culprit = vector.iter().enumerate().find(|(_, x)| !x.is_finite());
        let (position, value) = culprit.map_or((0, f32::NAN), |(at, x)| (at, *x));
        return Err(Error::NotFinite { place, position, value: value.to_string() });
    }
    if squared == 0.0 {
        return Err(Error::Zero { place });
    }
    Ok(((squared - 1.0).abs() > UNIT_TOLERANCE).then(|| squared.sqrt().recip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_rows_and_queries_to_length_one() {
        let vectors = Vectors::from_rows(&[[3.0, 4.0]]).unwrap();
        assert_eq!(vectors.get(0).unwrap(), [0.6, 0.8]);
        assert_eq!(vectors.score(&[30.0, 40.0], Rows::All).unwrap(), [1.0]);
    }

    #[test]
    fn what_has_length_one_stays_bit_for_bit() {
        let once = Vectors::from_rows(&[[0.1, 0.7, -3.0]]).unwrap();
        let twice = Vectors::from_rows(&[once.get(0).unwrap()]).unwrap();
        assert_eq!(once, twice);
    }

    #[test]
    fn names_the_row_that_has_no_direction() {
        let zero = Vectors::from_rows(&[[1.0, 0.0], [0.0, 0.0]]);
        assert_eq!(zero, Err(Error::Zero { place: Place::Row(1) }));
        let nan = Vectors::from_rows(&[[1.0, f32::NAN]]).unwrap_err();
        assert!(nan.to_string().starts_with("the vector of row 0 holds NaN at position 1"));
        let infinite = Vectors::from_rows(&[[f32::NEG_INFINITY, 1.0]]).unwrap_err();
        assert!(matches!(infinite, Error::NotFinite { position: 0, .. }));
    }

    #[test]
    fn extreme_but_finite_numbers_have_a_direction() {
        for size in [f32::MAX, f32::MIN_POSITIVE, 1e-45] {
            let vectors = Vectors::from_rows(&[[size, 0.0]]).unwrap();
            assert_eq!(vectors.get(0).unwrap(), [1.0, 0.0], "{size}");
        }
    }

    #[test]
    fn refuses_rows_of_another_dimension_and_rows_that_do_not_exist() {
        let ragged = Vectors::from_rows(&[vec![1.0], vec![1.0, 2.0]]);
        let place = Place::Row(1);
        assert_eq!(ragged, Err(Error::Dimension { place, expected: 1, got: 2 }));
        let vectors = Vectors::from_rows(&[[1.0, 0.0]]).unwrap();
        let outside = vectors.score(&[1.0, 0.0], Rows::Only(&[0, 1]));
        assert_eq!(outside, Err(Error::Row { row: 1, rows: 1 }));
        assert_eq!(vectors.get(1), None);
    }

    #[test]
    fn no_rows_are_fine() {
        let none = Vectors::from_rows::<[f32; 3]>(&[]).unwrap();
        assert!(none.is_empty());
        assert_eq!(none.get(0), None);
    }
}
