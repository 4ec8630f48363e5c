//! Takes in another catalog or another configuration while requests are answered.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::{ApiError, App, ErrorBody};
use crate::catalog::{Catalog, Change, Tool, ToolId};
use crate::engine::{Engine, EngineConfig};
use crate::shutdown::HangUps;
use crate::{Service, Shutdown};

/// Looks whether a source is another by so much time.
const WATCH_EVERY: Duration = Duration::from_secs(2);

/// Builds a service over a catalog, in the place of the present one.
pub type Build = Box<dyn FnOnce(Catalog, &Service) -> Result<Arc<Service>, String> + Send>;

/// What the sources say now.
pub struct Fresh {
    pub catalog: Catalog,
    pub config: EngineConfig,
    /// For everything else that an engine is made of, such as the model: equal ones make equal
    /// engines of equal catalogs and configurations.
    pub rest: String,
    pub build: Build,
    /// Told the service that stays, with these tools in its catalog, where nothing was to be built.
    pub same: Box<dyn FnOnce(Arc<Service>) + Send>,
}

/// How the sources are read again. Whoever starts the server says it: it knows the files.
#[derive(Clone)]
pub struct Reload {
    /// # Errors
    /// What is wrong with the sources; then everything stays as it is.
    pub fresh: Arc<dyn Fn() -> Result<Fresh, String> + Send + Sync>,
    /// [`Fresh::rest`] of the service at the start.
    pub rest: String,
    /// Changes with the sources, where they are to be watched.
    pub stamp: Option<Arc<dyn Fn() -> u64 + Send + Sync>>,
}

/// What a reload did.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Reloaded {
    /// Of the catalog from now on.
    version: u64,
    tools: usize,
    /// Tools that came, changed or went; `null` where the engine was built anew.
    changed: Option<usize>,
}

/// Reads catalog and configuration again. Requests under way go on with what was before.
#[utoipa::path(post, path = "/v1/reload", tag = "operations", responses(
    (status = 200, body = Reloaded),
    (status = 409, description = "there is nothing to read again", body = ErrorBody),
    (status = 422, description = "a source is wrong, and everything stays as it was", body = ErrorBody)))]
pub async fn reload(State(app): State<Arc<App>>) -> Result<Json<Reloaded>, ApiError> {
    app.reload().await.map(Json)
}

impl App {
    /// Reads the sources again and takes them in.
    ///
    /// # Errors
    /// Where there are none, or they are wrong.
    pub async fn reload(self: &Arc<Self>) -> Result<Reloaded, ApiError> {
        let Some(reload) = self.options.reload.clone() else {
            let said = "this server was not made from files that could be read again";
            return Err(ApiError::not_configured(said));
        };
        let app = Arc::clone(self);
        // To its end with its locks, also where whoever asked has gone.
        let reloading = tokio::spawn(async move { app.reload_from(reload).await });
        let done = reloading.await;
        let done = done.unwrap_or_else(|_| Err(ApiError::internal(&"a panic; it is told above")));
        self.service().engine().metrics().count_reload(done.is_ok());
        done
    }

