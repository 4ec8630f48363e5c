//! The one object users hold: a catalog made searchable, and the answer to a prompt.
//!
//! [`Engine`] ties the rooms below together: it embeds, retrieves, applies the policy and explains.
//! It reads no environment and no configuration file, prints nothing, and reaches no network; what
//! it needs comes through [`EngineBuilder`].
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
//! // Without an embedder the engine still ranks, by words alone, and says so.
//! let engine = Engine::builder(catalog).build()?;
//! let selection = engine.select(&SelectRequest::new("send an email to Dana"))?;
//! assert_eq!(selection.tools[0].tool.id.as_str(), "mail__send_email");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ad_hoc;
mod analysis;
mod builder;
mod catalog_change;
mod config;
mod context;
mod error;
mod handle;
mod health;
mod held_tools;
mod indexing;
mod judge;
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
mod state;
mod texts;
mod vectors;

pub use builder::EngineBuilder;
pub use catalog_change::ChangeReport;
pub use config::{DEFAULT_LIMIT, DEFAULT_MIN_CONFIDENCE, EngineConfig};
pub use error::Error;
pub use handle::Engine;
pub use health::{CheckResult, Health, HealthReport};
pub use held_tools::{HeldBack, HeldTool};
pub use indexing::{IndexReport, SnapshotState, fingerprint};
pub use judge::MinShares;
pub use learning::{History, LearnReport, PastPrompt, UsageReport};
pub use map::{Map, MapPoint};
pub use metrics::Metrics;
pub use offer::{Offer, OfferedTool};
pub use ranking::fitting;
pub use request::{
    Because, Degraded, Excluded, NoTools, SelectRequest, Selected, Selection, Timings,
};
pub use texts::{TextScore, TextVectors};
pub use vectors::CatalogVectors;

// What requests, answers and the configuration are made of: rooms above need not reach below.
pub use crate::embedding::{ModelIdentity, Role};
pub use crate::feedback::{Observations, Observed, RunCounts};
pub use crate::index::IndexKind;
pub use crate::query::{
    Analysis, CategoryWords, Context, ContextFeatures, MAX_CLAUSES, SmallModels, SourceFile,
    Speaker, Stage, Turn, reservation,
};
pub use crate::selection::{
    Blocked, CacheSettings, Candidacies, Candidacy, Explanation, Fusion, Level, NEAR_BEST,
    Normalization, POLICY_BAND, Part, Policy, Signal, SignalWeights, Strategy, Tiers, Undeclared,
};
