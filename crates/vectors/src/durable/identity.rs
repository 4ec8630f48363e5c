//! The model that made the vectors of a file.

use serde::{Deserialize, Serialize};

/// Identifies a model. Vectors are comparable only if their models have equal identities.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelIdentity {
    /// A name for display, such as `all-MiniLM-L6-v2`.
    pub name: String,
    /// SHA-256, in hexadecimal, over every file that influences the vectors.
    pub fingerprint: String,
    /// Length of a vector.
    pub dimension: usize,
}
