//! Returns the tools that satisfy an obligation, ordered by policy.

use std::sync::Arc;

use super::{Candidacies, Engine};
use crate::catalog::Tool;
use crate::selection::{candidates_for, satisfying};

impl Engine {
    /// Returns the tools for an obligation such as `REPORT(query.math)`, ordered by policy: the one
    /// to run, those to try after it, and what the others lack. `have` are the available kinds of
    /// data.
    ///
    /// ```
    /// # use toolroute_catalog::{Catalog, Tool};
    /// # use toolroute_rank::engine::Engine;
    /// let mut adder = Tool::new(None, "Adder", "Adds two numbers");
    /// adder.satisfies = vec!["query.math".to_owned()];
    /// let engine = Engine::builder(Catalog::from_tools(vec![adder]).catalog).build()?;
    /// let found = engine.candidates_for("REPORT(query.math)", &[]);
    /// assert_eq!(found.chosen.unwrap().id.as_str(), "Adder");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn candidates_for(&self, obligation: &str, have: &[String]) -> Candidacies {
        self.refresh_inputs();
        let state = self.state();
        let observed = |row: u32| state.observed.of(row);
        let admit = |row: u32, tool: &Tool| {
            state.config.policy.admit(tool, observed(row))?;
            state.inputs.blocked.admit(tool)
        };
        candidates_for(state.catalog.tools(), obligation, have, admit, observed)
    }

    /// Returns the tools that satisfy an obligation such as `REPORT(query.math)` and that the
    /// policy admits, in the order of [`Engine::candidates_for`]: higher reliability first, then
    /// lower cost, lower latency, and the name. Tools that are temporarily blocked, because they or
    /// their servers failed recently, are last.
    #[doc(hidden)] // For our own crates.
    pub fn satisfying(&self, obligation: &str) -> Vec<Arc<Tool>> {
        self.refresh_inputs();
        let (policy, state) = (self.config().policy, self.state());
        let observed = |row: u32| state.observed.of(row);
        let admit = |row: u32, tool: &Tool| policy.admit(tool, observed(row));
        let tools = state.catalog.tools();
        let (found, _) = satisfying(tools, obligation, admit, observed);
        let found = found.into_iter().map(|found| Arc::clone(&tools[found.row as usize]));
        let is_blocked = |tool: &Arc<Tool>| state.inputs.blocked.admit(tool).is_err();
        let (blocked, free): (Vec<_>, Vec<_>) = found.partition(is_blocked);
        free.into_iter().chain(blocked).collect()
    }
}
