//! `toolroute index`: embeds a catalog and saves the vectors.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;

use super::args::{CatalogArgs, EngineArgs, Global};
use super::exit;
use super::render;
use super::setup::{self, EngineRequirements};
use toolroute_rank::engine::{IndexReport, SnapshotState};

#[derive(Args)]
pub struct IndexArgs {
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}

pub fn run(args: &IndexArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let engine = setup::build(&args.catalog, &args.engine, EngineRequirements::vectors(), global)?;
    setup::expect_tools(&engine, &args.catalog)?;
    setup::warn_scanned(&engine, global);
    let report = engine.index_report();
    if global.json {
        render::json(report)?;
    } else {
        show(report, start.elapsed())?;
    }
    // Saving the vectors is the purpose of this command, so a failure is an error.
    let because = match &report.snapshot {
        SnapshotState::NotSaved { because } => because,
        SnapshotState::Unused if !args.engine.no_save => {
            "this user has no cache folder; name a file with --index"
        }
        _ => return Ok(ExitCode::SUCCESS),
    };
    Err(exit::io(format!("the vectors are not kept: {because}")))
}

fn show(report: &IndexReport, took: Duration) -> anyhow::Result<()> {
    let seconds = took.as_secs_f64();
    let (tools, embedded, reused) = (report.tools, report.embedded, report.reused);
    // The log says why a snapshot was rebuilt.
    let tools = render::counted(tools, "tool");
    render::line(&format!("{tools}: {embedded} embedded, {reused} kept, in {seconds:.1} s"))?;
    report.path.iter().try_for_each(|path| render::line(&path.display().to_string()))
}
