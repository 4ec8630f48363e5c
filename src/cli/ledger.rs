//! `toolroute ledger`: shows the conductor's ledger.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::args::{Global, LedgerChoice};
use super::{paths, render};
use toolroute_conduct::{AssertionRow, EventRow, Ledger, ObligationRow, RunRow};

#[derive(Args)]
pub struct LedgerArgs {
    #[command(subcommand)]
    pub command: LedgerCommand,
}

#[derive(Subcommand)]
pub enum LedgerCommand {
    /// Show the ledger; by default the obligations
    Show(ShowArgs),
}

#[derive(Args)]
pub struct ShowArgs {
    #[command(flatten)]
    pub ledger: LedgerChoice,
    #[command(flatten)]
    pub what: LedgerSections,
}

#[derive(Args)]
#[group(multiple = false)]
pub struct LedgerSections {
    /// Show the obligations and their outcomes
    #[arg(long)]
    pub obligations: bool,
    /// Show which tools ran, with which arguments, and how the run ended
    #[arg(long)]
    pub runs: bool,
    /// Show the facts and their sources
    #[arg(long)]
    pub assertions: bool,
    /// Show all events, in order
    #[arg(long)]
    pub events: bool,
}

/// Maximum number of characters of a value in a table; `--json` is complete.
const SHOWN: usize = 120;

pub fn run(args: &LedgerArgs, global: &Global) -> anyhow::Result<ExitCode> {
    match &args.command {
        LedgerCommand::Show(args) => show(args, global)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn show(args: &ShowArgs, global: &Global) -> anyhow::Result<()> {
    let ledger = Ledger::open_read_only(paths::ledger_file(args.ledger.ledger.as_deref())?)?;
    let what = &args.what;
    match (what.obligations, what.runs, what.assertions, what.events) {
        (_, true, ..) => {
            let header = ["run", "tool", "for", "status", "times", "inputs", "outputs"];
            table(&ledger.runs()?, &header, run_row, global)
        }
        (_, _, true, _) => {
            let header = ["assertion", "kind", "standing", "source", "subject", "value"];
            table(&ledger.assertions(None)?, &header, assertion_row, global)
        }
        (_, _, _, true) => {
            let header = ["event", "request", "obligation", "run", "what", "detail"];
            table(&ledger.events()?, &header, event_row, global)
        }
        _ => {
            let header = ["obligation", "request", "name", "type", "status", "note"];
            table(&ledger.obligations(None)?, &header, obligation_row, global)
        }
    }
}

fn table<T: serde::Serialize>(
    rows: &[T],
    header: &[&str],
    cells: impl Fn(&T) -> Vec<String>,
    global: &Global,
) -> anyhow::Result<()> {
    if global.json {
        return render::json(&rows);
    }
    let mut out = render::table(header, &[]);
    for row in rows {
        out.add_row(cells(row).iter().map(|cell| render::plain(&render::shortened(cell, SHOWN))));
    }
    render::print(out)
}

fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| value.to_string())
}

fn word(value: &impl serde::Serialize) -> String {
    let word = serde_json::to_value(value).unwrap_or_default();
    word.as_str().unwrap_or_default().to_owned()
}

fn obligation_row(row: &ObligationRow) -> Vec<String> {
    let (id, request) = (row.id.to_string(), row.request.to_string());
    let note = or_dash(row.note.as_ref());
    vec![id, request, row.name.clone(), row.what.to_string(), row.status.to_string(), note]
}

fn run_row(row: &RunRow) -> Vec<String> {
    let outputs = row.said.clone().or_else(|| row.outputs.as_ref().map(ToString::to_string));
    let owner = format!("{} ({})", row.obligation, word(&row.purpose));
    let times = row.attempts.to_string();
    let (id, inputs) = (row.id.to_string(), row.inputs.to_string());
    vec![id, row.tool.clone(), owner, word(&row.status), times, inputs, or_dash(outputs)]
}

fn assertion_row(row: &AssertionRow) -> Vec<String> {
    let (subject, value) = (row.subject.to_string(), row.value.to_string());
    let standing = word(&row.standing);
    vec![row.id.to_string(), row.kind.clone(), standing, row.source.clone(), subject, value]
}

fn event_row(row: &EventRow) -> Vec<String> {
    let (obligation, run) = (or_dash(row.obligation), or_dash(row.run));
    let (id, request) = (row.id.to_string(), row.request.to_string());
    vec![id, request, obligation, run, row.kind.clone(), row.detail.to_string()]
}
