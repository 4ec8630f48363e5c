//! The models, which all routers of this process share.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use toolroute::embedding::parts::Precision;
use toolroute::embedding::{self, DEFAULT_MODEL, EncoderOptions, ModelFiles};
use toolroute::{Embedder, ModelStore};

use crate::error::{ModelError, RequestError};
use crate::threads;

type Loaded = HashMap<(String, String), Arc<dyn Embedder>>;

/// Never locked by the work of [`threads::run`], which may take over the work of another caller
/// while it waits.
static LOADED: Mutex<Option<Loaded>> = Mutex::new(None);

/// Returns the model with this name or in this folder, which is loaded only once. Returns `None`
/// for the name `none`.
pub fn model(name: Option<&str>, precision: Option<&str>) -> PyResult<Option<Arc<dyn Embedder>>> {
    let (name, precision) = (name.unwrap_or(DEFAULT_MODEL), precision.unwrap_or("int8"));
    if name == "none" {
        return Ok(None);
    }
    let key = (name.to_owned(), precision.to_owned());
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let loaded = loaded.get_or_insert_default();
    if let Some(model) = loaded.get(&key) {
        return Ok(Some(Arc::clone(model)));
    }
    let options = EncoderOptions { precision: read(precision)?, ..EncoderOptions::default() };
    let files = files(name, options.precision);
    let model = threads::run(|| files.and_then(|files| embedding::load(&files, options)));
    let model = model.map_err(|error| ModelError::new_err(error.to_string()))?;
    loaded.insert(key, Arc::clone(&model));
    Ok(Some(model))
}

fn read(precision: &str) -> PyResult<Precision> {
    match precision {
        "int8" => Ok(Precision::Int8),
        "f32" => Ok(Precision::F32),
        other => {
            let said = format!("unknown precision {other:?}; expected int8 or f32");
            Err(RequestError::new_err(said))
        }
    }
}

/// Finds a model in the same way as the command line: built in, in the user's store, or in a
/// folder.
fn files(name: &str, precision: Precision) -> Result<ModelFiles, embedding::Error> {
    if name.contains(['/', '\\']) || name == "." {
        return ModelFiles::from_dir(name);
    }
    if let Some(files) = ModelFiles::built_in(name) {
        return Ok(files);
    }
    let folder = dirs::data_dir().map(|data| data.join("toolroute").join("models"));
    ModelStore::new(folder.unwrap_or_else(|| PathBuf::from("toolroute/models")))
        .open_for(name, precision)
}
