//! `toolroute bench`: measures the stages of a selection.

use std::process::ExitCode;
use std::time::Instant;

use serde::Serialize;

use super::args::{BenchArgs, BenchCommand, Global};
use super::progress::Progress;
use super::setup::{self, EngineRequirements};
use super::{bench_encoder, exit, render};
use toolroute_eval::{Error, StageReport, StageTimer};
use toolroute_rank::engine::{IndexReport, SelectRequest, Strategy};

/// Selections before the measurement starts, to warm up caches and CPU frequency.
const WARM_UP: usize = 10;

/// Prompts per batch when throughput is measured.
const CHUNK: usize = 256;

#[derive(Serialize)]
struct BenchReport {
    tools: usize,
    strategy: Strategy,
    threads: usize,
    samples: usize,
    stages: Vec<StageReport>,
    /// Prompts per second in batches.
    throughput_per_s: f64,
    index: IndexReport,
}

pub fn run(args: &BenchArgs, global: &Global) -> anyhow::Result<ExitCode> {
    if let Some(BenchCommand::Encoder(args)) = &args.what {
        return bench_encoder::run(args, global);
    }
    let file = args.queries.clone().unwrap_or_default();
    let wanted = EngineRequirements {
        keep_answers: false,
        ..EngineRequirements::new(&args.select, args.limit)?
    };
    let engine = setup::engine(&args.catalog, &args.engine, wanted, global)?;
    setup::expect_tools(&engine, &args.catalog)?;
    let (queries, bad) = setup::rows(&file)?.queries()?;
    render::bad_rows(global, "line", &bad);
    if queries.is_empty() {
        return Err(Error::NoRows { path: file }.into());
    }
    let requests: Vec<SelectRequest> = queries
        .iter()
        .cycle()
        .take(args.samples.get())
        .map(|query| SelectRequest::new(&query.query))
        .collect();
    for request in requests.iter().take(WARM_UP) {
        engine.select(request)?;
    }
    let progress = Progress::new("timing", "prompts", global.quiet);
    let (mut timer, mut strategy) = (StageTimer::default(), Strategy::Auto);
    for (done, request) in (1..).zip(&requests) {
        let selection = engine.select(request)?;
        strategy = selection.strategy;
        timer.add(selection.timings);
        progress.tell(done, requests.len());
    }
    let start = Instant::now();
    for chunk in requests.chunks(CHUNK) {
        engine.select_many(chunk).into_iter().try_for_each(|answer| answer.map(drop))?;
    }
    let report = BenchReport {
        tools: engine.catalog().len(),
        strategy,
        threads: rayon::current_num_threads(),
        samples: requests.len(),
        stages: timer.report(),
        throughput_per_s: requests.len() as f64 / start.elapsed().as_secs_f64(),
        index: engine.index_report().clone(),
    };
    show(&report, global)?;
    Ok(exit::bad_data_if(args.catalog.strict && !bad.is_empty()))
}

fn show(report: &BenchReport, global: &Global) -> anyhow::Result<()> {
    if global.json {
        return render::json(report);
    }
    let mut table =
        render::table(&["stage", "p50 ms", "p95 ms", "p99 ms", "max ms"], &[1, 2, 3, 4]);
    for StageReport { stage, times } in &report.stages {
        let values = [times.p50_ms, times.p95_ms, times.p99_ms, times.max_ms];
        let values = values.map(|value| format!("{value:.3}"));
        table.add_row([(*stage).to_owned()].into_iter().chain(values));
    }
    render::print(table)?;
    let BenchReport { tools, strategy, threads, samples, throughput_per_s: rate, .. } = report;
    render::line(&format!(
        "{samples} prompts, {tools} tools, {strategy}, {threads} threads; many at a time: {rate:.0} a second"
    ))
}
