//! Feedback: logs which tools ran for which prompts and with which outcome, and learns from this
//! log.
//!
//! [`ExecutionStore`] stores executions on disk, and [`Recorder`] writes them in the background.
//! From the log come [`Observations`] (success, latency, similar contexts, workflows),
//! [`WeightUpdate`] (weights of the signals), [`SuccessMetrics`] (outcomes of calls), [`recommend`]
//! (improvements of a catalog) and the past prompts for [`UsageVectors`]. Usage vectors sum, for
//! each tool, the vectors of the prompts that it served, and move the tool's vector towards them;
//! forgetting a tool reverts this. Reports may be false, so `credibility.rs` bounds the influence
//! of one session and of one day.
//!
//! This module knows tools as ids, contexts as words, and vectors as numbers. It must never know
//! how a vector is made or how tools are found. The text of a prompt is stored only if the user
//! enables it.
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
pub use logged_prompts::{LoggedPrompt, LoggedPrompts, PROMPTS_PER_TOOL_AND_DAY};
pub use observations::{Observations, RunCounts};
pub use past_contexts::CurrentContext;
pub use recommend::{DUPLICATE, Fault, NearDuplicate, Priority, Recommendation, recommend};
pub use recorder::{RecordOutcome, Recorder, RecorderCounts, RecorderHooks};
pub use run_stats::RunStats;
#[doc(hidden)] // For the ledger.
pub use store::row_checksum;
pub use store::{
    ExecutionStore, ForgetReport, ForgetScope, InsertReport, Retention, StoreOptions, WeightRecord,
};
pub use success::{EMPTY, SuccessMetrics};
pub use usage_vectors::{ServedScores, UsageVectors};
pub use weights::{
    LEAST_EXECUTIONS, MOST_EXECUTIONS, MOST_STEP, ScoreWeights, UnchangedReason, WeightUpdate,
};
pub use workflow::{NextTool, Workflow};
