//! Where each byte of a snapshot lies. All numbers are little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic |
//! | 4 | format version, `u32` |
//! | 4 | length of the header, `u32` |
//! | … | header, JSON: model, rows, bytes of graph |
//! | rows × 32 | SHA-256 of each row's text |
//! | rows × dimension × 4 | vectors, `f32` |
//! | … | graph, or nothing |
//! | 32 | SHA-256 of everything before |
//!
//! Nothing is sliced or allocated by a length from the file before all lengths have been added up
//! and found to be the size of the file.

use std::path::Path;
use std::sync::Arc;

use ndarray::Array2;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{ModelKey, Snapshot, SnapshotError};
use crate::index::{Graph, Vectors};

/// The last byte is no letter, so that no text file begins like this.
pub(super) const MAGIC: [u8; 8] = *b"tlroute\x1a";

/// Raise it with every change to the layout, and check in a file of the old one for a test.
pub(super) const VERSION: u32 = 1;

/// Magic, version and header length.
pub(super) const FIXED: usize = 16;

/// The SHA-256 at the end, and of each text.
pub(super) const HASH: usize = 32;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    model: ModelKey,
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
    let header = serde_json::to_vec(&header).expect("strings and numbers are JSON. This is a bug.");
    let numbers = snapshot.vectors.as_slice();
    let hashes = snapshot.hashes.as_flattened();
    let size = FIXED + header.len() + hashes.len() + numbers.len() * 4 + graph.len() + HASH;
    let mut bytes = Vec::with_capacity(size);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(header.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&header);
    bytes.extend_from_slice(hashes);
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes.extend_from_slice(&graph);
    let seal = Sha256::digest(&bytes);
    bytes.extend_from_slice(&seal);
    bytes
}

pub(super) fn decode(bytes: &[u8], path: &Path) -> Result<Snapshot, SnapshotError> {
    let (header, body) = open(bytes, path)?;
    let malformed =
        |what: &str| SnapshotError::Malformed { path: path.to_owned(), what: what.into() };
    // `open` has found these to add up to the size of the file, so they fit.
    let (rows, dimension) = (header.rows as usize, header.model.dimension);
    let (hashes, body) = body.split_at(rows * HASH);
    let (numbers, graph) = body.split_at(rows * dimension * 4);
    let numbers = numbers.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
    let matrix = Array2::from_shape_vec((rows, dimension), numbers.collect())
        .map_err(|_| malformed("its vectors are no matrix"))?;
    let graph = if graph.is_empty() { None } else { Some(Graph::from_bytes(graph)?) };
    let hashes = hashes.as_chunks::<HASH>().0.to_vec();
    Snapshot::new(header.model, hashes, Arc::new(Vectors::new(matrix)?))?.with_graph(graph)
}

/// Checks magic, version, sizes and seal; returns the header and what lies between it and the seal.
fn open<'b>(bytes: &'b [u8], path: &Path) -> Result<(Header, &'b [u8]), SnapshotError> {
    let got = bytes.len() as u64;
    let truncated = |expected| SnapshotError::Truncated { path: path.to_owned(), expected, got };
    let magic = &bytes[..bytes.len().min(MAGIC.len())];
    if !MAGIC.starts_with(magic) {
        return Err(SnapshotError::Foreign { path: path.to_owned() });
    }
    let Some(fixed) = bytes.first_chunk::<FIXED>() else {
        return Err(truncated((FIXED + HASH) as u64));
    };
    let word =
        |at: usize| u32::from_le_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let (found, header_length) = (word(8), word(12));
    if found != VERSION {
        let path = path.to_owned();
        return Err(SnapshotError::Version { path, found, expected: VERSION });
    }
    let least = FIXED as u64 + u64::from(header_length) + HASH as u64;
    if got < least {
        return Err(truncated(least));
    }
    let (sealed, seal) = bytes.split_at(bytes.len() - HASH);
    let (header, body) = sealed[FIXED..].split_at(header_length as usize);
    // A header that cannot be read was damaged: the seal would say so too.
    let damaged = || SnapshotError::Checksum { path: path.to_owned() };
    let header: Header = serde_json::from_slice(header).map_err(|_| damaged())?;
    let expected = file_size(least, &header).ok_or_else(damaged)?;
    if got < expected {
        return Err(truncated(expected));
    }
    if got > expected || Sha256::digest(sealed)[..] != *seal {
        return Err(damaged());
    }
    Ok((header, body))
}

/// None where the sizes are beyond any file.
fn file_size(fixed_and_header: u64, header: &Header) -> Option<u64> {
    let row = (header.model.dimension as u64).checked_mul(4)?.checked_add(HASH as u64)?;
    let body = header.rows.checked_mul(row)?.checked_add(header.graph_bytes)?;
    body.checked_add(fixed_and_header)
}
