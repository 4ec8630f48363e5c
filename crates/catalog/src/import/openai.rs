//! OpenAI's function tools, nested and flat, and the vLLM semantic router's entries around them.

use super::super::Tool;
use super::super::details::Details;
use super::super::row::Row;

/// `{"type": "function", "function": {"name": …, "parameters": …}}`.
pub(super) fn read_nested(row: &mut Row<'_>, server: Option<&str>) -> Option<Tool> {
    let mut function = row.child("function")?;
    let tool = read_flat(&mut function, server);
    row.absorb(function);
    tool
}

/// `{"type": "custom", "custom": {"name": …, "description": …}}`: takes free text, so no schema.
pub(super) fn read_custom(row: &mut Row<'_>, server: Option<&str>) -> Option<Tool> {
    let mut custom = row.child("custom")?;
    let tool = custom.named(server);
    row.absorb(custom);
    tool
}

/// `{"type": "function", "name": …, "parameters": …}`, and the old form without a type.
pub(super) fn read_flat(row: &mut Row<'_>, server: Option<&str>) -> Option<Tool> {
    let mut tool = row.named(server)?;
    // Some exports keep MCP's or Anthropic's key inside OpenAI's frame.
    let key =
        ["parameters", "inputSchema", "input_schema"].into_iter().find(|k| row.value(k).is_some());
    tool.input_schema = key.and_then(|key| row.schema(key));
    Some(tool)
}

/// `{"tool": {an OpenAI tool}, "description": …, "category": …, "tags": […]}`.
///
/// The entry's description is written for retrieval, so it comes before the function's.
pub(super) fn read_entry(row: &mut Row<'_>, server: Option<&str>) -> Option<Tool> {
    let mut inner = row.child("tool")?;
    let tool = if inner.value("function").is_some() {
        read_nested(&mut inner, server)
    } else {
        read_flat(&mut inner, server)
    };
    row.absorb(inner);
    let mut tool = tool?;
    if let Some(description) = row.text("description").filter(|text| !text.trim().is_empty()) {
        tool.description = description;
    }
    Details::read(row).apply(&mut tool);
    if tool.categories.is_empty() {
        tool.categories = row.list("category").unwrap_or_default();
    }
    Some(tool)
}
