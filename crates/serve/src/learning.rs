//! Learns from the log of executions while a program serves: computes usage vectors at intervals.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use toolroute_rank::engine::Error::NoFeedback;
use toolroute_rank::engine::{self, Engine, Error};
use toolroute_rank::feedback::{ExecutionStore, StoreOptions};

use super::CurrentService;

/// The options of [`learn_every`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearnEvery {
    /// The time between two rounds.
    pub every: Duration,
    /// The log of executions.
    pub log: PathBuf,
    /// The file of usage vectors.
    pub usage: PathBuf,
}

/// Learns at intervals until the future is dropped. A failure goes to the program's log, and the
/// next round tries again.
pub async fn learn_every(present: CurrentService, plan: LearnEvery) {
    loop {
        tokio::time::sleep(plan.every).await;
        let (engine, plan) = (Arc::clone(present().engine()), plan.clone());
        let learned = tokio::task::spawn_blocking(move || learn(&engine, &plan)).await;
        match learned {
            Ok(Ok((tools, prompts))) => tracing::info!(tools, prompts, "learned from the log"),
            Ok(Err(error)) => tracing::warn!("nothing was learned from the log: {error}"),
            Err(error) => tracing::error!("learning from the log was cut short: {error}"),
        }
    }
}

/// Learns from the whole log. Returns the number of tools and the number of prompts that were used.
fn learn(engine: &Engine, plan: &LearnEvery) -> Result<(usize, usize), Error> {
    engine.recorder().ok_or(NoFeedback)?.flush().map_err(engine::Error::from)?;
    let log = ExecutionStore::open(&plan.log, StoreOptions::default())?;
    let mut usage = engine.empty_usage()?;
    let report = engine.learn_log(&mut usage, &log, &|_, _| {})?;
    if usage.is_empty() {
        return Ok((0, 0));
    }
    usage.save(&plan.usage)?;
    engine.apply_usage(usage)?;
    Ok((report.tools_learned, report.prompts_used))
}
