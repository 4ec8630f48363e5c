//! `POST /v1/select` with `prompts` or `tools`: many prompts in one request, and tools in the
//! request.

use axum::response::Response;
use serde_json::value::RawValue;
use toolroute_catalog::Tool;
use toolroute_vectors::durable::sha256_hex;

use super::{SelectBody, ShownParts};
use crate::filter::MOST_TOOLS;
use crate::http::{ApiError, App, json_text, tools};
use crate::service::ManyResults;
use crate::{FindRequest, Service};

/// The limit of prompts in a request. Each prompt is embedded.
const MOST_PROMPTS: usize = 1_000;

pub(super) async fn select(app: &App, mut asked: SelectBody) -> Result<Response, ApiError> {
    let (listed, shown) = (asked.tools.take(), asked.shown());
    check_members(&asked, listed.is_some())?;
    let is_many = asked.prompts.is_some();
    let prompts = prompts(&mut asked)?;
    // The prompts belong to no session.
    let find = asked.find(prompts[0].clone(), Default::default());
    let service = app.service();
    let finding = app.work(move || {
        let found = match &listed {
            Some(listed) => among(&service, listed, &find, &prompts)?,
            None => service.find_many(&find, &prompts)?,
        };
        match is_many {
            true => results(shown, prompts, found),
            false => single(shown, prompts, found),
        }
    });
    Ok(json_text(finding.await??))
}

/// Refuses members that have no effect beside `prompts` or `tools`, instead of ignoring them
/// silently.
fn check_members(asked: &SelectBody, has_tools: bool) -> Result<(), ApiError> {
    if asked.session.is_some() {
        let said = "expected no `session` beside `prompts` or `tools`: a session has one prompt after the \
                    other, for the tools of the catalog; `context.conversation` says what came before";
        return Err(ApiError::bad_request(said));
    }
    if has_tools && (asked.profile.is_some() || asked.server.is_some()) {
        let said = "expected no `profile` and no `server` beside `tools`: they choose among the tools of the \
                    catalog; `candidates` chooses among those of the request";
        return Err(ApiError::bad_request(said));
    }
    Ok(())
}

/// The prompts of a body, at least one.
fn prompts(asked: &mut SelectBody) -> Result<Vec<String>, ApiError> {
    let prompts = match (asked.prompt.take(), asked.prompts.take()) {
        (Some(prompt), None) => vec![prompt],
        (None, Some(prompts)) => prompts,
        _ => return Err(ApiError::bad_request("expected either `prompt` or `prompts`")),
    };
    if prompts.is_empty() || prompts.len() > MOST_PROMPTS {
        let found = prompts.len();
        let cure = match found {
            0 => "send at least one",
            _ => "send the rest in a request of its own",
        };
        let said = format!("expected 1 to {MOST_PROMPTS} `prompts`, found {found}; {cure}");
        return Err(ApiError::bad_request(said));
    }
    Ok(prompts)
}

/// Ranks the tools of a request. A list that was ranked recently is recognized by its hash, and is
/// not parsed again.
fn among(
    service: &Service,
    listed: &RawValue,
    find: &FindRequest,
    prompts: &[String],
) -> Result<ManyResults, ApiError> {
    // The prefix separates these lists from those of the filter, which the same engine ranks.
    let key = format!("select {}", sha256_hex(listed.get().as_bytes()));
    service.find_among(find, prompts, (&key, || read(listed)))
}

fn read(listed: &RawValue) -> Result<Vec<Tool>, ApiError> {
    if !listed.get().starts_with('[') {
        return Err(ApiError::bad_request("expected `tools` as a list"));
    }
    let (read, _) = tools::read(listed.get().as_bytes())?;
    if read.len() > MOST_TOOLS {
        let said =
            format!("expected 1 to {MOST_TOOLS} `tools`, found {}; --tools takes more", read.len());
        return Err(ApiError::bad_request(said));
    }
    Ok(read)
}

fn results(
    shown: ShownParts,
    prompts: Vec<String>,
    found: ManyResults,
) -> Result<String, ApiError> {
    let mut texts = Vec::with_capacity(found.len());
    for (at, (prompt, found)) in prompts.into_iter().zip(found).enumerate() {
        let found = found.map_err(|error| ApiError::from(error).at(&format!("prompts[{at}]")))?;
        texts.push(shown.text(prompt, found)?);
    }
    Ok(format!("{{\"results\":[{}]}}", texts.join(",")))
}

fn single(shown: ShownParts, prompts: Vec<String>, found: ManyResults) -> Result<String, ApiError> {
    let (prompt, found) = prompts.into_iter().zip(found).next().ok_or_else(|| {
        ApiError::internal(&"the engine gave no answer to a prompt. This is a bug.")
    })?;
    shown.text(prompt, found?)
}
