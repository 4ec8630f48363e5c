//! Errors about vectors, queries and rows.

use std::fmt;

/// Why an index could not be built or searched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A vector has the wrong number of values.
    #[error(
        "{place} has {got} numbers, expected {expected}: embed it with the model that made the \
         index, or build the index again"
    )]
    Dimension { place: Place, expected: usize, got: usize },

    /// There is no such row.
    #[error(
        "row {row} does not exist, expected one below {rows}: take rows from the index that is \
         asked"
    )]
    Row { row: u32, rows: usize },

    /// A vector is zero.
    #[error(
        "{place} is all zeros, expected a direction: embed a text that is not empty, and check \
         the model's weights"
    )]
    Zero { place: Place },

    /// A vector has a value that is not finite.
    #[error(
        "{place} holds {value} at position {position}, expected finite numbers: check the model's \
         weights and the text"
    )]
    NotFinite { place: Place, position: usize, value: String },

    /// There are more rows than an index takes.
    #[error(
        "{rows} rows are too many, expected at most {most}: split the catalog into several indexes"
    )]
    TooMany { rows: usize, most: usize },

    /// The graph is of other vectors.
    #[error(
        "the graph covers {got} rows, expected the {expected} of the vectors: drop the graph and \
         build it again"
    )]
    OtherGraph { expected: usize, got: usize },
}

/// Where an invalid vector came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Query,
    Row(u32),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Query => f.write_str("the query vector"),
            Self::Row(row) => write!(f, "the vector of row {row}"),
        }
    }
}
