//! `toolroute batch`: ranks tools for a file of prompts.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;

use super::args::{CatalogArgs, EngineArgs, Global, HistoryArgs, SelectArgs};
use super::limit::Limit;
use super::progress::Progress;
use super::settings::configure;
use super::setup::{self, Wanted};
use super::{exit, feedback, render};
use toolroute_eval::{BatchCounts, BatchJob, BatchSummary, Output};
use toolroute_rank::engine::Engine;

#[derive(Args)]
pub struct BatchArgs {
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub select: SelectArgs,
    /// Rows {"id","query"} (or "prompt"), optionally with "candidates":[tool ids] to rank only
    /// those; `-` is stdin
    #[arg(short, long, value_name = "FILE")]
    pub input: PathBuf,
    /// Rows {"id","tools":[{"id","score"}]} in the order of the input; `-` is stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Maximum number of tools per row; `auto` for as many as the prompt needs, up to 10 (`auto:N`:
    /// up to N)
    #[arg(short, long, default_value_t = Limit::of(10), value_name = "N")]
    pub limit: Limit,
    /// Add the full explanation to each score
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub history: HistoryArgs,
}

configure!(BatchArgs: catalog, engine, select, limit, history);

pub fn run(args: &BatchArgs, global: &Global) -> anyhow::Result<ExitCode> {
    // Checked before the catalog is embedded, which may take minutes.
    let output = output(args)?;
    let input = setup::rows(&args.input)?;
    input.check()?;
    let wanted = Wanted::new(&args.select, args.limit)?;
    let engine = setup::engine(&args.catalog, &args.engine, wanted, global)?;
    feedback::observe(&engine, &args.history, global)?;
    let job = BatchJob {
        engine: &engine,
        input: &input,
        settings: settings(&engine),
        explain: args.explain,
    };
    let start = Instant::now();
    let progress = Progress::new("routing", "prompts", global.quiet);
    let tell = |done, total| progress.tell(done, total);
    let summary = match &output {
        Some(output) => job.run(output, &tell)?,
        None => job.stream(&mut std::io::stdout().lock(), &tell)?,
    };
    report(&summary, start, global)?;
    let failed = args.catalog.strict && !summary.bad.is_empty();
    Ok(if failed { ExitCode::from(exit::BAD_DATA) } else { ExitCode::SUCCESS })
}

/// Opens the output; `None` is stdout.
fn output(args: &BatchArgs) -> anyhow::Result<Option<Output>> {
    if args.output == Path::new(setup::STREAM) {
        return Ok(None);
    }
    let input = Some(args.input.as_path()).filter(|input| *input != Path::new(setup::STREAM));
    Ok(Some(Output::at(&args.output, input)?))
}

/// Everything except the input that influences the output.
fn settings(engine: &Engine) -> String {
    format!("{:?} {} {}", engine.config(), engine.fingerprint(), env!("CARGO_PKG_VERSION"))
}

fn report(summary: &BatchSummary, start: Instant, global: &Global) -> anyhow::Result<()> {
    if global.json && summary.output.is_some() {
        return render::json(summary);
    }
    render::bad_rows(global, &summary.bad);
    let (rows, resumed) = (summary.rows, summary.resumed);
    let seconds = start.elapsed().as_secs_f64();
    let rate = (rows - resumed) as f64 / seconds.max(1e-9);
    let kept = if resumed > 0 { format!(", {resumed} kept from before") } else { String::new() };
    let BatchCounts { answered, unsure, empty, unread, failed } = summary.counts;
    let doubted = if unsure > 0 { format!(" ({unsure} unsure)") } else { String::new() };
    let foreign = match unread {
        0 => String::new(),
        unread => format!(" ({unread} in a language that the model does not read)"),
    };
    let said = format!(
        "{rows} rows in {seconds:.1} s ({rate:.0} a second){kept}: {answered} answered{doubted}, \
         {empty} for which no tool fits{foreign}, {failed} failed"
    );
    render::warn(global, &said);
    Ok(())
}
