//! Reads the messages of a program, one on each line.
//!
//! rmcp ignores a line that is too long or that it cannot parse, and the caller would wait until the
//! timeout. Here the request of such a line is answered with an error.

use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerRequest};
use rmcp::service::{RoleClient, RxJsonRpcMessage};
use serde::Deserialize as _;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use super::super::surrogates::without_lone_surrogates;

type Message = RxJsonRpcMessage<RoleClient>;

/// The longest line in bytes: the limit of rmcp's `AsyncRwTransport` (`DEFAULT_MAX_LINE_LENGTH`).
const MOST: usize = 16 << 20;

/// The number of bytes at each end of a line that are searched for its `id`, which is usually its
/// first or last member.
const SEARCHED_BYTES: usize = 256;

/// The codes of the errors that replace answers. JSON-RPC leaves them to applications.
pub(super) const TOO_LONG: ErrorCode = ErrorCode(-39_001);
pub(super) const UNREADABLE: ErrorCode = ErrorCode(-39_002);

/// The messages of a program.
pub(super) struct Lines<R> {
    input: BufReader<R>,
    most: usize,
    line: Line,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub fn new(input: R) -> Self {
        Self::within(input, MOST)
    }

    fn within(input: R, most: usize) -> Self {
        Self { input: BufReader::new(input), most, line: Line::default() }
    }

    /// The next message, or `None` at the end. A caller may stop waiting and lose nothing, because
    /// no bytes are taken while this waits.
    pub async fn next(&mut self) -> Option<Message> {
        loop {
            if self.line.is_broken {
                tracing::warn!(
                    "a server's answer was too long, and did not say to what; it is ended"
                );
                return None;
            }
            let piece = self.input.fill_buf().await.ok().filter(|piece| !piece.is_empty())?;
            let end = piece.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(piece.len(), |end| end + 1);
            let message = self.line.add(&piece[..taken], self.most);
            self.input.consume(taken);
            if message.is_some() {
                return message;
            }
        }
    }
}

/// The current line.
#[derive(Default)]
struct Line {
    /// Its bytes so far; of a line that is too long, only the latest.
    bytes: Vec<u8>,
    /// `Some` while the rest of a line that is too long is skipped: whether its request has already
    /// received an error.
    refused: Option<bool>,
    /// Whether the request of a skipped answer is unknown, so that all pending requests must fail.
    is_broken: bool,
}

impl Line {
    /// Adds a part of the line, of which only the last ends with a line feed.
    fn add(&mut self, piece: &[u8], most: usize) -> Option<Message> {
        self.bytes.extend_from_slice(piece);
        let is_end = piece.ends_with(b"\n");
        let mut id = None;
        if self.refused.is_none() {
            if self.bytes.len() <= most {
                let message = if is_end { parse(&self.bytes) } else { return None };
                self.bytes.clear();
                return message;
            }
            id = first_id(&self.bytes);
            self.refused = Some(id.is_some());
        }
        self.bytes = last_bytes(&self.bytes).to_vec();
        if is_end {
            if self.refused.take() == Some(false) {
                id = last_id(&self.bytes);
                self.is_broken = id.is_none();
            }
            self.bytes.clear();
        }
        let said =
            || format!("the answer is longer than {} MiB, the most that is taken", most >> 20);
        id.map(|id| error(id, TOO_LONG, said()))
    }
}

fn last_bytes(line: &[u8]) -> &[u8] {
    &line[line.len().saturating_sub(SEARCHED_BYTES)..]
}

fn error(id: RequestId, code: ErrorCode, said: String) -> Message {
    JsonRpcMessage::error(ErrorData::new(code, said, None), Some(id))
}

/// Reads a line; `None` if it is no message and answers no request, such as a line of a log.
fn parse(line: &[u8]) -> Option<Message> {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return None;
    }
    let fault = match serde_json::from_slice(line) {
        Ok(message) => return Some(with_whole_question(message, line)),
        Err(fault) => fault,
    };
    if let Ok(message) = serde_json::from_slice(&without_lone_surrogates(line)) {
        return Some(message);
    }
    tracing::debug!(%fault, "a line of a server is no message");
    let id = match serde_json::from_slice::<Value>(line) {
        Ok(value) if value.get("method").is_some() => None,
        // A line of a log may be JSON too, and have an `id`.
        Ok(value) if !["jsonrpc", "result"].iter().any(|key| value.get(key).is_some()) => None,
        Ok(value) => RequestId::deserialize(value.get("id")?).ok(),
        Err(_) => first_id(line).or_else(|| last_id(last_bytes(line))),
    };
    id.map(|id| error(id, UNREADABLE, fault.to_string()))
}

/// Keeps the form of a question as the server wrote it: of what rmcp reads, it leaves out the members
/// that it does not know.
fn with_whole_question(message: Message, line: &[u8]) -> Message {
    let JsonRpcMessage::Request(mut asked) = message else { return message };
    if matches!(asked.request, ServerRequest::ElicitRequest(_))
        && let Ok(whole) = serde_json::from_slice(line)
    {
        asked.request = ServerRequest::CustomRequest(whole);
    }
    JsonRpcMessage::Request(asked)
}

