//! The trait through which the conductor runs tools.

use serde_json::Value;

use toolroute_catalog::Tool;

/// One run of one tool.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The tool to run.
    pub tool: &'a Tool,
    /// The arguments, a JSON object.
    pub arguments: &'a Value,
    /// An idempotency key. It is the same for each repetition of this run, and differs from that of
    /// any other run.
    pub key: &'a str,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The tool answered.
    Done(Value),
    /// The tool did not answer.
    Failed {
        /// A description for the user.
        said: String,
        effect: Effect,
    },
}

/// What a failed run may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: the call was refused before it began.
    None,
    /// It is unknown what the run changed.
    Unknown,
}

/// Runs tools. An implementation must not panic, and must apply timeouts so that each run ends.
pub trait Runner: Send + Sync {
    /// Runs a tool once, and says what became of it.
    fn run(&self, call: &Call<'_>) -> Outcome;

    /// Is told whether the answer of the last run fulfils what the tool promises. A log of executions then has a success
    /// only if it does.
    fn checked(&self, fulfils: bool) {
        let _ = fulfils;
    }
}

impl<F: Fn(&Call<'_>) -> Outcome + Send + Sync> Runner for F {
    fn run(&self, call: &Call<'_>) -> Outcome {
        self(call)
    }
}
