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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Catalog, Cost, Reliability};
    use crate::engine::{EngineConfig, Policy};

    fn tool(name: &str, reliability: Reliability, cost: Cost, latency_ms: u64) -> Tool {
        let mut tool = Tool::new(None, name, "Answers");
        tool.satisfies = vec!["query.complex".to_owned()];
        (tool.reliability, tool.cost) = (Some(reliability), Some(cost));
        tool.latency_ms = Some(latency_ms);
        tool
    }

    #[test]
    fn reliability_then_cost_then_latency_then_name_decide() {
        let (high, medium) = (Reliability::High, Reliability::Medium);
        let mut other = Tool::new(None, "Other", "Does something else");
        other.satisfies = vec!["query.other".to_owned()];
        let tools = vec![
            tool("Simple", medium, Cost::Tiny, 1),
            tool("Slow", high, Cost::Low, 900),
            tool("B", high, Cost::Low, 5),
            tool("A", high, Cost::Low, 5),
            tool("Dear", high, Cost::High, 1),
            other,
        ];
        let found = |policy| {
            let config = EngineConfig { policy, ..EngineConfig::default() };
            let catalog = Catalog::from_tools(tools.clone()).catalog;
            let engine = Engine::builder(catalog).config(config).build().unwrap();
            let found = engine.satisfying("REPORT(query.complex)");
            found.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(found(Policy::default()), ["A", "B", "Slow", "Dear", "Simple"]);
        let cheap = Policy { max_cost: Some(Cost::Low), ..Policy::default() };
        assert_eq!(found(cheap), ["A", "B", "Slow", "Simple"]);
    }
}
