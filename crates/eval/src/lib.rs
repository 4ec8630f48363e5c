//! Runs an engine over files of prompts: to score its answers against known ones (`measures`), to
//! compare strategies over whole suites of sets (`suite`), and to time the stages (`latency`).
//!
//! This crate reads rows of JSON. It must never know how an engine finds its answers, and it must
//! never print: it reports progress to the caller. Measurements that only the developers of
//! toolroute need are in `crates/lab`.
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
mod bootstrap;
mod compare;
mod dataset;
mod error;

mod latency;
mod measures;
mod misses;
mod offtopic;
mod over_retrieved;
mod part;
mod past;
mod score;
mod suite;
mod unread;

pub use adaptive::{AnswerSize, Sizes};
pub use bootstrap::{Interval, RESAMPLES};
pub use compare::{
    AgainstBest, BadFileRow, Comparison, Means, Measured, Scores, SetReport, Strategies,
    SuiteReport, Verdict, measure_set,
};
pub use dataset::{BadRow, Query, RowFile, RowId, parse_query};
pub use error::Error;
pub use latency::{Percentiles, StageReport, StageTimer};
pub use measures::{DEPTH, Measures};
pub use misses::Miss;
pub use offtopic::{Abstention, OffTopic};
pub use over_retrieved::{OverRetrieved, ProbeReport, probe};
pub use part::SetPart;
pub use score::{RightFirst, Scored, Unserved, answerable, score, with_gold, with_known_gold};
pub use suite::{Prompts, SetFiles, find_sets};
pub use unread::{begins_list, cure};