    async fn reload_from(self: Arc<Self>, reload: Reload) -> Result<Reloaded, ApiError> {
        let _one_at_a_time = self.changing.lock().await;
        // What a server lists after its last list was read would be undone.
        let present = self.service();
        let _still = present.still().await;
        let app = Arc::clone(&self);
        let work = tokio::task::spawn_blocking(move || app.take_in(&reload));
        let done = work.await.map_err(|_| ApiError::internal(&"a panic; it is told above"))?;
        let reloaded = done.map_err(|said| {
            tracing::warn!(%said, "nothing was reloaded");
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "not_reloaded", said)
        })?;
        self.tell("reload", json!(reloaded));
        Ok(reloaded)
    }

    fn take_in(&self, reload: &Reload) -> Result<Reloaded, String> {
        let fresh = (reload.fresh)()?;
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let catalog = changes.applied(fresh.catalog).map_err(|error| error.to_string())?;
        let service = self.service();
        let engine = service.engine();
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        let before = rest.get_or_insert_with(|| reload.rest.clone());
        if *engine.config() == fresh.config && *before == fresh.rest {
            let changed = change(engine, &catalog)?;
            let (version, tools) = (engine.version(), engine.catalog().len());
            (fresh.same)(service);
            return Ok(Reloaded { version, tools, changed: Some(changed) });
        }
        let next = (fresh.build)(catalog, &service)?;
        *before = fresh.rest;
        let told = Reloaded {
            version: next.engine().version(),
            tools: next.catalog().len(),
            changed: None,
        };
        if let Some(edit) = service.edit() {
            next.edited_by(edit);
        }
        self.replace_service(next);
        Ok(told)
    }
}

/// Makes the engine's catalog this one; how many tools that touches.
fn change(engine: &Engine, wanted: &Catalog) -> Result<usize, String> {
    let changes = differences(&engine.catalog(), wanted);
    let count = changes.len();
    if count > 0 {
        engine.change(changes).map_err(|error| error.to_string())?;
    }
    Ok(count)
}

fn differences(present: &Catalog, wanted: &Catalog) -> Vec<Change> {
    let known: HashMap<&ToolId, &Tool> = present.iter().map(|tool| (&tool.id, tool)).collect();
    let stays = |id: &ToolId| wanted.get(id.as_str()).is_some_and(|tool| tool.id == *id);
    let gone = present.iter().filter(|tool| !stays(&tool.id));
    let gone = gone.map(|tool| Change::Remove(tool.id.to_string()));
    let come = wanted.iter().filter_map(|tool| match known.get(&tool.id) {
        Some(known) if *known == tool => None,
        Some(_) => Some(Change::Update(tool.clone())),
        None => Some(Change::Register(tool.clone())),
    });
    gone.chain(come).collect()
}

/// Reloads when SIGHUP comes, and when the sources are others where they are watched.
pub async fn on_hang_up(app: Arc<App>, shutdown: Shutdown) {
    let Some(reload) = app.options.reload.clone() else { return };
    let mut hang_ups = HangUps::listen();
    let mut stamp = look(&reload).await;
    loop {
        tokio::select! {
            () = shutdown.begun() => return,
            () = hang_ups.next() => {}
            () = tokio::time::sleep(WATCH_EVERY), if reload.stamp.is_some() => {
                let now = look(&reload).await;
                if now == stamp {
                    continue;
                }
                stamp = now;
            }
        }
        match app.reload().await {
            Ok(done) => tracing::info!(tools = done.tools, changed = ?done.changed, "reloaded"),
            // It is told where it was found; what was before goes on.
            Err(error) => tracing::debug!(?error, "not reloaded"),
        }
    }
}

async fn look(reload: &Reload) -> Option<u64> {
    let stamp = reload.stamp.clone()?;
    tokio::task::spawn_blocking(move || stamp()).await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_differences_of_two_catalogs_make_one_of_the_other() {
        let tool = |name: &str, text: &str| Tool::new(Some("s"), name, text);
        let of = |tools| Catalog::from_tools(tools).catalog;
        let before = of(vec![tool("a", "same"), tool("b", "old"), tool("c", "goes")]);
        let after = of(vec![tool("b", "new"), tool("a", "same"), tool("d", "comes")]);
        let engine = Engine::builder(before).build().unwrap();
        assert_eq!(change(&engine, &after).unwrap(), 3);
        let mut ids: Vec<String> = engine
            .catalog()
            .iter()
            .map(|tool| format!("{} {}", tool.id, tool.description))
            .collect();
        ids.sort();
        assert_eq!(ids, ["s__a same", "s__b new", "s__d comes"]);
        assert_eq!(change(&engine, &after).unwrap(), 0);
    }
}
