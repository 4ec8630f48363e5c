//! Runs an engine over files of prompts: to answer them (`batch`), to score the answers against
//! known ones (`measures`), over whole suites of sets (`suite`), and to time them (`latency`).
//!
//! This crate reads and writes rows of JSON. It must never know how an engine finds its answers,
//! nor print: progress goes to the caller. What only those measure who change toolroute is in
//! `crates/lab`.
//!
//! ```
//! use toolroute_eval::Measures;
//!
//! let ranked = ["a", "b", "c"];
//! let measures = Measures::of(&ranked, &["b"]);
//! assert_eq!(measures.recall_at_1, 0.0);
//! assert_eq!(measures.recall_at_5, 1.0);
//! assert_eq!(measures.mrr, 0.5);
//! ```

mod adaptive;
mod batch;
mod bootstrap;
mod compare;
mod dataset;
mod error;

mod latency;
mod measures;
mod offtopic;
mod output;
mod over_retrieved;
mod part;
mod past;
mod resume;
mod score;
mod suite;
mod unread;

pub use adaptive::{AnswerSize, Sizes};
pub use batch::{BatchCounts, BatchJob, BatchSummary};
pub use bootstrap::{Interval, RESAMPLES};
pub use compare::{
    AgainstBest, BadFileRow, Comparison, Means, Measured, Scores, SetReport, Strategies,
    SuiteReport, Verdict, measure_set,
};
pub use dataset::{BadRow, Query, RowFile, RowId, parse_query};
pub use error::Error;
pub use latency::{Percentiles, StageReport, StageTimer};
pub use measures::{DEPTH, Measures};
pub use offtopic::{Abstention, OffTopic};
pub use output::Output;
pub use over_retrieved::{OverRetrieved, ProbeReport, probe};
pub use part::SetPart;
pub use score::{Scored, answerable, score, unknown_gold};
pub use suite::{Prompts, SetFiles, find_sets};
