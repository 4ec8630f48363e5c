//! Converts errors of the engine to the exceptions of `toolroute/_errors.py`, with the same messages.

use pyo3::prelude::*;
use toolroute_rank::engine;
use toolroute_serve as serve;

pyo3::import_exception!(toolroute._errors, ToolrouteError);
pyo3::import_exception!(toolroute._errors, CatalogError);
pyo3::import_exception!(toolroute._errors, RequestError);
pyo3::import_exception!(toolroute._errors, ModelError);
pyo3::import_exception!(toolroute._errors, CallError);
pyo3::import_exception!(toolroute._errors, ArgumentError);
pyo3::import_exception!(toolroute._errors, ConfirmationNeeded);

pub fn of_engine(error: engine::Error) -> PyErr {
    use engine::Error as E;
    let said = error.to_string();
    match error {
        E::NoModel { .. } | E::Embedding(_) => ModelError::new_err(said),
        E::Catalog(_) => CatalogError::new_err(said),
        E::Log(_) | E::Index(_) | E::Snapshot(_) | E::Feedback(_) => ToolrouteError::new_err(said),
        _ => RequestError::new_err(said),
    }
}

pub fn of_service(error: serve::Error) -> PyErr {
    use serve::Error as E;
    match error {
        E::Engine(error) => of_engine(error),
        E::Usage(_) => ToolrouteError::new_err(error.to_string()),
        E::UnknownProfile { .. } | E::BadSession { .. } => RequestError::new_err(error.to_string()),
        _ => CallError::new_err(error.to_string()),
    }
}
