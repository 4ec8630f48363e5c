//! `toolroute batch`: ranks tools for a file of prompts.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use clap::Args;

use super::args::{CatalogArgs, EngineArgs, Global, HistoryArgs, SelectArgs};
use super::limit::Limit;
use super::progress::Progress;
#[cfg(feature = "mcp")]
use super::servers;
use super::setup::{self, EngineRequirements};
use super::{exit, feedback, render};
use toolroute_batch::{
    BatchCounts, BatchJob, BatchSummary, Columns, FileFormat, Input, Output, Shard,
};
use toolroute_catalog::{Catalog, LoadOptions};
use toolroute_rank::engine::Engine;

#[derive(Args)]
pub struct BatchArgs {
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub select: SelectArgs,
    #[command(flatten)]
    pub rows: RowArgs,
    /// Maximum number of tools per row; `auto` for as many as the prompt needs, up to 10 (`auto:N`:
    /// up to N)
    #[arg(short, long, default_value_t = Limit::of(10), value_name = "N", allow_negative_numbers = true)]
    pub limit: Limit,
    /// Add the full explanation to each score
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub history: HistoryArgs,
}

/// The input and output of a batch.
#[derive(Args)]
pub struct RowArgs {
    /// The rows to answer; `-` is stdin. Each has a prompt in `query` or `prompt`, and optionally `id`, `candidates`
    /// (the ids of the only tools to rank) and `tools` (definitions to rank instead of the catalog's). The extension
    /// gives the format
    #[arg(short, long, value_name = "FILE")]
    pub input: PathBuf,
    /// The answers: one row per input row, in the same order; `-` is stdout. The extension gives the format
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The format of the input: jsonl, csv or tsv (each also with .gz or .zst), parquet or arrow. The default comes
    /// from the extension; for stdin it is jsonl
    #[arg(long, value_name = "FORMAT")]
    pub input_format: Option<FileFormat>,
    /// The format of the output: one of --input-format, or arrows (an Arrow stream)
    #[arg(long, value_name = "FORMAT")]
    pub output_format: Option<FileFormat>,
    /// The column or JSON member with the prompt [default: `query` or `prompt`]
    #[arg(long, value_name = "NAME")]
    pub prompt_column: Option<String>,
    /// The column or JSON member with the row's id [default: `id`]; "" for none. Without one, a row of a table gets its
    /// number, counted from 0, and a JSON line gets null
    #[arg(long, value_name = "NAME")]
    pub id_column: Option<String>,
    /// The column or JSON member with the ids of the only tools to rank [default: `candidates`, if present]; "" for none
    #[arg(long, value_name = "NAME")]
    pub candidates_column: Option<String>,
    /// The column or JSON member with tool definitions [default: `tools`, if present]; "" for none. With this option no
    /// catalog is needed
    #[arg(long, value_name = "NAME")]
    pub tools_column: Option<String>,
    /// Answer only the rows whose number, counted from 0, has remainder I when divided by N
    #[arg(long, default_value_t = Shard::default(), value_name = "I/N")]
    pub shard: Shard,
    /// Replace an existing output, and discard the unfinished rows of another job
    #[arg(long)]
    pub overwrite: bool,
}

impl RowArgs {
    fn columns(&self) -> Columns {
        Columns {
            prompt: self.prompt_column.clone(),
            id: self.id_column.clone(),
            candidates: self.candidates_column.clone(),
            tools: self.tools_column.clone(),
        }
    }

    fn input(&self) -> anyhow::Result<Input> {
        let format = self.input_format;
        Ok(if is_stream(&self.input) {
            Input::stdin(format.unwrap_or_default(), self.columns())
        } else {
            let format = format.unwrap_or_else(|| FileFormat::of_path(&self.input));
            Input::open(&self.input, format, self.columns())?
        })
    }

    /// Returns the output; `None` is stdout. `read` is what the command reads beside the rows.
    fn output(&self, read: &[PathBuf]) -> anyhow::Result<Option<Output>> {
        if is_stream(&self.output) {
            return Ok(None);
        }
        let rows = Some(self.input.as_path()).filter(|input| !is_stream(input));
        let inputs: Vec<&Path> =
            rows.into_iter().chain(read.iter().map(PathBuf::as_path)).collect();
        let output = Output::at(&self.output, &inputs)?;
        if !self.overwrite {
            output.check_new()?;
        }
        Ok(Some(output))
    }

    fn output_format(&self) -> anyhow::Result<FileFormat> {
        Ok(match self.output_format {
            Some(format) => format,
            None => FileFormat::of_output(&self.output)?,
        })
    }

    /// Whether a column of tools is named, so that no catalog is needed.
    fn names_tools(&self) -> bool {
        self.tools_column.as_deref().is_some_and(|name| !name.is_empty())
    }
}

fn is_stream(path: &Path) -> bool {
    path == Path::new(setup::STREAM)
}

/// The files that a batch reads beside its rows. Of a folder of tools, the output is one if it has some.
fn read(args: &BatchArgs, global: &Global) -> Vec<PathBuf> {
    let catalog = args.catalog.tools.iter().chain(&args.catalog.overlay);
    let log = args.history.feedback.iter().flat_map(|log| feedback::files_of(log));
    let others = args.catalog.live.servers().into_iter().chain(&args.select.usage.usage);
    let others = others.chain(&global.settings.files).chain(&args.engine.index);
    let mut files: Vec<PathBuf> = catalog.chain(others).cloned().chain(log).collect();
    let output = &args.rows.output;
    let is_below = |folder: &PathBuf| {
        let files = toolroute_catalog::files_below(folder).unwrap_or_default();
        let path = output.canonicalize().ok();
        path.is_some() && files.iter().any(|file| file.canonicalize().ok() == path)
    };
    let has_tools = || {
        let loaded = Catalog::load(&[output], &LoadOptions::default());
        loaded.is_ok_and(|loaded| !loaded.catalog.is_empty())
    };
    let mut folders = args.catalog.tools.iter().filter(|path| path.is_dir());
    if !is_stream(output) && folders.any(is_below) && has_tools() {
        files.push(output.clone());
    }
    files
}

