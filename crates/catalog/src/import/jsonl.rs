//! Our own format: a tool as a JSON object on one line, or with the same fields as a TOML table.

use crate::details::{self, Details};
use crate::row::Row;
use crate::{MCP_MEMBERS, Tool, ToolId};

/// Fields that only our own rows have, besides those of [`details::FIELDS`].
const IDENTITY: [&str; 4] = ["id", "server", "operation", "mcp"];

const PLAIN: [&str; 6] =
    ["name", "title", "description", "input_schema", "inputSchema", "parameters"];

/// Every field that tells a row of ours from one of another format.
pub(super) fn marks() -> impl Iterator<Item = &'static str> {
    IDENTITY.into_iter().chain(details::FIELDS)
}

/// MCP's fields that a row of ours may have, because rows are made by adding to MCP's tools.
const FOREIGN: [&str; 6] = ["annotations", "outputSchema", "execution", "icons", "_meta", "type"];

const SCHEMA_KEYS: [&str; 3] = ["input_schema", "inputSchema", "parameters"];

/// Whether a row of ours may have the field.
pub(super) fn is_known(key: &str) -> bool {
    known().any(|known| known == key)
}

fn known() -> impl Iterator<Item = &'static str> {
    PLAIN.into_iter().chain(marks()).chain(FOREIGN)
}

/// Reads a row of ours. Its `id`, where there is one, is kept as it is.
pub(super) fn read(row: &mut Row<'_>, server: Option<&str>) -> Option<Tool> {
    let own_server = row.text("server");
    let mut tool = row.named(own_server.as_deref().or(server))?;
    if let Some(id) = row.text("id") {
        tool.id = ToolId::new(id);
    }
    let (hints, title) = row.annotations();
    tool.title = row.text("title").or(title);
    tool.hints = hints;
    tool.mcp = row.schema("mcp").or_else(|| row.members(&MCP_MEMBERS));
    let schema_key = SCHEMA_KEYS.iter().find(|key| row.value(key).is_some());
    tool.input_schema = schema_key.and_then(|key| row.schema(key));
    tool.operation = row.typed("operation", "an operation with method and path");
    Details::read(row).apply(&mut tool);
    row.warn_unknown(&known().collect::<Vec<_>>());
    Some(tool)
}

/// A tool as one line from which [`read`] makes the same tool.
///
/// A schema keeps its bytes, except that a line break in it becomes a space: JSON allows line
/// breaks only between tokens, so the schema says the same.
pub(crate) fn to_row(tool: &Tool) -> String {
    let row = serde_json::to_string(tool)
        .expect("a tool has string keys and finite numbers only. This is a bug.");
    if row.contains(['\n', '\r']) { row.replace(['\n', '\r'], " ") } else { row }
}
