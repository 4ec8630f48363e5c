//! `toolroute batch`: answers a file of prompts.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use super::args::{BatchArgs, Global};
use super::progress::Progress;
use super::setup::{self, Wanted};
use super::{exit, render};
use crate::engine::Engine;
use crate::eval::{BatchJob, BatchSummary};

/// Bad rows told one by one; all of them stand in the output.
const SHOWN_ROWS: usize = 20;

pub fn run(args: &BatchArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let wanted = Wanted::new(&args.select, args.limit);
    let engine = setup::engine(&args.catalog, &args.engine, wanted, global)?;
    let job = BatchJob {
        engine: &engine,
        input: &args.input,
        settings: settings(&engine),
        explain: args.explain,
    };
    let start = Instant::now();
    let progress = Progress::new("routing", "prompts", global.quiet);
    let tell = |done, total| progress.tell(done, total);
    let summary = if args.output == Path::new("-") {
        job.stream(&mut std::io::stdout().lock(), &tell)?
    } else {
        job.run(&args.output, &tell)?
    };
    report(&summary, start, global)?;
    let failed = args.catalog.strict && !summary.bad.is_empty();
    Ok(if failed { ExitCode::from(exit::BAD_DATA) } else { ExitCode::SUCCESS })
}

/// Everything but the input that decides about the output.
fn settings(engine: &Engine) -> String {
    format!("{:?} {} {}", engine.config(), engine.fingerprint(), env!("CARGO_PKG_VERSION"))
}

fn report(summary: &BatchSummary, start: Instant, global: &Global) -> anyhow::Result<()> {
    if global.json && summary.output.is_some() {
        return render::json(summary);
    }
    if global.quiet {
        return Ok(());
    }
    for bad in summary.bad.iter().take(SHOWN_ROWS) {
        eprintln!("line {}: {}", bad.line, bad.error);
    }
    let (rows, resumed, bad) = (summary.rows, summary.resumed, summary.bad.len());
    let seconds = start.elapsed().as_secs_f64();
    let rate = (rows - resumed) as f64 / seconds.max(1e-9);
    let kept = if resumed > 0 { format!(", {resumed} kept from before") } else { String::new() };
    eprintln!("{rows} rows in {seconds:.1} s ({rate:.0} a second){kept}, {bad} without an answer");
    Ok(())
}
