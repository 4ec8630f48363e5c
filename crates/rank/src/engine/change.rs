//! From one state of an engine to the next, keeping what a change does not touch.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ndarray::{Array2, ArrayView1};
use serde::Serialize;

use super::state::{Indexed, State};
use super::{Error, learning};
use crate::catalog::{Change, ChangedCatalog, Problem, embedding_text};
use crate::embedding::{Embedder, Role};
use crate::index::{self, IndexKind, Vectors};
use crate::selection::KeywordRetriever;

/// What a change of the catalog took.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ChangeReport {
    /// [`super::Engine::version`] from now on.
    pub version: u64,
    /// Tools in the catalog now.
    pub tools: usize,
    /// Texts that went through the model.
    pub embedded: usize,
    /// Tools that are found over a graph; the others are scanned.
    pub linked: usize,
    /// What looks like a mistake in the new tools, and hinders nothing.
    pub warnings: Vec<Problem>,
    #[serde(skip)]
    pub took: Duration,
}

/// The state after `changes`, beside the one before, which nothing is taken from.
pub(super) fn next(before: &State, changes: Vec<Change>) -> Result<(State, ChangeReport), Error> {
    let start = Instant::now();
    let changed = before.catalog.with(changes)?;
    let (indexed, embedded) = match before.with_vectors() {
        Some((model, old)) => {
            let (vectors, embedded) = vectors(before, &changed, model, old)?;
            (Some(indexed(before, &changed, model, vectors)?), embedded)
        }
        None => (None, 0),
    };
    let version = before.version + 1;
    let words = KeywordRetriever::new(changed.catalog.tools());
    let after = State::new(before.lasting(), changed.catalog, (indexed, words), version);
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

/// A search over the vectors, moved by what was learned of the tools that stay or come back. A graph
/// stays over the rows that are as they were.
fn indexed(
    before: &State,
    changed: &ChangedCatalog,
    model: &dyn Embedder,
    vectors: Arc<Vectors>,
) -> Result<Indexed, Error> {
    let after = |vectors: Arc<Vectors>| match &before.search {
        Some(search) => Ok(search.after(vectors, &changed.origins)),
        None => Ok(index::build(vectors, IndexKind::Exact)?),
    };
    if let Some(usage) = &before.usage {
        let tools = changed.catalog.tools();
        return learning::indexed(usage, tools, model.identity(), (vectors, after));
    }
    let index = after(vectors.clone())?.into();
    Ok(Indexed { vectors, index, learned: None })
}

/// The vectors of the next state: those of the one before where the text is the same.
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
