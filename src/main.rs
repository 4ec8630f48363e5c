//! The `toolroute` binary: everything is in the library, so that tests reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    toolroute::cli::run()
}
