//! Learns usage from past prompts, and applies it to a catalog's vectors.

use std::collections::BTreeSet;
use std::sync::Arc;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::state::{AppliedUsage, CatalogIndex, State, UsageReport};
use super::{Engine, Error};
use crate::catalog::{Catalog, Tool, ToolId};
use crate::embedding::{ModelIdentity, Role};
use crate::feedback::{
    ExecutionStore, LoggedPrompt, PromptHash, RowUsage, UsageRows, UsageVectors,
};
use crate::index::{self, IndexKind, VectorIndex, Vectors};
use crate::selection::Strategy;

/// Prompts that are embedded between two progress reports.
const CHUNK: usize = 256;

type Search = Box<dyn VectorIndex>;

/// Usage moves vectors, which need a model.
const NO_MODEL: Error = Error::NoModel { strategy: None };

/// A past prompt, and the ids of the tools that served it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastPrompt {
    /// The prompt as the user wrote it; in JSON also `query`, as in the rows that `toolroute learn` reads.
    #[serde(alias = "query")]
    pub prompt: String,
    /// The ids of the tools that served it.
    pub tools: Vec<String>,
}

/// What [`Engine::learn`] learned from past prompts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LearnReport {
    /// Number of tools of the catalog that served one of these prompts.
    pub tools_learned: usize,
    /// Number of prompts that a tool of the catalog served.
    pub prompts_used: usize,
    /// Number of prompts whose tools are all unknown.
    pub prompts_unused: usize,
    /// Ids that are not in the catalog, sorted; nothing was learned for them.
    pub unknown_ids: Vec<String>,
}

impl LearnReport {
    /// Adds a later report. A tool in both counts twice in `tools_learned`.
    #[must_use]
    #[doc(hidden)] // For our own crates.
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

/// How moved vectors are searched. The graph of a snapshot links the vectors before they were
/// moved, and building another graph takes minutes for a catalog that needs one. So moved vectors
/// are scanned, unless the configuration asks for a graph.
pub(super) fn kind_of_moved(configured: IndexKind) -> IndexKind {
    match configured {
        IndexKind::Auto => IndexKind::Exact,
        chosen => chosen,
    }
}

/// Moves the vectors of tools with usage, and builds a search over them.
pub(super) fn apply(
    usage: &UsageVectors,
    tools: &[Arc<Tool>],
    model: &ModelIdentity,
    (own, search): (Arc<Vectors>, impl FnOnce(Arc<Vectors>) -> Result<Search, Error>),
) -> Result<CatalogIndex, Error> {
    usage.matches(model)?;
    let moved = usage.learned_vectors(tools, &own);
    let shape = (own.len(), own.dimension());
    let mut vectors = Array2::from_shape_vec(shape, own.as_slice().to_vec())
        .expect("the vectors are a matrix of this shape. This is a bug.");
    for moved in &moved {
        let mut row = vectors.row_mut(moved.row as usize);
        row.iter_mut().zip(&moved.vector).for_each(|(old, new)| *old = *new);
    }
    let known: BTreeSet<&ToolId> = tools.iter().map(|tool| &tool.id).collect();
    let absent = usage.tools().filter(|(id, _)| !known.contains(id)).count();
    let learned = AppliedUsage {
        rows: Arc::new(UsageRows::new(tools.len(), &moved, usage.handicap())),
        report: UsageReport { applied: usage.len() - absent, absent },
        fingerprint: usage.fingerprint(),
        served: usage.served(),
    };
    let search = search(Arc::new(Vectors::new(vectors)?))?.into();
    Ok(CatalogIndex { vectors: own, search, learned: Some(learned) })
}

/// A past prompt, with the ids of the tools that served it.
struct PromptUse<'a> {
    hash: PromptHash,
    text: &'a str,
    /// The vector of the text from the engine's model, if it is known.
    vector: Option<&'a [f32]>,
    tools: Vec<&'a str>,
}

impl<'a> PromptUse<'a> {
    /// Returns `None` if neither the text nor the vector is in the log.
    fn from_log(past: &'a LoggedPrompt) -> Option<Self> {
        let (text, vector) = (past.text.as_deref(), past.vector.as_deref());
        let tools = past.served.iter().map(|(tool, _)| tool.as_str()).collect();
        (text.is_some() || vector.is_some()).then_some(Self {
            hash: past.hash,
            text: text.unwrap_or_default(),
            vector,
            tools,
        })
    }
}

impl Engine {
    /// Replaces the usage that moves the engine's vectors, from the next selection on.
    ///
    /// # Errors
    /// [`Error::NoModel`] without a model; an error if `usage` belongs to another model.
    #[doc(hidden)] // For our own crates.
    pub fn apply_usage(&self, usage: UsageVectors) -> Result<UsageReport, Error> {
        self.replace_state(|before| {
            let (Some(model), Some(vectors)) = (&before.embedder, &before.vectors) else {
                return Err(NO_MODEL);
            };
            let kind = kind_of_moved(before.config.index);
            let search = |vectors| Ok(index::build(vectors, kind)?);
            let own = (Arc::clone(vectors), search);
            let index = apply(&usage, before.catalog.tools(), model.identity(), own)?;
            let report = index.learned.as_ref().map(|learned| learned.report);
            let mut parts = before.parts();
            parts.usage = Some(Arc::new(usage));
            parts.inputs = parts.inputs.with_other_usage();
            let catalog = before.catalog.as_ref().clone();
            let indexes = (Some(index), before.keyword.clone());
            Ok((State::new(parts, catalog, indexes, before.version), report.unwrap_or_default()))
        })
    }

