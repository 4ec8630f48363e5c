//! Converts the report of a call to an MCP result, with the tool's own content.

use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde::Deserialize as _;
use serde_json::{Value, json};
use toolroute_catalog::Tool;
use toolroute_run::execution::{Answer, Attempt, Change, Ending, Outcome, Report};

/// How to handle structured content that is too long for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooLong {
    /// It stays complete, because the client checks it against the tool's output schema.
    Whole,
    /// Its beginning is added to the text.
    AsText,
}

/// How the person who runs the gateway allows a tool for good. An agent has no part in it.
const FOR_GOOD: &str = "(Whoever runs this gateway can say what the tool does, by `hints` in an `--overlay` \
                        file, or set `--confirm`; both take effect at its next start.)";

/// The result of `tools/call`.
pub fn result(asked: &Tool, report: &Report, too_long: TooLong) -> CallToolResult {
    match &report.outcome {
        Outcome::Answered(answer) => answered(asked, answer, too_long),
        Outcome::Confirm { message, .. } => error(format!(
            "{message}. Ask the user. Once they agree, call it again by call_tool with \"confirm\": true. \
             {FOR_GOOD}"
        )),
        Outcome::Clarify { message, .. } => {
            error(format!("{message}. describe_tool {} gives its schema.", asked.id))
        }
        _ => failed(asked, report),
    }
}

/// The tool's own error if it reported one, and the results of the fallbacks.
fn failed(asked: &Tool, report: &Report) -> CallToolResult {
    let mut owns = report.attempts.iter().filter_map(|attempt| attempt.error_answer.as_deref());
    let Some(own) = owns.find(|own| own.tool == asked.id) else {
        return error(report.message_and_errors(|_| true));
    };
    let mut result = answered(asked, own, TooLong::AsText);
    result.is_error = Some(true);
    let is_other = |attempt: &Attempt| attempt.tool != asked.id;
    let was_tried = |attempt: &Attempt| !matches!(attempt.ending, Ending::Skipped { .. });
    if report.attempts.iter().any(|attempt| is_other(attempt) && was_tried(attempt)) {
        result.content.push(ContentBlock::text(report.message_and_errors(is_other)));
    }
    result
}

/// A result that tells the agent of an error.
pub fn error(said: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(said)])
}

fn answered(asked: &Tool, answer: &Answer, too_long: TooLong) -> CallToolResult {
    let mut content = content(answer);
    let mut meta = MetaObject::default();
    if answer.tool != asked.id {
        let said = format!("[{} gave no answer; this is the answer of {}]", asked.id, answer.tool);
        content.insert(0, ContentBlock::text(said));
        meta.0.insert("answered_by".to_owned(), json!(answer.tool));
    }
    if !answer.changes.is_empty() {
        let changes: Vec<String> = answer.changes.iter().map(ToString::to_string).collect();
        meta.0.insert("toolroute/changes".to_owned(), json!(changes));
        // An agent does not see `_meta`, and only it can say what it meant.
        let unknown = answer
            .changes
            .iter()
            .filter(|c| matches!(c, Change::Unknown { .. } | Change::NotSent { .. }));
        content.extend(unknown.map(|change| ContentBlock::text(format!("[{change}]"))));
    }
    let whole = answer.truncation.as_ref().and_then(|truncation| truncation.whole_data.as_ref());
    let structured = match (whole, too_long) {
        (None, _) => answer.output.data.clone(),
        (Some(whole), TooLong::Whole) => Some(whole.clone()),
        (Some(_), TooLong::AsText) => {
            content.extend(instead(answer).map(ContentBlock::text));
            meta.0.insert("toolroute/structured_content".to_owned(), json!(LEFT_OUT));
            None
        }
    };
    let mut result = CallToolResult::success(content);
    result.structured_content = structured;
    result.meta = (!meta.0.is_empty()).then_some(meta);
    result
}

/// Describes structured content that is too long. It is left out as a whole, because a truncated
/// value may not match its schema.
const LEFT_OUT: &str = "left out: it is too long";

/// The texts that replace structured content.
fn instead(answer: &Answer) -> impl Iterator<Item = String> {
    // A long text is usually the same value, or the text in it, and fills the limit by itself.
    let chars = answer.output.text.chars().count();
    let is_short = answer.truncation.as_ref().is_some_and(|cut| cut.of_chars == chars);
    let beginning = answer.output.data.as_ref().filter(|_| is_short).map(ToString::to_string);
    [format!("[the structured content is {LEFT_OUT}]")].into_iter().chain(beginning)
}

/// Converts a content block as the tool sent it. A block that rmcp cannot represent becomes its
/// text, or its JSON.
fn passed_on(block: &Value) -> ContentBlock {
    ContentBlock::deserialize(block).unwrap_or_else(|_| {
        let text = block["text"].as_str().or_else(|| block.as_str());
        ContentBlock::text(text.map_or_else(|| block.to_string(), str::to_owned))
    })
}

fn content(answer: &Answer) -> Vec<ContentBlock> {
    let output = &answer.output;
    if !output.blocks.is_empty() {
        return output.blocks.iter().map(passed_on).collect();
    }
    let mut content = Vec::new();
    if !output.text.is_empty() || output.attachments.is_empty() {
        content.push(ContentBlock::text(output.text.clone()));
    }
    for attachment in &output.attachments {
        let block = match attachment.kind {
            kind @ ("image" | "audio") => {
                json!({"type": kind, "data": attachment.data, "mimeType": attachment.mime_type})
            }
            _ => json!({"type": "resource", "resource": {
                "uri": format!("toolroute://answer/{}", answer.tool),
                "mimeType": attachment.mime_type, "blob": attachment.data
            }}),
        };
        content.extend(serde_json::from_value::<ContentBlock>(block).ok());
    }
    content
}
