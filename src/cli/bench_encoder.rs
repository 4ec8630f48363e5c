//! `toolroute bench encoder`: times the model alone, in every mode.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::args::{EncoderArgs, Global};
use super::{models, render};
use toolroute_eval::Percentiles;
use toolroute_vectors::embedding::{
    Backend, BertEmbedder, Device, Embedder, EncoderOptions, ModelFiles, Precision, Role,
    StaticEmbedder,
};

/// Number of sequences, tokens of each, and repetitions: a short prompt, a longer one, a batch.
const SHAPES: [(usize, usize, usize); 3] = [(1, 9, 300), (1, 34, 200), (32, 64, 15)];

/// Words for prompts to a static model.
const PROMPT: &str = "find an hour that fits both of them and write the review to the calendar";

/// Runs before the measurement starts.
const WARM_UP: usize = 5;

struct Mode {
    name: &'static str,
    precision: Precision,
    backend: Backend,
}

impl Mode {
    fn is_candle(&self) -> bool {
        self.backend != Backend::Native
    }
}

/// The requested modes. candle is included if it is the backend or with `--reference`; the native
/// modes are included unless candle is the backend.
fn modes(args: &EncoderArgs) -> anyhow::Result<Vec<Mode>> {
    let chosen = models::options(&args.choice, Precision::Int8)?.backend;
    let candle = match chosen {
        Backend::Native => Backend::Candle(Device::Cpu),
        candle => candle,
    };
    let all = [
        Mode { name: "candle-transformers f32", precision: Precision::F32, backend: candle },
        Mode { name: "f32", precision: Precision::F32, backend: Backend::Native },
        Mode { name: "int8", precision: Precision::Int8, backend: Backend::Native },
    ];
    let is_wanted = |mode: &Mode| mode.backend == chosen || mode.is_candle() && args.reference;
    Ok(all.into_iter().filter(is_wanted).collect())
}

#[derive(Serialize)]
struct Row {
    path: &'static str,
    instructions: String,
    threads: usize,
    batch: usize,
    tokens: usize,
    #[serde(flatten)]
    times: Percentiles,
    sequences_per_s: f64,
}

pub fn run(args: &EncoderArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let threads: Vec<usize> = match args.with_threads.as_slice() {
        [] => vec![1, 2],
        chosen => chosen.iter().copied().map(usize::from).collect(),
    };
    let files = models::files(&args.choice, Precision::Int8)?;
    if files.is_static() {
        show(&time_static(&files)?, global)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = Vec::new();
    for mode in &modes(args)? {
        for &threads in &threads {
            // A separate pool, so that no other thread of the program takes part.
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            rows.extend(pool.install(|| time(args, mode, threads))?);
        }
    }
    show(&rows, global)?;
    Ok(ExitCode::SUCCESS)
}

fn time(args: &EncoderArgs, mode: &Mode, threads: usize) -> anyhow::Result<Vec<Row>> {
    let Mode { name: path, precision, backend } = *mode;
    let files = models::files(&args.choice, precision)?;
    let model = BertEmbedder::load_with(&files, EncoderOptions { precision, threads, backend })?;
    let instructions = model.instructions().unwrap_or_else(|| "candle".to_owned());
    let row = |(batch, tokens, runs): (usize, usize, usize)| {
        let ids = ids(batch, tokens);
        let runs = if mode.is_candle() { runs.div_ceil(5) } else { runs };
        let once = || Ok(model.embed_ids(&ids).map(drop)?);
        measured(WARM_UP, once)?;
        let times = measured(runs, once)?;
        let sequences_per_s = batch as f64 / times.p50_ms * 1e3;
        let instructions = instructions.clone();
        Ok(Row { path, instructions, threads, batch, tokens, times, sequences_per_s })
    };
    SHAPES.into_iter().map(row).collect()
}

/// Times a static model from text to vector: tokenizing is more than half of its work.
fn time_static(files: &ModelFiles) -> anyhow::Result<Vec<Row>> {
    let model = StaticEmbedder::load(files)?;
    let row = |(batch, tokens, runs): (usize, usize, usize)| -> anyhow::Result<Row> {
        // Each of these words is a single token.
        let words = PROMPT.split(' ').cycle().take(tokens).collect::<Vec<_>>().join(" ");
        let texts = vec![words.as_str(); batch];
        let once = || Ok(model.embed(&texts, Role::Query).map(drop)?);
        measured(runs, once)?;
        let times = measured(runs * 10, once)?;
        let sequences_per_s = batch as f64 / times.p50_ms * 1e3;
        let (path, instructions) = ("static, from text", "plain".to_owned());
        let threads = if batch == 1 { 1 } else { rayon::current_num_threads() };
        Ok(Row { path, instructions, threads, batch, tokens, times, sequences_per_s })
    };
    SHAPES.into_iter().map(row).collect()
}

fn measured(runs: usize, once: impl Fn() -> anyhow::Result<()>) -> anyhow::Result<Percentiles> {
    let run = |_| -> anyhow::Result<Duration> {
        let start = Instant::now();
        once()?;
        Ok(start.elapsed())
    };
    Ok(Percentiles::of((0..runs).map(run).collect::<Result<_, _>>()?))
}

/// Ids spread over the vocabulary. The time does not depend on their values.
fn ids(batch: usize, tokens: usize) -> Vec<Vec<u32>> {
    let id = |at: usize| u32::try_from(1_000 + at * 37 % 20_000).unwrap_or(1_000);
    (0..batch).map(|row| (0..tokens).map(|at| id(row * tokens + at)).collect()).collect()
}

fn show(rows: &[Row], global: &Global) -> anyhow::Result<()> {
    if global.json {
        return render::json(&rows);
    }
    let header = ["path", "instructions", "threads", "batch", "p50 ms", "p99 ms", "sequences/s"];
    let mut table = render::table(&header, &[2, 3, 4, 5, 6]);
    for row in rows {
        let cells = [
            row.path.to_owned(),
            row.instructions.clone(),
            row.threads.to_string(),
            format!("{} × {}", row.batch, row.tokens),
            format!("{:.4}", row.times.p50_ms),
            format!("{:.4}", row.times.p99_ms),
            format!("{:.0}", row.sequences_per_s),
        ];
        table.add_row(cells);
    }
    render::print(table)
}
