//! Reads a tool in the formats of MCP, OpenAI, Anthropic and vLLM's semantic router.

use serde_json::value::RawValue;

use super::schema;
use crate::details::Details;
use crate::row::Row;
use crate::{MCP_MEMBERS, Problem, Schema, Severity, Tool};

/// Reads a tool of MCP's `tools/list`. Its own title takes precedence over that of its annotations,
/// as the specification requires.
pub(super) fn read_mcp(row: &mut Row<'_>, server: Option<&str>) -> Option<Tool> {
    let mut tool = row.named(server)?;
    let (hints, title) = row.annotations();
    tool.title = row.text("title").or(title);
    tool.input_schema = row.schema("inputSchema");
    tool.hints = hints;
    tool.mcp = row.members(&MCP_MEMBERS);
    Some(tool)
}

/// Reads an Anthropic tool with an `input_schema`, or one that a vendor provides, such as `{"type":
/// "web_search_20250305", "name": "web_search"}`.
///
/// A vendor's tool without a name (OpenAI's `{"type": "file_search"}`) is named by its type.
pub(super) fn read_anthropic(row: &mut Row<'_>, server: Option<&str>) -> Option<Tool> {
    if row.value("name").is_some() {
        let mut tool = row.named(server)?;
        tool.input_schema = schema::read(row);
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

/// Reads `{"type": "function", "name": …, "parameters": …}`, and the old form without a type.
pub(super) fn read_openai_flat(row: &mut Row<'_>, server: Option<&str>) -> Option<Tool> {
    let mut tool = row.named(server)?;
    tool.input_schema = schema::read(row);
    Some(tool)
}

/// Reads a tool in a member of an object, such as Bedrock's `{"toolSpec": {…}}` or OpenAI's
/// `{"type": "function", "function": {"name": …, "parameters": …}}`.
pub(super) fn read_wrapped(row: &mut Row<'_>, key: &str, server: Option<&str>) -> Option<Tool> {
    let mut inner = row.child(key)?;
    let tool = read_openai_flat(&mut inner, server);
    row.absorb(inner);
    tool
}

/// Reads the JSON Schema of a tool's arguments, whose title is the tool's name, as Pydantic writes
/// it.
pub(super) fn read_titled_schema(
    row: &mut Row<'_>,
    schema: &RawValue,
    server: Option<&str>,
) -> Option<Tool> {
    let name = row.text("title")?;
    let description = row.text("description").unwrap_or_default();
    let mut tool = Tool::new(server, &name, &description);
    tool.input_schema = Some(Schema::new(schema.to_owned()));
    Some(tool)
}

/// Reads `{"tool": {an OpenAI tool}, "description": …, "category": …, "tags": […]}`.
///
/// The entry's description takes precedence over the function's, because it is written for
/// retrieval.
pub(super) fn read_vllm_entry(row: &mut Row<'_>, server: Option<&str>) -> Option<Tool> {
    let mut inner = row.child("tool")?;
    let tool = if inner.value("function").is_some() {
        read_wrapped(&mut inner, "function", server)
    } else {
        read_openai_flat(&mut inner, server)
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