/// Returns the `id` at the beginning of an answer, if only scalar members precede it.
fn first_id(line: &[u8]) -> Option<RequestId> {
    let text = String::from_utf8_lossy(&line[..line.len().min(SEARCHED_BYTES)]);
    let mut rest = text.trim_start().strip_prefix('{')?;
    let mut id = None;
    // A nested value may contain an `id` of its own.
    while let Some((name, value, after)) = scalar_member(rest) {
        match name {
            // A request of the server, whose id is another.
            "method" => return None,
            "id" => id = id_of(value),
            _ => {}
        }
        rest = after;
    }
    id
}

/// Splits a first member with a scalar value off: its name, its value and what follows it.
fn scalar_member(text: &str) -> Option<(&str, &str, &str)> {
    let (name, after) = text.trim_start().strip_prefix('"')?.split_once('"')?;
    let after = after.trim_start().strip_prefix(':')?.trim_start();
    let end = after.find([',', '{', '[', '}'])?;
    after[end..].starts_with([',', '}']).then(|| (name, &after[..end], &after[end + 1..]))
}

/// Returns the `id` at the end of a message, if it is the last member or only `jsonrpc` follows it.
fn last_id(text: &[u8]) -> Option<RequestId> {
    let text = String::from_utf8_lossy(text);
    let rest = text.trim_end().strip_suffix('}')?;
    let (_, after) = rest.rsplit_once("\"id\"")?;
    let after = after.trim_start().strip_prefix(':')?;
    let (id, others) = after.split_once(',').unwrap_or((after, ""));
    let is_last = others.trim().is_empty() || others.trim().starts_with("\"jsonrpc\"");
    if is_last && !others.contains(['{', '}']) { id_of(id) } else { None }
}

fn id_of(text: &str) -> Option<RequestId> {
    serde_json::from_str(text.trim()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    async fn read(text: &str) -> Vec<Value> {
        let mut lines = Lines::within(text.as_bytes(), 1_000);
        let mut read = Vec::new();
        while let Some(message) = lines.next().await {
            read.push(serde_json::to_value(message).unwrap());
        }
        read
    }

    const AFTER: &str = r#"{"jsonrpc":"2.0","id":8,"result":{}}"#;

    #[tokio::test]
    async fn an_answer_that_is_too_long_is_an_error_of_its_request() {
        let long = "x".repeat(5_000);
        for line in [
            format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"id":1,"text":"{long}"}}}}"#),
            format!(r#"{{ "id" : 7, "result": "{long}"}}"#),
            format!(
                r#"{{"result":{{"id":1,"text":"{long}","last":{{"id":2}}}},"jsonrpc":"2.0","id":7}}"#
            ),
            format!(r#"{{"result":{{"text":"{long}"}}, "id": 7, "jsonrpc": "2.0"}} "#),
        ] {
            let read = read(&format!("{line}\n{AFTER}\n")).await;
            assert_eq!(read.len(), 2, "{read:?}");
            assert_eq!((&read[0]["id"], &read[1]["id"]), (&json!(7), &json!(8)));
            assert_eq!(read[0]["error"]["code"], TOO_LONG.0);
        }
    }

    #[tokio::test]
    async fn where_nobody_knows_to_what_it_was_the_end_has_come() {
        let long = "x".repeat(5_000);
        let line = format!(r#"{{"result":{{"id":7}},"id":7,"more":{{"x":"{long}"}}}}"#);
        assert_eq!(read(&format!("{AFTER}\n")).await.len(), 1);
        let read =
            read(&format!("{{\"result\":{line},\"x\":{line}}}\n{}{AFTER}\n", " ".repeat(20_000)))
                .await;
        assert_eq!(read, [] as [Value; 0]);
    }

    #[tokio::test]
    async fn an_answer_that_cannot_be_read_is_an_error_of_its_request() {
        let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
        for line in [
            r#"{"jsonrpc":"2.0","id":7,"result":{"t":NaN}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{"t":1e400}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]"#,
            r#"{"result":{"t":NaN},"jsonrpc":"2.0","id":7}"#,
            r#"{"result":{"id":3},"id":7}"#,
            &format!(r#"{{"jsonrpc":"2.0","id":7,"result":{deep}}}"#),
        ] {
            let read = read(&format!("{line}\nINFO ready\n{{\"id\":7}}\n[]\n\n{AFTER}\n")).await;
            let ids: Vec<&Value> = read.iter().map(|message| &message["id"]).collect();
            assert_eq!(ids, [7, 8], "{line}: {read:?}");
            assert_eq!(read[0]["error"]["code"], UNREADABLE.0);
        }
        let asked =
            r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"t":NaN}}"#;
        assert_eq!(read(&format!("{asked}\n{AFTER}\n")).await.len(), 1, "its own request");
    }

    #[tokio::test]
    async fn half_a_character_is_replaced_and_a_whole_one_stays() {
        let line =
            r#"{"jsonrpc":"2.0","id":7,"result":{"t":"\ud83d \ud83d\ude00 \\ud83d \ude00"}}"#;
        let read = read(&format!("{line}\n")).await;
        assert_eq!(read[0]["result"]["t"], "\u{fffd} \u{1f600} \\ud83d \u{fffd}");
    }
}
