//! The vectors of a catalog: which tools are near each other, and the file that keeps the vectors.

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::state::State;
use super::{Engine, Error, SnapshotState, indexing};
use crate::catalog::{Tool, ToolId};
use crate::embedding::Embedder;
use crate::feedback::{DUPLICATE, NearDuplicate};
use crate::index::Vectors;
use crate::selection::Strategy;

/// The number of neighbors of one tool.
const NEIGHBORS: usize = 12;

/// The least cosine of two tools that are called neighbors.
const LEAST_COSINE: f32 = 0.4;

/// The vectors of an engine's catalog at one moment: a unit vector for each tool, of the text that
/// describes it, not moved by learned usage.
pub struct CatalogVectors {
    state: Arc<State>,
    embedder: Arc<dyn Embedder>,
    vectors: Arc<Vectors>,
}

impl Engine {
    /// The vectors of the catalog as it is now.
    ///
    /// ```
    /// # #[cfg(feature = "built-in-model")] {
    /// use std::sync::Arc;
    /// use toolroute_catalog::{Catalog, Tool};
    /// use toolroute_rank::engine::Engine;
    /// use toolroute_vectors::embedding::StaticEmbedder;
    ///
    /// let tools = [("read_file", "Reads a file"), ("load_file", "Loads a file"), ("play", "Plays music")];
    /// let tools = tools.map(|(name, description)| Tool::new(None, name, description));
    /// let engine = Engine::builder(Catalog::from_tools(tools.to_vec()).catalog)
    ///     .embedder(Arc::new(StaticEmbedder::built_in()?))
    ///     .build()?;
    /// let near = engine.vectors()?.neighbors(&"read_file".into());
    /// assert_eq!(near[0].0.name, "load_file");
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoModel`].
    pub fn vectors(&self) -> Result<CatalogVectors, Error> {
        let state = self.state();
        match (state.embedder.clone(), state.vectors.clone()) {
            (Some(embedder), Some(vectors)) => Ok(CatalogVectors { state, embedder, vectors }),
            _ => Err(Error::NoModel { strategy: Strategy::Semantic }),
        }
    }
}

impl CatalogVectors {
    /// The state that the vectors belong to.
    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// A row for each tool, in the order of the catalog.
    pub(super) fn rows(&self) -> &Vectors {
        &self.vectors
    }

    /// Writes the vectors to a snapshot, so that the next engine embeds none of these tools again.
    /// A file that cannot be written is no error: the state says so.
    ///
    /// # Errors
    /// Where the vectors do not make a valid snapshot.
    pub fn save(&self, path: &Path) -> Result<SnapshotState, Error> {
        // With learned usage the graph links moved vectors, not these.
        let search = self.state.search.as_ref().filter(|_| self.state.learned.is_none());
        let graph = search.and_then(|search| search.graph()).cloned();
        let tools = self.state.catalog.tools();
        indexing::keep(tools, (&self.vectors, graph), self.embedder.identity(), path)
    }

    /// The tools nearest to one, with the cosine of their vectors to its own, nearest first; at most
    /// 12, and none below 0.4. Words do not count, because tools that share words do different things
    /// to what the words name. Empty for an id that is not in the catalog.
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

    /// Pairs of tools whose texts mean nearly the same, in the order of the catalog. Each tool is
    /// compared with each: a report for maintainers, too slow for each prompt of a large catalog.
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
