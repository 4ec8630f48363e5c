//! Calls tools and handles their failures.
//!
//! The caller passes tools in the order in which to try them. This module calls them over MCP, over
//! HTTP, as a local program or as a function of this program. It adapts arguments to the schema,
//! applies timeouts, retries, circuit breakers and fallbacks, and truncates long answers. Each
//! request yields one answer or one message, and a record of every attempt.
//!
//! This module must not know how tools are found, ranked or learned about: the ranking asks it
//! which breakers are open, and the learning receives the attempts. No environment
//! variable configures it, but programs are found by `PATH`, and the HTTP client uses the system's proxy. It
//! writes files only where the caller says: long answers, and what servers were found to offer.
//!
//! ```
//! use std::sync::Arc;
//!
//! use serde_json::json;
//! use toolroute_catalog::Tool;
//! use toolroute_run::execution::{
//!     Candidate, Closures, Executor, ExecutorOptions, LoopGuard, Outcome, Request, Servers,
//! };
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let add = Tool::new(Some("sums"), "add", "Adds two numbers");
//! let sums = Closures::new().with(add.clone(), |given| {
//!     let sum = given["a"].as_f64().zip(given["b"].as_f64()).map(|(a, b)| a + b);
//!     sum.map(|sum| json!(sum)).ok_or_else(|| "expected two numbers".to_owned())
//! });
//! let executor = Executor::new(Servers::new().with("sums", sums), ExecutorOptions::default());
//!
//! let (asked, guard) = ([Candidate::asked(Arc::new(add))], LoopGuard::default());
//! let arguments = [("a".to_owned(), json!(1)), ("b".to_owned(), json!(2))].into_iter().collect();
//! let report = executor.call(&Request::new(&asked, &arguments, &guard)).await;
//! let Outcome::Answered(answer) = report.outcome else { panic!("{report:?}") };
//! assert_eq!(answer.output.text, "3.0");
//! # });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "mcp")]
mod address;
mod blocking;
mod breaker;
#[cfg(feature = "mcp")]
mod client;
mod closures;
// Only MCP servers ask.
#[cfg_attr(not(feature = "mcp"), allow(dead_code))]
mod elicitation;
mod error;
mod executor;
mod extraction;
mod fallback;
#[cfg(feature = "mcp")]
mod http;
mod invoker;
pub mod jsonc;
mod loop_guard;
#[cfg(feature = "mcp")]
mod mcp;
mod message;
mod output;
mod params;
mod permission;
mod process;
mod program;
mod redact;
mod registry;
mod report;
mod servers;
mod spawn;
mod surrogates;
mod timing;

pub use blocking::{Blocking, OnEvent, Order};
pub use breaker::{BreakerOptions, BreakerState, Breakers, Phase};
#[cfg(feature = "mcp")]
pub use client::{names_loopback, names_private_address, prepare_tls};
pub use closures::Closures;
pub use elicitation::{Elicitation, User};
pub use error::Error;
pub use executor::{
    DEFAULT_MAX_CHARS, Event, Executor, ExecutorOptions, Failure, OnFailure, Request,
};
pub use extraction::{
    ArgumentSources, LocalTime, LocalTimeError, PreparedArguments, Question, Source, TakenValue,
    UnusedMention, parsed_result, prepare_arguments, result_leaves,
};
pub use fallback::{Candidate, Fallbacks, Neighbor, Origin, candidates, map_arguments};
#[cfg(feature = "mcp")]
pub use http::HttpOperations;
pub use invoker::{
    Arguments, Attachment, Call, Changed, Fault, FaultKind, Invoker, OnChange, OnProgress, Output,
    Pending, Progress,
};
pub use loop_guard::{CallHistory, CallLimits, CallStore, Exceeded, LoopGuard, SaveCalls};
#[cfg(feature = "mcp")]
pub use mcp::{Announced, McpOptions, McpServer, Pages};
pub use output::{
    AnswerStore, Estimate, Extractive, Page, Shape, Truncation, shape, tokens_of, truncate,
};
pub use params::{
    Change, Clarification, Missing, Parameters, Prepared, adapted, read_arguments, schema_warnings,
};
pub use permission::{Confirm, Offers, Patterns, Permissions, Verdict};
pub use process::ProcessTools;
pub use redact::{Redactor, map_texts};
pub use registry::{Listed, Servers};
pub use report::{Answer, Attempt, Ending, Hint, Outcome, Report, Skip};
pub use servers::{Entry, LeftOut, Program, Remote, ServersFile, Variables};
pub use spawn::{BASE_VARIABLES, ProcessOptions};
#[doc(hidden)] // For our own crates.
pub use surrogates::without_lone_surrogates;
pub use timing::{LONGEST_REQUEST, LONGEST_REQUEST_MAX_S, Retries, Timing, announcement};
