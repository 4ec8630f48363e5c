//! Runs the command `toolroute` from Python.

use std::ffi::OsString;
use std::process::ExitCode;

use pyo3::prelude::*;

/// Runs the command line and returns its exit code, 0 to 255. `arguments` begins with the path of a
/// file that runs the command.
#[pyfunction]
pub fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let code = py.detach(|| toolroute::cli::run_within(arguments));
    // An exit code can only be compared, so all numbers are tried.
    (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).unwrap_or(1)
}
