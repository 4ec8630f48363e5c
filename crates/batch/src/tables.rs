//! Tables of Arrow and Parquet: rows out of their columns (`read`, `cells`), and columns out of the
//! rows of the journal (`write`).

mod cells;
mod guard;
mod read;
mod write;

pub(crate) use read::{open_arrow, open_parquet};
pub(crate) use write::{ArrowRows, ParquetRows};

#[cfg(test)]
mod tests;
