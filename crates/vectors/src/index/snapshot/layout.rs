//! The layout of a snapshot within a sealed file (`durable/sealed.rs`). All numbers are
//! little-endian. The header has the model, the number of rows and the size of the graph in bytes.
//!
//! | bytes of the body | what |
//! |---|---|
//! | rows × 32 | SHA-256 of each row's text |
//! | rows × dimension × 4 | vectors, `f32` |
//! | … | graph, or nothing |

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Snapshot, SnapshotError};
use crate::durable::{Flaw, HASH, ModelIdentity, Sealed};
use crate::index::{Graph, Vectors};
use crate::kernels::Mapped;

/// Increase the version with every change to the layout, and add a file of the old version as a
/// test.
pub(super) const KIND: Sealed = Sealed { magic: *b"tlroute\x1a", version: 1 };

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    model: ModelIdentity,
    rows: u64,
    graph_bytes: u64,
}

pub(super) fn encode(snapshot: &Snapshot) -> Vec<u8> {
    let graph = snapshot.graph.as_ref().map(Graph::to_bytes).unwrap_or_default();
    let header = Header {
        model: snapshot.model.clone(),
        rows: snapshot.hashes.len() as u64,
        graph_bytes: graph.len() as u64,
    };
    KIND.seal(&header, |bytes| {
        let (hashes, numbers) = (snapshot.hashes.as_flattened(), snapshot.vectors.as_slice());
        bytes.reserve_exact(hashes.len() + numbers.len() * 4 + graph.len() + HASH);
        bytes.extend_from_slice(hashes);
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend_from_slice(&graph);
    })
}

pub(super) fn decode(file: Mapped, path: &Path) -> Result<Snapshot, SnapshotError> {
    let file = Arc::new(file);
    let opened = KIND.open(&file, size);
    let (header, body): (Header, _) = opened.map_err(|flaw| refused(flaw, path))?;
    // `open` has checked that these sizes add up to the size of the file.
    let (rows, dimension) = (header.rows as usize, header.model.dimension);
    let (hashes, body) = body.split_at(rows * HASH);
    let (numbers, graph) = body.split_at(rows * dimension * 4);
    let start = numbers.as_ptr().addr() - file.as_ptr().addr();
    let vectors = match Vectors::mapped(Arc::clone(&file), start, (rows, dimension)) {
        Some(vectors) => vectors,
        None => {
            let numbers = numbers.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
            Vectors::of_numbers(numbers.collect(), (rows, dimension))?
        }
    };
    let graph = if graph.is_empty() { None } else { Some(Graph::from_bytes(graph)?) };
    let hashes = hashes.as_chunks::<HASH>().0.to_vec();
    Snapshot::new(header.model, hashes, Arc::new(vectors))?.with_graph(graph)
}

fn refused(flaw: Flaw, path: &Path) -> SnapshotError {
    let path = path.to_owned();
    match flaw {
        Flaw::Foreign => SnapshotError::Foreign { path },
        Flaw::Version { found } => SnapshotError::Version { path, found, expected: KIND.version },
        Flaw::Truncated { expected, got } => SnapshotError::Truncated { path, expected, got },
        Flaw::Damaged => SnapshotError::Checksum { path },
    }
}

fn size(header: &Header) -> Option<u64> {
    let row = (header.model.dimension as u64).checked_mul(4)?.checked_add(HASH as u64)?;
    header.rows.checked_mul(row)?.checked_add(header.graph_bytes)
}
