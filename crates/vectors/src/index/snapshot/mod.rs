//! Stores vectors on disk, so that a start embeds only new texts. It never knows where the texts
//! come from.
//!
//! A snapshot is one file, written completely and then moved into place, so that readers and
//! crashes leave either the old or the new version. It contains the identity of the model, a hash
//! of the text of each vector, and a SHA-256 over the whole file; `layout.rs` has the byte
//! positions.
//!
//! ```no_run
//! # use toolroute_vectors::durable::ModelIdentity;
//! # use toolroute_vectors::index::{Snapshot, SnapshotError};
//! # let model = ModelIdentity { name: "m".into(), fingerprint: "f".into(), dimension: 384 };
//! let snapshot = Snapshot::load("index.snapshot".as_ref())?;
//! snapshot.matches(&model)?;
//! let (hashes, vectors) = (snapshot.hashes(), snapshot.vectors());
//! # Ok::<(), SnapshotError>(())
//! ```

mod layout;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::{Error, Graph, GraphError, Vectors};
use crate::durable::{self, ModelIdentity, Readers};
use crate::kernels::Mapped;

/// SHA-256 of an embedded text.
pub type TextHash = [u8; 32];

/// Returns the key of the vector of `text`.
pub fn text_hash(text: &str) -> TextHash {
    Sha256::digest(text.as_bytes()).into()
}

/// Vectors, the hashes of their texts, and optionally the graph over the vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    model: ModelIdentity,
    hashes: Vec<TextHash>,
    vectors: Arc<Vectors>,
    graph: Option<Graph>,
}

/// Why a snapshot could not be made, written, read or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The file is missing.
    #[error("there is no snapshot at {path}, expected a file: index the catalog first")]
    Missing { path: PathBuf },

    /// The file cannot be read or written.
    #[error(
        "{path} cannot be used for a snapshot: {source}: check that it is a file, its permissions and the space on disk"
    )]
    Io { path: PathBuf, source: io::Error },

    /// The file is incomplete.
    #[error("{path} ends after {got} bytes, expected {expected}: index the catalog again")]
    Truncated { path: PathBuf, expected: u64, got: u64 },

    /// The file is no snapshot.
    #[error(
        "{path} is not a snapshot, it does not begin like one: name another file, or remove this one and index the catalog again"
    )]
    Foreign { path: PathBuf },

    /// The snapshot is of another version.
    #[error(
        "{path} has format {found}, expected {expected}: index the catalog again with this version"
    )]
    Version { path: PathBuf, found: u32, expected: u32 },

    /// The file is damaged.
    #[error(
        "{path} was changed after it was written, its SHA-256 is not the one it ends in: index the catalog again"
    )]
    Checksum { path: PathBuf },

    /// The vectors are of another model.
    #[error(
        "the snapshot was made by {found} ({found_fingerprint}), expected {expected} ({expected_fingerprint}): index the catalog again, or configure the model that made it"
    )]
    OtherModel {
        found: String,
        found_fingerprint: String,
        expected: String,
        expected_fingerprint: String,
    },

    /// The parts of the file do not fit together.
    #[error(
        "{hashes} hashes and {rows} vectors of {dimension} numbers do not make a snapshot of {expected}-number vectors: give one hash per vector of the model's dimension"
    )]
    Shape { hashes: usize, rows: usize, dimension: usize, expected: usize },

    /// The vectors are invalid.
    #[error(transparent)]
    Vectors(#[from] Error),

    /// The graph is invalid.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

impl Snapshot {
    /// Creates a snapshot from one hash per vector, in row order.
    ///
    /// Returns [`SnapshotError::Shape`] if the numbers of hashes and vectors or the dimensions
    /// differ.
    pub fn new(
        model: ModelIdentity,
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

    /// Adds the graph that [`super::VectorIndex::graph`] returned for these vectors.
    pub fn with_graph(mut self, graph: Option<Graph>) -> Result<Self, SnapshotError> {
        if let Some(graph) = graph.as_ref().filter(|graph| graph.len() != self.vectors.len()) {
            let (expected, got) = (self.vectors.len(), graph.len());
            return Err(Error::OtherGraph { expected, got }.into());
        }
        self.graph = graph;
        Ok(self)
    }

    /// The model that made the vectors.
    pub fn model(&self) -> &ModelIdentity {
        &self.model
    }

    /// The hash of each row's text.
    pub fn hashes(&self) -> &[TextHash] {
        &self.hashes
    }

    /// The vectors, in row order.
    pub fn vectors(&self) -> &Arc<Vectors> {
        &self.vectors
    }

    /// The graph over the vectors, if one was stored.
    pub fn graph(&self) -> Option<&Graph> {
        self.graph.as_ref()
    }

    /// Returns [`SnapshotError::OtherModel`] if the vectors were not made by `model`.
    pub fn matches(&self, model: &ModelIdentity) -> Result<(), SnapshotError> {
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

    /// Writes the file atomically. If several processes write, the last one wins.
    ///
    /// The file is readable by its owner only.
    pub fn save(&self, path: &Path) -> Result<(), SnapshotError> {
        let written = durable::replace(path, Readers::Owner, &layout::encode(self));
        written.map_err(|source| SnapshotError::Io { path: path.to_owned(), source })
    }

    /// Loads and verifies a file. Its vectors are memory-mapped if they are stored in the layout
    /// that this machine uses in memory.
    pub fn load(path: &Path) -> Result<Self, SnapshotError> {
        let file = Mapped::open(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => SnapshotError::Missing { path: path.to_owned() },
            _ => SnapshotError::Io { path: path.to_owned(), source },
        })?;
        layout::decode(file, path)
    }
}

#[cfg(test)]
mod tests;
