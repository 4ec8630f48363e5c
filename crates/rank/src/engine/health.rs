//! Named health checks of an engine.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Engine;

type Check<'a> = Box<dyn Fn() -> Result<(), String> + Send + Sync + 'a>;

/// Named checks. Servers add their own to the engine's.
#[derive(Default)]
pub struct Health<'a> {
    checks: BTreeMap<String, Check<'a>>,
}

/// The results of all checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HealthReport {
    pub healthy: bool,
    /// The result of each check, by name.
    pub checks: BTreeMap<String, CheckResult>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckResult {
    pub healthy: bool,
    /// The failure, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

impl<'a> Health<'a> {
    /// Adds a check, or replaces the one with that name. Its error describes the failure.
    #[must_use]
    pub fn with(
        mut self,
        name: &str,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'a,
    ) -> Self {
        self.checks.insert(name.to_owned(), Box::new(check));
        self
    }

    /// Runs every check, sorted by name.
    pub fn report(&self) -> HealthReport {
        let result = |check: &Check<'_>| {
            let because = check().err();
            CheckResult { healthy: because.is_none(), because }
        };
        let checks: BTreeMap<String, CheckResult> =
            self.checks.iter().map(|(name, check)| (name.clone(), result(check))).collect();
        HealthReport { healthy: checks.values().all(|check| check.healthy), checks }
    }
}

impl Engine {
    /// The engine's own checks: `catalog` and `model`. Vectors that could not be saved are no check: the engine works
    /// without them, and [`Engine::index_report`] says so.
    #[doc(hidden)] // For our own crates.
    pub fn health(&self) -> Health<'_> {
        Health::default()
            .with("catalog", || match self.catalog().is_empty() {
                true => Err("no tool is loaded".to_owned()),
                false => Ok(()),
            })
            .with("model", || match &self.state().embedder {
                None if self.config().strategy.needs_vector() => {
                    Err(format!("the {} strategy has no model", self.config().strategy))
                }
                None => Ok(()),
                Some(model) => {
                    let embedded = model.embed(&["ping"], crate::embedding::Role::Query);
                    embedded.map(drop).map_err(|error| error.to_string())
                }
            })
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
        assert!(engine.health().report().healthy);
        let report = engine.health().with("disk", || Err("full".to_owned())).report();
        assert!(!report.healthy && report.checks["catalog"].healthy);
        assert_eq!(report.checks["disk"].because.as_deref(), Some("full"));
        let empty = Engine::builder(Catalog::default()).build().unwrap();
        assert!(!empty.health().report().checks["catalog"].healthy);
    }
}
