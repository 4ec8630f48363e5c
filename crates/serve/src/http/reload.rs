//! `POST /v1/reload`, SIGHUP and watched files: reads the sources again while requests are
//! answered.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::watch::StreamEvent;
use super::{ApiError, App, ErrorBody};
use crate::assembly::{RebuildResult, rebuild};
use crate::error::with_causes;
use crate::shutdown::HangUps;
use crate::{Shutdown, Sources};

/// The time between two checks of watched files.
const WATCH_EVERY: Duration = Duration::from_secs(2);

/// What a reload did.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Reloaded)]
pub struct ReloadSummary {
    /// The catalog's version from now on.
    version: u64,
    tools: usize,
    /// Tools that were added, changed or removed; `null` where the engine was built anew.
    changed: Option<usize>,
}

/// Reads catalog and configuration again. Requests under way go on with what was before.
#[utoipa::path(post, path = "/v1/reload", tag = "operations", responses(
    (status = 200, body = ReloadSummary),
    (status = 409, description = "there is nothing to read again", body = ErrorBody),
    (status = 422, description = "a source is wrong, and everything stays as it was", body = ErrorBody)))]
pub async fn reload(State(app): State<Arc<App>>) -> Result<Json<ReloadSummary>, ApiError> {
    app.reload().await.map(Json)
}

impl App {
    /// Reads the sources again, and serves the result.
    ///
    /// # Errors
    /// 409 without sources, 422 if they are invalid. The current service then stays as it is.
    #[doc(hidden)] // For our own crates.
    pub async fn reload(self: &Arc<Self>) -> Result<ReloadSummary, ApiError> {
        let Some(sources) = self.options.sources.clone() else {
            let said = "this server was not made from files that could be read again";
            return Err(ApiError::not_configured(said));
        };
        let app = Arc::clone(self);
        // A task of its own, so that a client that disconnects does not cancel the reload halfway.
        let reloading = tokio::spawn(async move { app.reload_from(sources).await });
        let done = reloading.await.unwrap_or_else(|error| Err(error.into()));
        self.service().engine().metrics().count_reload(done.is_ok());
        done
    }

    async fn reload_from(
        self: Arc<Self>,
        sources: Arc<dyn Sources>,
    ) -> Result<ReloadSummary, ApiError> {
        let _one_at_a_time = self.changing.lock().await;
        // The sources contain the latest list of each server. A newer list that came during the
        // reload would be lost.
        let present = self.service();
        let _paused = present.pause_lists().await;
        let app = Arc::clone(&self);
        let work = tokio::task::spawn_blocking(move || app.take_in(&*sources));
        let reloaded = work.await?.map_err(|said| {
            tracing::warn!(%said, "nothing was reloaded");
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "not_reloaded", said)
        })?;
        let told = StreamEvent { name: "reload", data: json!(reloaded) };
        self.stream_events.send(told).ok();
        Ok(reloaded)
    }

    fn take_in(&self, sources: &dyn Sources) -> Result<ReloadSummary, String> {
        let mut assembly = sources.read().map_err(|error| with_causes(&*error))?;
        let present = self.service();
        assembly.changes = present.changes().clone();
        let (service, changed) = match rebuild(assembly, &present)? {
            RebuildResult::InPlace { changed } => (present, Some(changed)),
            RebuildResult::Service(next) => {
                sources.built(&next);
                *self.service.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&next);
                (next, None)
            }
        };
        let (version, tools) = (service.engine().version(), service.catalog().len());
        Ok(ReloadSummary { version, tools, changed })
    }
}

/// Reloads on SIGHUP, and when watched sources change.
pub async fn reload_on_change(app: Arc<App>, shutdown: Shutdown) {
    let Some(sources) = app.options.sources.clone() else { return };
    let mut hang_ups = HangUps::listen();
    let mut stamp = stamp_of(&sources).await;
    loop {
        tokio::select! {
            () = shutdown.begun() => return,
            () = hang_ups.next() => {}
            () = tokio::time::sleep(WATCH_EVERY), if stamp.is_some() => {
                let now = stamp_of(&sources).await;
                if now == stamp {
                    continue;
                }
                stamp = now;
            }
        }
        match app.reload().await {
            Ok(done) => tracing::info!(tools = done.tools, changed = ?done.changed, "reloaded"),
            // The reason is already logged.
            Err(error) => tracing::debug!(?error, "not reloaded"),
        }
    }
}

async fn stamp_of(sources: &Arc<dyn Sources>) -> Option<u64> {
    let sources = Arc::clone(sources);
    tokio::task::spawn_blocking(move || sources.stamp()).await.ok().flatten()
}
