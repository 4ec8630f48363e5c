//! What runs tools for `toolroute conduct`: the built-in ones first, then the servers of `--servers`.

use std::sync::Arc;

use anyhow::Context as _;

use super::args::{ConductArgs, Global};
use super::{call, render};
use crate::conductor::{Builtins, ExecutionRunner, Runner};
use crate::engine::Engine;
use crate::execution::{Blocking, Report};
use crate::session::{Session, join};

/// Does the work, and ends the servers that it started.
pub fn with_runner<T>(
    args: &ConductArgs,
    global: &Global,
    (engine, builtins): (&Engine, Builtins),
    work: impl FnOnce(&dyn Runner) -> T,
) -> anyhow::Result<T> {
    let Some(path) = args.catalog.live.servers() else { return Ok(work(&builtins)) };
    let executor = Arc::new(call::executor(path, &args.limits)?);
    join(engine, &executor);
    let quiet = global.quiet;
    let calls = Blocking::with_threads(executor).context("cannot start threads")?;
    let calls = calls.limited(args.limits.rights.session.limits());
    let calls = calls.telling(Arc::new(move |event| {
        if !quiet {
            render::note(&call::told(&event));
        }
    }));
    let session = Session::default();
    let note = |report: &Report| session.record_report(engine, report, "");
    let runner = ExecutionRunner::new(builtins, calls.clone());
    let done = work(&runner.confirmed(args.limits.yes).on_report(&note));
    calls.close();
    Ok(done)
}
