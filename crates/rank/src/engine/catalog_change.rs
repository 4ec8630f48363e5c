//! Derives the next state from a change of the catalog, reusing what did not change.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ndarray::{Array2, ArrayView1};
use serde::Serialize;

use super::state::{CatalogIndex, State};
use super::{Error, learning};
use crate::catalog::{Change, ChangedCatalog, Problem, embedding_text};
use crate::embedding::{Embedder, Role};
use crate::index::{self, IndexKind, Vectors};
use crate::selection::KeywordRetriever;

/// The cost of a change of the catalog.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ChangeReport {
    /// The value of [`super::Engine::version`] after the change.
    pub version: u64,
    /// Number of tools in the catalog after the change.
    pub tools: usize,
    /// Number of texts that were embedded.
    pub embedded: usize,
    /// Number of tools that are searched with a graph; the others are scanned.
    pub linked: usize,
    /// Probable mistakes in the new tools. They do not prevent the change.
    pub warnings: Vec<Problem>,
    /// The time that the change took.
    #[serde(skip)]
    pub took: Duration,
}

/// Returns the state after `changes`. The state before stays usable.
pub(super) fn apply(before: &State, changes: Vec<Change>) -> Result<(State, ChangeReport), Error> {
    let (start, is_empty) = (Instant::now(), changes.is_empty());
    let changed = before.catalog.with(changes)?;
    let (index, embedded) = match before.with_vectors() {
        Some((model, old)) => {
            let (vectors, embedded) = vectors(before, &changed, model, old)?;
            (Some(index_vectors(before, &changed, model, vectors)?), embedded)
        }
        None => (None, 0),
    };
    let version = before.version + u64::from(!is_empty);
    let words = KeywordRetriever::new(changed.catalog.tools());
    let after = State::new(before.parts(), changed.catalog, (index, words), version);
    if before.is_approximate() && !after.is_approximate() {
        tracing::info!(
            "all vectors are scanned until the next start: most of them are in no graph"
        );
    }
    let report = ChangeReport {
        version,
        tools: after.catalog.len(),
        embedded,
        linked: after.search.as_ref().map_or(0, |search| search.linked()),
        warnings: changed.warnings,
        took: start.elapsed(),
    };
    Ok((after, report))
}

/// Builds a search over the vectors, moved by usage if there is any. An existing graph is kept for
/// unchanged rows.
fn index_vectors(
    before: &State,
    changed: &ChangedCatalog,
    model: &dyn Embedder,
    vectors: Arc<Vectors>,
) -> Result<CatalogIndex, Error> {
    let after = |vectors: Arc<Vectors>| match &before.search {
        Some(search) => Ok(search.after(vectors, &changed.origins)),
        None => Ok(index::build(vectors, IndexKind::Exact)?),
    };
    if let Some(usage) = &before.usage {
        let tools = changed.catalog.tools();
        return learning::apply(usage, tools, model.identity(), (vectors, after));
    }
    let search = after(vectors.clone())?.into();
    Ok(CatalogIndex { vectors, search, learned: None })
}

/// Returns the vectors of the next state, and the number of texts embedded for it. A tool with
/// unchanged text keeps its vector.
fn vectors(
    before: &State,
    changed: &ChangedCatalog,
    model: &dyn Embedder,
    old: &Vectors,
) -> Result<(Arc<Vectors>, usize), Error> {
    let tools = changed.catalog.tools();
    let mut rows = Array2::zeros((tools.len(), model.identity().dimension));
    let mut new = Vec::new();
    for (row, origin) in changed.origins.iter().enumerate() {
        let kept = origin.filter(|&old_row| {
            let earlier = &before.catalog.tools()[old_row as usize];
            Arc::ptr_eq(earlier, &tools[row])
                || embedding_text(earlier) == embedding_text(&tools[row])
        });
        match kept.and_then(|old_row| old.get(old_row)) {
            Some(vector) => rows.row_mut(row).assign(&ArrayView1::from(vector)),
            None => new.push((row, embedding_text(&tools[row]))),
        }
    }
    if !new.is_empty() {
        let texts: Vec<&str> = new.iter().map(|(_, text)| text.as_str()).collect();
        let embedded = model.embed(&texts, Role::Document)?;
        for ((row, _), vector) in new.iter().zip(embedded.vectors.rows()) {
            rows.row_mut(*row).assign(&vector);
        }
    }
    Ok((Arc::new(Vectors::new(rows)?), new.len()))
}
