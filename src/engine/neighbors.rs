//! Tools that are near another in meaning.

use std::path::Path;
use std::sync::Arc;

use super::{Engine, Error, Policy, SelectRequest, SnapshotState, indexing};
use crate::catalog::{Tool, embedding_text};

/// Tools that are looked at for one that does the same.
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

    /// The tools nearest in meaning to a tool, each with its cosine, which is 0 without a model. The
    /// tool itself is among them. Words alone do not count: tools that share words do different
    /// things to them.
    ///
    /// # Errors
    /// What a selection may raise.
    pub fn neighbors(&self, tool: &Tool) -> Result<Vec<(Arc<Tool>, f32)>, Error> {
        let request = SelectRequest::new(embedding_text(tool)).limit(NEIGHBORS);
        let found = self.select(&request.policy(Policy::default()))?;
        let cosine = |parts: &[super::Part]| {
            parts.iter().find(|part| part.name == "semantic").map_or(0.0, |part| part.raw)
        };
        let near = found.tools.into_iter();
        Ok(near.map(|near| (near.tool, cosine(&near.explanation.parts))).collect())
    }
}
