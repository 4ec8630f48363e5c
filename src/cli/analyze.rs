//! `toolroute analyze`: shows the features of a prompt and of the files around it.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::args::{ContextSourceArgs, Global, ModelChoice};
use super::settings::keys;
use super::words::{joined, word};
use super::{models, render, route};
use toolroute_catalog::Catalog;
use toolroute_rank::engine::Engine;
use toolroute_rank::query::{Analysis, Evidence};
use toolroute_vectors::embedding::Precision;

#[derive(Args)]
pub struct AnalyzeArgs {
    /// The prompt; without one it is read from the context, and with `-`, or if there is none and stdin is no
    /// terminal, from stdin
    pub prompt: Vec<String>,
    #[command(flatten)]
    pub source: ContextSourceArgs,
    /// Use keywords only, without a model
    #[arg(long)]
    pub words_only: bool,
    #[command(flatten)]
    pub choice: ModelChoice,
    /// Precision of the model
    #[arg(long, default_value = keys::PRECISION.default, value_parser = word::<Precision>(), value_name = joined::<Precision>())]
    pub precision: Precision,
    /// Show the time of each stage
    #[arg(long)]
    pub timings: bool,
}

#[derive(Serialize)]
struct AnalysisAnswer<'a> {
    prompt: &'a str,
    files: usize,
    #[serde(flatten)]
    analysis: &'a Analysis,
    #[serde(skip_serializing_if = "Option::is_none")]
    timings_ms: Option<serde_json::Map<String, serde_json::Value>>,
}

pub fn run(args: &AnalyzeArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let context = args.source.read(global)?.unwrap_or_default();
    let prompt = route::prompt_of(&args.prompt, Some(&context))?;
    let mut builder = Engine::builder(Catalog::default());
    if !args.words_only {
        builder = builder.embedder(models::load(&args.choice, args.precision)?);
    }
    let analysis = builder.build()?.analyze(&prompt, &context)?;
    if global.json {
        let timings_ms = args.timings.then(|| render::stages_json(&analysis.times));
        let (prompt, files) = (prompt.as_str(), context.files.len());
        render::json(&AnalysisAnswer { prompt, files, analysis: &analysis, timings_ms })?;
    } else {
        render_analysis(&analysis, true)?;
        if args.timings {
            render::stages(&analysis.times)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the features, each with its evidence; those without a value only if `all` are wanted.
pub fn render_analysis(analysis: &Analysis, all: bool) -> anyhow::Result<()> {
    let (features, found) = (&analysis.features, &analysis.found);
    let mut table = render::table(&["feature", "value", "by"], &[]);
    let mut row = |name: &str, value: Option<String>, by: &Evidence| {
        if value.is_none() && !all {
            return;
        }
        let value = value.unwrap_or_else(|| "–".to_owned());
        table.add_row([
            name.to_owned(),
            render::plain(&value),
            render::plain(&describe_evidence(by)),
        ]);
    };
    let languages = Some(features.languages.join(", ")).filter(|list| !list.is_empty());
    row("phase", features.phase.map(|phase| phase.to_string()), &found.phase);
    row("task type", features.task_type.map(|task| task.to_string()), &found.task_type);
    row("languages", languages, &found.languages);
    row("complexity", features.complexity.map(|found| format!("{found:.2}")), &found.complexity);
    let structure = features.structure.as_ref().map(|structure| {
        let patterns = structure.patterns.join(", ");
        let patterns = if patterns.is_empty() { String::new() } else { format!(", {patterns}") };
        format!("{}, testability {}{patterns}", structure.kind, structure.testability)
    });
    row("structure", structure, &found.structure);
    row("testing", features.testing.map(|testing| testing.to_string()), &found.testing);
    if table.is_empty() { Ok(()) } else { render::print(table) }
}

/// Describes how a feature was found.
fn describe_evidence(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Given => "the context says it".to_owned(),
        Evidence::Examples { confidence } => format!("examples like it ({confidence:.2})"),
        Evidence::Keywords { words } => format!("words: {}", words.join(", ")),
        Evidence::Files => "the files".to_owned(),
        Evidence::Conversation => "what a tool told last".to_owned(),
        Evidence::NotNeeded => "not needed in this phase".to_owned(),
        Evidence::NotRead => "the project is too large to be read".to_owned(),
        Evidence::Unknown => "nothing tells".to_owned(),
    }
}
