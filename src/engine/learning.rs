//! Learns from past prompts, and applies what was learned to a catalog's vectors.

use std::collections::BTreeSet;
use std::sync::Arc;

use ndarray::Array2;
use serde::Serialize;

use super::state::{Indexed, State};
use super::{Engine, Error};
use crate::catalog::{Catalog, Tool, ToolId};
use crate::embedding::{ModelIdentity, Role};
use crate::feedback::{RowUsage, UsageModel, UsageRows, UsageVectors};
use crate::index::{self, IndexKind, Vectors};
use crate::selection::Strategy;

/// Prompts embedded together, and told as progress.
const CHUNK: usize = 256;

/// Meaning is what is learned of, and a model is what knows it.
const NO_MODEL: Error = Error::NoModel { strategy: Strategy::Semantic };

/// A prompt of the past and the ids of the tools that served it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastPrompt {
    pub prompt: String,
    pub tools: Vec<String>,
}

/// What [`Engine::learn`] took from past prompts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LearnReport {
    /// Tools of the catalog that served one of these prompts.
    pub tools_learned: usize,
    /// Prompts that a tool of the catalog served.
    pub prompts_used: usize,
    /// Prompts all of whose tools are unknown.
    pub prompts_unused: usize,
    /// Ids that lead to no tool, by name; nothing was learned of them.
    pub unknown_ids: Vec<String>,
}

/// How much of what was learned concerns an engine's catalog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UsageReport {
    /// Tools whose vectors were moved.
    pub applied: usize,
    /// Tools with history that the catalog does not hold.
    pub absent: usize,
}

/// What was learned, as an engine holds it.
#[derive(Clone)]
pub(super) struct Learned {
    pub rows: Arc<UsageRows>,
    pub report: UsageReport,
    pub fingerprint: String,
}

/// Moves the vectors of the tools that have history, and indexes them as `kind` says.
pub(super) fn indexed(
    usage: &UsageVectors,
    tools: &[Arc<Tool>],
    model: &ModelIdentity,
    (own, kind): (Arc<Vectors>, IndexKind),
) -> Result<Indexed, Error> {
    usage.matches(&usage_model(model))?;
    let moved = usage.moves(tools, |row| own_vector(&own, row));
    let shape = (own.len(), own.dimension());
    let mut vectors = Array2::from_shape_vec(shape, own.as_slice().to_vec())
        .expect("the vectors are a matrix of this shape. This is a bug.");
    for moved in &moved {
        let mut row = vectors.row_mut(moved.row as usize);
        row.iter_mut().zip(&moved.vector).for_each(|(old, new)| *old = *new);
    }
    let known: BTreeSet<&ToolId> = tools.iter().map(|tool| &tool.id).collect();
    let absent = usage.tools().filter(|(id, _)| !known.contains(id)).count();
    let learned = Learned {
        rows: Arc::new(UsageRows::new(tools.len(), &moved, usage.handicap())),
        report: UsageReport { applied: moved.len(), absent },
        fingerprint: usage.fingerprint(),
    };
    let index = index::build(Arc::new(Vectors::new(vectors)?), kind)?;
    Ok(Indexed { vectors: own, index, learned: Some(learned) })
}

fn own_vector(own: &Vectors, row: u32) -> &[f32] {
    own.get(row).expect("every tool has a vector. This is a bug.")
}

fn usage_model(identity: &ModelIdentity) -> UsageModel {
    UsageModel {
        name: identity.name.clone(),
        fingerprint: identity.fingerprint.clone(),
        dimension: identity.dimension,
    }
}

impl Engine {
    /// What was applied of [`super::EngineBuilder::usage`]; none without it or without a model.
    pub fn usage_report(&self) -> Option<UsageReport> {
        self.state().learned.as_ref().map(|learned| learned.report)
    }

    /// Usage for this engine's model that knows nothing yet.
    ///
    /// # Errors
    /// [`Error::NoModel`] where the engine has none.
    pub fn empty_usage(&self) -> Result<UsageVectors, Error> {
        let state = self.state();
        let embedder = state.embedder.as_ref().ok_or(NO_MODEL)?;
        Ok(UsageVectors::new(usage_model(embedder.identity())))
    }

    /// Adds past prompts to `usage`, which may hold others already. `tell` hears how many are done.
    ///
    /// # Errors
    /// [`Error::NoModel`]; where `usage` is of another model; and what embedding may raise. An id
    /// that is not in the catalog is no error: the report has it.
    pub fn learn(
        &self,
        usage: &mut UsageVectors,
        past: &[PastPrompt],
        tell: &dyn Fn(usize, usize),
    ) -> Result<LearnReport, Error> {
        let state = self.state();
        let embedder = state.embedder.as_ref().ok_or(NO_MODEL)?;
        usage.matches(&usage_model(embedder.identity()))?;
        let (mut report, mut learned, mut unknown) =
            (LearnReport::default(), BTreeSet::new(), BTreeSet::new());
        let mut done = 0;
        for chunk in past.chunks(CHUNK) {
            let known: Vec<(&str, Vec<ToolId>)> = chunk
                .iter()
                .map(|past| {
                    (past.prompt.as_str(), known_ids(&state.catalog, &past.tools, &mut unknown))
                })
                .filter(|(_, tools)| !tools.is_empty())
                .collect();
            let texts: Vec<&str> = known.iter().map(|(prompt, _)| *prompt).collect();
            let embedded = embedder.embed(&texts, Role::Query)?;
            for ((prompt, tools), vector) in known.iter().zip(embedded.vectors.outer_iter()) {
                usage.learn(prompt, &vector.to_vec(), tools)?;
                learned.extend(tools.iter().cloned());
            }
            report.prompts_used += known.len();
            report.prompts_unused += chunk.len() - known.len();
            done += chunk.len();
            tell(done, past.len());
        }
        self.calibrate_usage(usage);
        report.tools_learned = learned.len();
        report.unknown_ids = unknown.into_iter().collect();
        Ok(report)
    }

    /// Sets learned tools back by as much as this catalog needs; [`Engine::learn`] does so itself.
    pub fn calibrate_usage(&self, usage: &mut UsageVectors) {
        let state = self.state();
        if let Some(own) = &state.vectors {
            usage.calibrate(state.catalog.tools(), |row| own_vector(own, row));
        }
    }
}

impl State {
    /// What was learned of the tool at a row, where the strategy makes use of it.
    pub(super) fn usage_of(&self, row: u32, strategy: Strategy) -> Option<&RowUsage> {
        self.learned.as_ref().filter(|_| strategy.needs_vector())?.rows.get(row)
    }
}

fn known_ids(catalog: &Catalog, ids: &[String], unknown: &mut BTreeSet<String>) -> Vec<ToolId> {
    let mut known = Vec::with_capacity(ids.len());
    for id in ids {
        match catalog.get(id) {
            Some(tool) => known.push(tool.id.clone()),
            None => _ = unknown.insert(id.clone()),
        }
    }
    known
}
