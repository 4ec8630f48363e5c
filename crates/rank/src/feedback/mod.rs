//! What worked: which tools ran for which prompts, what came of it, and what that teaches.
//!
//! [`ExecutionStore`] keeps executions on disk, [`Recorder`] brings them there without making
//! anybody wait. From them come [`Observations`] (success, latency, similar contexts, workflows),
//! [`WeightUpdate`] (weights of the signals), [`SuccessMetrics`] (how calls go), [`recommend`] (what
//! to mend) and the past prompts that usage vectors are learned from: [`UsageVectors`] sums up, tool
//! by tool, the vectors of the prompts that a tool has served, and says how far that moves the tool's own vector; forgetting
//! brings back what was before. Who reports may report falsely: `evidence.rs` bounds what one source
//! and one day can move.
//!
//! This room knows tools by their ids, contexts by words, and vectors as numbers. It must never
//! know how a vector is made or how tools are found. The text of a prompt is kept only where the
//! user says so.
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

#[cfg(test)]
mod adversary;
mod calibration;
mod called;
mod error;
mod evidence;
mod execution;
mod layout;
mod logistic;
mod moves;
mod nearby;
mod observations;
mod past;
mod rates;
mod recommend;
mod recorder;
mod sample;
mod store;
mod store_error;
mod success;
#[cfg(test)]
mod tests;
mod usage_vectors;
mod weights;
mod workflow;

pub use calibration::ndcg;
pub use called::Called;
pub use error::Error;
pub use evidence::{HALF_LIFE_DAYS, PER_DAY, PER_SESSION_AND_DAY, client_session};
pub use execution::{Choice, Execution, LoggedContext, PromptHash, PromptVector};
pub use moves::{Moved, RowUsage, UsageRows};
pub use nearby::Situation;
pub use observations::{Observations, RunCounts};
pub use past::{PROMPTS_PER_SESSION, PastQueries, PastQuery};
pub use rates::Observed;
pub use recommend::{DUPLICATE, Fault, NearDuplicate, Priority, Recommendation, recommend};
pub use recorder::{Hooks, Prepare, Recorded, Recorder, RecorderCounts, RecorderOptions, Refresh};
pub use store::{
    ExecutionStore, Forget, Forgotten, Retention, StoreOptions, WeightRecord, Written,
};
pub use store_error::StoreError;
pub use success::{EMPTY, SuccessMetrics};
pub use usage_vectors::{UsageModel, UsageVectors};
pub use weights::{
    LEAST_EXECUTIONS, MOST_EXECUTIONS, MOST_STEP, ScoreWeights, Unchanged, WeightUpdate,
};
pub use workflow::{Next, Workflow};
