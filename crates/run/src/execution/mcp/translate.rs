//! Conversion of MCP results.

use std::error::Error;

use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, ResourceContents, ServerResult};
use rmcp::service::ServiceError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use serde::Deserialize as _;
use serde_json::Value;

use super::super::client;
use super::super::invoker::{Attachment, Fault, FaultKind, Output};
use super::lines;

/// Converts the answer to `tools/call`.
pub(super) fn output(answered: Result<ServerResult, ServiceError>) -> Result<Output, Fault> {
    match answered {
        Ok(ServerResult::CallToolResult(result)) => Ok(of_result(result)),
        Ok(ServerResult::InputRequiredResult(_)) => {
            Err(Fault::after(FaultKind::Refused, "the tool asks for input while it runs"))
        }
        Ok(ServerResult::CreateTaskResult(_)) => {
            Err(Fault::after(FaultKind::Refused, "the tool answers with a task to poll"))
        }
        Ok(ServerResult::CustomResult(result)) => of_unknown(result.0),
        Ok(_) => Err(Fault::after(FaultKind::NoResult, "an answer that is no tool result")),
        Err(ServiceError::McpError(said)) if is_of_tool(said.code) => {
            // Servers report bad arguments and failures either so or by `isError`.
            let text = format!("MCP error {}: {}", said.code.0, said.message);
            Ok(Output { is_error: true, ..Output::text(text) })
        }
        Err(error) => Err(fault(&error)),
    }
}

/// Whether an error of the protocol is what a tool says: not of a tool that is missing, nor one of
/// ours that replaces an answer.
fn is_of_tool(code: ErrorCode) -> bool {
    ![ErrorCode::METHOD_NOT_FOUND, lines::TOO_LONG, lines::UNREADABLE].contains(&code)
}

/// The most characters of a server's error message.
const MOST_CHARS: usize = 1_000;

pub(super) fn fault(error: &ServiceError) -> Fault {
    match error {
        ServiceError::McpError(said) => {
            let kind = match said.code {
                ErrorCode::METHOD_NOT_FOUND => FaultKind::Missing,
                lines::TOO_LONG => FaultKind::TooLong,
                lines::UNREADABLE => FaultKind::Unreadable,
                _ => FaultKind::Refused,
            };
            let fault = Fault::after(kind, format!("{:.MOST_CHARS$}", said.message));
            Fault { code: Some(said.code.0), ..fault }
        }
        ServiceError::Timeout { .. } => Fault::after(FaultKind::Timeout, error),
        ServiceError::TransportSend(error) => not_sent(error.error.as_ref()),
        error => Fault::after(FaultKind::Broken, error),
    }
}

/// The fault of a request that a transport could not send, or whose HTTP answer is no message.
fn not_sent(error: &(dyn Error + Send + Sync + 'static)) -> Fault {
    use StreamableHttpError as Http;
    let after = |kind| Fault::after(kind, with_causes(error));
    match error.downcast_ref::<Http<client::HttpError>>() {
        Some(Http::AuthRequired(_) | Http::InsufficientScope(_)) => after(FaultKind::Denied),
        Some(Http::HttpStatus(answer)) => match answer.status {
            429 | 502..=504 => after(FaultKind::Busy),
            _ => after(FaultKind::ServerError),
        },
        Some(Http::ResponseBodyTooLarge { .. }) => after(FaultKind::TooLong),
        Some(Http::UnexpectedContentType(_) | Http::Deserialize(_)) => after(FaultKind::Unreadable),
        Some(Http::UnexpectedServerResponse(said)) => after(match said.as_ref() {
            said if said.starts_with("HTTP 401") || said.starts_with("HTTP 403") => {
                FaultKind::Denied
            }
            said if said.starts_with("HTTP ") => FaultKind::Refused,
            _ => FaultKind::Unreadable,
        }),
        Some(Http::Client(error)) if error.is_connect() => {
            Fault::before(FaultKind::Unreachable, with_causes(error))
        }
        _ => after(FaultKind::Broken),
    }
}

fn cause_of<'a>(error: &&'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    (**error).source()
}

