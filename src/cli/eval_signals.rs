//! `toolroute eval --signals`: what each signal beside meaning and words gives on a set.

use std::path::Path;
use std::process::ExitCode;

use super::args::{self, EvalArgs, Global};
use super::limit::Limit;
use super::render;
use super::setup::{self, Wanted};
use crate::engine::SignalWeights;
use crate::eval::{AblationReport, DEPTH, Mean, SignalSet, ablate};

pub fn run(folder: &Path, args: &EvalArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let set = SignalSet::read(folder)?;
    let mut wanted = Wanted::new(&args.select, Limit::of(DEPTH))?;
    wanted.min_confidence = 0.0;
    let mut catalog = args.catalog.clone();
    // What they give is the question.
    catalog.author_signals = true;
    if catalog.tools.is_empty() {
        catalog.tools.push(folder.join("tools.jsonl"));
    }
    let engine = setup::engine(&catalog, &args.engine, wanted, global)?;
    let tried = args::weights(SignalWeights::tried(), &args.select.signal);
    let report = ablate(&engine, &set, tried)?;
    if global.json {
        render::json(&report)?
    } else {
        show(&report)?
    }
    Ok(ExitCode::SUCCESS)
}

fn show(report: &AblationReport) -> anyhow::Result<()> {
    let header = [
        "signal",
        "weight",
        "own rows",
        "off",
        "alone",
        "all but it",
        "all: off",
        "alone",
        "all but it",
        "control: off",
        "alone",
    ];
    let mut table = render::table(&header, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    let number = |mean: &Mean| format!("{:.3}", mean.ndcg_at_5);
    for row in &report.signals {
        let own = row.own[0].rows.to_string();
        let mut cells = vec![row.signal.clone(), format!("{:.2}", row.weight), own];
        cells.extend(row.own.iter().chain(&row.all).chain(&row.control).map(number));
        table.add_row(cells);
    }
    render::print(table)?;
    let (off, on) = (number(&report.off), number(&report.on));
    let [by_itself, with] = report.follow_ups.each_ref().map(number);
    render::line(&format!(
        "nDCG@5 over {} prompts: {off} without signals, {on} with all; follow-ups (without signals): \
         {by_itself} by themselves, {with} with the conversation",
        report.rows
    ))
}
