//! Truncation of tables, which keep their header.

use super::{marker, text};

/// The number of lines that are read to distinguish a table from prose.
const SAMPLE_LINES: usize = 6;

const SEPARATORS: [char; 4] = ['|', '\t', ';', ','];

/// Returns the number of header lines: one, or two if a Markdown rule follows. Returns `None` if
/// the text is not a table.
pub(super) fn header_lines(text: &str) -> Option<usize> {
    let lines: Vec<&str> = text.lines().take(SAMPLE_LINES).collect();
    let [first, second, _, ..] = lines[..] else { return None };
    let separator = SEPARATORS.into_iter().find(|separator| {
        let columns = |line: &str| line.matches(*separator).count();
        // Prose contains commas too, but not the same number on every line, and its lines may end
        // with a full stop.
        columns(first) > 0
            && lines.iter().all(|line| columns(line) == columns(first))
            && !(*separator == ',' && lines.iter().any(|line| line.trim_end().ends_with('.')))
    })?;
    let is_rule = second.contains('-') && second.chars().all(|c| " |:-+".contains(c));
    Some(if separator == '|' && is_rule { 2 } else { 1 })
}

pub(super) fn truncate(whole: &str, most: usize, chars: usize, handle: Option<&str>) -> String {
    let header = header_lines(whole).unwrap_or(1);
    let rows = whole.lines().count().saturating_sub(header);
    let said =
        |used: usize, kept: usize| format!("{} {kept} of {rows} rows", marker(used, chars, handle));
    let room = most.saturating_sub(said(chars, rows).chars().count());
    let (mut kept, mut used, mut lines) = (String::new(), 0, 0);
    for line in whole.split_inclusive('\n') {
        let length = line.chars().count();
        if used + length > room {
            break;
        }
        kept.push_str(line);
        used += length;
        lines += 1;
    }
    if lines < header {
        // If the header does not fit, the text is truncated like prose.
        return text::truncate(whole, most, chars, handle);
    }
    kept + &said(used, lines - header)
}
