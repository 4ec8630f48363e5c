//! Arguments are checked against a tool's schema off the threads that connections share.

use std::sync::Arc;
use std::time::Instant;

use super::super::invoker::Arguments;
use super::super::params::{Clarification, Prepared};
use super::Executor;
use toolroute_catalog::Tool;

/// What came of checking arguments.
pub(super) enum Checked {
    Fits(Prepared),
    /// They were not checked, and why.
    Refused(String),
}

impl Executor {
    /// [`Parameters::prepare`], bounded: a schema is another's work, and checking with it may take long.
    ///
    /// [`Parameters::prepare`]: super::Parameters::prepare
    pub(super) async fn prepare(
        &self,
        tool: &Arc<Tool>,
        given: Arguments,
        deadline: Instant,
    ) -> Result<Checked, Box<Clarification>> {
        let limit = deadline.min(Instant::now() + self.options.timing.timeout(tool));
        let (parameters, tool) = (Arc::clone(&self.parameters), Arc::clone(tool));
        let checking = tokio::task::spawn_blocking(move || match parameters.admit(&tool, &given) {
            Ok(()) => parameters.prepare(&tool, &given).map(Checked::Fits),
            Err(refused) => Ok(Checked::Refused(refused.to_string())),
        });
        let refused = |because: &str| Ok(Checked::Refused(because.to_owned()));
        match tokio::time::timeout_at(limit.into(), checking).await {
            Ok(Ok(checked)) => checked,
            Ok(Err(_)) => refused("its arguments could not be checked; the log says why"),
            Err(_) => refused("checking its arguments took longer than a call of it may"),
        }
    }
}
