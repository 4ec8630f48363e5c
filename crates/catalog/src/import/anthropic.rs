//! Anthropic's tools: with `input_schema`, or the vendor's own ones with a versioned `type`.

use super::super::row::Row;
use super::super::{Problem, Severity, Tool};

/// A tool with a schema, or one such as `{"type": "web_search_20250305", "name": "web_search"}`.
///
/// A vendor's tool without a name (OpenAI's `{"type": "file_search"}`) is known by its type.
pub(super) fn read(row: &mut Row<'_>, server: Option<&str>) -> Option<Tool> {
    if row.value("name").is_some() {
        let mut tool = row.named(server)?;
        let key = if row.value("input_schema").is_some() { "input_schema" } else { "parameters" };
        tool.input_schema = row.schema(key);
        return Some(tool);
    }
    let kind = row.text("type")?;
    if kind == "function" {
        let cure = "give the function a name";
        let problem = Problem::new(Severity::Error, "a function with a name", "none", cure);
        row.problem("name", problem);
        return None;
    }
    let description = row.text("description").unwrap_or_default();
    Some(Tool::new(server, &kind, &description))
}
