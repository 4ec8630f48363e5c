//! Plan, act, check, repeat: discharges obligations by tools and proves what it tells.
//!
//! A request is a list of obligations such as `REPORT(query.math)`, or an utterance that the router
//! finds obligations for. For each, the conductor takes the tools that satisfy it, in the order of the policy, sees whether their inputs are
//! at hand and their preconditions hold, calls the first that can run, checks its postconditions,
//! and goes on to the next where they fail. Before it answers it looks at every result again. There
//! is no model in it and no score: sets, conditions and an order. `docs/obligations.md` has it all.
//!
//! All that it knows stands in the [`Ledger`], so that a process killed anywhere can be gone on with.
//! Its loops must never know how a tool is reached (a [`Runner`] does that; `ExecutionRunner` is the one over the
//! execution room), nor how tools are ranked; it
//! reads no environment, and of files only the ledger and the databases of [`Builtins`].
//!
//! ```
//! use serde_json::json;
//! use toolroute_catalog::{Catalog, Tool};
//! use toolroute_conduct::{Begin, Call, Conductor, Ledger, Outcome};
//! use toolroute_rank::engine::Engine;
//!
//! let mut adder = Tool::new(None, "Adder", "Adds two numbers");
//! adder.satisfies = vec!["query.sum".to_owned()];
//! adder.postconditions = vec!["outputs.sum == inputs.a + inputs.b".to_owned()];
//! adder.hints.read_only = Some(true);
//! let engine = Engine::builder(Catalog::from_tools(vec![adder]).catalog).build()?;
//! let runner = |call: &Call<'_>| {
//!     let number = |name: &str| call.arguments[name].as_i64().unwrap_or_default();
//!     Outcome::Done(json!({"sum": number("a") + number("b")}))
//! };
//! let folder = tempfile::tempdir()?;
//! let mut ledger = Ledger::open(&folder.path().join("ledger.sqlite"))?;
//! let request = json!({"utterance": "What is 2 + 40?", "obligations": [
//!     {"type": "REPORT(query.sum)", "payload": {"a": 2, "b": 40}, "say": "It is {sum}."},
//! ]});
//! let mut conductor = Conductor::new(&engine, &runner, &mut ledger);
//! let answer = conductor.conduct(&request.to_string(), Begin::Anew)?;
//! assert_eq!(answer.text, "It is 42.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod arithmetic;
mod builtin;
mod condition;
mod conduct;
mod continuation;
mod error;
#[cfg(feature = "execution")]
mod execution_runner;
mod facts;
mod inputs;
mod json;
mod ledger;
mod lineage;
mod meta;
mod obligation;
mod plan;
mod reply;
mod runner;
mod schema;
mod success;
#[cfg(test)]
mod tests;
mod translate;
mod utterance;
mod verify;
mod words;

pub use answer::{Answer, Entry, Exchange};
pub use builtin::{Builtin, Builtins, default_tools};
pub use condition::{Scene, check};
pub use conduct::{Begin, Conductor};
pub use error::Error;
#[cfg(feature = "execution")]
pub use execution_runner::ExecutionRunner;
pub use facts::Scope;
pub use ledger::{
    AssertionRow, EventRow, Ledger, ObligationRow, Origin, Purpose, RequestRow, RequestStatus,
    RunRow, RunStatus, Standing,
};
pub use obligation::{Duty, Fact, NewObligation, ObligationType, Request, Status};
pub use reply::{Reply, ReplyValue};
pub use runner::{Call, Effect, Outcome, Runner};
pub use schema::OBLIGATIONS_SCHEMA;
pub use success::PlanSuccess;