    /// Returns usage for this engine's model without any prompt.
    ///
    /// ```
    /// # #[cfg(feature = "built-in-model")] {
    /// # use std::sync::Arc;
    /// # use toolroute_catalog::Catalog;
    /// # use toolroute_rank::engine::Engine;
    /// # use toolroute_vectors::embedding::StaticEmbedder;
    /// # let model = Arc::new(StaticEmbedder::built_in()?);
    /// # let engine = Engine::builder(Catalog::default()).embedder(model).build()?;
    /// assert!(engine.empty_usage()?.is_empty());
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoModel`].
    pub fn empty_usage(&self) -> Result<UsageVectors, Error> {
        let state = self.state();
        let embedder = state.embedder.as_ref().ok_or(NO_MODEL)?;
        Ok(UsageVectors::new(embedder.identity().clone()))
    }

    /// Adds past prompts to `usage`, which may contain others already. `progress` gets the number
    /// of prompts done and the total.
    ///
    /// ```
    /// # #[cfg(feature = "built-in-model")] {
    /// # use std::sync::Arc;
    /// # use toolroute_catalog::{Catalog, Tool};
    /// # use toolroute_rank::engine::{Engine, PastPrompt};
    /// # use toolroute_vectors::embedding::StaticEmbedder;
    /// # let tools = vec![Tool::new(None, "send", "Sends a mail"), Tool::new(None, "read", "Reads a file")];
    /// # let model = Arc::new(StaticEmbedder::built_in()?);
    /// # let engine = Engine::builder(Catalog::from_tools(tools).catalog).embedder(model).build()?;
    /// let past = [PastPrompt { prompt: "write to Dana".into(), tools: vec!["send".into()] }];
    /// let mut usage = engine.empty_usage()?;
    /// let report = engine.learn(&mut usage, &past, &|_, _| {})?;
    /// assert_eq!((report.prompts_used, report.tools_learned), (1, 1));
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoModel`]; an error if `usage` belongs to another model; errors of the embedder. An
    /// id that is not in the catalog is not an error: the report contains it.
    pub fn learn(
        &self,
        usage: &mut UsageVectors,
        past: &[PastPrompt],
        progress: &dyn Fn(usize, usize),
    ) -> Result<LearnReport, Error> {
        let past = past.iter().map(|past| PromptUse {
            hash: PromptHash::of(&past.prompt),
            text: &past.prompt,
            vector: None,
            tools: past.tools.iter().map(String::as_str).collect(),
        });
        self.learn_uses(usage, &past.collect::<Vec<_>>(), progress)
    }

    /// Like [`Engine::learn`], of the prompts in a log of executions that a tool served more often
    /// than it failed ([`ExecutionStore::logged_prompts`]). Prompts whose vectors are in the log are
    /// not embedded again. The whole log is read each time, so the usage must not have learned from
    /// it before.
    ///
    /// # Errors
    /// Those of [`Engine::learn`], and an unreadable log.
    #[doc(hidden)] // For our own crates: `toolroute learn`, and servers that learn while they run.
    pub fn learn_log(
        &self,
        usage: &mut UsageVectors,
        log: &ExecutionStore,
        progress: &dyn Fn(usize, usize),
    ) -> Result<LearnReport, Error> {
        let past = log.logged_prompts(&usage.model().fingerprint)?;
        let uses: Vec<PromptUse<'_>> =
            past.queries.iter().filter_map(PromptUse::from_log).collect();
        let mut report = self.learn_uses(usage, &uses, progress)?;
        report.prompts_unused += past.unusable;
        Ok(report)
    }

    fn learn_uses(
        &self,
        usage: &mut UsageVectors,
        past: &[PromptUse<'_>],
        progress: &dyn Fn(usize, usize),
    ) -> Result<LearnReport, Error> {
        let state = self.state();
        let embedder = state.embedder.as_ref().ok_or(NO_MODEL)?;
        usage.matches(embedder.identity())?;
        let (mut report, mut learned, mut unknown) =
            (LearnReport::default(), BTreeSet::new(), BTreeSet::new());
        let mut done = 0;
        for chunk in past.chunks(CHUNK) {
            let known: Vec<(&PromptUse<'_>, Vec<ToolId>)> = chunk
                .iter()
                .map(|past| (past, known_ids(&state.catalog, &past.tools, &mut unknown)))
                .filter(|(_, tools)| !tools.is_empty())
                .collect();
            let unknown = known.iter().filter(|(past, _)| past.vector.is_none());
            let texts: Vec<&str> = unknown.map(|(past, _)| past.text).collect();
            let embedded = embedder.embed(&texts, Role::Query)?;
            let mut embedded = embedded.vectors.outer_iter();
            for (past, tools) in &known {
                let mut new = || embedded.next().expect("every text has a vector. This is a bug.");
                let vector = past.vector.map_or_else(|| new().to_vec(), <[f32]>::to_vec);
                usage.learn(past.hash, &vector, tools)?;
                learned.extend(tools.iter().cloned());
            }
            report.prompts_used += known.len();
            report.prompts_unused += chunk.len() - known.len();
            done += chunk.len();
            progress(done, past.len());
        }
        // How far usage moves vectors, and the penalty of tools with usage, depend on all of it.
        if let Some(own) = &state.vectors {
            usage.calibrate(state.catalog.tools(), own);
        }
        report.tools_learned = learned.len();
        report.unknown_ids = unknown.into_iter().collect();
        Ok(report)
    }
}

impl State {
    /// Returns the usage of the tool in a row, if the strategy uses vectors.
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