/// Returns the text of an error with its sources, without repetitions.
pub(super) fn with_causes(error: &(dyn Error + 'static)) -> String {
    // The HTTP client's error is part of the text and not a source.
    let first: Option<&(dyn Error + 'static)> = match error.downcast_ref() {
        Some(StreamableHttpError::<client::HttpError>::Client(error)) => error.source(),
        _ => error.source(),
    };
    let causes = std::iter::successors(first, cause_of);
    causes.fold(error.to_string(), |said, cause| match cause.to_string() {
        known if said.contains(&known) => said,
        new => format!("{said}: {new}"),
    })
}

/// Converts a result that rmcp cannot parse, usually a tool result with a content block of a newer
/// or invalid type. The other blocks must not be lost, and the server is healthy.
fn of_unknown(mut result: Value) -> Result<Output, Fault> {
    let is_ours = ["content", "structuredContent", "isError"]
        .iter()
        .any(|member| result.get(member).is_some_and(|member| !member.is_null()));
    if !is_ours {
        return Err(Fault::after(FaultKind::NoResult, "an answer that is no tool result"));
    }
    if let Some(kind) = result["resultType"].as_str().filter(|kind| *kind != "complete") {
        let said = format!("the tool answers with a result of the unknown type `{kind}`");
        return Err(Fault::after(FaultKind::Refused, said));
    }
    let blocks = match result["content"].take() {
        Value::Array(blocks) => blocks,
        Value::Null => Vec::new(),
        other => vec![other],
    };
    let mut parts = Parts::default();
    blocks.iter().for_each(|block| parts.add_value(block));
    let data = result["structuredContent"].take();
    let mut output = parts.output((!data.is_null()).then_some(data));
    output.is_error = result["isError"] == true;
    output.blocks = blocks;
    Ok(output)
}

fn of_result(result: CallToolResult) -> Output {
    let mut blocks = Vec::new();
    if !is_one_plain_text(&result.content) {
        let values = result.content.iter().map(serde_json::to_value);
        blocks = values.collect::<Result<_, _>>().unwrap_or_default();
    }
    let mut parts = Parts::default();
    result.content.into_iter().for_each(|block| parts.add(block));
    let mut output = parts.output(result.structured_content);
    output.is_error = result.is_error.unwrap_or_default();
    output.blocks = blocks;
    output
}

/// The collected content blocks of an answer.
#[derive(Default)]
struct Parts {
    texts: Vec<String>,
    attachments: Vec<Attachment>,
}

impl Parts {
    fn add(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.texts.push(text.text),
            ContentBlock::Image(image) => self.attach("image", image.mime_type, image.data),
            ContentBlock::Audio(audio) => self.attach("audio", audio.mime_type, audio.data),
            ContentBlock::Resource(embedded) => match embedded.resource {
                ResourceContents::TextResourceContents { text, .. } => self.texts.push(text),
                ResourceContents::BlobResourceContents { blob, mime_type, .. } => {
                    self.attach("resource", mime_type.unwrap_or_default(), blob);
                }
                _ => {}
            },
            ContentBlock::ResourceLink(link) => self.texts.push(link.uri.clone()),
            other => self.texts.extend(serde_json::to_string(&other).ok()),
        }
    }

    /// Adds a content block; an unknown one is added as its text or as JSON.
    fn add_value(&mut self, block: &Value) {
        match (ContentBlock::deserialize(block), block["text"].as_str()) {
            (Ok(known), _) => self.add(known),
            (Err(_), Some(text)) => self.texts.push(text.to_owned()),
            (Err(_), None) => {
                self.texts.push(block.as_str().map_or_else(|| block.to_string(), str::to_owned));
            }
        }
    }

    fn attach(&mut self, kind: &'static str, mime_type: String, data: String) {
        self.attachments.push(Attachment { kind, mime_type, data });
    }

    /// Returns the answer. Without text blocks, its value becomes the text.
    fn output(self, data: Option<Value>) -> Output {
        let mut text = self.texts.join("\n");
        if let (true, Some(data)) = (text.is_empty(), &data) {
            text = data.to_string();
        }
        Output { text, data, attachments: self.attachments, ..Output::default() }
    }
}

