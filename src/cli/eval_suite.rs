//! `toolroute eval --suite`: compares keyword, semantic and hybrid on many sets, with intervals.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use comfy_table::Table;

use super::args::{EvalArgs, Global};
use super::limit::Limit;
use super::progress::Progress;
use super::setup::{self, EngineRequirements};
use super::{exit, models, render};
use toolroute_eval::{
    Abstention, Comparison, DEPTH, Interval, Measured, Prompts, SetFiles, Sizes, SuiteReport,
    find_sets, measure_set,
};
use toolroute_rank::engine::Strategy;
use toolroute_vectors::embedding::Embedder;

pub fn run(folder: &Path, args: &EvalArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let most = args.suite.queries_per_set.map(usize::from);
    let sets: Vec<(SetFiles, Prompts)> = find_sets(folder, &args.suite.sets)?
        .into_iter()
        .map(|set| set.prompts(most).map(|prompts| (set, prompts)))
        .collect::<Result<_, _>>()?;
    let model = models::embedder(&args.engine, Strategy::Hybrid, models::load, global)?;
    let model = model.expect("hybrid has a model, or that is an error. This is a bug.");
    let name = model.identity().name.clone();
    let measured = measure(sets, model, args, global)?;
    let precision = format!("{:?}", args.engine.precision).to_lowercase();
    let mut report = SuiteReport::new(folder.to_owned(), name, precision, measured);
    report.queries_per_set = most;
    show(&report, global)?;
    Ok(exit::bad_data_if(args.catalog.strict && report.sets.iter().any(|set| !set.bad.is_empty())))
}

fn measure(
    sets: Vec<(SetFiles, Prompts)>,
    model: Arc<dyn Embedder>,
    args: &EvalArgs,
    global: &Global,
) -> anyhow::Result<Vec<Measured>> {
    let work = |prompts: &Prompts| prompts.on_topic.len() + prompts.off_topic.len();
    let mut left: usize = sets.iter().map(|(_, prompts)| work(prompts)).sum();
    let (count, mut done, start) = (sets.len(), 0, Instant::now());
    let mut all = Vec::with_capacity(count);
    for (at, (files, prompts)) in (1..).zip(sets) {
        let own = work(&prompts);
        let measured = measure_one(&files, prompts, model.clone(), args, global)?;
        (done, left) = (done + own, left - own);
        let elapsed = start.elapsed().as_secs_f64();
        let rate = done as f64 / elapsed.max(1e-9);
        let ahead = left as f64 / rate.max(1e-9);
        let name = render::plain(&files.name);
        render::warn(
            global,
            &format!(
                "set {at} of {count}, {name}: {own} prompts; {elapsed:.0} s, about {ahead:.0} s left"
            ),
        );
        warn_problems(&measured, global);
        all.push(measured);
    }
    Ok(all)
}

fn measure_one(
    files: &SetFiles,
    prompts: Prompts,
    model: Arc<dyn Embedder>,
    args: &EvalArgs,
    global: &Global,
) -> anyhow::Result<Measured> {
    let (mut catalog, mut engine) = (args.catalog.clone(), args.engine.clone());
    catalog.tools = vec![files.tools.clone()];
    // One file cannot hold the vectors of several catalogs, and TOOLROUTE_INDEX may name one.
    engine.index = None;
    let mut wanted = EngineRequirements {
        // Usage is learned for one catalog.
        usage: None,
        embedder: Some(model),
        ..EngineRequirements::new(&args.select, Limit::of(DEPTH))?
    };
    wanted.config.strategy = Strategy::Hybrid;
    let policy = wanted.config.policy;
    let engine = setup::engine(&catalog, &engine, wanted, global)?;
    let progress = Progress::new("evaluating", "prompts", global.quiet);
    let tell = |done, total| progress.tell(done, total);
    Ok(measure_set(&engine, files, prompts, policy, &tell)?)
}

fn warn_problems(measured: &Measured, global: &Global) {
    let said = measured.report.bad.iter().map(|bad| {
        let (file, line) = (bad.file.display(), bad.row.line);
        format!("{file}:{line}: {}", render::plain(&bad.row.error))
    });
    render::warn_first(global, render::SHOWN_ROWS, said, " bad rows");
}

