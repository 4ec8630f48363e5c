//! Detects the format of a tool from its fields.

use serde_json::value::RawValue;

use super::{jsonl, schema};
use crate::row::{DESCRIPTIONS, Fields, fields, is_null, string};
use crate::text::is_listed;

/// The formats in which a tool is one JSON object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// MCP: `inputSchema`.
    Mcp,
    /// OpenAI's Responses API and the old `functions`: name and `parameters` side by side.
    OpenAiFlat,
    /// Anthropic: `input_schema`, or a versioned `type` without a schema.
    Anthropic,
    /// An entry of vLLM semantic router's `tools_db.json`.
    VllmEntry,
    /// A tool in a member of this name: one of [`WRAPPERS`], or OpenAI's `{"type": "function",
    /// "function": {…}}` and `{"type": "custom", "custom": {…}}`, which takes free text.
    Wrapped(&'static str),
    /// A JSON Schema of arguments with a title, as Pydantic writes it.
    TitledSchema,
    /// Our own row.
    Own,
}

/// Members that contain the whole tool: in Bedrock's requests, LlamaIndex and LangChain.
const WRAPPERS: [&str; 3] = ["toolSpec", "metadata", "kwargs"];

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
        return Some(Format::Wrapped("function"));
    }
    if is_object("custom") && kind.as_deref() == Some("custom") {
        return Some(Format::Wrapped("custom"));
    }
    let parameters = schema::NAMES.iter().chain(&schema::PARAMETER_LISTS).find(|key| has(key));
    if !has("name") {
        return nameless(row, kind.as_deref()).filter(|_| listed);
    }
    // The result of an MCP server has no other schemas, but the lists of a file may.
    if mcp && parameters.is_none_or(|key| *key == "inputSchema") {
        return Some(Format::Mcp);
    }
    // Google's descriptions of APIs have names and parameters too, and so have GitHub's actions.
    let is_api = row.get("kind").and_then(|raw| string(raw)).is_some_and(|kind| kind.contains('#'));
    if is_api || is_object("runs") && !listed {
        return None;
    }
    // Checked before MCP's own fields, because a row of ours may be an MCP tool with fields added.
    if is_marked_as_ours(row) && (listed || mostly_known(row)) {
        return Some(Format::Own);
    }
    if has("annotations") || has("outputSchema") || has("_meta") {
        return Some(Format::Mcp);
    }
    Some(match kind.as_deref() {
        _ if has("inputSchema") => Format::Mcp,
        Some("function") => Format::OpenAiFlat,
        // A package has a type too.
        Some(_) if listed || parameters.is_some() || mostly_known(row) => Format::Anthropic,
        Some(_) => return None,
        None if has("input_schema") && is_only_anthropic(row) => Format::Anthropic,
        None if has("parameters") || schema::PARAMETER_LISTS.iter().any(|key| has(key)) => {
            Format::OpenAiFlat
        }
        None if row.contains_key("inputSchema") => Format::Mcp,
        None if listed || mostly_known(row) => Format::Own,
        None => return None,
    })
}

/// Returns the format of an object of a list that has no name.
fn nameless(row: &Fields<'_>, kind: Option<&str>) -> Option<Format> {
    // Resources of Kubernetes, and many others, have `metadata` with a name.
    let is_tool = |key: &str, tool: &Fields<'_>| {
        tool.contains_key("name") && (key != "metadata" || has_parameters(tool))
    };
    let has_tool = |key: &&str| {
        row.get(*key).and_then(|raw| fields(raw)).is_some_and(|tool| is_tool(key, &tool))
    };
    if let Some(key) = WRAPPERS.into_iter().find(has_tool) {
        return Some(Format::Wrapped(key));
    }
    match kind {
        Some("object") if row.contains_key("title") => Some(Format::TitledSchema),
        // A schema without a title is no tool.
        Some(kind) => (!schema::JSON_TYPES.contains(&kind)).then_some(Format::Anthropic),
        None => None,
    }
}

/// Returns the format of a tool without its name: ours, if it has fields that other formats have in
/// other places or not at all.
pub(super) fn of_body(row: &Fields<'_>) -> Format {
    let is_ours = is_marked_as_ours(row) || row.contains_key("annotations");
    if is_ours { Format::Own } else { Format::OpenAiFlat }
}

/// Whether an object is a tool without its name, which is then the name of the member that contains
/// it. Outside a list of tools, it must have both a description and parameters.
pub(super) fn is_body(row: &Fields<'_>, listed: bool) -> bool {
    let described =
        DESCRIPTIONS.iter().any(|key| row.get(*key).is_some_and(|raw| string(raw).is_some()));
    if listed { described || has_parameters(row) } else { described && has_parameters(row) }
}

fn has_parameters(row: &Fields<'_>) -> bool {
    schema::NAMES.iter().any(|key| row.get(*key).is_some_and(|raw| fields(raw).is_some()))
        || schema::PARAMETER_LISTS.iter().any(|key| row.contains_key(*key))
}

/// Whether each value is a tool that has a description or parameters, and one has parameters.
/// Lists of other things with names and descriptions are frequent.
pub(super) fn is_list(items: &[&RawValue]) -> bool {
    let is_nested = |row: &Fields<'_>| {
        ["function", "toolSpec"]
            .iter()
            .any(|key| row.get(*key).is_some_and(|raw| fields(raw).is_some()))
    };
    let is_tool = |row: &Fields<'_>| {
        let is_described = row.contains_key("name") && is_body(row, true);
        (is_described || is_nested(row)) && detect(row, true, false).is_some()
    };
    let rows: Option<Vec<_>> = items.iter().map(|item| fields(item)).collect();
    rows.is_some_and(|rows| {
        rows.iter().all(is_tool) && rows.iter().any(|row| has_parameters(row) || is_nested(row))
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
    row.keys().all(|key| is_listed(ANTHROPIC_FIELDS, key))
}

/// Whether more than half of the fields are known. A name and a description are not enough, because
/// a `package.json` has both too.
fn mostly_known(row: &Fields<'_>) -> bool {
    row.keys().filter(|key| jsonl::is_known(key)).count() * 2 > row.len()
}
