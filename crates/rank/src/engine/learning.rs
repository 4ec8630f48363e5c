//! Learns from past prompts, and applies what was learned to a catalog's vectors.

use std::collections::BTreeSet;
use std::sync::Arc;

use ndarray::Array2;
use serde::Serialize;

use super::state::{Indexed, State};
use super::{Engine, Error};
use crate::catalog::{Catalog, Tool, ToolId};
use crate::embedding::{ModelIdentity, Role};
use crate::feedback::{
    ExecutionStore, LoggedPrompt, PromptHash, RowUsage, UsageModel, UsageRows, UsageVectors,
};
use crate::index::{self, IndexKind, VectorIndex, Vectors};
use crate::selection::Strategy;

/// Prompts embedded together, and told as progress.
const CHUNK: usize = 256;

/// A search over vectors.
type Index = Box<dyn VectorIndex>;

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

impl LearnReport {
    /// This and what was learned after it. A tool that both learned counts twice in `tools_learned`.
    #[must_use]
    pub fn and(mut self, later: Self) -> Self {
        self.tools_learned += later.tools_learned;
        self.prompts_used += later.prompts_used;
        self.prompts_unused += later.prompts_unused;
        self.unknown_ids.extend(later.unknown_ids);
        self.unknown_ids.sort_unstable();
        self.unknown_ids.dedup();
        self
    }
}

/// How much of what was learned concerns an engine's catalog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UsageReport {
    /// Tools of the catalog with history; their vectors were moved as far as it is followed.
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

/// How moved vectors are searched. A snapshot's graph links vectors as they were, and linking anew
/// takes minutes where a graph pays: they are scanned, unless a graph is asked for.
pub(super) fn kind_of_moved(asked: IndexKind) -> IndexKind {
    match asked {
        IndexKind::Auto => IndexKind::Exact,
        chosen => chosen,
    }
}

/// Moves the vectors of the tools that have history, and has `index` made of them.
pub(super) fn indexed(
    usage: &UsageVectors,
    tools: &[Arc<Tool>],
    model: &ModelIdentity,
    (own, index): (Arc<Vectors>, impl FnOnce(Arc<Vectors>) -> Result<Index, Error>),
) -> Result<Indexed, Error> {
    usage.matches(&usage_model(model))?;
    let moved = usage.learned_vectors(tools, |row| own_vector(&own, row));
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
        report: UsageReport { applied: usage.len() - absent, absent },
        fingerprint: usage.fingerprint(),
    };
    let index = index(Arc::new(Vectors::new(vectors)?))?.into();
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

/// A past prompt as it is at hand.
#[derive(Clone, Copy)]
enum Prompt<'a> {
    Text(&'a str),
    /// Of the engine's model.
    Vector(&'a [f32]),
}

impl<'a> Prompt<'a> {
    fn text(self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Vector(_) => None,
        }
    }
}

/// A past prompt and the ids of the tools that served it.
struct Served<'a> {
    hash: PromptHash,
    prompt: Prompt<'a>,
    tools: Vec<&'a str>,
}

impl<'a> Served<'a> {
    fn logged(past: &'a LoggedPrompt) -> Option<Self> {
        let vector = past.vector.as_deref().map(Prompt::Vector);
        let prompt = vector.or_else(|| past.text.as_deref().map(Prompt::Text))?;
        let tools = past.served.iter().map(|(tool, _)| tool.as_str()).collect();
        Some(Self { hash: past.hash, prompt, tools })
    }
}

impl Engine {
    /// What was applied of [`super::EngineBuilder::usage`]; none without it or without a model.
    pub fn usage_report(&self) -> Option<UsageReport> {
        self.state().learned.as_ref().map(|learned| learned.report)
    }