fn show(report: &SuiteReport, global: &Global) -> anyhow::Result<()> {
    if global.json {
        return render::json(report);
    }
    // Columns to omit on a narrow screen, the least important first.
    render::print_sparing(scores(report), &[9, 10, 11, 12, 1, 2])?;
    render::print(sizes(report))?;
    let off_topic = off_topic(report);
    if !off_topic.is_empty() {
        render::print(off_topic)?;
    }
    let said = "nDCG@5 ± half of its 95 % interval; hybrid as it answers, and with the tools that it holds back \
                where none is sure to fit (always answered); the last four columns are hybrid's; \
                --json has every measure and both ends of each interval";
    render::warn(global, said);
    Ok(())
}

/// A row per set, followed by the means.
fn scores(report: &SuiteReport) -> Table {
    let header = [
        "set",
        "tools",
        "prompts",
        "keyword",
        "semantic",
        "hybrid",
        "always answered",
        "hybrid less best part",
        "hybrid is",
        "hit@1",
        "recall@5",
        "MRR",
        "COMP@5",
    ];
    let mut table = render::table(&header, &[1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12]);
    for set in &report.sets {
        let (tools, prompts) = (set.tools.to_string(), set.queries.to_string());
        table.add_row(row([render::plain(&set.set), tools, prompts], &set.comparison));
    }
    for mean in &report.means {
        let name = format!("mean of {} ({})", mean.over, mean.sets);
        table.add_row(row([name, String::new(), String::new()], &mean.comparison));
    }
    table
}

fn row(first: [String; 3], comparison: &Comparison) -> Vec<String> {
    let against = &comparison.hybrid_vs_best;
    let (difference, verdict, best) = (against.difference, against.verdict, against.best);
    let hybrid = &comparison.strategies.hybrid;
    let always = std::iter::once(sure(comparison.without_abstention.ndcg_at_5));
    let scores = comparison.strategies.iter().map(|(_, scores)| sure(scores.ndcg_at_5));
    let scores = scores.chain(always);
    let against = [
        format!("{:+.4} ±{:.4}", difference.mean, difference.half_width()),
        format!("{} {best}", verdict.as_str()),
    ];
    let others = [hybrid.hit_at_1, hybrid.recall_at_5, hybrid.mrr, hybrid.comp_at_5];
    let others = others.map(|interval| format!("{:.4}", interval.mean));
    first.into_iter().chain(scores).chain(against).chain(others).collect()
}

fn sure(interval: Interval) -> String {
    format!("{:.4} ±{:.4}", interval.mean, interval.half_width())
}

/// Compares answers of variable size with answers of five tools.
fn sizes(report: &SuiteReport) -> Table {
    let header = [
        "--limit auto",
        "tools",
        "recall",
        "COMP",
        "precision",
        "five: recall",
        "COMP",
        "precision",
    ];
    let mut table = render::table(&header, &[1, 2, 3, 4, 5, 6, 7]);
    let row = |name: String, sizes: &Sizes| {
        let Sizes { auto, five } = sizes;
        let shares =
            [auto.recall, auto.comp, auto.precision, five.recall, five.comp, five.precision];
        let shares = shares.map(|share| format!("{share:.3}"));
        [name, format!("{:.1}", auto.tools)].into_iter().chain(shares).collect::<Vec<_>>()
    };
    for set in &report.sets {
        table.add_row(row(render::plain(&set.set), &set.sizes));
    }
    for mean in &report.means {
        table.add_row(row(format!("mean of {} ({})", mean.over, mean.sets), &mean.sizes));
    }
    table
}

fn off_topic(report: &SuiteReport) -> Table {
    let found = || report.sets.iter().filter_map(|set| Some((&set.set, set.off_topic.as_ref()?)));
    let mut header = vec!["off topic", "prompts", "AUROC", "turned away at 3 %"];
    if found().any(|(_, found)| found.engine.is_some()) {
        header.extend(["none", "unsure", "others: none", "unsure"]);
    }
    let mut table = render::table(&header, &(1..header.len()).collect::<Vec<_>>());
    for (set, found) in found() {
        let engine = found.engine.map(|engine| {
            let Abstention { turned_away, unsure_off_topic, .. } = engine;
            [turned_away, unsure_off_topic, engine.false_abstention, engine.unsure_on_topic]
        });
        let all = [found.auroc, found.turned_away].into_iter().chain(engine.into_iter().flatten());
        let first = [render::plain(set), found.prompts.to_string()];
        table.add_row(first.into_iter().chain(all.map(sure)));
    }
    table
}
