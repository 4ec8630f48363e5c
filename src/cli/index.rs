//! `toolroute index`: embeds a catalog and keeps the vectors.

use std::process::ExitCode;
use std::time::Instant;

use super::args::{Global, IndexArgs};
use super::render;
use super::setup::{self, Wanted};
use crate::engine::{DEFAULT_LIMIT, Fusion, Policy, SnapshotState, Strategy};

pub fn run(args: &IndexArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let wanted = Wanted {
        strategy: Strategy::Hybrid,
        fusion: Fusion::default(),
        policy: Policy::default(),
        limit: DEFAULT_LIMIT,
    };
    let engine = setup::engine(&args.catalog, &args.engine, wanted, global)?;
    let report = engine.index_report();
    if global.json {
        render::json(report)?;
        return Ok(ExitCode::SUCCESS);
    }
    let seconds = start.elapsed().as_secs_f64();
    let (tools, embedded, reused) = (report.tools, report.embedded, report.reused);
    println!("{tools} tools: {embedded} embedded, {reused} kept, in {seconds:.1} s");
    if let SnapshotState::Rebuilt { because } = &report.snapshot {
        println!("made anew: {because}");
    }
    if let Some(path) = &report.path {
        println!("{}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}
