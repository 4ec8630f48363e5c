//! The engine: a searchable catalog that returns the tools for a prompt.
//!
//! [`Engine`] connects the modules below it: it reads a prompt, embeds it, retrieves tools, applies the
//! policy and explains the answer. It reads no environment and no configuration file, prints nothing,
//! and has no network access; everything that it needs comes through [`EngineBuilder`].
//!
//! ```
//! use toolroute_catalog::{Catalog, Tool};
//! use toolroute_rank::engine::{Engine, SelectRequest};
//!
//! let catalog = Catalog::from_tools(vec![
//!     Tool::new(Some("fs"), "read_file", "Reads a file from disk"),
//!     Tool::new(Some("mail"), "send_email", "Sends an email to a person"),
//! ])
//! .catalog;
//! // Without an embedder the engine still ranks, by keywords only, and says so.
//! let engine = Engine::builder(catalog).build()?;
//! let selection = engine.select(&SelectRequest::new("send an email to Dana"))?;
//! assert_eq!(selection.tools[0].tool.id.as_str(), "mail__send_email");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ad_hoc;
mod analysis;
mod background;
mod builder;
mod candidate_scorer;
mod catalog_change;
mod certainty;
mod completion;
mod config;
mod context;
mod error;
mod handle;
mod health;
mod held_tools;
mod indexing;
mod learning;
mod live_inputs;
mod map;
mod metrics;
mod obligations;
mod offer;
mod ranking;
mod recording;
mod request;
mod select;
mod select_many;
mod state;
mod texts;
mod vectors;

pub use background::background_file;
pub use builder::EngineBuilder;
pub use candidate_scorer::MinShares;
pub use catalog_change::ChangeReport;
pub use config::{DEFAULT_LIMIT, DEFAULT_MIN_CONFIDENCE, EngineConfig};
pub use error::Error;
pub use handle::Engine;
pub use health::{CheckResult, HealthReport};
pub use held_tools::HeldMatch;
pub use indexing::{IndexReport, SnapshotState, fingerprint};
pub use learning::{LearnReport, PastPrompt};
pub use map::{Map, MapPoint};
pub use metrics::Metrics;
pub use offer::{Offer, OfferedTool};
pub use ranking::fitting;
pub use recording::add_vectors;
pub use request::{
    Degradation, ExcludedTool, NoTools, SelectRequest, SelectedTool, Selection, StrategyReason,
    Timings,
};
pub use state::{HeldTool, UsageReport};
pub use texts::{TextScore, TextVectors};
pub use vectors::CatalogVectors;

// The types of requests, answers and the configuration, so that users of the engine need no other
// module.
pub use crate::embedding::Role;
pub use crate::feedback::{Observations, RunCounts, RunStats};
pub use crate::index::IndexKind;
pub use crate::query::{
    Analysis, CategoryWords, Context, ContextFeatures, Doer, MAX_CLAUSES, NoiseKind, Omission,
    Places, SmallModels, SourceFile, Speaker, Stage, Turn, caveat, condition, no_order,
};
pub use crate::selection::{
    CacheSettings, Candidacies, Candidacy, Explanation, Fit, FitReason, Fusion, Level, NEAR_BEST,
    OpenBreakers, POLICY_BAND, Part, Policy, Signal, SignalWeights, Strategy, Tiers, Undeclared,
};
