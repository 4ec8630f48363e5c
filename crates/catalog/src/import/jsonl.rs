//! Our own format: a tool as a JSON object on one line, or as a TOML table with the same fields.

use super::schema;
use crate::details::{self, Details};
use crate::row::{DESCRIPTIONS, Row};
use crate::{MCP_MEMBERS, Tool, ToolId};

/// Fields that only our own rows have, besides those of [`details::fields`].
const IDENTITY: [&str; 4] = ["id", "server", "operation", "mcp"];

const PLAIN: [&str; 6] =
    ["name", "title", "description", "input_schema", "inputSchema", "parameters"];

/// Returns every field that distinguishes our rows from those of other formats.
pub(super) fn distinguishing_fields() -> impl Iterator<Item = &'static str> {
    IDENTITY.into_iter().chain(details::fields())
}

/// MCP's fields that our rows may have, because they are made by adding fields to MCP tools.
const FOREIGN: [&str; 6] = ["annotations", "outputSchema", "execution", "icons", "_meta", "type"];

/// Whether the field is allowed in our rows.
pub(super) fn is_known(key: &str) -> bool {
    known().chain(schema::NAMES).chain(DESCRIPTIONS).any(|known| known == key)
}

fn known() -> impl Iterator<Item = &'static str> {
    PLAIN.into_iter().chain(distinguishing_fields()).chain(FOREIGN)
}

/// Reads a row in our format. Its `id`, if it has one, is kept unchanged.
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
    tool.input_schema = schema::read(row);
    tool.operation = row.typed("operation", "an operation with method and path");
    Details::read(row).apply(&mut tool);
    // A second description or schema has no effect.
    let read = [row.first_of(&DESCRIPTIONS), row.first_of(&schema::NAMES)].into_iter().flatten();
    row.warn_unknown(known().chain(read));
    Some(tool)
}

/// Writes a tool as one line, from which [`read`] makes an equal tool.
///
/// A schema keeps its bytes, except that each line break becomes a space. That does not change its
/// meaning, because JSON allows line breaks only between tokens.
pub(crate) fn to_row(tool: &Tool) -> String {
    let row = serde_json::to_string(tool)
        .expect("a tool has string keys and finite numbers only. This is a bug.");
    if row.contains(['\n', '\r']) { row.replace(['\n', '\r'], " ") } else { row }
}
