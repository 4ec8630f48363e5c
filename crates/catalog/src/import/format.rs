//! Detects the format of a tool from its fields.

use serde_json::value::RawValue;

use super::jsonl;
use crate::row::{Fields, fields, is_null, string};

/// The formats in which a tool is one JSON object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// MCP: `inputSchema`.
    Mcp,
    /// OpenAI chat completions: `{"type": "function", "function": {…}}`.
    OpenAiNested,
    /// OpenAI's tool that takes free text: `{"type": "custom", "custom": {…}}`.
    OpenAiCustom,
    /// OpenAI's Responses API and the old `functions`: name and `parameters` side by side.
    OpenAiFlat,
    /// Anthropic: `input_schema`, or a versioned `type` without a schema.
    Anthropic,
    /// An entry of vLLM semantic router's `tools_db.json`.
    VllmEntry,
    /// Our own row.
    Own,
}

/// Fields of an Anthropic tool definition, from its API reference.
const ANTHROPIC_FIELDS: &str = "name description input_schema type cache_control defer_loading \
    allowed_callers input_examples eager_input_streaming strict max_uses";

/// Returns the format of an object, or `None` if it is not a tool. `listed` is `true` inside a list
/// of tools, where less evidence is enough, and `mcp` inside the result of an MCP response.
pub(super) fn detect(row: &Fields<'_>, listed: bool, mcp: bool) -> Option<Format> {
    let has = |key: &str| row.get(key).is_some_and(|raw| !is_null(raw));
    let is_object = |key: &str| row.get(key).is_some_and(|raw| fields(raw).is_some());
    let kind = row.get("type").and_then(|raw| string(raw));
    if is_object("tool") {
        return Some(Format::VllmEntry);
    }
    if is_object("function") && kind.as_deref().is_none_or(|kind| kind == "function") {
        return Some(Format::OpenAiNested);
    }
    if is_object("custom") && kind.as_deref() == Some("custom") {
        return Some(Format::OpenAiCustom);
    }
    if !has("name") {
        return (listed && kind.is_some()).then_some(Format::Anthropic);
    }
    if mcp {
        return Some(Format::Mcp);
    }
    // Checked before MCP's own fields, because a row of ours may be an MCP tool with fields added.
    if is_marked_as_ours(row) {
        return Some(Format::Own);
    }
    if has("annotations") || has("outputSchema") || has("_meta") {
        return Some(Format::Mcp);
    }
    Some(match kind.as_deref() {
        _ if has("inputSchema") => Format::Mcp,
        Some("function") => Format::OpenAiFlat,
        Some(_) => Format::Anthropic,
        None if has("input_schema") && is_only_anthropic(row) => Format::Anthropic,
        None if has("parameters") => Format::OpenAiFlat,
        None if row.contains_key("inputSchema") => Format::Mcp,
        None if listed || mostly_known(row) => Format::Own,
        None => return None,
    })
}

/// Decides whether the ambiguous tools of a list are in our format or in MCP's. One tool with
/// fields of only one format decides for all. Our fields take precedence over MCP's, because our
/// rows are made by adding fields to MCP tools.
pub(super) fn detect_list<'a>(rows: impl IntoIterator<Item = &'a RawValue>) -> Option<Format> {
    let mut found = None;
    for row in rows.into_iter().filter_map(fields) {
        match detect(&row, true, false) {
            Some(Format::Own) if is_marked_as_ours(&row) => return Some(Format::Own),
            Some(Format::Mcp) => found = Some(Format::Mcp),
            _ => {}
        }
    }
    found
}

fn is_marked_as_ours(row: &Fields<'_>) -> bool {
    jsonl::distinguishing_fields().any(|mark| row.contains_key(mark))
}

fn is_only_anthropic(row: &Fields<'_>) -> bool {
    row.keys().all(|key| ANTHROPIC_FIELDS.split(' ').any(|known| known == key))
}

/// Whether more than half of the fields are known. A name and a description are not enough, because
/// a `package.json` has both too.
fn mostly_known(row: &Fields<'_>) -> bool {
    row.keys().filter(|key| jsonl::is_known(key)).count() * 2 > row.len()
}
