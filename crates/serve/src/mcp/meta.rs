//! The definitions of the gateway's own tools, which find, describe and call all others.

use rmcp::model::Tool;
use serde_json::{Value, json};
use toolroute_rank::query::Stage;

pub const FIND: &str = "find_tools";
pub const DESCRIBE: &str = "describe_tool";
pub const CALL: &str = "call_tool";
pub const READ_MORE: &str = "read_more";

/// An alias of [`FIND`] that agents know from other gateways.
pub const FIND_ALIAS: &str = "search_tools";

pub const MOST_TOOLS: usize = 50;

pub const MOST_CHARS: usize = 1_000_000;

pub const INSTRUCTIONS: &str = "Many tools are reached through this server. Call find_tools with \
    what you want to do, in plain English; it gives the ids and parameters of the tools that fit. \
    Then call call_tool with such an id and its arguments. describe_tool gives the whole schema of \
    one tool, read_more the rest of an answer that was cut.";

pub const INSTRUCTIONS_SELECTED: &str =
    "The tools of several servers, chosen for this profile. Their names are server__tool.";

/// One of the gateway's own tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meta {
    Find,
    Describe,
    Call,
    ReadMore,
}

impl Meta {
    pub fn of(name: &str) -> Option<Self> {
        match name {
            FIND | FIND_ALIAS => Some(Self::Find),
            DESCRIBE => Some(Self::Describe),
            CALL => Some(Self::Call),
            READ_MORE => Some(Self::ReadMore),
            _ => None,
        }
    }
}

/// The definitions. Equal hints give equal bytes, because members have a fixed order.
pub fn definitions(hint: &str) -> Vec<Tool> {
    vec![find(hint), describe(), call(), read_more()]
}

/// A definition with its title and its one required parameter.
fn definition(
    (name, title): (&str, &str),
    description: &str,
    required: &str,
    properties: Value,
) -> Tool {
    let annotations = match name {
        CALL => json!({ "title": title, "openWorldHint": true }),
        _ => json!({ "title": title, "readOnlyHint": true, "openWorldHint": false }),
    };
    let schema = json!({ "type": "object", "properties": properties, "required": [required] });
    let definition = json!({
        "name": name, "title": title, "description": description, "inputSchema": schema,
        "annotations": annotations,
    });
    serde_json::from_value(definition).expect("definitions of ours are MCP tools. This is a bug.")
}

fn find(hint: &str) -> Tool {
    let description = format!(
        "Finds tools for what you want to do, by meaning. Use it before you say that you cannot do \
         something. {hint}"
    );
    let properties = json!({
        "query": {
            "type": "string",
            "description": "What you want to do, in plain English; or the name of a tool"
        },
        "limit": {
            "type": "integer", "minimum": 1, "maximum": MOST_TOOLS,
            "description": "Tools in the answer at most"
        },
        "server": { "type": "string", "description": "Only tools of this server" },
        "min_score": { "type": "number", "description": "Only tools that score at least this" },
        "context": {
            "type": "object",
            "description": "What you know around it: files, stage, last_tool, planned_tools, model, cost_aware, urgent",
            "properties": { "stage": { "type": "string", "enum": Stage::ALL } }
        },
        "budget_tokens": {
            "type": "integer", "minimum": 0, "description": "Tokens of the answer at most"
        },
        "detail": {
            "type": "string", "enum": ["compact", "full"],
            "description": "compact (default): id, summary and parameters; full: whole definitions"
        }
    });
    definition((FIND, "Find tools"), description.trim_end(), "query", properties)
}

/// The parameter that names a tool.
fn tool_name() -> Value {
    json!({ "type": "string", "description": "The id of the tool, as find_tools gave it" })
}

fn describe() -> Tool {
    let says = "Gives the whole definition of one tool, with the schema of its parameters.";
    let properties = json!({ "tool_name": tool_name() });
    definition((DESCRIBE, "Describe a tool"), says, "tool_name", properties)
}

fn call() -> Tool {
    let says = "Calls a tool that find_tools has found, and gives its answer unchanged.";
    let properties = json!({
        "tool_name": tool_name(),
        "arguments": {
            "type": "object",
            "description": "What the tool takes, by the names of its parameters"
        },
        "budget_tokens": {
            "type": "integer", "minimum": 0,
            "description": "Tokens of the answer at most; the rest is kept"
        },
        "confirm": {
            "type": "boolean",
            "description": "Only after the user has agreed to what may destroy something"
        }
    });
    definition((CALL, "Call a tool"), says, "tool_name", properties)
}

fn read_more() -> Tool {
    let says = "Gives the rest of an answer that was cut and names a handle.";
    let properties = json!({
        "handle": { "type": "string", "description": "As the cut answer names it" },
        "offset": {
            "type": "integer", "minimum": 0, "description": "Where to begin, in characters"
        },
        "max_chars": {
            "type": "integer", "minimum": 1, "maximum": MOST_CHARS,
            "description": "Characters at most"
        }
    });
    definition((READ_MORE, "Read more"), says, "handle", properties)
}
