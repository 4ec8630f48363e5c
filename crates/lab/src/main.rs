//! The command line of `toolroute-lab`; see the library.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use toolroute_lab::answers::Prompts;
use toolroute_lab::signals::{Mean, SignalsReport, measure_folder};
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
    /// Answer the prompts of a file, one JSON value a line: what would be called, asked or ranked first
    Answers { file: PathBuf },
    /// Write the vectors of the background prompts that ship with the built-in encoder
    /// (models/toolroute-l6-v1/background.int8); `scripts/calibrate.py --write` does it
    Background { file: PathBuf },
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Signals { folder, policy_band, json } => show_signals(&folder, policy_band, json),
        Command::Answers { file } => show_answers(&file),
        Command::Background { file } => write_background(&file),
    };
    done.map_or_else(
        |error| {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        },
        |()| ExitCode::SUCCESS,
    )
}

fn show_signals(folder: &Path, policy_band: f32, json: bool) -> anyhow::Result<()> {
    let report = measure_folder(folder, policy_band)?;
    if json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print_table(&report);
    }
    Ok(())
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

fn show_answers(file: &Path) -> anyhow::Result<()> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let prompts = Prompts::read(&text).with_context(|| file.display().to_string())?;
    for row in 0..prompts.len() {
        println!("{}", prompts.answer(row));
    }
    Ok(())
}

fn write_background(file: &Path) -> anyhow::Result<()> {
    let vectors = background_file(&BertEmbedder::built_in()?)?;
    std::fs::write(file, vectors).with_context(|| format!("cannot write {}", file.display()))
}
