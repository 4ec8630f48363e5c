//! Keeps the vectors of servers' tools for the next start.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toolroute_rank::engine::{Engine, SnapshotState};

/// The time between two saves while servers are still asked.
const BETWEEN_SAVES: Duration = Duration::from_secs(5);

/// Saves the vectors of an engine while `connecting` adds tools to it, and at its end. The program may end before the
/// slowest server has answered, and would embed all tools again at its next start.
pub(super) async fn keep(engine: &Arc<Engine>, path: &Path, connecting: impl Future<Output = ()>) {
    tokio::pin!(connecting);
    let mut saved = Some(engine.version());
    loop {
        let is_done = tokio::time::timeout(BETWEEN_SAVES, &mut connecting).await.is_ok();
        let now = engine.version();
        if is_done || saved != Some(now) {
            saved = Some(now);
            save(Arc::clone(engine), path).await;
        }
        if is_done {
            return;
        }
    }
}

async fn save(engine: Arc<Engine>, path: &Path) {
    let path = path.to_owned();
    let save = move || engine.vectors().map_or(Ok(SnapshotState::Unused), |all| all.save(&path));
    if let Ok(Err(error)) = tokio::task::spawn_blocking(save).await {
        let said = crate::error::with_causes(&error);
        tracing::warn!("the next start will take longer: {said}");
    }
}
