//! The command line of `toolroute-lab`; see the library.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use toolroute_lab::gate::Gate;
use toolroute_lab::report::Report;
use toolroute_lab::signals::{Mean, SignalsReport};
use toolroute_lab::{plot, signals};
use toolroute_rank::engine::{POLICY_BAND, background_file};
use toolroute_vectors::embedding::BertEmbedder;

/// Measurements for those who change toolroute
#[derive(Parser)]
#[command(version)]
enum Command {
    /// Measure what each signal beside meaning and words gives on a set made for it: a folder with
    /// prompts.jsonl, tools.jsonl and, where runs were seen, observed.json
    Signals {
        folder: PathBuf,
        /// Scores within so much of each other are ordered by the policy
        #[arg(long, value_name = "SCORE", default_value_t = POLICY_BAND)]
        policy_band: f32,
        #[arg(long)]
        json: bool,
    },
    /// Fail with code 1 where an nDCG@5 of a report of `toolroute eval --suite DIR --json` is below a
    /// minimum of a file, TOML or JSON: for each set the least of keyword, semantic, hybrid, or some of
    /// them
    Gate { report: PathBuf, minima: PathBuf },
    /// Write the vectors of the background prompts that ship with the built-in encoder
    /// (models/toolroute-l6-v1/background.int8); `scripts/calibrate.py --write` does it
    Background { file: PathBuf },
    /// Draw a report of `toolroute eval --suite DIR --json` as SVG on stdout
    Plot { report: PathBuf },
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Signals { folder, policy_band, json } => show_signals(&folder, policy_band, json),
        Command::Gate { report, minima } => check(&report, &minima),
        Command::Background { file } => write_background(&file),
        Command::Plot { report } => draw(&report),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}

fn show_signals(folder: &Path, policy_band: f32, json: bool) -> anyhow::Result<ExitCode> {
    let report = signals::measure_folder(folder, policy_band)?;
    if json {
        println!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(ExitCode::SUCCESS);
    }
    print_table(&report);
    Ok(ExitCode::SUCCESS)
}

/// Prints the report as the Markdown table of the documentation.
fn print_table(report: &SignalsReport) {
    println!(
        "| signal | weight tried | rows | off | alone | all but it | all rows: off | alone | all but it | \
         control rows: off | alone |"
    );
    println!("{}|", "|---".repeat(11));
    let number = |mean: &Mean| format!("{:.3}", mean.ndcg_at_5);
    for row in &report.signals {
        let means = row.own.iter().chain(&row.all).chain(&row.control).map(number);
        let means = means.collect::<Vec<_>>().join(" | ");
        println!("| `{}` | {} | {} | {means} |", row.signal, row.weight, row.own[0].rows);
    }
    let (off, on) = (number(&report.off), number(&report.on));
    let [alone, with_conversation] = report.follow_ups.each_ref().map(number);
    println!(
        "\nnDCG@5 over {} prompts: {off} without signals, {on} with all; follow-ups (without signals): {alone} \
         by themselves, {with_conversation} with the conversation",
        report.rows
    );
}

fn check(report: &Path, minima: &Path) -> anyhow::Result<ExitCode> {
    let found = Gate::read(minima)?.check(&Report::read(report)?.sets)?;
    for set in &found.skipped {
        eprintln!("SKIPPED: the set {set} was not measured");
    }
    for low in &found.low {
        println!("{} {} {:.4}, least {:.4}", low.set, low.strategy, low.found, low.minimum);
    }
    eprintln!("{} of {} scores are below their minimum", found.low.len(), found.checked);
    Ok(if found.low.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn write_background(file: &Path) -> anyhow::Result<ExitCode> {
    let vectors = background_file(&BertEmbedder::built_in()?)?;
    std::fs::write(file, vectors).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn draw(report: &Path) -> anyhow::Result<ExitCode> {
    print!("{}", plot::svg(&Report::read(report)?));
    Ok(ExitCode::SUCCESS)
}
