//! `/v1/tools`: reads and changes the catalog while requests are answered.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use toolroute_catalog::{Catalog, Change, Problem, Tool};
use toolroute_rank::engine::{self, ChangeReport, Engine};
use toolroute_run::execution::Executor;
use utoipa::{IntoParams, ToSchema};

use super::extract::{Params, Part, RawJson};
use super::{ApiError, App, ErrorBody, Persist, json};
use crate::{Changes, Service};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListParams {
    /// Tools of this server alone.
    server: Option<String>,
    #[param(minimum = 0)]
    offset: Option<usize>,
    /// Tools at most; 100 where nothing is said.
    #[param(minimum = 0)]
    limit: Option<usize>,
}

const PAGE: usize = 100;

/// What a change took.
#[derive(Serialize, ToSchema)]
#[schema(as = Changed)]
pub struct ChangeSummary {
    /// Ids of the tools that were put in, or taken out.
    ids: Vec<String>,
    /// Of the catalog from now on.
    version: u64,
    /// Tools in the catalog now.
    tools: usize,
    /// Texts that went through the model.
    embedded: usize,
    /// What looks like a mistake, a line each.
    warnings: Vec<String>,
    /// `memory`, until the program ends, or `file`.
    kept_in: &'static str,
}

/// The tools of the catalog, page by page, in their order.
#[utoipa::path(get, path = "/v1/tools", tag = "tools", params(ListParams), responses(
    (status = 200, body = ref("#/components/schemas/ToolsDoc")), (status = 400, body = ErrorBody),
    (status = 404, description = "no such server", body = ErrorBody)))]
pub async fn list(
    State(app): State<Arc<App>>,
    Params(asked): Params<ListParams>,
) -> Result<Response, ApiError> {
    let service = app.service();
    if let Some(server) = &asked.server {
        service.expect_server(server, None)?;
    }
    let (version, catalog) = (service.engine().version(), service.catalog());
    let meant =
        |tool: &&Tool| asked.server.is_none() || tool.server.as_deref() == asked.server.as_deref();
    let total = catalog.iter().filter(meant).count();
    let page = catalog.iter().filter(meant).skip(asked.offset.unwrap_or_default());
    let tools: Vec<&Tool> = page.take(asked.limit.unwrap_or(PAGE)).collect();
    Ok(json(Page { version, total, tools }))
}

/// A page of the catalog. Schemas are sent as they are, without parsing.
#[derive(Serialize)]
struct Page<'a> {
    version: u64,
    total: usize,
    tools: Vec<&'a Tool>,
}

/// One tool in full, its schema byte for byte.
#[utoipa::path(get, path = "/v1/tools/{id}", tag = "tools",
    params(("id" = String, Path, description = "the id, `server:tool`, or a name that only one tool has")),
    responses((status = 200, body = Object), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 409, description = "there is no catalog", body = ErrorBody)))]
pub async fn show(State(app): State<Arc<App>>, Part(id): Part) -> Result<Response, ApiError> {
    let tool = app.service().describe(&id, None)?;
    Ok(json(&*tool))
}

