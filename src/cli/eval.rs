//! `toolroute eval`: measures ranking quality on prompts with known answers. [`eval_suite`] does so
//! for many sets.

use std::collections::BTreeSet;
use std::process::ExitCode;

use comfy_table::Table;
use serde::Serialize;

use super::args::{EvalArgs, Global};
use super::limit::Limit;
use super::progress::Progress;
use super::setup::{self, EngineRequirements};
use super::{eval_suite, exit, feedback, render};
use toolroute_eval::{
    BadRow, DEPTH, Error, Miss, Scored, Unserved, answerable, score, with_gold, with_known_gold,
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
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    unknown_gold: BTreeSet<String>,
    /// Asked for by `--misses`.
    #[serde(skip_serializing_if = "Option::is_none")]
    misses: Option<Vec<Miss>>,
}

pub fn run(args: &EvalArgs, global: &Global) -> anyhow::Result<ExitCode> {
    if let Some(folder) = &args.suite.suite {
        return eval_suite::run(folder, args, global);
    }
    let file = args.queries.clone().unwrap_or_default();
    let mut wanted = EngineRequirements::new(&args.select, Limit::of(DEPTH))?;
    if args.all {
        wanted.config.strategy = Strategy::Hybrid;
    }
    let policy = wanted.config.policy;
    let engine = setup::engine(&args.catalog, &args.engine, wanted, global)?;
    setup::expect_tools(&engine, &args.catalog)?;
    feedback::observe(&engine, &args.history, global)?;
    if let Some(log) = &args.history.feedback {
        render::warn(global, &format!("ranked with the log of executions {}", log.display()));
    }
    let (queries, mut bad) = setup::rows(&file)?.queries()?;
    let (queries, unanswerable) = answerable(&engine, queries);
    let (queries, without_gold) = with_gold(queries);
    let (queries, without_tools, unknown_gold) = with_known_gold(&engine, queries);
    bad.extend(unanswerable.into_iter().chain(without_gold).chain(without_tools));
    bad.sort_by_key(|row| row.line);
    if queries.is_empty() {
        render::bad_rows(global, "line", &bad);
        return Err(Error::NoGold { path: file }.into());
    }
    let all = [Strategy::Keyword, Strategy::Semantic, Strategy::Hybrid];
    let strategies = if args.all { &all[..] } else { &[args.select.strategy] };
    let (mut results, mut misses) = (Vec::new(), args.misses.then(Vec::new));
    for &strategy in strategies {
        let progress = Progress::new("evaluating", "prompts", global.quiet);
        let tell = |done, total| progress.tell(done, total);
        // Those of the last one, which is hybrid or the only one.
        let misses = misses.as_mut().filter(|_| strategies.last() == Some(&strategy));
        results.push(score(&engine, &queries, strategy, Some(policy), misses, &tell)?);
    }
    let tools = engine.catalog().len();
    let queries = results[0].queries;
    let report = EvalReport { tools, queries, results, bad, unknown_gold, misses };
    show(&report, global)?;
    Ok(exit::bad_data_if(args.catalog.strict && !report.bad.is_empty()))
}

fn show(report: &EvalReport, global: &Global) -> anyhow::Result<()> {
    if global.json {
        return render::json(report);
    }
    render::bad_rows(global, "line", &report.bad);
    if report.queries > 0 {
        // On a narrow terminal; the JSON has all of them.
        render::print_sparing(score_table(&report.results), &[6, 3, 4, 1])?;
    }
    if report.results.iter().any(|scored| scored.unserved.is_some()) {
        render::print(unserved_table(&report.results))?;
    }
    match &report.misses {
        Some(misses) if !misses.is_empty() => render::print(miss_table(misses))?,
        _ => {}
    }
    let judged = report.results.iter().find(|scored| scored.none + scored.unsure > 0.0);
    let fit = judged.map(|Scored { none, unsure, right_first, .. }| {
        let [none, unsure] = [none, unsure].map(|share| share * 100.0);
        let right = right_first.map_or(String::new(), |right| {
            let [unsure, fits] = [right.unsure, right.fits].map(|share| share * 100.0);
            format!(" (first tool right: {unsure:.0} % of them, {fits:.0} % of those that fit)")
        });
        format!("; {none:.1} % answered by no tool, {unsure:.1} % unsure{right}")
    });
    let (queries, tools, fit) = (report.queries, report.tools, fit.unwrap_or_default());
    let misses = report.misses.as_ref().map(|misses| format!("; {} misses", misses.len()));
    let misses = misses.unwrap_or_default();
    let unserved = report.results.iter().find_map(|scored| scored.unserved);
    let unserved = unserved.map_or(String::new(), |Unserved { queries, .. }| {
        format!("; {queries} more without a tool")
    });
    let (queries, tools) = (render::counted(queries, "prompt"), render::counted(tools, "tool"));
    render::warn(global, &format!("{queries} over {tools}{fit}{unserved}{misses}"));
    Ok(())
}

fn score_table(results: &[Scored]) -> Table {
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
    for scored in results {
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
    table
}

/// How many of the prompts that no tool serves were turned away, beside the others.
fn unserved_table(results: &[Scored]) -> Table {
    let header =
        ["strategy", "prompts without a tool", "none", "unsure", "others", "none", "unsure"];
    let mut table = render::table(&header, &[1, 2, 3, 4, 5, 6]);
    for scored in results {
        let Some(unserved) = scored.unserved else { continue };
        let shares = |count: usize, shares: [f64; 2]| {
            let shares = shares.map(|share| match count {
                0 => "–".to_owned(),
                _ => format!("{share:.3}"),
            });
            [count.to_string()].into_iter().chain(shares)
        };
        let away = shares(unserved.queries, [unserved.none, unserved.unsure]);
        let others = shares(scored.queries, [scored.none, scored.unsure]);
        table.add_row([scored.strategy.to_string()].into_iter().chain(away).chain(others));
    }
    table
}

fn miss_table(misses: &[Miss]) -> Table {
    const ID_CHARS: usize = 12;
    const PROMPT_CHARS: usize = 60;
    let mut table =
        render::table(&["row", "rank", "fit", "prompt", "right tools, and the first one"], &[1]);
    for Miss { id, line, query, gold, rank, first, fit } in misses {
        let row = id.text().unwrap_or_else(|| format!("line {line}"));
        let gold = gold.join(", ");
        table.add_row([
            render::plain(&render::shortened(&row, ID_CHARS)),
            rank.map_or("–".to_owned(), |rank| rank.to_string()),
            fit.to_string(),
            render::plain(&render::shortened(query, PROMPT_CHARS)),
            // One below the other, because two columns of ids would break most ids at 80 columns.
            format!(
                "right: {}\nfirst: {}",
                render::plain(if gold.is_empty() { "–" } else { &gold }),
                render::plain(first.as_deref().unwrap_or("–"))
            ),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolroute_rank::engine::Fit;

    #[test]
    fn misses_fit_a_narrow_screen() {
        let miss = Miss {
            id: "a-rather-long-id-of-a-row".into(),
            line: 1,
            query: "tell me which of the books that I have borrowed are due this week".to_owned(),
            gold: vec!["library__list_borrowed_books".to_owned(), "library__renew".to_owned()],
            rank: Some(10),
            first: Some("library__search_the_whole_catalog".to_owned()),
            fit: Fit::Unsure,
        };
        let mut table = miss_table(&[miss]);
        table.set_width(80);
        render::fit(&mut table, &[]);
        let widest = table.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{table}");
    }
}
