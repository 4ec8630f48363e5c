//! Tools that may do what another does.

use std::path::Path;
use std::sync::Arc;

use super::{Engine, Error, SnapshotState, indexing};
use crate::catalog::{Tool, ToolId};
#[cfg(feature = "execution")]
use crate::execution::Neighbor;
use crate::index::Vectors;

/// Tools near in meaning that are looked at for one that does the same.
#[cfg(feature = "execution")]
const NEIGHBORS: usize = 12;

impl Engine {
    /// Writes the vectors of the catalog as it is now, so that the next engine embeds nothing of
    /// it. [`Engine::change`] writes nothing; who changes much may want to, once it is done.
    ///
    /// # Errors
    /// What the snapshot may raise. That it cannot be written is no error: the state says so.
    pub fn save_vectors(&self, path: &Path) -> Result<SnapshotState, Error> {
        let state = self.state();
        match (&state.embedder, &state.vectors) {
            (Some(embedder), Some(vectors)) => {
                indexing::keep(state.catalog.tools(), vectors, embedder.identity(), path)
            }
            _ => Ok(SnapshotState::Unused),
        }
    }

    /// The tools nearest in meaning to one, nearest first, by the vectors of their texts alone, with
    /// their cosines; none without a model.
    pub fn neighbors(&self, tool: &ToolId, most: usize) -> Vec<(Arc<Tool>, f32)> {
        let state = self.state();
        let (Some(row), Some(vectors)) = (state.catalog.row(tool.as_str()), &state.vectors) else {
            return Vec::new();
        };
        let others = (0..state.catalog.len() as u32).filter(|other| *other != row);
        let mut near: Vec<(u32, f32)> =
            others.map(|other| (other, cosine(vectors, row, other))).collect();
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        near.truncate(most);
        let tools = state.catalog.tools();
        near.into_iter().map(|(row, cosine)| (tools[row as usize].clone(), cosine)).collect()
    }

    /// The tools that may answer for one that fails: the nearest in meaning, and all that discharge
    /// an obligation which it discharges, near or not. Words do not count: tools that share words do
    /// different things to them.
    #[cfg(feature = "execution")]
    pub fn stand_ins(&self, tool: &Tool) -> Vec<Neighbor> {
        let near = self.neighbors(&tool.id, NEIGHBORS).into_iter();
        let mut near: Vec<Neighbor> =
            near.map(|(tool, similarity)| Neighbor { tool, similarity }).collect();
        let catalog = self.catalog();
        let shares = |other: &&Arc<Tool>| {
            other.id != tool.id && other.satisfies.iter().any(|kind| tool.satisfies.contains(kind))
        };
        let others = catalog.tools().iter().filter(shares);
        near.extend(others.map(|tool| Neighbor { tool: Arc::clone(tool), similarity: 0.0 }));
        near
    }
}

/// Of two rows' vectors, which are of length 1.
pub(super) fn cosine(vectors: &Vectors, a: u32, b: u32) -> f32 {
    let row = |row| vectors.get(row).expect("every tool has a vector. This is a bug.");
    row(a).iter().zip(row(b)).map(|(a, b)| a * b).sum()
}
