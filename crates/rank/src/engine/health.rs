//! Named health checks of an engine.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Engine;

/// The results of all checks. Servers add their own to the engine's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HealthReport {
    pub healthy: bool,
    pub checks: BTreeMap<String, CheckResult>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckResult {
    pub healthy: bool,
    /// The failure, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

impl HealthReport {
    /// Adds the result of a check, whose error describes the failure, or replaces the one with that
    /// name.
    #[must_use]
    pub fn with(mut self, name: &str, result: Result<(), String>) -> Self {
        let because = result.err();
        let result = CheckResult { healthy: because.is_none(), because };
        self.checks.insert(name.to_owned(), result);
        self.healthy = self.checks.values().all(|check| check.healthy);
        self
    }
}

impl Engine {
    /// The engine's own checks: `catalog` and `model`. Vectors that could not be saved are no check: the engine works
    /// without them, and [`Engine::index_report`] says so.
    #[doc(hidden)] // For our own crates.
    pub fn health(&self) -> HealthReport {
        let catalog = match self.catalog().is_empty() {
            true => Err("no tool is loaded".to_owned()),
            false => Ok(()),
        };
        let model = match &self.state().embedder {
            None if self.config().strategy.needs_vector() => {
                Err(format!("the {} strategy has no model", self.config().strategy))
            }
            None => Ok(()),
            Some(model) => {
                let embedded = model.embed(&["ping"], crate::embedding::Role::Query);
                embedded.map(drop).map_err(|error| error.to_string())
            }
        };
        HealthReport::default().with("catalog", catalog).with("model", model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Catalog, Tool};

    #[test]
    fn one_failed_check_fails_the_report() {
        let tools = vec![Tool::new(None, "a", "")];
        let engine = Engine::builder(Catalog::from_tools(tools).catalog).build().unwrap();
        assert!(engine.health().healthy);
        let report = engine.health().with("disk", Err("full".to_owned()));
        assert!(!report.healthy && report.checks["catalog"].healthy);
        assert_eq!(report.checks["disk"].because.as_deref(), Some("full"));
        let empty = Engine::builder(Catalog::default()).build().unwrap();
        assert!(!empty.health().checks["catalog"].healthy);
    }
}