pub fn run(args: &BatchArgs, global: &Global) -> anyhow::Result<ExitCode> {
    // Checked before the catalog is embedded, which may take minutes.
    let rows = &args.rows;
    let (output, output_format) = (rows.output(&read(args, global))?, rows.output_format()?);
    let input = rows.input()?;
    let mut wanted = EngineRequirements::new(&args.select, args.limit)?;
    let requires_tools = rows.names_tools() && !setup::names_sources(&args.catalog);
    if requires_tools {
        wanted.catalog = Some(Catalog::default());
    }
    let engine = setup::engine(&args.catalog, &args.engine, wanted, global)?;
    if !requires_tools {
        setup::expect_tools(&engine, &args.catalog)?;
    }
    feedback::observe(&engine, &args.history, global)?;
    let job = BatchJob {
        engine: &engine,
        input: &input,
        output_format,
        settings: settings(&engine),
        explain: args.explain,
        requires_tools,
        strict: args.catalog.strict,
        shard: rows.shard,
        overwrite: rows.overwrite,
    };
    let start = Instant::now();
    let progress = Progress::new("routing", "prompts", global.quiet);
    let reached = Reached::default();
    #[cfg(feature = "mcp")]
    end_on_interrupt(reached.clone(), going_on(rows, output.as_ref()), global.clone());
    let on_progress = |done: usize, total: Option<usize>| {
        *reached.lock().unwrap_or_else(PoisonError::into_inner) = (done, total);
        progress.report(done, total.map(|total| total.max(done)));
    };
    let summary = match &output {
        Some(output) => job.run(output, &on_progress)?,
        None => job.stream(Box::new(std::io::stdout()), &on_progress)?,
    };
    let place = if input.format.format.is_text() { "line" } else { "row" };
    report((&summary, place), start, global)?;
    Ok(exit::bad_data_if(args.catalog.strict && !summary.bad.is_empty()))
}

/// How many rows are done, and of how many, if that is known.
type Reached = Arc<Mutex<(usize, Option<usize>)>>;

/// How an interrupted batch goes on.
#[cfg(feature = "mcp")]
fn going_on(rows: &RowArgs, output: Option<&Output>) -> String {
    match output {
        Some(Output::File(path)) if rows.input.is_file() => {
            let path = render::plain(&path.display().to_string());
            format!("are kept in {path}.partial; the same command goes on from there")
        }
        Some(Output::File(_)) => {
            "are done; a batch that reads a pipe cannot go on: the same command with --overwrite begins anew".to_owned()
        }
        _ => "are written; a batch that writes to a pipe cannot go on: begin anew".to_owned(),
    }
}

/// Says on ctrl-c how far the batch has come and ends the program. What is written then is as after a
/// kill, which the journal bears.
#[cfg(feature = "mcp")]
fn end_on_interrupt(reached: Reached, going_on: String, global: Global) {
    std::thread::spawn(move || {
        if servers::is_interrupted() {
            let (done, total) = *reached.lock().unwrap_or_else(PoisonError::into_inner);
            let of = total.map(|total| format!(" of {total}")).unwrap_or_default();
            render::warn(&global, &format!("interrupted: {done}{of} rows {going_on}"));
            std::process::exit(exit::INTERRUPTED.into());
        }
    });
}

/// Returns everything except the input that influences the output, to identify the job.
fn settings(engine: &Engine) -> String {
    format!("{:?} {} {}", engine.config(), engine.fingerprint(), env!("CARGO_PKG_VERSION"))
}

/// Prints the summary. `place` is what the numbers of bad rows count: lines or rows.
fn report(
    (summary, place): (&BatchSummary, &str),
    start: Instant,
    global: &Global,
) -> anyhow::Result<()> {
    if global.json && summary.output.is_some() {
        return render::json(summary);
    }
    render::bad_rows(global, place, &summary.bad);
    let (rows, resumed) = (summary.rows, summary.resumed);
    let seconds = start.elapsed().as_secs_f64();
    let rate = (rows - resumed) as f64 / seconds.max(1e-9);
    let kept = if resumed > 0 { format!(", {resumed} kept from before") } else { String::new() };
    let BatchCounts { answered, unsure, empty, unread, filtered, failed } = summary.counts;
    let doubted = if unsure > 0 { format!(" ({unsure} unsure)") } else { String::new() };
    let foreign = match unread {
        0 => String::new(),
        unread => format!(" ({unread} in a language that the model does not read)"),
    };
    let filtered = match filtered {
        0 => String::new(),
        filtered => format!(", {filtered} left without tools by limit, filters or catalog"),
    };
    let rows = render::counted(rows, "row");
    let said = format!(
        "{rows} in {seconds:.1} s ({rate:.0} a second){kept}: {answered} answered{doubted}, \
         {empty} for which no tool fits{foreign}{filtered}, {failed} failed"
    );
    render::warn(global, &said);
    Ok(())
}