/// Adds tools; the next selection knows them. A selection under way sees all of them or none.
#[utoipa::path(post, path = "/v1/tools", tag = "tools", request_body = ref("#/components/schemas/ToolBody"), responses(
    (status = 201, body = ChangeSummary), (status = 400, body = ErrorBody),
    (status = 409, description = "an id is taken, or the tool's server runs here", body = ErrorBody),
    (status = 413, body = ErrorBody), (status = 415, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub async fn register(
    State(app): State<Arc<App>>,
    RawJson(body): RawJson,
) -> Result<Response, ApiError> {
    let (tools, problems) = read(&body)?;
    let changed = app.change(tools.into_iter().map(Change::Register).collect(), problems).await?;
    Ok((StatusCode::CREATED, json(changed)).into_response())
}

/// Puts a tool in the place of the one with this id, or adds it.
#[utoipa::path(put, path = "/v1/tools/{id}", tag = "tools", request_body = ref("#/components/schemas/ToolBody"),
    params(("id" = String, Path, description = "the id itself")),
    responses((status = 200, body = ChangeSummary), (status = 201, body = ChangeSummary), (status = 400, body = ErrorBody),
        (status = 409, description = "the tool's server runs here", body = ErrorBody), (status = 413, body = ErrorBody), (status = 415, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub async fn update(
    State(app): State<Arc<App>>,
    Part(id): Part,
    RawJson(body): RawJson,
) -> Result<Response, ApiError> {
    let (tools, problems) = read(&body)?;
    let [tool] = <[Tool; 1]>::try_from(tools).map_err(|tools| {
        ApiError::bad_request(format!("expected one tool, found {}", tools.len()))
    })?;
    if tool.id.as_str() != id {
        let said = format!(
            "expected a tool with the id `{id}` of the path, found one with the id `{}`; an id without a \
             member `id` is `server__name`",
            tool.id
        );
        return Err(ApiError::bad_request(said));
    }
    let known = app.service().catalog();
    let is_there = known.get(&id).is_some_and(|known| known.id == tool.id);
    let (change, status) = match is_there {
        true => (Change::Update(tool), StatusCode::OK),
        false => (Change::Register(tool), StatusCode::CREATED),
    };
    let changed = app.change(vec![change], problems).await?;
    Ok((status, json(changed)).into_response())
}

/// Takes a tool out.
#[utoipa::path(delete, path = "/v1/tools/{id}", tag = "tools",
    params(("id" = String, Path, description = "the id, `server:tool`, or a name that only one tool has")),
    responses((status = 200, body = ChangeSummary), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 409, description = "there is no catalog", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub async fn remove(State(app): State<Arc<App>>, Part(id): Part) -> Result<Response, ApiError> {
    let tool = app.service().describe(&id, None)?;
    let changed = app.change(vec![Change::Remove(tool.id.to_string())], Vec::new()).await?;
    Ok(json(changed))
}

/// Reads the tools of a body, and warnings about likely mistakes. One invalid tool refuses the
/// whole body.
pub(super) fn read(body: &[u8]) -> Result<(Vec<Tool>, Vec<Problem>), ApiError> {
    // The catalog also accepts other syntaxes, but the body must be JSON.
    super::extract::parse::<serde::de::IgnoredAny>(body)?;
    let text = std::str::from_utf8(body);
    let text = text.map_err(|_| ApiError::bad_request("the body is no text in UTF-8"))?;
    Ok(Catalog::read_tools(text)?)
}

impl App {
    /// Applies changes, and records them for the next reload. They are stored first, so that a
    /// change that is answered with an error is not in effect.
    async fn change(
        self: &Arc<Self>,
        changes: Vec<Change>,
        problems: Vec<Problem>,
    ) -> Result<ChangeSummary, ApiError> {
        let app = Arc::clone(self);
        // A task of its own, so that a client that disconnects does not cancel the change halfway.
        let changing = tokio::spawn(async move { app.change_now(changes, problems).await });
        changing.await?
    }

    async fn change_now(
        &self,
        changes: Vec<Change>,
        problems: Vec<Problem>,
    ) -> Result<ChangeSummary, ApiError> {
        let _one_at_a_time = self.changing.lock().await;
        let present = self.service();
        // The recorded changes are applied to every list of a server, so no list may be taken in
        // meanwhile.
        let _paused = present.pause_lists().await;
        changes.iter().try_for_each(|change| expect_no_server(&present, change))?;
        let before = present.changes().clone();
        let mut after = before.clone();
        let ids = note(&mut after, &changes);
        let texts = (before.to_json(), after.to_json());
        let (service, persist) = (Arc::clone(&present), self.options.persist.clone());
        let kept_in = if persist.is_some() { "file" } else { "memory" };
        let made = move || {
            let made = store_and_apply(service.engine(), persist.as_ref(), changes, texts)?;
            *service.changes() = after;
            Ok::<_, ApiError>(made)
        };
        let ChangeReport { version, tools, embedded, mut warnings, .. } = self.work(made).await??;
        warnings.extend(problems);
        let mut lines: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        lines.dedup();
        Ok(ChangeSummary { ids, version, tools, embedded, warnings: lines, kept_in })
    }
}

/// Refuses a tool whose server runs here. Permissions, pins and confirmations rest on what the server says of its tools, and
/// a client could say otherwise, or call one of them by another id.
fn expect_no_server(service: &Service, change: &Change) -> Result<(), ApiError> {
    let (Change::Register(tool) | Change::Update(tool)) = change else { return Ok(()) };
    let runs = |executor: &Arc<Executor>| executor.servers().of(tool).is_some();
    if !service.executor().is_some_and(runs) {
        return Ok(());
    }
    let said = format!(
        "`{}` is of the server `{}`, which lists its tools itself; expected a tool of no server that runs here. Texts and \
         hints of a server's tools are changed by an overlay",
        tool.id,
        tool.server.as_deref().unwrap_or_default()
    );
    Err(ApiError::new(StatusCode::CONFLICT, "servers_tool", said))
}

/// Stores the text of all changes, and applies the new ones. If that fails, the previous text is
/// stored again.
fn store_and_apply(
    engine: &Engine,
    persist: Option<&Persist>,
    changes: Vec<Change>,
    (before, after): (String, String),
) -> Result<ChangeReport, ApiError> {
    let Some(persist) = persist else { return Ok(engine.change(changes)?) };
    // Invalid changes must not be stored.
    engine.catalog().with(changes.clone()).map_err(engine::Error::from)?;
    persist(&after).map_err(|said| {
        ApiError::internal(&format!("the change could not be kept, and is not made: {said}"))
    })?;
    Ok(engine.change(changes).inspect_err(|_| {
        if let Err(said) = persist(&before) {
            tracing::error!("a change that was not made will be made at the next start: {said}");
        }
    })?)
}

fn note(noted: &mut Changes, changes: &[Change]) -> Vec<String> {
    let note = |change: &Change| match change {
        Change::Register(tool) | Change::Update(tool) => {
            noted.note(tool.clone());
            tool.id.to_string()
        }
        Change::Remove(id) => {
            noted.note_removed(id);
            id.clone()
        }
    };
    changes.iter().map(note).collect()
}