    /// Puts other usage in the place of what the engine was built with; the next selection knows.
    ///
    /// # Errors
    /// [`Error::NoModel`] without a model, and where `usage` is of another one.
    pub fn apply_usage(&self, usage: UsageVectors) -> Result<UsageReport, Error> {
        self.replace_state(|before| {
            let (Some(model), Some(vectors)) = (&before.embedder, &before.vectors) else {
                return Err(NO_MODEL);
            };
            let kind = kind_of_moved(before.config.index);
            let search = |vectors| Ok(index::build(vectors, kind)?);
            let own = (Arc::clone(vectors), search);
            let indexed = indexed(&usage, before.catalog.tools(), model.identity(), own)?;
            let report = indexed.learned.as_ref().map(|learned| learned.report);
            let mut lasting = before.lasting();
            lasting.usage = Some(Arc::new(usage));
            lasting.inputs = lasting.inputs.with_other_usage();
            let catalog = before.catalog.as_ref().clone();
            let indexed = (Some(indexed), before.keyword.clone());
            Ok((State::new(lasting, catalog, indexed, before.version), report.unwrap_or_default()))
        })
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
        let past = past.iter().map(|past| Served {
            hash: PromptHash::of(&past.prompt),
            prompt: Prompt::Text(&past.prompt),
            tools: past.tools.iter().map(String::as_str).collect(),
        });
        self.learn_served(usage, &past.collect::<Vec<_>>(), tell)
    }

    /// [`Engine::learn`] from a log of executions: the prompts that a tool served more often than it
    /// failed ([`ExecutionStore::logged_prompts`]). A prompt whose vector the log holds is not embedded
    /// again. The log says it all each time, so `usage` is one that does not know it yet.
    ///
    /// # Errors
    /// As [`Engine::learn`], and where the log cannot be read.
    pub fn learn_log(
        &self,
        usage: &mut UsageVectors,
        log: &ExecutionStore,
        tell: &dyn Fn(usize, usize),
    ) -> Result<LearnReport, Error> {
        let past = log.logged_prompts(&usage.model().fingerprint)?;
        let served: Vec<Served<'_>> = past.queries.iter().filter_map(Served::logged).collect();
        let mut report = self.learn_served(usage, &served, tell)?;
        report.prompts_unused += past.unusable;
        Ok(report)
    }

    fn learn_served(
        &self,
        usage: &mut UsageVectors,
        past: &[Served<'_>],
        tell: &dyn Fn(usize, usize),
    ) -> Result<LearnReport, Error> {
        let state = self.state();
        let embedder = state.embedder.as_ref().ok_or(NO_MODEL)?;
        usage.matches(&usage_model(embedder.identity()))?;
        let (mut report, mut learned, mut unknown) =
            (LearnReport::default(), BTreeSet::new(), BTreeSet::new());
        let mut done = 0;
        for chunk in past.chunks(CHUNK) {
            let known: Vec<(&Served<'_>, Vec<ToolId>)> = chunk
                .iter()
                .map(|past| (past, known_ids(&state.catalog, &past.tools, &mut unknown)))
                .filter(|(_, tools)| !tools.is_empty())
                .collect();
            let texts: Vec<&str> =
                known.iter().filter_map(|(past, _)| past.prompt.text()).collect();
            let embedded = embedder.embed(&texts, Role::Query)?;
            let mut embedded = embedded.vectors.outer_iter();
            for (past, tools) in &known {
                match past.prompt {
                    Prompt::Vector(vector) => usage.learn(past.hash, vector, tools)?,
                    Prompt::Text(_) => {
                        let vector = embedded.next();
                        let vector = vector.expect("every text has a vector. This is a bug.");
                        usage.learn(past.hash, &vector.to_vec(), tools)?;
                    }
                }
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

    /// Finds how far history is followed in this catalog, and what learned tools are set back by;
    /// [`Engine::learn`] does so itself.
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

fn known_ids(catalog: &Catalog, ids: &[&str], unknown: &mut BTreeSet<String>) -> Vec<ToolId> {
    let mut known = Vec::with_capacity(ids.len());
    for id in ids {
        match catalog.get(id) {
            Some(tool) => known.push(tool.id.clone()),
            None => _ = unknown.insert((*id).to_owned()),
        }
    }
    known
}
