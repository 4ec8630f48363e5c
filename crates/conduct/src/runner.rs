//! How the conductor has a tool run: one trait, which the program around it fulfils.

use serde_json::Value;

use toolroute_catalog::Tool;

/// One run of one tool.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub tool: &'a Tool,
    /// A JSON object.
    pub arguments: &'a Value,
    /// The same for each repetition of this run and for no other: a tool that remembers keys can
    /// refuse to do a thing twice.
    pub key: &'a str,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Done(Value),
    Failed {
        /// In words a user can read.
        said: String,
        effect: Effect,
    },
}

/// What a run that failed may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: it was refused before it began.
    None,
    /// Nobody knows.
    Unknown,
}

/// Runs tools. It never panics, and it ends: timeouts are its business.
pub trait Runner: Send + Sync {
    fn run(&self, call: &Call<'_>) -> Outcome;
}

impl<F: Fn(&Call<'_>) -> Outcome + Send + Sync> Runner for F {
    fn run(&self, call: &Call<'_>) -> Outcome {
        self(call)
    }
}
