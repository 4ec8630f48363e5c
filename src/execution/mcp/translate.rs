//! From MCP's words to ours.

use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, ResourceContents, ServerResult};
use rmcp::service::ServiceError;

use super::super::invoker::{Attachment, Fault, FaultKind, Output};

/// The answer to `tools/call`.
pub(super) fn output(answered: Result<ServerResult, ServiceError>) -> Result<Output, Fault> {
    match answered {
        Ok(ServerResult::CallToolResult(result)) => Ok(of_result(result)),
        Ok(ServerResult::InputRequiredResult(_)) => {
            Err(Fault::after(FaultKind::Refused, "the tool asks for input while it runs"))
        }
        Ok(ServerResult::CreateTaskResult(_)) => {
            Err(Fault::after(FaultKind::Refused, "the tool answers with a task to poll"))
        }
        Ok(_) => Err(Fault::after(FaultKind::Broken, "an answer that is no tool result")),
        Err(error) => Err(fault(&error)),
    }
}

pub(super) fn fault(error: &ServiceError) -> Fault {
    match error {
        ServiceError::McpError(said) => {
            let kind = match said.code {
                ErrorCode::METHOD_NOT_FOUND => FaultKind::Missing,
                _ => FaultKind::Refused,
            };
            Fault::after(kind, format!("{} {}", said.code.0, said.message))
        }
        ServiceError::Timeout { .. } => Fault::after(FaultKind::Timeout, error),
        error => Fault::after(FaultKind::Broken, error),
    }
}

fn of_result(result: CallToolResult) -> Output {
    let mut output = Output {
        data: result.structured_content,
        is_error: result.is_error.unwrap_or_default(),
        ..Output::default()
    };
    if !is_one_plain_text(&result.content) {
        let blocks = result.content.iter().map(serde_json::to_value);
        output.blocks = blocks.collect::<Result<_, _>>().unwrap_or_default();
    }
    let mut texts = Vec::new();
    for block in result.content {
        match block {
            ContentBlock::Text(text) => texts.push(text.text),
            ContentBlock::Image(image) => {
                output.attachments.push(attachment("image", image.mime_type, image.data));
            }
            ContentBlock::Audio(audio) => {
                output.attachments.push(attachment("audio", audio.mime_type, audio.data));
            }
            ContentBlock::Resource(embedded) => match embedded.resource {
                ResourceContents::TextResourceContents { text, .. } => texts.push(text),
                ResourceContents::BlobResourceContents { blob, mime_type, .. } => {
                    let mime_type = mime_type.unwrap_or_default();
                    output.attachments.push(attachment("resource", mime_type, blob));
                }
                _ => {}
            },
            ContentBlock::ResourceLink(link) => texts.push(link.uri.clone()),
            // What later versions of the protocol add is not for a text.
            _ => {}
        }
    }
    output.text = texts.join("\n");
    if let (true, Some(data)) = (output.text.is_empty(), &output.data) {
        output.text = data.to_string();
    }
    output
}

/// Whether the text says all that the answer does.
fn is_one_plain_text(content: &[ContentBlock]) -> bool {
    match content {
        [] => true,
        [ContentBlock::Text(text)] => text.annotations.is_none() && text.meta.is_none(),
        _ => false,
    }
}

fn attachment(kind: &'static str, mime_type: String, data: String) -> Attachment {
    Attachment { kind, mime_type, data }
}
