//! `toolroute analyze`: what a prompt and the files around it are about.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use serde::Serialize;

use super::args::Global;
use super::context_args::AnalyzeArgs;
use super::exit::{self, Failure};
use super::{models, render, route, setup};
use crate::catalog::Catalog;
use crate::engine::Engine;
use crate::query::{AgentContext, Analysis, Evidence, SourceFile};

/// Folders that hold what others wrote or what a build made.
const NOT_OURS: &[&str] =
    &["node_modules", "target", "vendor", "dist", "build", "__pycache__", "venv"];

/// Larger files are data, whatever their names.
const MOST_BYTES: u64 = 2 << 20;

#[derive(Serialize)]
struct Answer<'a> {
    prompt: &'a str,
    files: usize,
    #[serde(flatten)]
    analysis: &'a Analysis,
    #[serde(skip_serializing_if = "Option::is_none")]
    timings_ms: Option<serde_json::Map<String, serde_json::Value>>,
}

pub fn run(args: &AnalyzeArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let context = context(args, global)?;
    let mut builder = Engine::builder(Catalog::default());
    if !args.words_only {
        builder = builder.embedder(Arc::from(models::load(&args.choice, args.precision)?));
    }
    let analysis = builder.build()?.analyze(&context)?;
    if global.json {
        let timings_ms = args.timings.then(|| render::stages_json(&analysis.times.stages()));
        let (prompt, files) = (context.prompt.as_str(), context.files.len());
        render::json(&Answer { prompt, files, analysis: &analysis, timings_ms })?;
    } else {
        show(&analysis)?;
        if args.timings {
            render::stages(&analysis.times.stages())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn context(args: &AnalyzeArgs, global: &Global) -> anyhow::Result<AgentContext> {
    if let Some(path) = &args.context {
        let mut json = String::new();
        let read = if path == Path::new(setup::STREAM) {
            std::io::stdin().read_to_string(&mut json).map(drop)
        } else {
            std::fs::read_to_string(path).map(|text| json = text)
        };
        read.with_context(|| format!("cannot read the context from {}", path.display()))?;
        return Ok(AgentContext::from_json(&json)?);
    }
    let mut context = AgentContext::new(route::prompt(&args.prompt)?);
    for path in &args.files {
        if !path.exists() {
            let said = format!("there is no file or folder {}; check --files", path.display());
            return Err(Failure { code: exit::IO, said }.into());
        }
        let mut found = Vec::new();
        list(path, &mut found)?;
        for file in found {
            add(path, &file, &mut context, global)?;
        }
    }
    Ok(context)
}

/// The files below a path by name.
fn list(path: &Path, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if !path.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    let failed = || format!("cannot read the folder {}", path.display());
    let entries: Result<Vec<_>, _> = std::fs::read_dir(path).with_context(failed)?.collect();
    let mut entries = entries.with_context(failed)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let kind = entry.file_type().with_context(failed)?;
        // Workflows tell how a project is shipped; all else that is hidden is of tools.
        let hidden = name.starts_with('.') && name != ".github";
        // Links are not followed: they may lead out of the folder, or round in it.
        if kind.is_dir() && !hidden && !NOT_OURS.contains(&name.as_ref()) {
            list(&entry.path(), found)?;
        } else if kind.is_file() && !hidden {
            found.push(entry.path());
        }
    }
    Ok(())
}

/// Adds a file by its path below the one that was named. What is no text has no content.
fn add(
    root: &Path,
    file: &Path,
    context: &mut AgentContext,
    global: &Global,
) -> anyhow::Result<()> {
    let below = file.strip_prefix(root).ok().filter(|below| !below.as_os_str().is_empty());
    let path = below.unwrap_or(file).to_string_lossy().replace('\\', "/");
    let failed = || format!("cannot read {}", file.display());
    let size = std::fs::metadata(file).with_context(failed)?.len();
    let content = if size > MOST_BYTES {
        render::warn(global, &format!("warning: {path} is taken by its name alone: {size} bytes"));
        String::new()
    } else {
        String::from_utf8(std::fs::read(file).with_context(failed)?).unwrap_or_default()
    };
    if !context.files.iter().any(|known| known.path == path) {
        context.files.push(SourceFile { path, content });
    }
    Ok(())
}

fn show(analysis: &Analysis) -> anyhow::Result<()> {
    let (features, found) = (&analysis.features, &analysis.found);
    let mut table = render::table(&["feature", "value", "by"], &[]);
    let mut row = |name: &str, value: Option<String>, by: &Evidence| {
        let value = value.unwrap_or_else(|| "–".to_owned());
        table.add_row([name.to_owned(), render::plain(&value), render::plain(&told(by))]);
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
    render::print(table)
}

/// How a feature was found, in words.
fn told(evidence: &Evidence) -> String {
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
