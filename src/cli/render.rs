//! Tables for people, JSON for programs; both on stdout.

use std::io::Write;
use std::time::Duration;

use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, LineStyle, Table, presets};
use serde::Serialize;

use crate::engine::{Explanation, Selected, Selection, Strategy, Tiers, Timings};

/// One JSON document, indented.
pub fn json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    Ok(writeln!(out)?)
}

/// A table in the house's style; columns of the given numbers are set right.
pub fn table(header: &[&str], numeric: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header.iter().map(|title| Cell::new(title).add_attribute(Attribute::Bold)));
    for &column in numeric {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Prints a table; without a terminal it is as wide as its content.
pub fn print(table: &Table) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{}", table.trim_fmt())?)
}

/// The answer to one prompt.
pub fn selection(selection: &Selection, explain: bool) -> anyhow::Result<()> {
    let mut out = table(&["tool", "score", "semantic", "keyword", "tiers", "why"], &[1, 2, 3]);
    for Selected { tool, score, explanation } in &selection.tools {
        let part = |name| contribution(explanation, name);
        let (semantic, keyword) = (part("semantic"), part("keyword"));
        let tiers = tiers(&explanation.tiers);
        let score = format!("{score:.3}");
        out.add_row([tool.id.as_str(), &score, &semantic, &keyword, &tiers, &explanation.why]);
    }
    if selection.tools.is_empty() {
        writeln!(std::io::stdout(), "no tool fits ({} strategy)", selection.strategy)?;
    } else {
        print(&out)?;
    }
    if explain {
        selection.tools.iter().try_for_each(|tool| explanation(tool, selection.strategy))?;
    }
    excluded(selection)
}

fn contribution(explanation: &Explanation, name: &str) -> String {
    let part = explanation.parts.iter().find(|part| part.name == name);
    part.map_or("–".to_owned(), |part| format!("{:.3}", part.contribution))
}

/// `high · low · fast`, with `–` for what is not declared.
pub fn tiers(tiers: &Tiers) -> String {
    fn word<T: ToString>(tier: Option<T>) -> String {
        tier.map_or_else(|| "–".to_owned(), |tier| tier.to_string())
    }
    let words = [word(tiers.reliability), word(tiers.cost), word(tiers.latency)];
    if words.iter().all(|word| word == "–") { "–".to_owned() } else { words.join(" · ") }
}

fn explanation(selected: &Selected, strategy: Strategy) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{} = {:.4} ({strategy})", selected.tool.id, selected.score)?;
    for part in &selected.explanation.parts {
        let (name, raw, normalized) = (part.name, part.raw, part.normalized);
        let (weight, sum) = (part.weight, part.contribution);
        let bar = "█".repeat((sum.clamp(0.0, 1.0) * 30.0).round() as usize);
        writeln!(
            out,
            "  {name:<10} {weight:.2} × {normalized:.4} = {sum:.4}  (raw {raw:.4})  {bar}"
        )?;
    }
    if !selected.explanation.matched_terms.is_empty() {
        writeln!(out, "  words      {}", selected.explanation.matched_terms.join(", "))?;
    }
    Ok(())
}

fn excluded(selection: &Selection) -> anyhow::Result<()> {
    if selection.excluded.is_empty() {
        return Ok(());
    }
    let mut out = table(&["excluded", "score", "because"], &[1]);
    for tool in &selection.excluded {
        let (score, because) = (format!("{:.3}", tool.score), tool.because.to_string());
        out.add_row([tool.id.as_str(), &score, &because]);
    }
    print(&out)
}

/// Where the time of one selection went.
pub fn timings(timings: &Timings) -> anyhow::Result<()> {
    let mut out = table(&["stage", "ms"], &[1]);
    for (stage, time) in timings.stages() {
        out.add_row([stage.to_owned(), format!("{:.3}", millis(time))]);
    }
    out.add_row(["total".to_owned(), format!("{:.3}", millis(timings.total()))]);
    print(&out)
}

pub fn timings_json(timings: &Timings) -> serde_json::Map<String, serde_json::Value> {
    let stages = timings.stages().into_iter().chain([("total", timings.total())]);
    stages.map(|(stage, time)| (stage.to_owned(), millis(time).into())).collect()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
