//! Converts errors of the engine to Python exceptions with the same messages.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use toolroute_rank::engine;
use toolroute_serve as serve;

/// Creates exceptions, and a function that adds them to the module.
macro_rules! exceptions {
    ($($name:ident($base:ty): $about:literal,)+) => {
        $(pyo3::create_exception!(toolroute, $name, $base, $about);)+

        pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add(stringify!($name), module.py().get_type::<$name>())?;)+
            Ok(())
        }
    };
}

exceptions! {
    ToolrouteError(PyException): "The base of all exceptions of this package.",
    CatalogError(ToolrouteError): "Tools, a catalog or a servers file that cannot be read.",
    RequestError(ToolrouteError): "A prompt, an option or a policy that is out of range.",
    ModelError(ToolrouteError): "A model that is missing or that cannot be used.",
    CallError(ToolrouteError): "A tool that was not called, or that failed.",
    ConfirmationNeeded(CallError):
        "A call that a person must agree to first; call again with `confirmed=True`.",
}

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
