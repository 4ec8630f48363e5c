//! The definitions of the gateway's own tools, which find, describe and call all others.

use rmcp::model::Tool;
use serde_json::{Value, json};

pub const FIND: &str = "find_tools";
pub const DESCRIBE: &str = "describe_tool";
pub const CALL: &str = "call_tool";
pub const READ_MORE: &str = "read_more";

/// An alias of [`FIND`] that agents know from other gateways.
pub const FIND_ALIAS: &str = "search_tools";

/// The most tools in an answer.
pub const MOST_TOOLS: u64 = 50;

/// The most characters of a page.
pub const MOST_CHARS: u64 = 1_000_000;

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
    [find(hint), describe(), call(), read_more()].into_iter().map(read).collect()
}

fn read(definition: Value) -> Tool {
    serde_json::from_value(definition).expect("definitions of ours are MCP tools. This is a bug.")
}

fn find(hint: &str) -> Value {
    let description = format!(
        "Finds tools for what you want to do, by meaning. Use it before you say that you cannot do \
         something. {hint}"
    );
    json!({
        "name": FIND,
        "title": "Find tools",
        "description": description.trim_end(),
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "What you want to do, in plain English; or the name of a tool"
                },
                "limit": {
                    "type": "integer", "minimum": 1, "maximum": MOST_TOOLS,
                    "description": "Tools in the answer at most"
                },
                "server": {
                    "type": "string",
                    "description": "Only tools of this server"
                },
                "min_score": {
                    "type": "number",
                    "description": "Only tools that score at least this"
                },
                "context": {
                    "type": "object",
                    "description": "What you know around it: files, stage, last_tool, planned_tools, model, cost_aware, urgent"
                },
                "budget_tokens": {
                    "type": "integer", "minimum": 0,
                    "description": "Tokens of the answer at most"
                },
                "detail": {
                    "type": "string", "enum": ["compact", "full"],
                    "description": "compact (default): id, summary and parameters; full: whole definitions"
                }
            },
            "required": ["query"]
        },
        "annotations": { "title": "Find tools", "readOnlyHint": true, "openWorldHint": false }
    })
}

fn describe() -> Value {
    json!({
        "name": DESCRIBE,
        "title": "Describe a tool",
        "description": "Gives the whole definition of one tool, with the schema of its parameters.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "tool_name": {
                    "type": "string",
                    "description": "The id of the tool, as find_tools gave it"
                }
            },
            "required": ["tool_name"]
        },
        "annotations": { "title": "Describe a tool", "readOnlyHint": true, "openWorldHint": false }
    })
}

fn call() -> Value {
    json!({
        "name": CALL,
        "title": "Call a tool",
        "description": "Calls a tool that find_tools has found, and gives its answer unchanged.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "tool_name": {
                    "type": "string",
                    "description": "The id of the tool, as find_tools gave it"
                },
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
            },
            "required": ["tool_name"]
        },
        "annotations": { "title": "Call a tool", "openWorldHint": true }
    })
}

fn read_more() -> Value {
    json!({
        "name": READ_MORE,
        "title": "Read more",
        "description": "Gives the rest of an answer that was cut and names a handle.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "handle": { "type": "string", "description": "As the cut answer names it" },
                "offset": {
                    "type": "integer", "minimum": 0,
                    "description": "Where to begin, in characters"
                },
                "max_chars": {
                    "type": "integer", "minimum": 1, "maximum": MOST_CHARS,
                    "description": "Characters at most"
                }
            },
            "required": ["handle"]
        },
        "annotations": { "title": "Read more", "readOnlyHint": true, "openWorldHint": false }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_the_same_bytes_and_only_call_tool_does_not_say_that_it_only_reads() {
        let written = || serde_json::to_string(&definitions("There is much.")).unwrap();
        assert_eq!(written(), written());
        let tools = definitions("There is much.");
        let reads = |at: usize| tools[at].annotations.as_ref().unwrap().read_only_hint;
        assert_eq!(
            (reads(0), reads(1), reads(2), reads(3)),
            (Some(true), Some(true), None, Some(true))
        );
        assert!(tools[0].description.as_ref().unwrap().ends_with("There is much."));
    }
}
