//! Ranks the rows of a table together. A row that fails does not affect the others.

use pyo3::prelude::*;
use toolroute::{Catalog, Engine, SelectRequest, Selection, Tool, ToolId, catalog};
use toolroute_rank::engine::Error;

use crate::error::CatalogError;
use crate::threads;

/// The number of rows that are ranked at a time, the same as in the command `batch`.
const CHUNK: usize = 256;

/// A prompt with the ids of its only candidates.
pub type Row = (String, Option<Vec<String>>);

/// The answers by column. Members that `toolroute batch` omits from a row are null here.
#[derive(Default, IntoPyObject)]
pub struct RankedRows {
    /// The number of elements of `ids` and `scores` that belong to each row.
    counts: Vec<usize>,
    ids: Vec<String>,
    scores: Vec<f32>,
    fit: Vec<Option<&'static str>>,
    fit_reason: Vec<Option<String>>,
    confidence: Vec<Option<f32>>,
    degraded: Vec<Option<String>>,
    no_tools: Vec<Option<String>>,
    read_as: Vec<Option<String>>,
    unknown_candidates: Vec<Option<Vec<String>>>,
    error: Vec<Option<String>>,
}

/// The name under which models' APIs take the tool of an id.
#[pyfunction]
pub fn model_name(id: &str) -> String {
    ToolId::new(id).model_name().into_owned()
}

pub fn rank(
    engine: &Engine,
    rows: &[Row],
    options: &SelectRequest,
    tools: Option<&str>,
) -> PyResult<RankedRows> {
    let mut ranked = RankedRows::default();
    for chunk in rows.chunks(CHUNK) {
        let requests: Vec<SelectRequest> = chunk.iter().map(|row| request(row, options)).collect();
        let answers = threads::run(|| answer(engine, &requests, tools))?;
        for answer in answers {
            ranked.push(answer);
        }
    }
    Ok(ranked)
}

fn request((prompt, candidates): &Row, options: &SelectRequest) -> SelectRequest {
    let mut request = SelectRequest { prompt: prompt.clone(), ..options.clone() };
    if candidates.is_some() {
        request.candidates.clone_from(candidates);
    }
    request
}

/// Ranks the engine's tools, or those of a text in any catalog format. The engine caches the
/// indexes of recent texts.
fn answer(
    engine: &Engine,
    requests: &[SelectRequest],
    tools: Option<&str>,
) -> PyResult<Vec<Result<Selection, Error>>> {
    let Some(text) = tools else { return Ok(engine.select_many(requests)) };
    let read = || -> Result<Vec<Tool>, Error> {
        let (tools, _) = Catalog::read_tools(text)?;
        Ok(tools)
    };
    let answers = engine.select_many_among(text, read, requests);
    answers.map_err(|error| CatalogError::new_err(of_tools(&error)))
}

/// A message about the tools of a row, the same as that of the command `batch`.
fn of_tools(error: &Error) -> String {
    match error {
        Error::Catalog(catalog::Error::Unrecognised { problem }) => format!("`tools`: {problem:#}"),
        Error::Catalog(error) => format!("`tools`: {error}"),
        error => error.to_string(),
    }
}

impl RankedRows {
    fn push(&mut self, answer: Result<Selection, Error>) {
        let (selection, error) = match answer {
            Ok(selection) => (Some(selection), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let tools = selection.iter().flat_map(|selection| &selection.tools);
        self.counts.push(tools.clone().count());
        self.ids.extend(tools.clone().map(|found| found.tool.id.to_string()));
        self.scores.extend(tools.map(|found| found.score));
        let one = selection.as_ref();
        self.fit.push(one.map(|one| one.fit.as_str()));
        self.fit_reason.push(one.and_then(|one| one.fit_reason.as_ref()).map(ToString::to_string));
        self.confidence.push(one.and_then(|one| one.confidence));
        self.degraded.push(one.and_then(|one| one.degraded).and_then(|found| name(&found)));
        self.no_tools.push(one.and_then(|one| one.no_tools).and_then(|found| name(&found)));
        self.read_as.push(one.and_then(|one| one.read_as.clone()));
        let unknown = one.map(|one| one.unknown_candidates.clone());
        self.unknown_candidates.push(unknown.filter(|ids| !ids.is_empty()));
        self.error.push(error);
    }
}

/// Returns the name of an enum's value in JSON.
fn name(value: &impl serde::Serialize) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}
