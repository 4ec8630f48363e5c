//! Checks arguments against a tool's schema, on a thread that does not serve connections.

use std::sync::Arc;
use std::time::Instant;

use super::super::invoker::Arguments;
use super::super::params::{Clarification, Prepared};
use super::Executor;
use toolroute_catalog::Tool;

/// The result of checking arguments.
pub(super) enum CheckResult {
    Fits(Prepared),
    /// The arguments could not be checked, for this reason.
    Refused(String),
}

impl Executor {
    /// Like [`Parameters::prepare`], with a time limit, because a server chooses its schema and
    /// checking may be slow.
    ///
    /// [`Parameters::prepare`]: super::Parameters::prepare
    pub(super) async fn prepare(
        &self,
        tool: &Arc<Tool>,
        given: Arguments,
        deadline: Instant,
    ) -> Result<CheckResult, Box<Clarification>> {
        let limit = deadline.min(Instant::now() + self.options.timing.timeout(tool));
        let (parameters, tool) = (Arc::clone(&self.parameters), Arc::clone(tool));
        let checking = tokio::task::spawn_blocking(move || match parameters.admit(&tool, &given) {
            Ok(()) => parameters.prepare(&tool, &given).map(CheckResult::Fits),
            Err(refused) => Ok(CheckResult::Refused(refused.to_string())),
        });
        let refused = |because: &str| Ok(CheckResult::Refused(because.to_owned()));
        match tokio::time::timeout_at(limit.into(), checking).await {
            Ok(Ok(checked)) => checked,
            Ok(Err(_)) => refused("its arguments could not be checked; the log says why"),
            Err(_) => refused("checking its arguments took longer than a call of it may"),
        }
    }
}
