//! Decides which tools fit a prompt: retrieval, fusion, filters, order and explanation.
//!
//! This module turns a prompt and its vector into candidates, and candidates into an ordered,
//! explained answer. It must never know how a vector is made, where a catalog is stored, or how a
//! tool is run: the engine passes in what it needs.
//!
//! ```
//! use toolroute_catalog::{Cost, Tool};
//! use toolroute_rank::selection::Policy;
//!
//! let policy = Policy { max_cost: Some(Cost::Low), ..Policy::default() };
//! let mut tool = Tool::new(Some("search"), "deep_research", "Researches a question for minutes");
//! tool.cost = Some(Cost::High);
//! assert_eq!(policy.admit(&tool, None).unwrap_err().to_string(), "cost high is above low");
//! ```

mod background;
mod cache;
mod candidate;
mod clause_fusion;
mod confidence;
mod exact_names;
mod explanation;
mod fit;
mod fusion;
mod hybrid;
mod keyword;
mod named_server;
mod obligation;
mod order;
mod peaks;
mod plain;
mod policy;
mod pruning;
mod retriever;
mod semantic;
mod signals;
#[cfg(test)]
mod tests;
mod tool_filter;
mod usage_weighting;
mod wording;

pub use background::{background_evidence, background_prompts};
pub use cache::{CacheKey, CacheSettings, SelectionCache, Versions};
pub use candidate::{Candidate, Criterion, Preference, Score};
pub use confidence::{CatalogEvidence, SURE, confidence, evidence};
pub use explanation::{
    Explanation, ExplanationInputs, Level, Part, PreferenceReason, Supply, Tiers,
};
pub use fit::{Fit, FitInputs, FitReason, ToolActions, judge_fit, missing_action};
pub use fusion::Fusion;
pub use hybrid::{HybridRetriever, retrievers};
pub use keyword::KeywordRetriever;
pub use obligation::{Candidacies, Candidacy, candidates_for, satisfying};
pub use order::{POLICY_BAND, PolicyOrder, band_of, order};
pub use policy::{Exclusion, NEAR_BEST, OpenBreakers, Policy, Undeclared};
pub use pruning::TAIL_FROM;
pub use retriever::{
    Clause, Cut, Error, Prompt, QueryVector, Retrieval, Retriever, StageTimes, Strategy,
};
pub use semantic::{NEAREST, SemanticRetriever};
pub use signals::{Assessment, Intent, SIGNALS, Signal, SignalInputs, SignalWeights, Signals};
pub use tool_filter::ToolFilter;
