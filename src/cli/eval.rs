//! `toolroute eval`: measures ranking quality on prompts with known answers. [`eval_suite`] does so
//! for many sets.

use std::process::ExitCode;

use serde::Serialize;

use super::args::{EvalArgs, Global};
use super::limit::Limit;
use super::progress::Progress;
use super::setup::{self, EngineRequirements};
use super::{eval_suite, exit, render};
use toolroute_eval::{
    BadRow, DEPTH, Error, Scored, answerable, score, unknown_gold, with_gold, with_known_gold,
};
use toolroute_rank::engine::Strategy;

/// Label for nDCG@5 when tools are returned even if the confidence is too low.
pub(super) const ALWAYS: &str = "nDCG@5, always answered";

#[derive(Serialize)]
struct EvalReport {
    tools: usize,
    queries: usize,
    results: Vec<Scored>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bad: Vec<BadRow>,
    /// Right tools that are not in the catalog, so that no ranking can find them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown_gold: Vec<String>,
}

pub fn run(args: &EvalArgs, global: &Global) -> anyhow::Result<ExitCode> {
    if let Some(folder) = &args.suite.suite {
        return eval_suite::run(folder, args, global);
    }
    let file = args.queries.clone().unwrap_or_default();
    let mut wanted = EngineRequirements::new(&args.select, Limit::of(DEPTH))?;
    if args.all {
        wanted.strategy = Strategy::Hybrid;
    }
    let policy = wanted.policy;
    let engine = setup::engine(&args.catalog, &args.engine, wanted, global)?;
    let (queries, mut bad) = setup::rows(&file)?.queries()?;
    let (queries, unanswerable) = answerable(&engine, queries);
    let (queries, without_gold) = with_gold(queries);
    let unknown_gold = unknown_gold(&engine, &queries);
    let (queries, without_tools) = with_known_gold(&engine, queries);
    bad.extend(unanswerable.into_iter().chain(without_gold).chain(without_tools));
    bad.sort_by_key(|row| row.line);
    if queries.is_empty() {
        render::bad_rows(global, "line", &bad);
        return Err(Error::NoGold { path: file }.into());
    }
    let all = [Strategy::Keyword, Strategy::Semantic, Strategy::Hybrid];
    let strategies = if args.all { &all[..] } else { &[args.select.strategy] };
    let mut results = Vec::new();
    for &strategy in strategies {
        let progress = Progress::new("evaluating", "prompts", global.quiet);
        let tell = |done, total| progress.tell(done, total);
        results.push(score(&engine, &queries, strategy, Some(policy), &tell)?);
    }
    let tools = engine.catalog().len();
    let report = EvalReport { tools, queries: results[0].queries, results, bad, unknown_gold };
    show(&report, global)?;
    let failed = args.catalog.strict && !report.bad.is_empty();
    Ok(if failed { ExitCode::from(exit::BAD_DATA) } else { ExitCode::SUCCESS })
}

fn show(report: &EvalReport, global: &Global) -> anyhow::Result<()> {
    if global.json {
        return render::json(report);
    }
    render::bad_rows(global, "line", &report.bad);
    let header = [
        "strategy",
        "nDCG@1",
        "nDCG@5",
        "nDCG@10",
        "recall@1",
        "recall@5",
        "recall@10",
        "MRR",
        ALWAYS,
    ];
    let mut table = render::table(&header, &[1, 2, 3, 4, 5, 6, 7, 8]);
    for scored in &report.results {
        let m = &scored.measures;
        let values = [
            m.ndcg_at_1,
            m.ndcg_at_5,
            m.ndcg_at_10,
            m.recall_at_1,
            m.recall_at_5,
            m.recall_at_10,
            m.mrr,
            scored.without_abstention.ndcg_at_5,
        ];
        let values = values.map(|value| format!("{value:.4}"));
        table.add_row([scored.strategy.to_string()].into_iter().chain(values));
    }
    render::print(table)?;
    let judged = report.results.iter().find(|scored| scored.none + scored.unsure > 0.0);
    let fit = judged.map(|Scored { none, unsure, .. }| {
        let [none, unsure] = [none, unsure].map(|share| share * 100.0);
        format!("; {none:.1} % answered by no tool, {unsure:.1} % unsure")
    });
    let (queries, tools, fit) = (report.queries, report.tools, fit.unwrap_or_default());
    render::warn(global, &format!("{queries} prompts over {tools} tools{fit}"));
    Ok(())
}
