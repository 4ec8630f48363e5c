//! Measures what each signal other than meaning and words contributes: without any signal, with
//! only that signal, and with all others.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toolroute_catalog::{Catalog, LoadOptions};
use toolroute_eval::{DEPTH, Measures};
use toolroute_rank::engine::{
    Context, Engine, EngineConfig, RunCounts, SelectRequest, Selection, Signal, SignalWeights,
};
use toolroute_vectors::embedding::BertEmbedder;

/// Marks the rows that no signal should rank worse.
const CONTROL: &str = "control";

/// Marks the rows that continue a conversation.
const FOLLOW_UP: &str = "follow_up";

/// A prompt with its context, made for one signal.
#[derive(Clone, Debug, Deserialize)]
pub struct SignalRow {
    /// The signal, `control`, or `follow_up`.
    pub tests: String,
    #[serde(alias = "prompt")]
    pub query: String,
    /// Ids of the right tools.
    pub gold: Vec<String>,
    #[serde(default)]
    pub context: Context,
}

/// A set for measuring signals: `prompts.jsonl` and, if past runs are given, `observed.json`.
pub struct SignalSet {
    pub rows: Vec<SignalRow>,
    pub observed: RunCounts,
}

/// The mean measures of some rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Mean {
    pub rows: usize,
    pub hit_at_1: f64,
    pub ndcg_at_5: f64,
}

/// The measures of one signal.
#[derive(Clone, Debug, Serialize)]
pub struct SignalScores {
    pub signal: String,
    pub weight: f32,
    /// Over the rows made for the signal: without any signal, with only this one, and with all
    /// others.
    pub own: [Mean; 3],
    /// The same over all rows.
    pub all: [Mean; 3],
    /// Over the control rows, on which no signal should change anything: without any signal, and
    /// with only this one.
    pub control: [Mean; 2],
}

/// The measures of all signals.
#[derive(Clone, Debug, Serialize)]
pub struct SignalsReport {
    pub rows: usize,
    /// Over all rows: without any signal, and with all of them at the measured weights.
    pub off: Mean,
    pub on: Mean,
    pub signals: Vec<SignalScores>,
    /// Over the follow-ups, without signals: without the conversation, and with it.
    pub follow_ups: [Mean; 2],
}

impl SignalSet {
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let (prompts, observed) = (folder.join("prompts.jsonl"), folder.join("observed.json"));
        let text = std::fs::read_to_string(&prompts)
            .with_context(|| format!("cannot read {}", prompts.display()))?;
        let lines = (1..).zip(text.lines()).filter(|(_, row)| !row.trim().is_empty());
        let rows = lines.map(|(line, row)| parse(row, &prompts, line)).collect::<Result<_, _>>()?;
        let observed = match std::fs::read_to_string(&observed) {
            Ok(text) => parse(&text, &observed, 1)?,
            Err(error) if error.kind() == ErrorKind::NotFound => RunCounts::default(),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", observed.display()));
            }
        };
        Ok(Self { rows, observed })
    }
}

fn parse<T: DeserializeOwned>(text: &str, path: &Path, line: usize) -> anyhow::Result<T> {
    serde_json::from_str(text).with_context(|| {
        let path = path.display();
        format!(
            "{path}:{line}: expected a row with \"tests\", \"query\", \"gold\" and, perhaps, \"context\", or \
             observations by tool id"
        )
    })
}

/// Measures every signal on a set with the built-in model.
///
/// `folder` holds `tools.jsonl`, `prompts.jsonl` and, if past runs are given, `observed.json`.
/// Patterns that the tools declare are used. Scores within `policy_band` of each other are ordered
/// by the policy.
pub fn measure_folder(folder: &Path, policy_band: f32) -> anyhow::Result<SignalsReport> {
    let set = SignalSet::read(folder)?;
    let options = LoadOptions { author_signals: true, ..LoadOptions::default() };
    let loaded = Catalog::load(&[folder.join("tools.jsonl")], &options)?;
    let config = EngineConfig { min_confidence: 0.0, policy_band, ..EngineConfig::default() };
    let engine = Engine::builder(loaded.catalog)
        .config(config)
        .embedder(Arc::new(BertEmbedder::built_in()?))
        .build()?;
    engine.observe(set.observed.clone().into());
    measure_all(&engine, &set, SignalWeights::measured())
}

fn measure_all(
    engine: &Engine,
    set: &SignalSet,
    tried: SignalWeights,
) -> anyhow::Result<SignalsReport> {
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
        signals.push(SignalScores {
            signal: signal.to_string(),
            weight,
            own: three(&own),
            all: three(&|_| true),
            control: [&off, &only].map(|measured| mean(set, measured, &control)),
        });
    }
    let all = |measured| mean(set, measured, &|_| true);
    let follow_up = |measured| mean(set, measured, &|row| row.tests == FOLLOW_UP);
    Ok(SignalsReport {
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
) -> anyhow::Result<Vec<Measures>> {
    engine.set_weights(weights);
    let request = |row: &SignalRow| {
        let mut context = row.context.clone();
        if !conversation {
            context.depth = 0;
        }
        SelectRequest::new(&row.query).limit(DEPTH).context(context)
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
