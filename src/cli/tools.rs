//! `toolroute tools`: what is in a catalog.

use std::io::Write;
use std::process::ExitCode;

use serde::Serialize;
use serde_json::json;

use super::args::{CatalogArgs, Global, ToolsArgs, ToolsCommand};
use super::{exit, render, setup};
use crate::catalog::{Catalog, Problem, Tool, embedding_text};
use crate::engine::Tiers;

pub fn run(args: &ToolsArgs, global: &Global) -> anyhow::Result<ExitCode> {
    match &args.command {
        ToolsCommand::List(catalog) => list(&setup::catalog(catalog, global)?, global),
        ToolsCommand::Show { id, catalog } => show(&setup::catalog(catalog, global)?, id, global),
        ToolsCommand::Validate(catalog) => validate(catalog, global),
    }
}

fn list(catalog: &Catalog, global: &Global) -> anyhow::Result<ExitCode> {
    if global.json {
        render::json(&catalog.tools())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = render::table(&["tool", "tiers", "description"], &[]);
    for tool in catalog.iter() {
        let line = tool.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let tiers = render::tiers(&Tiers::of(tool));
        table.add_row([tool.id.as_str(), &tiers, &cut(&line, 100)]);
    }
    render::print(&table)?;
    eprintln!("{} tools", catalog.len());
    Ok(ExitCode::SUCCESS)
}

/// At most `most` characters, with an ellipsis for the rest.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn show(catalog: &Catalog, id: &str, global: &Global) -> anyhow::Result<ExitCode> {
    let Some(tool) = catalog.get(id) else {
        let near: Vec<_> = catalog.near(id, 3).into_iter().map(ToString::to_string).collect();
        let hint = if near.is_empty() {
            "`toolroute tools list` shows them all".to_owned()
        } else {
            format!("did you mean {}?", near.join(", "))
        };
        let error = format!("no tool `{id}` in the catalog, or several of that name; {hint}");
        eprintln!("{}", if global.json { json!({"error": error}).to_string() } else { error });
        return Ok(ExitCode::from(exit::BAD_DATA));
    };
    if global.json {
        render::json(tool)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}\n{}\n", tool.id, tool.description)?;
    writeln!(out, "tiers     {}", render::tiers(&Tiers::of(tool)))?;
    for (name, list) in lists(tool) {
        if !list.is_empty() {
            writeln!(out, "{name:<9} {}", list.join(", "))?;
        }
    }
    writeln!(out, "embedded  {}", embedding_text(tool))?;
    if let Some(schema) = &tool.input_schema {
        writeln!(out, "schema    {}", schema.as_str())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn lists(tool: &Tool) -> [(&'static str, &[String]); 5] {
    [
        ("category", &tool.categories),
        ("tags", &tool.tags),
        ("can", &tool.capabilities),
        ("satisfies", &tool.satisfies),
        ("consumes", &tool.consumes),
    ]
}

#[derive(Serialize)]
struct Verdict<'a> {
    tools: usize,
    errors: usize,
    warnings: usize,
    problems: &'a [Problem],
}

fn validate(args: &CatalogArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let (catalog, problems) = setup::catalog_with_problems(args)?;
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    let (tools, warnings) = (catalog.len(), problems.len() - errors);
    if global.json {
        render::json(&Verdict { tools, errors, warnings, problems: &problems })?;
    } else {
        let mut out = std::io::stdout().lock();
        problems.iter().try_for_each(|problem| writeln!(out, "{problem}"))?;
        writeln!(out, "{tools} tools, {errors} errors, {warnings} warnings")?;
    }
    Ok(if errors > 0 || tools == 0 { ExitCode::from(exit::BAD_DATA) } else { ExitCode::SUCCESS })
}
