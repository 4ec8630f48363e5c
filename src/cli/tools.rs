//! `toolroute tools`: inspects a catalog.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::args::{CatalogArgs, Global};
use super::exit;
use super::probe::ProbeArgs;
use super::{probe, render, setup};
use toolroute_catalog::{
    self, Catalog, Facet, LoadedCatalog, Problem, Severity, Tool, embedding_text, one_line,
};
use toolroute_rank::engine::Tiers;
use toolroute_rank::query;

#[derive(Args)]
pub struct ToolsArgs {
    #[command(subcommand)]
    pub command: ToolsCommand,
}

#[derive(Subcommand)]
pub enum ToolsCommand {
    /// List the tools of a catalog with their tiers
    List(ListArgs),
    /// Show one tool completely
    Show {
        /// The tool's id, `server:tool`, or a name that only one tool has
        id: String,
        #[command(flatten)]
        catalog: CatalogArgs,
    },
    /// Report what is wrong with a catalog; exit code 3 if a tool was left out
    Validate(CatalogArgs),
    /// Find tools that match too many prompts, imitate another server's tool, or steer models
    Probe(ProbeArgs),
}

#[derive(Args)]
pub struct ListArgs {
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub facets: FacetArgs,
}

/// Filters by facet. Several values of one facet are alternatives.
#[derive(Args)]
#[command(next_help_heading = "Only tools of")]
pub struct FacetArgs {
    /// A phase; also matches tools that declare none; repeatable, as are the other filters
    #[arg(long, value_name = "PHASE")]
    pub phase: Vec<String>,
    /// A programming language; also matches tools that declare none
    #[arg(long, value_name = "LANGUAGE")]
    pub language: Vec<String>,
    /// A kind of work; also matches tools that declare none
    #[arg(long, value_name = "TASK")]
    pub task_type: Vec<String>,
    /// A category
    #[arg(long, value_name = "CATEGORY")]
    pub category: Vec<String>,
    /// A server
    #[arg(long, value_name = "SERVER")]
    pub server: Vec<String>,
    /// A type of obligation that the tool satisfies
    #[arg(long, value_name = "TYPE")]
    pub satisfies: Vec<String>,
}

pub fn run(args: &ToolsArgs, global: &Global) -> anyhow::Result<ExitCode> {
    match &args.command {
        ToolsCommand::List(args) => {
            list(&setup::catalog(&args.catalog, global)?, &args.facets, global)
        }
        ToolsCommand::Show { id, catalog } => show(&setup::catalog(catalog, global)?, id, global),
        ToolsCommand::Validate(catalog) => validate(catalog, global),
        ToolsCommand::Probe(args) => probe::run(args, global),
    }
}

fn list(catalog: &Catalog, facets: &FacetArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let rows = chosen(catalog, facets, global);
    let tools: Vec<&Tool> = rows.iter().map(|&row| &*catalog.tools()[row as usize]).collect();
    if global.json {
        render::json(&tools)?;
        return Ok(exit::bad_data_if(catalog.is_empty()));
    }
    let mut table = render::table(&["tool", "tiers", "description"], &[]);
    for tool in &tools {
        let line = one_line(&tool.description);
        let tiers = render::tiers(&Tiers::of(tool));
        let id = render::plain(tool.id.as_str());
        table.add_row([id, tiers, render::plain(&render::shortened(&line, 100))]);
    }
    render::print(table)?;
    render::warn(global, &render::counted(tools.len(), "tool"));
    Ok(exit::bad_data_if(catalog.is_empty()))
}

/// Returns the rows that match every given facet.
fn chosen(catalog: &Catalog, facets: &FacetArgs, global: &Global) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..catalog.len() as u32).collect();
    for (facet, values) in [
        (Facet::Phase, &facets.phase),
        (Facet::Language, &facets.language),
        (Facet::TaskType, &facets.task_type),
        (Facet::Category, &facets.category),
        (Facet::Server, &facets.server),
        (Facet::Satisfies, &facets.satisfies),
    ] {
        let mut found = BTreeSet::new();
        for value in values {
            let value = match facet {
                Facet::Language => query::language_name(value),
                _ => value.clone(),
            };
            if catalog.facets().rows(facet, &value).is_empty() {
                let near = catalog.facets().near(facet, &value);
                let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
                let said = match facet {
                    Facet::Satisfies => format!("warning: no tool satisfies {value}{hint}"),
                    _ => format!("warning: no tool names the {facet} {value}{hint}"),
                };
                render::warn(global, &said);
            }
            found.extend(catalog.facets().suitable(facet, &value));
        }
        if !values.is_empty() {
            rows.retain(|row| found.contains(row));
        }
    }
    rows
}

