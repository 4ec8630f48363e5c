//! `POST /v1/conduct`: discharges the obligations of a request.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use toolroute_conduct::{Answer, Begin, Builtins, Conductor, ExecutionRunner, Ledger, Scope};
use toolroute_run::execution::{Blocking, Report};
use toolroute_session::Session;
use utoipa::IntoParams;

use super::extract::{Params, RawJson, parse};
use super::{ApiError, App, ErrorBody, json};
use crate::Service;

/// The conductor's ledger, and the tools that it runs without a server.
#[derive(Clone)]
pub struct Conduct {
    /// The file of the ledger.
    pub ledger: PathBuf,
    /// The tools that it runs without a server.
    pub builtins: Builtins,
    /// Whether a person agreed to destructive calls.
    pub confirmed: bool,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ConductParams {
    /// Go on with this request where it stopped, or with the ledger's latest where the body has
    /// nothing but `answers`. One that is finished gives its answer again, unless it is answered what
    /// it asked, or a tool has come that it lacked.
    resume: Option<bool>,
    /// How far back facts are looked for: `ledger`, all requests, or `request`, this one alone.
    #[param(value_type = Option<String>)]
    scope: Option<Scope>,
}

#[derive(Serialize)]
struct ConductAnswer {
    complete: bool,
    #[serde(flatten)]
    answer: Answer,
}

/// Discharges the obligations of a request, one request at a time, and keeps a ledger of it. A request
/// without obligations gets those of the tools that fit its `utterance`.
#[utoipa::path(post, path = "/v1/conduct", tag = "tools", params(ConductParams),
    request_body(content = ref("#/components/schemas/Obligations"), description = "a request: what was said, what it obliges to, and answers to what it asked; `toolroute conduct --schema` prints its schema"),
    responses((status = 200, body = ref("#/components/schemas/ConductedDoc")), (status = 400, body = ErrorBody),
        (status = 409, description = "no ledger is configured, or the request is unfinished", body = ErrorBody),
        (status = 413, body = ErrorBody), (status = 415, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub async fn conduct(
    State(app): State<Arc<App>>,
    Params(params): Params<ConductParams>,
    RawJson(body): RawJson,
) -> Result<Response, ApiError> {
    let Some(conduct) = app.options.conduct.clone() else {
        let said = "obligations are not taken here; start with --conduct";
        return Err(ApiError::not_configured(said));
    };
    app.service().expect_catalog()?;
    parse::<serde::de::IgnoredAny>(&body)?;
    let document = String::from_utf8(body.to_vec());
    let document = document.map_err(|_| ApiError::bad_request("the body is no text in UTF-8"))?;
    let begin = if params.resume == Some(true) { Begin::Resume } else { Begin::Anew };
    let scope = params.scope.unwrap_or_default();
    // The lock is held by the work, which a client that disconnects does not end.
    let one_at_a_time = Arc::clone(&app.conducting).lock_owned().await;
    let service = app.service();
    // This needs no worker: it waits for tools, not for a processor.
    let conducting = tokio::task::spawn_blocking(move || {
        let _one_at_a_time = one_at_a_time;
        conduct.discharge(&service, &document, (begin, scope))
    });
    let answer = conducting.await??;
    Ok(json(ConductAnswer { complete: answer.is_complete(), answer }))
}

impl Conduct {
    /// Discharges the obligations. Blocks while tools run, so it must not run on a thread that
    /// serves connections.
    fn discharge(
        self,
        service: &Service,
        document: &str,
        (begin, scope): (Begin, Scope),
    ) -> Result<Answer, ApiError> {
        let (engine, mut ledger) = (service.engine(), Ledger::open(&self.ledger)?);
        let Some(executor) = service.executor() else {
            let conductor = Conductor::new(engine, &self.builtins, &mut ledger);
            return Ok(conductor.scope(scope).conduct(document, begin)?);
        };
        let calls = Blocking::new(Arc::clone(executor));
        let calls = calls.map_err(|error| ApiError::internal(&error))?;
        let calls = calls.with_limits(service.sessions().limits().clone());
        let session = Session::default();
        let note = |report: &Report| session.record_report(engine, report, "");
        let runner =
            ExecutionRunner::new(self.builtins, calls).confirmed(self.confirmed).on_report(&note);
        Ok(Conductor::new(engine, &runner, &mut ledger).scope(scope).conduct(document, begin)?)
    }
}
