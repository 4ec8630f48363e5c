//! Rows of a table, ranked together: one that fails costs no other its answer.

use pyo3::prelude::*;
use toolroute::{Catalog, Engine, SelectRequest, Selection, Tool};
use toolroute_rank::engine::Error;

use crate::error::CatalogError;
use crate::settings::SelectOptions;
use crate::threads;

/// Rows that are ranked at a time, as the command `batch` does.
const CHUNK: usize = 256;

/// A prompt, and the ids of the only tools for it.
pub type Row = (String, Option<Vec<String>>);

/// The answers column by column, as a table keeps them; what `toolroute batch` leaves out of a row is
/// null here.
#[derive(Default, IntoPyObject)]
pub struct RankedRows {
    /// How many of `ids` and `scores` belong to each row.
    counts: Vec<usize>,
    ids: Vec<String>,
    scores: Vec<f32>,
    fit: Vec<Option<&'static str>>,
    fit_reason: Vec<Option<String>>,
    confidence: Vec<Option<f32>>,
    degraded: Vec<Option<String>>,
    unknown_candidates: Vec<Option<Vec<String>>>,
    error: Vec<Option<String>>,
}

/// Ranks rows, with the same options for all.
///
/// # Errors
/// Options that are wrong for every row, and `tools` that cannot be read.
pub fn rank(
    engine: &Engine,
    rows: &[Row],
    options: &SelectOptions,
    tools: Option<&str>,
) -> PyResult<RankedRows> {
    let mut ranked = RankedRows::default();
    for chunk in rows.chunks(CHUNK) {
        let requests: PyResult<Vec<SelectRequest>> =
            chunk.iter().map(|row| request(row, options)).collect();
        let requests = requests?;
        let answers = threads::run(|| answer(engine, &requests, tools))?;
        for answer in answers {
            ranked.push(answer);
        }
    }
    Ok(ranked)
}

fn request((prompt, candidates): &Row, options: &SelectOptions) -> PyResult<SelectRequest> {
    let mut request = options.clone().request(prompt)?;
    if candidates.is_some() {
        request.candidates.clone_from(candidates);
    }
    Ok(request)
}

/// Ranks among the engine's tools, or among those of a text in any format of catalogs, of which the
/// engine keeps the last ones indexed.
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
    answers.map_err(|error| CatalogError::new_err(error.to_string()))
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
        let unknown = one.map(|one| one.unknown_candidates.clone());
        self.unknown_candidates.push(unknown.filter(|ids| !ids.is_empty()));
        self.error.push(error);
    }
}

/// The name that a value has in JSON.
fn name(value: &impl serde::Serialize) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}