/// Returns the tool that an id, `server:tool` or a name means.
pub fn find(catalog: &Catalog, id: &str) -> anyhow::Result<Arc<Tool>> {
    if let Some(row) = catalog.row(id) {
        return Ok(Arc::clone(&catalog.tools()[row as usize]));
    }
    let near: Vec<String> = catalog.near(id, 3).iter().map(ToString::to_string).collect();
    let hint = match near[..] {
        [] => "`toolroute tools list` shows them all".to_owned(),
        _ => format!("did you mean {}?", near.join(", ")),
    };
    let is_name = catalog.iter().any(|tool| tool.name == id);
    let said = if is_name { "several tools have the name" } else { "the catalog has no tool" };
    let id = render::shortened(id, render::MAX_ID_CHARS);
    Err(exit::bad_data(format!("{said} `{id}`; {hint}")))
}

fn show(catalog: &Catalog, id: &str, global: &Global) -> anyhow::Result<ExitCode> {
    let tool = &*find(catalog, id)?;
    if global.json {
        render::json(tool)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (plain, lines) = (render::plain, render::plain_lines);
    render::line(&format!("{}\n{}\n", plain(tool.id.as_str()), lines(&tool.description)))?;
    render::line(&format!("tiers     {}", render::tiers(&Tiers::of(tool))))?;
    for (name, list) in [
        ("category", &tool.categories),
        ("tags", &tool.tags),
        ("can", &tool.capabilities),
        ("satisfies", &tool.satisfies),
        ("consumes", &tool.consumes),
    ] {
        if !list.is_empty() {
            render::line(&format!("{name:<9} {}", plain(&list.join(", "))))?;
        }
    }
    if let Ok(serde_json::Value::Object(routing)) = serde_json::to_value(&tool.routing)
        && !routing.is_empty()
    {
        let routing = serde_json::Value::Object(routing).to_string();
        render::line(&format!("routing   {}", plain(&routing)))?;
    }
    render::line(&format!("embedded  {}", plain(&embedding_text(tool))))?;
    if let Some(schema) = &tool.input_schema {
        render::line(&format!("schema    {}", lines(schema.as_str())))?;
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Verdict<'a> {
    tools: usize,
    errors: usize,
    warnings: usize,
    problems: &'a [Problem],
}

fn validate(args: &CatalogArgs, global: &Global) -> anyhow::Result<ExitCode> {
    // Problems are the result of this command and not a failure, with or without `--strict`.
    let (tools, problems) = match setup::loaded(args, false, global) {
        Ok((LoadedCatalog { catalog, mut problems, .. }, _)) => {
            problems.extend(catalog.suspicious());
            #[cfg(feature = "mcp")]
            problems.extend(catalog.iter().flat_map(toolroute_run::execution::schema_warnings));
            #[cfg(feature = "mcp")]
            problems.extend(catalog.iter().flat_map(toolroute_conduct::declaration_warnings));
            (catalog.len(), problems)
        }
        Err(error) => match error.downcast()? {
            toolroute_catalog::Error::Unrecognised { problem } => (0, vec![*problem]),
            error => return Err(error.into()),
        },
    };
    let mut problems = problems;
    if tools == 0 && !problems.iter().any(Problem::is_error) {
        // A catalog may be valid but empty, such as a file with `[]`.
        let found = format!("none in {}", setup::places(args));
        let cure = "write the tools into it, or name another file";
        problems.push(Problem::new(Severity::Error, "at least one tool", found, cure));
    }
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    let warnings = problems.len() - errors;
    if global.json {
        render::json(&Verdict { tools, errors, warnings, problems: &problems })?;
    } else {
        for problem in &problems {
            render::line(&render::plain(&problem.to_string()))?;
        }
        let counts = [(tools, "tool"), (errors, "error"), (warnings, "warning")];
        let counts = counts.map(|(count, noun)| render::counted(count, noun));
        render::line(&counts.join(", "))?;
    }
    Ok(exit::bad_data_if(errors > 0 || tools == 0))
}
