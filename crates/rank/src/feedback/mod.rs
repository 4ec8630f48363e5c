//! What worked: which tools ran for which prompts, what came of it, and what that teaches.
//!
//! [`ExecutionStore`] keeps executions on disk; [`Recorder`] writes them in the background. They give
//! [`Observations`] (success, latency, similar contexts, workflows), [`WeightUpdate`] (weights of the
//! signals), [`SuccessMetrics`] (how calls go), [`recommend`] (what to improve in a catalog) and the past
//! prompts for [`UsageVectors`]. These sum up, for each tool, the vectors of the prompts that it served,
//! and move the tool's vector towards them; forgetting a tool undoes that. Reports may be false:
//! `credibility.rs` bounds what one session and one day can add.
//!
//! This room knows tools by id, contexts by words, and vectors as numbers. It must never know how a
//! vector is made or how tools are found. The text of a prompt is kept only where the user says so.
//!
//! ```
//! use toolroute_rank::feedback::{Execution, ExecutionStore, Observations, StoreOptions};
//!
//! let folder = tempfile::tempdir()?;
//! let mut store = ExecutionStore::open(folder.path().join("feedback.db"), StoreOptions::default())?;
//! let mut run = Execution::new("mail__send".into(), "tell Dana that I am late", true);
//! run.duration_ms = Some(120);
//! store.insert(&[run])?;
//!
//! let observed = Observations::load(&store)?;
//! let mail = observed.tool("mail__send").unwrap();
//! assert_eq!((mail.runs, mail.successes, mail.latency_ms), (1, 1, Some(120.0)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod calibration;
mod credibility;
mod error;
mod execution;
mod learned_vectors;
mod logged_prompts;
mod logistic;
mod observations;
mod past_contexts;
mod recommend;
mod recorder;
mod run_stats;
mod store;
mod success;
#[cfg(test)]
mod tests;
mod usage_file;
mod usage_vectors;
mod weights;
mod workflow;

pub use calibration::ndcg;
pub use credibility::{HALF_LIFE_DAYS, PER_DAY, PER_SESSION_AND_DAY, client_session};
pub use error::{Error, StoreError};
pub use execution::{CallAttempt, Choice, Execution, LoggedContext, PromptHash, PromptVector};
pub use learned_vectors::{LearnedVector, RowUsage, UsageRows};
pub use logged_prompts::{LoggedPrompt, LoggedPrompts, PROMPTS_PER_SESSION};
pub use observations::{Observations, RunCounts};
pub use past_contexts::CurrentContext;
pub use recommend::{DUPLICATE, Fault, NearDuplicate, Priority, Recommendation, recommend};
pub use recorder::{
    PrepareHook, RecordOutcome, Recorder, RecorderCounts, RecorderHooks, RecorderOptions,
    RefreshHook,
};
pub use run_stats::RunStats;
pub use store::{
    ExecutionStore, ForgetReport, ForgetScope, InsertReport, Retention, StoreOptions, WeightRecord,
};
pub use success::{EMPTY, SuccessMetrics};
pub use usage_vectors::{UsageModel, UsageVectors};
pub use weights::{
    LEAST_EXECUTIONS, MOST_EXECUTIONS, MOST_STEP, ScoreWeights, UnchangedReason, WeightUpdate,
};
pub use workflow::{NextTool, Workflow};
