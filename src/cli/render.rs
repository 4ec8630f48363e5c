//! Prints tables for people and JSON for programs on stdout, and notes on stderr.
//!
//! Text from catalogs and files is printed without control characters, because an escape sequence
//! in a description must not reach the terminal. JSON escapes them.

use std::io::{self, Write as _};
use std::time::Duration;

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, Width, presets,
};
use serde::Serialize;

use super::exit::StdoutError;
use super::global::Global;
use super::logging;
use super::words::LogFormat;
pub use toolroute_catalog::shortened;
use toolroute_catalog::{Need, ToolId, visible};
use toolroute_eval::BadRow;
use toolroute_rank::engine::{
    Degradation, Explanation, Fit, FitReason, HeldMatch, NoTools, Omission, SelectedTool,
    Selection, Strategy, Tiers,
};
use toolroute_rank::feedback::RowUsage;
use toolroute_rank::selection::Exclusion;

/// Maximum number of characters of an external id in errors and warnings.
pub const MAX_ID_CHARS: usize = 80;

/// Maximum number of invalid rows to print; the rest is counted.
pub const SHOWN_ROWS: usize = 20;

/// Maximum number of unknown ids to print; the rest is counted.
const SHOWN_IDS: usize = 10;

/// Maximum number of characters to print of the text as which a prompt was read.
const READ_AS_CHARS: usize = 300;

/// Minimum width of an explanation. To reach it, number columns are omitted.
const READABLE: u16 = 40;

/// A smaller width is considered invalid.
const LEAST_COLUMNS: u16 = 20;

/// Minimum width of a text column, even if the table is then wider than the screen.
const NARROWEST: u16 = 14;

pub fn failed(source: io::Error) -> anyhow::Error {
    StdoutError { source }.into()
}

pub fn bytes(bytes: &[u8]) -> anyhow::Result<()> {
    io::stdout().lock().write_all(bytes).map_err(failed)
}

/// Prints a line of data on stdout.
pub fn line(text: &str) -> anyhow::Result<()> {
    bytes(format!("{text}\n").as_bytes())
}

