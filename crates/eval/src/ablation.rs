//! What each signal beside meaning and words gives: every one alone, and all but that one.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::measures::Measures;
use super::{Error, RowFile};
use crate::engine::{Context, Engine, RunCounts, SelectRequest, Selection, Signal, SignalWeights};

/// The rows of prompts for which no signal should change anything for the worse.
const CONTROL: &str = "control";

/// The rows that go on with a conversation.
const FOLLOW_UP: &str = "follow_up";

/// A prompt with its context, made for one signal.
#[derive(Clone, Debug, Deserialize)]
pub struct SignalRow {
    /// The signal, `control`, or `follow_up`.
    pub tests: String,
    #[serde(alias = "prompt")]
    pub query: String,
    pub gold: Vec<String>,
    #[serde(default)]
    pub context: Context,
}

/// A set for signals: `prompts.jsonl`, and `observed.json` where runs were seen.
#[derive(Clone, Debug)]
pub struct SignalSet {
    pub rows: Vec<SignalRow>,
    pub observed: RunCounts,
}

/// The mean over some rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Mean {
    pub rows: usize,
    pub hit_at_1: f64,
    pub ndcg_at_5: f64,
}

/// What one signal gives.
#[derive(Clone, Debug, Serialize)]
pub struct Ablation {
    pub signal: String,
    /// The weight that was tried.
    pub weight: f32,
    /// Its own rows and all rows: without any signal, with this one alone, and with all but it.
    pub own: [Mean; 3],
    pub all: [Mean; 3],
    /// Rows of other kinds, on which it should change nothing.
    pub control: [Mean; 2],
}

/// A whole ablation.
#[derive(Clone, Debug, Serialize)]
pub struct AblationReport {
    pub rows: usize,
    /// No signal, and all of them at the weights that were tried.
    pub off: Mean,
    pub on: Mean,
    pub signals: Vec<Ablation>,
    /// Follow-ups read by themselves, and with the conversation.
    pub follow_ups: [Mean; 2],
}

impl SignalSet {
    /// # Errors
    /// Where a file cannot be read, or a row is none.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let (path, observed) = (folder.join("prompts.jsonl"), folder.join("observed.json"));
        let bad = |path: &Path, line: usize, error: serde_json::Error| Error::BadSignalSet {
            path: path.to_owned(),
            line,
            what: error.to_string(),
        };
        let file = RowFile::read(&path)?;
        let row = |(line, row): (usize, &[u8])| {
            serde_json::from_slice(row).map_err(|error| bad(&path, line, error))
        };
        let rows: Vec<SignalRow> = file.lines()?.into_iter().map(row).collect::<Result<_, _>>()?;
        let seen = match std::fs::read(&observed) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| bad(&observed, 1, error))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => RunCounts::default(),
            Err(error) => return Err(Error::io("read", &observed)(error)),
        };
        Ok(Self { rows, observed: seen })
    }
}

/// Measures every signal of `tried` on a set. The engine's weights are put back afterwards.
///
/// # Errors
/// The first error of the engine.
pub fn ablate(
    engine: &Engine,
    set: &SignalSet,
    tried: SignalWeights,
) -> Result<AblationReport, Error> {
    engine.observe(set.observed.clone().into());
    let before = engine.set_weights(SignalWeights::OFF);
    let report = measure_all(engine, set, tried);
    engine.set_weights(before);
    report
}

fn measure_all(
    engine: &Engine,
    set: &SignalSet,
    tried: SignalWeights,
) -> Result<AblationReport, Error> {
    let with = |weights: SignalWeights| answers(engine, set, weights, true);
    let (off, on) = (with(SignalWeights::OFF)?, with(tried)?);
    let alone = answers(engine, set, SignalWeights::OFF, false)?;
    let mut signals = Vec::new();
    for signal in Signal::ALL {
        let weight = tried.get(signal);
        let only = with(SignalWeights::OFF.with(signal, weight).unwrap_or(SignalWeights::OFF))?;
        let without = with(tried.with(signal, 0.0).unwrap_or(tried))?;
        let own = |row: &SignalRow| row.tests == signal.as_str();
        let control = |row: &SignalRow| row.tests == CONTROL;
        let three = |of: &dyn Fn(&SignalRow) -> bool| {
            [&off, &only, &without].map(|measured| mean(set, measured, of))
        };
        signals.push(Ablation {
            signal: signal.to_string(),
            weight,
            own: three(&own),
            all: three(&|_| true),
            control: [&off, &only].map(|measured| mean(set, measured, &control)),
        });
    }
    let all = |measured| mean(set, measured, &|_| true);
    let follow_up = |measured| mean(set, measured, &|row| row.tests == FOLLOW_UP);
    Ok(AblationReport {
        rows: set.rows.len(),
        off: all(&off),
        on: all(&on),
        signals,
        follow_ups: [follow_up(&alone), follow_up(&off)],
    })
}

fn answers(
    engine: &Engine,
    set: &SignalSet,
    weights: SignalWeights,
    conversation: bool,
) -> Result<Vec<Measures>, Error> {
    engine.set_weights(weights);
    let request = |row: &SignalRow| {
        let mut context = row.context.clone();
        if !conversation {
            context.depth = 0;
        }
        SelectRequest::new(&row.query).limit(super::DEPTH).context(context)
    };
    let requests: Vec<SelectRequest> = set.rows.iter().map(request).collect();
    let answers = engine.select_many(&requests).into_iter().zip(&set.rows);
    answers.map(|(answer, row)| Ok(measure(&answer?, row))).collect()
}

fn measure(answer: &Selection, row: &SignalRow) -> Measures {
    let ranked: Vec<&str> = answer.tools.iter().map(|tool| tool.tool.id.as_str()).collect();
    Measures::of(&ranked, &row.gold)
}

fn mean(set: &SignalSet, measured: &[Measures], of: &dyn Fn(&SignalRow) -> bool) -> Mean {
    let rows = set.rows.iter().zip(measured).filter(|(row, _)| of(row));
    let rows: Vec<Measures> = rows.map(|(_, measured)| *measured).collect();
    let mean = Measures::mean(&rows);
    Mean { rows: rows.len(), hit_at_1: mean.ndcg_at_1, ndcg_at_5: mean.ndcg_at_5 }
}
