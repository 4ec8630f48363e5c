//! Success rates of plans, from the ledger.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Error;
use super::ledger::{Ledger, Purpose, RunRow, RunStatus};
use super::obligation::Status;

/// Counts and rates of runs. A rate without cases is `None`, never 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PlanSuccess {
    /// Finished runs of tools for obligations, without verification runs.
    pub runs: u64,
    /// Runs that failed or whose postconditions did not hold.
    pub failed: u64,
    pub error_rate: Option<f64>,
    /// Obligations whose first run failed.
    pub first_failed: u64,
    /// Obligations whose first run failed and which another run resolved.
    pub recovered: u64,
    pub fallback_recovery: Option<f64>,
}

impl Ledger {
    /// Returns the success rates of this ledger's plans.
    #[doc(hidden)] // For our own crates.
    pub fn success(&self) -> Result<PlanSuccess, Error> {
        let mut found = PlanSuccess::default();
        let mut firsts: BTreeMap<i64, bool> = BTreeMap::new();
        for run in self.runs()? {
            if run.purpose != Purpose::Plan || run.status == RunStatus::Started {
                continue;
            }
            let good = is_good(&run);
            found.runs += 1;
            found.failed += u64::from(!good);
            firsts.entry(run.obligation).or_insert(good);
        }
        let owed = self.obligations(None)?;
        let resolved: BTreeMap<i64, bool> =
            owed.iter().map(|owed| (owed.id, owed.status == Status::Resolved)).collect();
        for (obligation, _) in firsts.iter().filter(|(_, good)| !**good) {
            found.first_failed += 1;
            found.recovered += u64::from(resolved.get(obligation) == Some(&true));
        }
        found.error_rate = share(found.failed, found.runs);
        found.fallback_recovery = share(found.recovered, found.first_failed);
        Ok(found)
    }
}

/// Returns `true` if a run succeeded. In a completed run, `said` lists the postconditions that do
/// not hold.
fn is_good(run: &RunRow) -> bool {
    run.status == RunStatus::Completed && run.said.is_none()
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
