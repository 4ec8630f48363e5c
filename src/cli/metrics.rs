//! `toolroute metrics`: computes success metrics of calls from the log and of plans from the
//! ledger.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::args::{Global, LedgerChoice};
use super::{paths, render};
use toolroute_conduct::{Ledger, PlanSuccess};
use toolroute_rank::feedback::{ExecutionStore, StoreOptions, SuccessMetrics};

#[derive(Args)]
pub struct MetricsArgs {
    /// The log of executions [default: toolroute/feedback.db in the user's data folder]
    /// [env: TOOLROUTE_FEEDBACK]
    #[arg(long, value_name = "FILE")]
    pub feedback: Option<PathBuf>,
    #[command(flatten)]
    pub ledger: LedgerChoice,
}

/// The targets in the report, next to each metric; estimates have none.
const FEW_ERRORS: &str = "below 5 %";
const MOST_RECOVERED: &str = "above 80 %";
const ESTIMATED: &str = "–";
const FEW_CUT: &str = "below 5 %";

#[derive(Serialize)]
struct Metrics {
    /// Metrics of our own calls; `None` if none is logged.
    calls: Option<SuccessMetrics>,
    /// Metrics of the conductor's runs; `None` if there is no ledger.
    conductor: Option<PlanSuccess>,
}

pub fn run(args: &MetricsArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let mut named = args.feedback.iter().chain(&args.ledger.ledger);
    // A mistyped path is not a log without executions.
    if !named.clone().any(|path| path.exists()) {
        paths::expect_named(named.next().map(PathBuf::as_path))?;
    }
    let metrics = Metrics { calls: calls(args)?, conductor: conductor(args)? };
    if global.json {
        render::json(&metrics)?;
    } else {
        show(&metrics)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens an existing log only, because reading must not create one.
fn calls(args: &MetricsArgs) -> anyhow::Result<Option<SuccessMetrics>> {
    let path = paths::feedback(args.feedback.as_deref())?;
    if !path.exists() {
        return Ok(None);
    }
    let store = ExecutionStore::open(&path, StoreOptions::default())?;
    let found = SuccessMetrics::of(&store.facts()?);
    Ok(Some(found).filter(|found| found.calls > 0))
}

fn conductor(args: &MetricsArgs) -> anyhow::Result<Option<PlanSuccess>> {
    let path = paths::ledger_file(args.ledger.ledger.as_deref())?;
    if !path.exists() {
        return Ok(None);
    }
    let found = Ledger::open_read_only(&path)?.success()?;
    Ok(Some(found).filter(|found| found.runs > 0))
}

fn show(metrics: &Metrics) -> anyhow::Result<()> {
    if metrics.calls.is_none() && metrics.conductor.is_none() {
        return render::line(
            "no executions yet; `call`, `run` and `conduct` log theirs with --feedback FILE",
        );
    }
    let mut table = render::table(&["metric", "value", "of", "wanted"], &[1, 2]);
    let mut add = |name: &str, share: Option<f64>, (part, whole): (u64, u64), wanted: &str| {
        let value = share.map_or("–".to_owned(), |share| format!("{:.1} %", share * 100.0));
        table.add_row([name, &value, &format!("{part} of {whole}"), wanted]);
    };
    if let Some(found) = &metrics.calls {
        let errors = (found.failed, found.calls);
        add("calls that failed", found.error_rate, errors, FEW_ERRORS);
        let recovered = (found.recovered, found.first_failed);
        add("recovered by another tool", found.fallback_recovery, recovered, MOST_RECOVERED);
        let estimated = (found.estimated_well, found.estimated);
        add("latency estimated within 50 %", found.latency_accuracy, estimated, ESTIMATED);
        let truncated = (found.truncated, found.answers);
        add("answers cut or summarised", found.truncated_share, truncated, FEW_CUT);
    }
    if let Some(found) = &metrics.conductor {
        let errors = (found.failed, found.runs);
        add("conductor: runs that failed", found.error_rate, errors, FEW_ERRORS);
        let recovered = (found.recovered, found.first_failed);
        add("conductor: recovered by another", found.fallback_recovery, recovered, MOST_RECOVERED);
    }
    render::print(table)
}
