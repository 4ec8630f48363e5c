//! Tools that may do what another does.

use std::path::Path;
#[cfg(feature = "execution")]
use std::sync::Arc;

use super::{Engine, Error, SnapshotState, indexing};
#[cfg(feature = "execution")]
use super::{SelectRequest, Strategy};
#[cfg(feature = "execution")]
use crate::catalog::{ToolId, split_identifier};
#[cfg(feature = "execution")]
use crate::execution::Neighbor;
use crate::index::Vectors;

/// Tools near in meaning that are looked at for one that could not be called.
#[cfg(feature = "execution")]
const NEIGHBORS: usize = 12;

/// The least cosine of what is called near.
#[cfg(feature = "execution")]
const LEAST_COSINE: f32 = 0.4;

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
                // A graph over what was learned links other vectors than these.
                let search = state.search.as_ref().filter(|_| state.learned.is_none());
                let graph = search.and_then(|search| search.graph()).cloned();
                let tools = state.catalog.tools();
                indexing::keep(tools, (vectors, graph), embedder.identity(), path)
            }
            _ => Ok(SnapshotState::Unused),
        }
    }

    /// The tools near one in meaning, nearest first, by the vectors of their texts alone; none
    /// without a model. Words do not count: tools that share words do different things to them.
    #[cfg(feature = "execution")]
    pub fn neighbors(&self, tool: &ToolId) -> Vec<Neighbor> {
        let state = self.state();
        let (Some(row), Some(vectors)) = (state.catalog.row(tool.as_str()), &state.vectors) else {
            return Vec::new();
        };
        let others = (0..state.catalog.len() as u32).filter(|other| *other != row);
        let near = others.map(|other| (other, cosine(vectors, row, other)));
        let mut near: Vec<(u32, f32)> = near.filter(|(_, near)| *near >= LEAST_COSINE).collect();
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        near.truncate(NEIGHBORS);
        let tools = state.catalog.tools();
        let neighbor = |(row, similarity): (u32, f32)| Neighbor {
            tool: Arc::clone(&tools[row as usize]),
            similarity,
        };
        near.into_iter().map(neighbor).collect()
    }
}

#[cfg(feature = "execution")]
impl Engine {
    /// The ids of the tools nearest to one, nearest first: by meaning, and without a model by the
    /// words of its name and description.
    pub fn nearest(&self, tool: &ToolId) -> Vec<ToolId> {
        const MOST: usize = 3;
        let catalog = self.catalog();
        let Some(asked) = catalog.get(tool.as_str()) else { return Vec::new() };
        let near: Vec<ToolId> = match self.state().vectors.is_some() {
            true => self.neighbors(tool).into_iter().map(|near| near.tool.id.clone()).collect(),
            false => {
                let name = split_identifier(&asked.name);
                let text = format!("{name} {}", asked.description);
                let request = SelectRequest::new(text).strategy(Strategy::Keyword).limit(MOST + 1);
                let found = self.select(&request).map(|found| found.tools).unwrap_or_default();
                found.into_iter().map(|found| found.tool.id.clone()).collect()
            }
        };
        near.into_iter().filter(|id| id != tool).take(MOST).collect()
    }
}

/// Of two rows' vectors, which are of length 1.
pub(super) fn cosine(vectors: &Vectors, a: u32, b: u32) -> f32 {
    let row = |row| vectors.get(row).expect("every tool has a vector. This is a bug.");
    row(a).iter().zip(row(b)).map(|(a, b)| a * b).sum()
}
