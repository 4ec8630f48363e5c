//! Tools that are near another in meaning.

use std::sync::Arc;

use super::{Engine, Error, Policy, SelectRequest};
use crate::catalog::{Tool, embedding_text};

/// Tools that are looked at for one that does the same.
const NEIGHBORS: usize = 12;

impl Engine {
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
