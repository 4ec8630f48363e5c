//! The vectors of a catalog: finds neighbouring tools, and saves the vectors.

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::state::State;
use super::{Engine, Error, SnapshotState, indexing};
use crate::catalog::{Tool, ToolId};
use crate::embedding::Embedder;
use crate::feedback::{DUPLICATE, NearDuplicate};
use crate::index::Vectors;

/// Maximum number of neighbors of a tool.
const NEIGHBORS: usize = 12;

/// Minimum cosine of two tools that count as neighbors.
const LEAST_COSINE: f32 = 0.4;

/// The vectors of an engine's catalog at one moment: a unit vector per tool, of the text that
/// describes it, not moved by learned usage.
pub struct CatalogVectors {
    state: Arc<State>,
    embedder: Arc<dyn Embedder>,
    vectors: Arc<Vectors>,
}

impl Engine {
    /// Returns the vectors of the present catalog.
    ///
    /// # Errors
    /// [`Error::NoModel`].
    #[doc(hidden)] // For our own crates.
    pub fn vectors(&self) -> Result<CatalogVectors, Error> {
        let state = self.state();
        match (state.embedder.clone(), state.vectors.clone()) {
            (Some(embedder), Some(vectors)) => Ok(CatalogVectors { state, embedder, vectors }),
            _ => Err(Error::NoModel { strategy: None }),
        }
    }
}

impl CatalogVectors {
    /// The state to which the vectors belong.
    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// One row per tool, in the order of the catalog.
    pub(super) fn rows(&self) -> &Vectors {
        &self.vectors
    }

    /// Writes the vectors to a snapshot, so that the next engine need not embed these tools again.
    /// A file that cannot be written is not an error; the returned state says so.
    ///
    /// # Errors
    /// If the vectors do not form a valid snapshot.
    pub fn save(&self, path: &Path) -> Result<SnapshotState, Error> {
        // With learned usage the graph links moved vectors, not these.
        let search = self.state.search.as_ref().filter(|_| self.state.learned.is_none());
        let graph = search.and_then(|search| search.graph()).cloned();
        let tools = self.state.catalog.tools();
        indexing::keep(tools, (&self.vectors, graph), self.embedder.identity(), path)
    }

    /// Returns the tools nearest to one, nearest first, with their cosine; at most 12, and none
    /// below 0.4. Keywords are ignored, because tools that share words do different things with
    /// what the words name. Empty for an id that is not in the catalog.
    pub fn neighbors(&self, tool: &ToolId) -> Vec<(Arc<Tool>, f32)> {
        let tools = self.state.catalog.tools();
        let Some(row) = self.state.catalog.row(tool.as_str()) else { return Vec::new() };
        let others = (0..tools.len() as u32).filter(|other| *other != row);
        let near = others.map(|other| (other, self.cosine(row, other)));
        let mut near: Vec<(u32, f32)> = near.filter(|(_, near)| *near >= LEAST_COSINE).collect();
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        near.truncate(NEIGHBORS);
        near.into_iter().map(|(row, near)| (Arc::clone(&tools[row as usize]), near)).collect()
    }

    /// Returns pairs of tools whose texts mean nearly the same, in the order of the catalog. It
    /// compares all pairs, so it is meant for reports and too slow for each prompt of a large
    /// catalog.
    pub fn near_duplicates(&self) -> Vec<NearDuplicate> {
        let rows = 0..self.state.catalog.len() as u32;
        let pairs_of = |row: u32| {
            let others = (row + 1..rows.end).map(move |other| (other, self.cosine(row, other)));
            others.filter(|(_, cosine)| *cosine >= DUPLICATE).collect::<Vec<_>>()
        };
        let pairs: Vec<_> = rows.clone().into_par_iter().map(pairs_of).collect();
        let id = |row: u32| self.state.catalog.tools()[row as usize].id.clone();
        let named = rows.zip(pairs).flat_map(|(row, near)| {
            let pair = |(other, cosine)| NearDuplicate { a: id(row), b: id(other), cosine };
            near.into_iter().map(pair).collect::<Vec<_>>()
        });
        named.collect()
    }

    fn cosine(&self, a: u32, b: u32) -> f32 {
        let row = |row| self.vectors.get(row).expect("every tool has a vector. This is a bug.");
        row(a).iter().zip(row(b)).map(|(a, b)| a * b).sum()
    }
}