/// A number with its noun, such as `1 tool` and `2 tools`.
pub fn counted(count: impl ToString, noun: &str) -> String {
    let count = count.to_string();
    let ending = if count == "1" { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// Flushes stdout. Otherwise the output could be lost without an error when the process ends.
pub fn flush() -> anyhow::Result<()> {
    io::stdout().flush().map_err(failed)
}

/// Prints a line on stderr. Errors are ignored.
pub fn note(text: &str) {
    #[cfg(feature = "mcp")]
    let text = &super::secrets::clean(text);
    writeln!(io::stderr(), "{}", plain_lines(text)).ok();
}

/// Prints a note unless `--quiet` is given. With JSON logs it is a line of the log.
pub fn warn(global: &Global, text: &str) {
    match (global.quiet, global.log_format) {
        (true, _) => {}
        (false, LogFormat::Text) => note(text),
        (false, LogFormat::Json) => logging::note(&plain_lines(text)),
    }
}

/// Warns about the invalid rows of a file. `place` is what their numbers count: lines or rows.
pub fn bad_rows(global: &Global, place: &str, rows: &[BadRow]) {
    let said = rows.iter().map(|row| format!("{place} {}: {}", row.line, plain(&row.error)));
    warn_first(global, SHOWN_ROWS, said, " bad rows");
}

/// Warns with at most `most` lines, and counts the others. `rest` follows their number.
pub fn warn_first(
    global: &Global,
    most: usize,
    lines: impl ExactSizeIterator<Item = String>,
    rest: &str,
) {
    let more = lines.len().saturating_sub(most);
    lines.take(most).for_each(|line| warn(global, &line));
    if more > 0 {
        warn(global, &format!("and {more} more{rest}"));
    }
}

/// Warns about ids that are not in the catalog.
pub fn unknown_ids(global: &Global, ids: &[String]) {
    let mut shown: Vec<String> =
        ids.iter().take(SHOWN_IDS).map(|id| shortened(id, MAX_ID_CHARS)).collect();
    if ids.len() > SHOWN_IDS {
        shown.push(format!("and {} more", ids.len() - SHOWN_IDS));
    }
    if !shown.is_empty() {
        warn(global, &format!("warning: not in the catalog: {}", shown.join(", ")));
    }
}

/// Converts text to a single printable line: line breaks and tabs become spaces; other control
/// characters, direction marks, zero-width characters and tags are removed.
pub fn plain(text: &str) -> String {
    visible(&uncontrolled(text)).into_owned()
}

/// The same as [`plain`], but keeps line breaks.
pub fn plain_lines(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

/// The text of a tool. On a terminal the same as [`plain_lines`]; otherwise it is data, and only
/// control characters are removed.
#[cfg(feature = "mcp")]
pub fn answered(text: &str) -> String {
    match io::IsTerminal::is_terminal(&io::stdout()) {
        true => plain_lines(text),
        false => text.lines().map(uncontrolled).collect::<Vec<_>>().join("\n"),
    }
}

fn uncontrolled(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\r' | '\t' => Some(' '),
        c if c.is_control() => None,
        c => Some(c),
    };
    text.chars().filter_map(shown).collect()
}

/// Prints an indented JSON document.
pub fn json(value: &impl Serialize) -> anyhow::Result<()> {
    line(&serde_json::to_string_pretty(value)?)
}

/// Creates an empty table. The columns in `numeric` are right-aligned. These columns and the first
/// one, which has ids, never wrap.
pub fn table(header: &[&str], numeric: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if let Some((terminal_size::Width(columns), _)) = terminal_size::terminal_size_of(io::stdout())
    {
        table.set_width(columns);
    }
    table.set_header(header);
    for &column in numeric {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for &column in [0].iter().chain(numeric) {
        constrain(&mut table, column, ColumnConstraint::ContentWidth);
    }
    table
}

fn constrain(table: &mut Table, column: usize, constraint: ColumnConstraint) {
    if let Some(column) = table.column_mut(column) {
        column.set_constraint(constraint);
    }
}

/// Prints a table. If stdout is not a terminal and `COLUMNS` is not set, the table is as wide as its
/// content.
pub fn print(table: Table) -> anyhow::Result<()> {
    print_sparing(table, &[])
}

/// The same as [`print`], but omits columns of `spare`, in this order, if the table is too wide.
pub fn print_sparing(mut table: Table, spare: &[usize]) -> anyhow::Result<()> {
    if let Some(columns) = columns(&table) {
        table.set_width(columns);
        fit(&mut table, spare);
    }
    print_text(&table)
}

/// Prints the text of a table, whose header is bold on a terminal.
fn print_text(table: &Table) -> anyhow::Result<()> {
    let text = table.trim_fmt();
    match logging::is_styled(&io::stdout()) {
        true => line(&with_bold_header(&text)),
        false => line(&text),
    }
}

/// The header has a border above it, and a double line below.
fn with_bold_header(text: &str) -> String {
    let mut is_header = true;
    let bold = text.lines().enumerate().map(|(number, line)| {
        is_header &= !line.starts_with('═');
        if is_header && number > 0 { format!("\u{1b}[1m{line}\u{1b}[0m") } else { line.to_owned() }
    });
    bold.collect::<Vec<_>>().join("\n")
}

/// Lets text columns wrap, but not below [`NARROWEST`].
pub fn fit(table: &mut Table, spare: &[usize]) {
    let widths = table.column_max_content_widths();
    for (column, width) in table.column_iter_mut().zip(widths) {
        if column.constraint().is_none() {
            let narrowest = ColumnConstraint::LowerBoundary(Width::Fixed(NARROWEST));
            let whole = ColumnConstraint::ContentWidth;
            column.set_constraint(if width <= NARROWEST { whole } else { narrowest });
        }
    }
    shrink(table, spare.iter().map(|column| (*column, ColumnConstraint::Hidden)));
}

/// Applies constraints in order until the table fits.
fn shrink(table: &mut Table, steps: impl Iterator<Item = (usize, ColumnConstraint)>) {
    for (column, constraint) in steps {
        if !is_too_wide(table) {
            return;
        }
        constrain(table, column, constraint);
    }
}

fn is_too_wide(table: &Table) -> bool {
    let border = table.lines().next().map_or(0, |line| line.chars().count());
    table.width().is_some_and(|room| border > usize::from(room))
}

/// The width of the screen: the variable `COLUMNS`, else the terminal's width; `None` if stdout is
/// not a terminal and the variable is not set.
fn columns(table: &Table) -> Option<u16> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    said.filter(|columns| *columns >= LEAST_COLUMNS).or_else(|| table.width())
}

/// Prints a table with one line per row, whose last column is an explanation. If it is too wide,
/// columns of `spare` are omitted first, then the explanation is truncated.
fn print_lines(mut table: Table, spare: &[usize]) -> anyhow::Result<()> {
    let Some(columns) = columns(&table) else { return print(table) };
    table.set_width(columns);
    table.row_iter_mut().for_each(|row| _ = row.max_height(1));
    one_line(&mut table, spare);
    print_text(&table)
}

fn one_line(table: &mut Table, spare: &[usize]) {
    let widths = table.column_max_content_widths();
    let Some((why, width)) = widths.len().checked_sub(1).zip(widths.last()) else { return };
    let at_least = |width| ColumnConstraint::LowerBoundary(Width::Fixed(width));
    (0..why).for_each(|column| constrain(table, column, ColumnConstraint::ContentWidth));
    constrain(table, why, at_least(READABLE.min(*width)));
    let hidden = spare.iter().map(|column| (*column, ColumnConstraint::Hidden));
    let at_last = [(why, at_least(NARROWEST.min(*width))), (why, ColumnConstraint::Hidden)];
    shrink(table, hidden.chain(at_last));
}

/// Prints the answer to one prompt with at most `limit` tools.
pub fn selection(selection: &Selection, limit: usize, explain: bool) -> anyhow::Result<()> {
    if limit == 0 {
        line("no tools were asked for: --limit is 0")?;
    } else if let Some(because @ (NoTools::EmptyCatalog | NoTools::Filtered)) = selection.no_tools {
        line(&because.to_string())?;
    } else if selection.abstained {
        let found = match selection.degraded {
            Some(Degradation::UnreadLanguage) => "no tool is sure to fit",
            _ => "none of these tools fits",
        };
        let confidence = || format!("confidence {:.2}", selection.confidence.unwrap_or_default());
        let because = selection.fit_reason.as_ref();
        let because = because.filter(|it| !matches!(it, FitReason::Confidence { .. }));
        let why = because.map_or_else(confidence, ToString::to_string);
        line(&format!("{found} ({why}; --min-confidence 0 answers all the same)"))?;
    } else if selection.tools.is_empty() {
        line(&format!("no tool fits ({} strategy)", selection.strategy))?;
    } else {
        if let (Fit::Unsure, Some(because)) = (selection.fit, &selection.fit_reason) {
            let best = selection.excluded.iter().max_by(|a, b| a.score.total_cmp(&b.score));
            let which = best.filter(|_| *because == FitReason::BetterExcluded);
            let which = which.map(|best| format!(", {}: {}", best.id, best.because));
            let which = which.unwrap_or_default();
            line(&plain(&format!("not sure that a tool fits: {because}{which}")))?;
        }
        // The columns semantic, keyword and tiers, which are omitted first; `--json` has them too.
        print_lines(selected(&selection.tools), &[2, 3, 4])?;
        for found in &selection.tools {
            found.suspicions().iter().for_each(|said| {
                let said = said.to_string();
                note(&format!("warning: {}: {}", plain(found.tool.id.as_str()), plain(&said)))
            });
        }
    }
    for need in needs(&selection.tools) {
        line(&plain(&need))?;
    }
    for HeldMatch { id, score, because, .. } in &selection.held_back {
        line(&plain(&format!("held back: {id} ({score:.3}) would stand here: {because}")))?;
    }
    if let Some(because @ Degradation::UnreadLanguage) = selection.degraded {
        line(&because.to_string())?;
    }
    if let Some(read_as) = &selection.read_as {
        // What stays of a prompt with pasted text may be long.
        let most = if explain { usize::MAX } else { READ_AS_CHARS };
        line(&format!("read as: {}", shortened(&plain(read_as), most)))?;
    }
    if let (true, [_, ..]) = (explain, selection.left_out.as_slice()) {
        let parts = selection.left_out.iter().map(Omission::to_string).collect::<Vec<_>>();
        line(&format!("left out: {}", parts.join(", ")))?;
    }
    if explain {
        line(&format!("strategy: {} ({})", selection.strategy, selection.because))?;
        selection.tools.iter().try_for_each(|tool| explanation(tool, selection.strategy))?;
    }
    excluded(selection)
}

fn selected(tools: &[SelectedTool]) -> Table {
    let mut out = table(&["tool", "score", "semantic", "keyword", "tiers", "why"], &[1, 2, 3]);
    for SelectedTool { tool, score, explanation, .. } in tools {
        let part = |name| contribution(explanation, name);
        let (semantic, keyword) = (part("semantic"), part("keyword"));
        let tiers = tiers(&explanation.tiers);
        let (id, why) = (plain(tool.id.as_str()), plain(&explanation.why));
        out.add_row([id, format!("{score:.3}"), semantic, keyword, tiers, why]);
    }
    out
}

/// Describes requirements of tools in the answer that no other tool in the answer provides.
fn needs(tools: &[SelectedTool]) -> impl Iterator<Item = String> {
    let is_there = move |id: &ToolId| tools.iter().any(|found| found.tool.id == *id);
    let lacks = move |need: &&Need| !need.from.iter().any(is_there);
    tools.iter().flat_map(move |found| {
        let id = &found.tool.id;
        let of = |need: &Need| {
            let from: Vec<&str> = need.from.iter().map(ToolId::as_str).collect();
            format!("{id} needs {}, from {}", need.parameter, from.join(" or "))
        };
        found.needs.iter().filter(lacks).map(of).collect::<Vec<_>>()
    })
}

fn contribution(explanation: &Explanation, name: &str) -> String {
    let part = explanation.parts.iter().find(|part| part.name == name);
    part.map_or("–".to_owned(), |part| format!("{:.3}", part.contribution))
}

/// Formats tiers as `high · low · fast`, with `–` for undeclared ones.
pub fn tiers(tiers: &Tiers) -> String {
    fn word<T: ToString>(tier: Option<T>) -> String {
        tier.map_or_else(|| "–".to_owned(), |tier| tier.to_string())
    }
    let words = [word(tiers.reliability), word(tiers.cost), word(tiers.latency)];
    if words.iter().all(|word| word == "–") { "–".to_owned() } else { words.join(" · ") }
}

fn explanation(selected: &SelectedTool, strategy: Strategy) -> anyhow::Result<()> {
    let id = plain(selected.tool.id.as_str());
    line(&format!("\n{id} = {:.4} ({strategy})", selected.score))?;
    for part in &selected.explanation.parts {
        let (name, raw, normalized) = (part.name, part.raw, part.normalized);
        let (weight, sum) = (part.weight, part.contribution);
        let bar = "█".repeat((sum.clamp(0.0, 1.0) * 30.0).round() as usize);
        line(&format!(
            "  {name:<10} {weight:.2} × {normalized:.4} = {sum:.4}  (raw {raw:.4})  {bar}"
        ))?;
    }
    if !selected.explanation.matched_signals.is_empty() {
        let patterns = selected.explanation.matched_signals.join(", ");
        line(&format!("  patterns   {}", plain(&patterns)))?;
    }
    line(&format!("  sure       {}", selected.explanation.level))?;
    if let Some(usage) = &selected.explanation.usage {
        let RowUsage { prompts, share, moved, reach } = usage;
        line(&format!(
            "  usage      {prompts} prompts: {share:.2} of the vector, moved by {moved:.2}, reach {reach:.2}"
        ))?;
    }
    if !selected.explanation.matched_terms.is_empty() {
        line(&format!("  words      {}", plain(&selected.explanation.matched_terms.join(", "))))?;
    }
    Ok(())
}

/// Prints the excluded tools, but not those that the user's own patterns exclude.
fn excluded(selection: &Selection) -> anyhow::Result<()> {
    let was_asked = |because: &Exclusion| {
        matches!(because, Exclusion::ByPattern { .. } | Exclusion::NotEnabled)
    };
    let shown: Vec<_> =
        selection.excluded.iter().filter(|tool| !was_asked(&tool.because)).collect();
    if shown.is_empty() {
        return Ok(());
    }
    let mut out = table(&["excluded", "score", "because"], &[1]);
    for tool in shown {
        let (score, because) = (format!("{:.3}", tool.score), tool.because.to_string());
        out.add_row([plain(tool.id.as_str()), score, plain(&because)]);
    }
    print_lines(out, &[])
}

/// Prints stages with their times and the sum.
pub fn stages(stages: &[(&str, Duration)]) -> anyhow::Result<()> {
    let mut out = table(&["stage", "ms"], &[1]);
    for (stage, time) in with_total(stages) {
        out.add_row([stage.to_owned(), format!("{:.3}", millis(time))]);
    }
    print(out)
}

/// [`stages`] as a JSON object of milliseconds.
pub fn stages_json(stages: &[(&str, Duration)]) -> serde_json::Map<String, serde_json::Value> {
    with_total(stages).map(|(stage, time)| (stage.to_owned(), millis(time).into())).collect()
}

fn with_total<'a>(
    stages: &'a [(&'a str, Duration)],
) -> impl Iterator<Item = (&'a str, Duration)> + 'a {
    let total = stages.iter().map(|(_, time)| *time).sum();
    stages.iter().copied().chain([("total", total)])
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_never_reach_a_terminal() {
        let text = "a\u{1b}[31mred\u{9b}2J\u{7}\nb\u{7f}\tc";
        assert_eq!(plain(text), "a[31mred2J b c");
        assert_eq!(plain_lines(text), "a[31mred2J\nb c");
        assert_eq!(plain("שלום 天气 ü"), "שלום 天气 ü");
        let unseen = "re\u{202e}a\u{200b}d\u{2066}_\u{e0041}f\u{feff}ile 👩\u{200d}💻";
        assert_eq!(plain(unseen), "read_file 👩\u{200d}💻");
    }

    #[test]
    fn only_the_header_is_bold() {
        let mut table = table(&["tool", "why"], &[]);
        table.add_row(["git__commit", "words: commit"]);
        let text = with_bold_header(&table.trim_fmt());
        let bold: Vec<_> = text.lines().map(|line| line.contains('\u{1b}')).collect();
        assert_eq!(bold, [false, true, false, false, false], "{text}");
        assert!(text.contains("\u{1b}[1m tool"), "{text}");
    }

    /// Renders a table with one tool for a screen of the given width.
    fn on_a_screen(columns: u16, id: &str, why: &str) -> String {
        let mut table =
            table(&["tool", "score", "semantic", "keyword", "tiers", "why"], &[1, 2, 3]);
        table.add_row([id, "1.000", "0.700", "0.300", "high · medium · very_slow", why]);
        table.set_width(columns);
        table.row_iter_mut().for_each(|row| _ = row.max_height(1));
        one_line(&mut table, &[2, 3, 4]);
        table.trim_fmt()
    }

    #[test]
    fn ids_and_numbers_stay_whole_and_the_explanation_is_cut() {
        let why = "related in meaning (0.37); words: version, production, back, one";
        let long = "everything__trigger-long-running-operation";
        for id in ["git__commit", "kubernetes__restart_deployment", long] {
            let shown = on_a_screen(80, id, why);
            for whole in [id, "score", "1.000", "related in meaning", "…"] {
                assert!(shown.contains(whole), "{whole} is not in\n{shown}");
            }
            assert!(shown.lines().all(|line| line.chars().count() <= 80), "too wide:\n{shown}");
            assert_eq!(shown.lines().count(), 5, "{shown}");
        }
        assert!(!on_a_screen(60, long, why).contains("why"), "there is no room for a word of it");
        let all = on_a_screen(160, "git__commit", why);
        assert!(
            all.contains("semantic") && all.contains("very_slow") && all.contains(why),
            "{all}"
        );
    }
}
