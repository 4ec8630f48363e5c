//! Vectors on disk, so that a start embeds only what is new. It never knows what made the texts.
//!
//! A snapshot is one file, written whole and moved into place, so that a reader sees the old one or
//! the new one and a crash leaves one of them. It says which model made the vectors, and the hash of
//! the text behind each, and ends in a SHA-256 over all of it; `layout.rs` has the byte positions.
//!
//! ```no_run
//! # use toolroute_vectors::index::{ModelKey, Snapshot, SnapshotError, text_hash};
//! # let model = ModelKey { name: "m".into(), fingerprint: "f".into(), dimension: 384 };
//! let snapshot = Snapshot::load("index.snapshot".as_ref())?;
//! snapshot.matches(&model)?;
//! let known = snapshot.reuse();
//! let row = known.get(&text_hash("the text of a tool"));
//! # Ok::<(), SnapshotError>(())
//! ```

mod layout;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Error, Graph, GraphError, Vectors};
use crate::durable::{self, Readers};

/// SHA-256 of a text that was embedded.
pub type TextHash = [u8; 32];

/// The hash under which the vector of `text` is kept.
pub fn text_hash(text: &str) -> TextHash {
    Sha256::digest(text.as_bytes()).into()
}

/// Which model made the vectors, and how: two keys are equal only where any text gets the same
/// vector from both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelKey {
    /// For people.
    pub name: String,
    /// Of everything that shapes a vector: weights, tokenizer, pooling, prefix, text recipe.
    pub fingerprint: String,
    /// Numbers per vector.
    pub dimension: usize,
}

/// Vectors, what they are of, and the graph over them where there is one.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    model: ModelKey,
    hashes: Vec<TextHash>,
    vectors: Arc<Vectors>,
    graph: Option<Graph>,
}

/// Why a snapshot was not made, written, read or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    #[error("there is no snapshot at {path}, expected a file: index the catalog first")]
    Missing { path: PathBuf },

    #[error(
        "{path} cannot be used for a snapshot: {source}: check that it is a file, its permissions and the space on disk"
    )]
    Io { path: PathBuf, source: io::Error },

    #[error("{path} ends after {got} bytes, expected {expected}: index the catalog again")]
    Truncated { path: PathBuf, expected: u64, got: u64 },

    #[error(
        "{path} is not a snapshot, it does not begin like one: name another file, or remove this one and index the catalog again"
    )]
    Foreign { path: PathBuf },

    #[error(
        "{path} has format {found}, expected {expected}: index the catalog again with this version"
    )]
    Version { path: PathBuf, found: u32, expected: u32 },

    #[error(
        "{path} was changed after it was written, its SHA-256 is not the one it ends in: index the catalog again"
    )]
    Checksum { path: PathBuf },

    #[error("{path} contradicts itself: {what}: index the catalog again")]
    Malformed { path: PathBuf, what: String },

    #[error(
        "the snapshot was made by {found} ({found_fingerprint}), expected {expected} ({expected_fingerprint}): index the catalog again, or configure the model that made it"
    )]
    OtherModel {
        found: String,
        found_fingerprint: String,
        expected: String,
        expected_fingerprint: String,
    },

    #[error(
        "{hashes} hashes and {rows} vectors of {dimension} numbers do not make a snapshot of {expected}-number vectors: give one hash per vector of the model's dimension"
    )]
    Shape { hashes: usize, rows: usize, dimension: usize, expected: usize },

    #[error(transparent)]
    Vectors(#[from] Error),

    #[error(transparent)]
    Graph(#[from] GraphError),
}

impl Snapshot {
    /// One hash per vector, in row order.
    ///
    /// [`SnapshotError::Shape`] where hashes, vectors and model disagree in number.
    pub fn new(
        model: ModelKey,
        hashes: Vec<TextHash>,
        vectors: Arc<Vectors>,
    ) -> Result<Self, SnapshotError> {
        let (rows, dimension, expected) = (vectors.len(), vectors.dimension(), model.dimension);
        if hashes.len() != rows || dimension != expected {
            let hashes = hashes.len();
            return Err(SnapshotError::Shape { hashes, rows, dimension, expected });
        }
        Ok(Self { model, hashes, vectors, graph: None })
    }

    /// Adds the graph of [`super::VectorIndex::graph`] over these vectors.
    pub fn with_graph(mut self, graph: Option<Graph>) -> Result<Self, SnapshotError> {
        if let Some(graph) = graph.as_ref().filter(|graph| graph.len() != self.vectors.len()) {
            let (expected, got) = (self.vectors.len(), graph.len());
            return Err(Error::OtherGraph { expected, got }.into());
        }
        self.graph = graph;
        Ok(self)
    }

    /// Which model made the vectors.
    pub fn model(&self) -> &ModelKey {
        &self.model
    }

    /// The hash of each row's text.
    pub fn hashes(&self) -> &[TextHash] {
        &self.hashes
    }

    pub fn vectors(&self) -> &Arc<Vectors> {
        &self.vectors
    }

    pub fn graph(&self) -> Option<&Graph> {
        self.graph.as_ref()
    }

    /// Whether `model` may search these vectors; [`SnapshotError::OtherModel`] where it may not.
    pub fn matches(&self, model: &ModelKey) -> Result<(), SnapshotError> {
        if self.model == *model {
            return Ok(());
        }
        Err(SnapshotError::OtherModel {
            found: self.model.name.clone(),
            found_fingerprint: self.model.fingerprint.clone(),
            expected: model.name.clone(),
            expected_fingerprint: model.fingerprint.clone(),
        })
    }

    /// The row of each text that has a vector already; the first of rows with equal texts.
    pub fn reuse(&self) -> HashMap<TextHash, u32> {
        let mut rows = HashMap::with_capacity(self.hashes.len());
        for (row, hash) in self.hashes.iter().enumerate() {
            rows.entry(*hash).or_insert(row as u32);
        }
        rows
    }

    /// Writes the file, whole or not at all; of several writers at once the last one wins.
    ///
    /// The file is readable by its owner only, as temporary files are.
    pub fn save(&self, path: &Path) -> Result<(), SnapshotError> {
        let written = durable::replace(path, Readers::Owner, &layout::encode(self));
        written.map_err(|source| SnapshotError::Io { path: path.to_owned(), source })
    }

    /// Reads and verifies a file.
    pub fn load(path: &Path) -> Result<Self, SnapshotError> {
        let bytes = std::fs::read(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => SnapshotError::Missing { path: path.to_owned() },
            _ => SnapshotError::Io { path: path.to_owned(), source },
        })?;
        layout::decode(&bytes, path)
    }
}

#[cfg(test)]
mod tests;
