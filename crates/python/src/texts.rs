//! Embeds texts, and ranks texts for a query.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use toolroute::embedding::Role;
use toolroute::{Catalog, Engine};

use crate::error::{self, RequestError};
use crate::selection::to_shortest_f64;
use crate::{models, threads};

/// One engine without tools per model. Never locked by the work of [`threads::run`], which may take
/// over the work of another caller while it waits.
static ENGINES: Mutex<Option<HashMap<String, Arc<Engine>>>> = Mutex::new(None);

fn engine(model: Option<&str>) -> PyResult<Arc<Engine>> {
    let mut engines = ENGINES.lock().unwrap_or_else(PoisonError::into_inner);
    let engines = engines.get_or_insert_default();
    let name = model.unwrap_or_default().to_owned();
    if let Some(engine) = engines.get(&name) {
        return Ok(Arc::clone(engine));
    }
    let mut builder = Engine::builder(Catalog::default());
    if let Some(model) = models::model(model, None)? {
        builder = builder.embedder(model);
    }
    let engine = Arc::new(threads::run(|| builder.build()).map_err(error::of_engine)?);
    engines.insert(name, Arc::clone(&engine));
    Ok(engine)
}

/// The vectors of texts as bytes of 32-bit floats, row after row, and the length of a row.
#[pyfunction]
#[pyo3(signature = (texts, role, model=None))]
pub fn embed<'py>(
    py: Python<'py>,
    texts: Vec<String>,
    role: &str,
    model: Option<&str>,
) -> PyResult<(Bound<'py, PyByteArray>, usize)> {
    let role = match role {
        "document" => Role::Document,
        "query" => Role::Query,
        other => {
            let said = format!("unknown role {other:?}; expected document or query");
            return Err(RequestError::new_err(said));
        }
    };
    let (bytes, width) = py.detach(|| {
        let engine = engine(model)?;
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let found = threads::run(|| engine.embed_texts(&texts, role)).map_err(error::of_engine)?;
        let width = engine.embedder().map_or(0, |model| model.identity().dimension);
        let numbers = found.vectors.iter().flatten();
        let bytes: Vec<u8> = numbers.flat_map(|number| number.to_ne_bytes()).collect();
        Ok::<_, PyErr>((bytes, width))
    })?;
    Ok((PyByteArray::new(py, &bytes), width))
}

/// Ranks texts by how well they answer a query; returns their positions and scores, best first.
#[pyfunction]
#[pyo3(signature = (query, texts, model=None))]
pub fn rerank(
    py: Python<'_>,
    query: &str,
    texts: Vec<String>,
    model: Option<&str>,
) -> PyResult<Vec<(usize, f64)>> {
    py.detach(|| {
        let engine = engine(model)?;
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let ranked = threads::run(|| engine.rank_texts(query, &texts)).map_err(error::of_engine)?;
        Ok(ranked.iter().map(|found| (found.index, to_shortest_f64(found.score))).collect())
    })
}
