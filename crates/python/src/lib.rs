//! The native part of the Python package `toolroute`.
//!
//! It passes texts and numbers between Python and the engine, and lets other Python threads run
//! during the work. It must not know what a tool looks like in Python: `python/toolroute` converts
//! tools of every kind to JSON, and answers back to the objects that were given.
//!
//! ```python
//! from toolroute import Router
//!
//! Router([{"name": "read_file", "description": "Reads a file"}]).select("open notes.txt")
//! ```

mod calls;
mod command;
mod connection;
mod error;
mod given;
mod models;
mod router;
mod rows;
mod selection;
mod settings;
mod texts;
mod threads;

use pyo3::prelude::*;

/// The module `toolroute._toolroute`, which only the package itself imports.
#[pymodule]
fn _toolroute(module: &Bound<'_, PyModule>) -> PyResult<()> {
    threads::remember_process();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<router::NativeRouter>()?;
    module.add_class::<selection::NativeSelection>()?;
    module.add_class::<connection::RunningCall>()?;
    module.add_function(wrap_pyfunction!(command::run_command, module)?)?;
    module.add_function(wrap_pyfunction!(settings::check_settings, module)?)?;
    module.add_function(wrap_pyfunction!(settings::check_select, module)?)?;
    module.add_function(wrap_pyfunction!(rows::model_name, module)?)?;
    module.add_function(wrap_pyfunction!(texts::embed, module)?)?;
    module.add_function(wrap_pyfunction!(texts::rerank, module)?)
}
