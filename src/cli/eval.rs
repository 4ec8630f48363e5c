//! `toolroute eval`: how good the ranking is on prompts with known answers.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;

use super::args::{EvalArgs, Global};
use super::progress::Progress;
use super::setup::{self, Wanted};
use super::{exit, render};
use crate::engine::{Engine, Strategy};
use crate::eval::{BadRow, DEPTH, Error, Query, Scored, parse_query, score};

#[derive(Serialize)]
struct Report {
    tools: usize,
    queries: usize,
    results: Vec<Scored>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bad: Vec<BadRow>,
    /// Right tools that the catalog lacks: no ranking can find them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown_gold: Vec<String>,
}

pub fn run(args: &EvalArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let mut wanted = Wanted::new(&args.select, DEPTH);
    if args.all {
        wanted.strategy = Strategy::Hybrid;
    }
    let policy = wanted.policy;
    let engine = setup::engine(&args.catalog, &args.engine, wanted, global)?;
    let (queries, bad) = read(&args.queries)?;
    let unknown_gold = unknown_gold(&engine, &queries);
    let known = |query: &Query| query.gold.iter().any(|id| engine.catalog().get(id).is_some());
    if !queries.iter().any(known) {
        return Err(Error::NoGold { path: args.queries.clone() }.into());
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
    let report = Report { tools, queries: results[0].queries, results, bad, unknown_gold };
    show(&report, global)?;
    let failed = args.catalog.strict && !report.bad.is_empty();
    Ok(if failed { ExitCode::from(exit::BAD_DATA) } else { ExitCode::SUCCESS })
}

/// Rows of a file of prompts, and those that are none.
pub fn read(path: &Path) -> anyhow::Result<(Vec<Query>, Vec<BadRow>)> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| Error::Io { action: "read", path: path.to_owned(), source })
        .context("expected rows {\"id\",\"query\",\"gold\":[tool ids]}")?;
    let (mut queries, mut bad) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        match parse_query(line, number) {
            Some(Ok(query)) => queries.push(query),
            Some(Err(row)) => bad.push(row),
            None => {}
        }
    }
    Ok((queries, bad))
}

fn unknown_gold(engine: &Engine, queries: &[Query]) -> Vec<String> {
    let gold = queries.iter().flat_map(|query| &query.gold);
    let mut unknown: Vec<String> =
        gold.filter(|id| engine.catalog().get(id).is_none()).cloned().collect();
    unknown.sort();
    unknown.dedup();
    unknown
}

fn show(report: &Report, global: &Global) -> anyhow::Result<()> {
    if global.json {
        return render::json(report);
    }
    if !global.quiet {
        for row in &report.bad {
            eprintln!("line {}: {}", row.line, row.error);
        }
        if let Some(first) = report.unknown_gold.first() {
            let count = report.unknown_gold.len();
            eprintln!("warning: {count} gold ids are not in the catalog, `{first}` first");
        }
    }
    let header =
        ["strategy", "nDCG@1", "nDCG@5", "nDCG@10", "recall@1", "recall@5", "recall@10", "MRR"];
    let mut table = render::table(&header, &[1, 2, 3, 4, 5, 6, 7]);
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
        ];
        let values = values.map(|value| format!("{value:.4}"));
        table.add_row([scored.strategy.to_string()].into_iter().chain(values));
    }
    render::print(&table)?;
    eprintln!("{} prompts over {} tools", report.queries, report.tools);
    Ok(())
}
