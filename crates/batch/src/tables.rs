//! Tables of Arrow and Parquet: converts their columns to rows (`read`, `cells`), and rows of the
//! journal to columns (`write`).

mod cells;
mod guard;
mod read;
mod write;

pub(crate) use read::{open_arrow, open_parquet};
pub(crate) use write::{ArrowRows, ParquetRows};

#[cfg(test)]
mod tests;
