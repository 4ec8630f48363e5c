//! Discharges obligations with tools, and verifies the results before it reports them.
//!
//! A request is a list of obligations such as `REPORT(query.math)`, or an utterance from which the
//! router derives them. For each obligation, the conductor goes through the tools that satisfy it,
//! in the order of the policy, and calls the first one whose inputs are available and whose
//! preconditions hold. It then checks the postconditions of that tool, and tries the next tool if
//! they do not hold. Before it answers, it verifies every result a second time. It uses no model
//! and no score, only sets, conditions and an order. `docs/obligations.md` describes all of this.
//!
//! The whole state is stored in the [`Ledger`], so that a request can be resumed wherever the
//! process was killed. The conductor must never know how a tool is called, which is the task of a
//! [`Runner`] (`ExecutionRunner` calls tools through an executor), nor how tools are ranked. It
//! reads no environment variables, and no files other than the ledger and the databases of
//! [`Builtins`].
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
//! let mut ledger = Ledger::open(folder.path().join("ledger.sqlite"))?;
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
mod declaration;
mod error;
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
pub use declaration::declaration_warnings;
pub use error::Error;
pub use execution_runner::ExecutionRunner;
pub use facts::Scope;
pub use ledger::{
    AssertionRow, EventRow, Ledger, ObligationRow, Origin, Purpose, RequestRow, RequestStatus,
    RunRow, RunStatus, Standing,
};
pub use obligation::{Duty, Fact, NewObligation, ObligationType, Request, Status, check_type};
pub use reply::{Reply, ReplyValue};
pub use runner::{Call, Effect, Outcome, Runner};
pub use schema::OBLIGATIONS_SCHEMA;
pub use success::PlanSuccess;
