//! Tools as MCP's `tools/list` gives them.

use super::super::row::Row;
use super::super::{MCP_MEMBERS, Tool};

/// An MCP tool. The tool's own title comes before that of its annotations, as the specification
/// has it.
pub(super) fn read(row: &mut Row<'_>, server: Option<&str>) -> Option<Tool> {
    let mut tool = row.named(server)?;
    let (hints, title) = row.annotations();
    tool.title = row.text("title").or(title);
    tool.input_schema = row.schema("inputSchema");
    tool.hints = hints;
    tool.mcp = row.members(&MCP_MEMBERS);
    Some(tool)
}