/// Whether the text contains everything in the answer.
fn is_one_plain_text(content: &[ContentBlock]) -> bool {
    match content {
        [] => true,
        [ContentBlock::Text(text)] => text.annotations.is_none() && text.meta.is_none(),
        _ => false,
    }
}

/// Patterns in the errors of the system and of libraries, with their descriptions.
const KNOWN: [(&str, &str); 9] = [
    ("Connection refused", "nothing listens at its address"),
    ("dns error", "its host is not known"),
    ("failed to lookup address", "its host is not known"),
    ("certificate", "its certificate is not trusted"),
    ("Auth required", "it asks for a login or a token"),
    ("HTTP 401", "it asks for a login or a token"),
    ("HTTP 403", "it refuses the credentials"),
    ("HTTP 404", "there is no MCP server at its address"),
    ("connection closed", "it ended before it answered"),
];

/// Returns a description of a failed start that is safe to show, because it quotes nothing from the
/// server.
pub(super) fn reason(said: &str) -> Option<String> {
    // The text after this marker is the server's own output.
    let ours = said.split("; it said: ").next().unwrap_or(said);
    let known = KNOWN.iter().find(|(words, _)| ours.contains(words));
    known.map(|(_, told)| format!("cannot be reached: {told}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(result: Value) -> Result<Output, Fault> {
        output(Ok(serde_json::from_value(result).unwrap()))
    }

    #[test]
    fn a_part_that_is_not_known_costs_nothing_of_the_rest() {
        let part = json!({"type": "hologram", "of": "a cat"});
        let content = json!([
            {"type": "text", "text": "before"},
            part,
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "image", "data": "no type of picture"},
            {"type": "markdown", "text": "# after"}
        ]);
        let given = json!({"content": content, "structuredContent": {"n": 1}, "isError": true});
        let output = answer(given).unwrap();
        let wanted = format!(
            "before\n{part}\n{}\n# after",
            json!({"type": "image", "data": "no type of picture"})
        );
        assert_eq!(output.text, wanted);
        assert_eq!(output.attachments.len(), 1);
        assert_eq!((output.data, output.is_error), (Some(json!({"n": 1})), true));
        assert_eq!(json!(output.blocks), content);
        let newest = json!({"resultType": "complete", "content": [part]});
        assert_eq!(answer(newest).unwrap().text, part.to_string());
        assert_eq!(answer(json!({"content": "a text"})).unwrap().text, "a text");
    }

    #[test]
    fn what_is_no_tool_result_is_none() {
        let kind = |result| answer(result).unwrap_err().kind;
        assert_eq!(kind(json!({"odd": [1]})), FaultKind::NoResult);
        assert_eq!(kind(json!({})), FaultKind::NoResult);
        let later = json!({"resultType": "later", "content": [{"type": "new"}]});
        assert_eq!(kind(later), FaultKind::Refused);
    }

    #[test]
    fn a_known_answer_is_as_it_was() {
        let plain = answer(json!({"content": [{"type": "text", "text": "x"}]})).unwrap();
        assert_eq!(plain, Output::text("x"));
        let value = answer(json!({"content": [], "structuredContent": [1]})).unwrap();
        assert_eq!((value.text.as_str(), value.data), ("[1]", Some(json!([1]))));
    }

    #[test]
    fn what_is_told_is_ours_alone() {
        let refused =
            "no handshake: Client error: tcp connect error: Connection refused (os error 111)";
        assert_eq!(reason(refused).unwrap(), "cannot be reached: nothing listens at its address");
        let said = "no handshake: connection closed: initialize; it said: certificate of HTTP 404";
        assert_eq!(reason(said).unwrap(), "cannot be reached: it ended before it answered");
        assert_eq!(reason("no handshake: odd; it said: Connection refused"), None);
    }
}
