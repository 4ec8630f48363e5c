//! `toolroute feedback add`: logs executions from the command line or a file.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::json;

use super::args::{AddArgs, Outcome};
use crate::cli::exit;
use crate::cli::global::Global;
use crate::cli::progress::Progress;
use crate::cli::{models, render, setup};
use toolroute_catalog::row_fault;
use toolroute_eval::BadRow;
use toolroute_rank::engine;
use toolroute_rank::feedback::{Execution, ExecutionStore, Retention, StoreOptions};
use toolroute_rank::query::says_nothing;
use toolroute_vectors::embedding::Precision;

/// Executions that are embedded and written together.
const CHUNK: usize = 256;

/// Logs the executions. `is_default` says that nobody named the log.
pub fn run(
    args: &AddArgs,
    (log, is_default): (&Path, bool),
    global: &Global,
) -> anyhow::Result<ExitCode> {
    let (mut executions, bad) = match &args.input {
        Some(input) => read(input)?,
        None => {
            let execution = typed(args);
            expect_words(&execution)?;
            (vec![execution], Vec::new())
        }
    };
    if executions.is_empty() && bad.is_empty() {
        return Err(exit::bad_data(
            "expected at least one execution, found none: nothing is logged",
        ));
    }
    // Otherwise the valid rows would be logged twice when the corrected file is added.
    if !bad.is_empty() {
        let all = bad.len() + executions.len();
        render::bad_rows(global, "line", &bad);
        return Err(exit::bad_data(format!(
            "nothing is logged, because {} of {} {} invalid: correct or remove them",
            bad.len(),
            render::counted(all, "row"),
            if all == 1 { "is" } else { "are" }
        )));
    }
    let options = StoreOptions {
        keep_prompts: args.keep_prompts,
        keep_vectors: !args.no_vectors,
        retention: Retention { rows: args.keep_rows, days: args.keep_days },
    };
    let mut store = ExecutionStore::open(log, options)?;
    let needs_model = !args.no_vectors && executions.iter().any(wants_vector);
    let model = if needs_model { Some(models::load(&args.choice, Precision::Int8)?) } else { None };
    let progress = Progress::new("logging", "executions", global.quiet);
    let (total, mut done, mut removed) = (executions.len(), 0, 0);
    for chunk in executions.chunks_mut(CHUNK) {
        if let Some(model) = &model {
            engine::add_vectors(chunk, model.as_ref())?;
        }
        let written = store.insert(chunk)?;
        (done, removed) = (done + written.added, removed + written.removed);
        progress.tell(done as usize, total);
    }
    tell((log, is_default), (done, removed), global)?;
    Ok(ExitCode::SUCCESS)
}

/// Says how many executions were logged and, if nobody named the log, how other commands use it.
fn tell(
    (log, is_default): (&Path, bool),
    (done, removed): (u64, u64),
    global: &Global,
) -> anyhow::Result<()> {
    if global.json {
        return render::json(&json!({"path": log, "added": done, "removed": removed}));
    }
    let beyond = match removed {
        0 => String::new(),
        removed => format!("; {removed} beyond --keep-rows or --keep-days were removed"),
    };
    let (done, log) = (render::counted(done, "execution"), log.display());
    render::line(&format!("{done} logged in {log}{beyond}"))?;
    if is_default {
        let said = format!("to rank with it: --feedback '{log}', or TOOLROUTE_FEEDBACK");
        render::warn(global, &said);
    }
    Ok(())
}

/// The execution that the flags describe.
fn typed(args: &AddArgs) -> Execution {
    let tool = args.tool.as_deref().unwrap_or_default().into();
    let prompt = args.prompt.as_deref().unwrap_or_default();
    Execution {
        duration_ms: args.duration_ms,
        session: args.session.clone(),
        ..Execution::new(tool, prompt, args.outcome == Some(Outcome::Success))
    }
}

/// Reads the executions of a file, and reports invalid rows.
fn read(path: &Path) -> anyhow::Result<(Vec<Execution>, Vec<BadRow>)> {
    let bytes = if path == Path::new(setup::STREAM) {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes)
            .context("cannot read executions from stdin")?;
        bytes
    } else {
        std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?
    };
    let (mut executions, mut bad) = (Vec::new(), Vec::new());
    for (line, row) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        let row = row.trim_ascii();
        if row.is_empty() {
            continue;
        }
        match parse(row) {
            Ok(execution) => executions.push(execution),
            Err(error) => bad.push(BadRow { id: Default::default(), line, error }),
        }
    }
    Ok((executions, bad))
}

fn parse(row: &[u8]) -> Result<Execution, String> {
    let expected = "expected {\"tool\": …, \"success\": …, \"prompt\": …}";
    // Serde would also accept an array of field values.
    if !row.starts_with(b"{") {
        return Err(format!("found no object; {expected}"));
    }
    let read = serde_json::from_slice(row).map_err(|error| row_fault(&error));
    let execution =
        read.and_then(Execution::from_json).map_err(|error| format!("{error}; {expected}"))?;
    execution.check().map_err(|error| error.to_string())?;
    expect_words(&execution).map_err(|error| error.to_string())?;
    Ok(execution)
}

/// No tool can be learned from a prompt without words.
fn expect_words(execution: &Execution) -> Result<(), engine::Error> {
    let is_empty = execution.prompt.as_deref().is_some_and(says_nothing);
    if is_empty { Err(engine::Error::EmptyPrompt) } else { Ok(()) }
}

fn wants_vector(execution: &Execution) -> bool {
    execution.vector.is_none() && execution.prompt.is_some()
}
