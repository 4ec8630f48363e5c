//! Reads a program's output by lines, and replaces an answer that is too long with an error.
//!
//! rmcp drops a line beyond its limit, and the caller would wait until the timeout. Here such a
//! line is cut off, and its request is answered with an error.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use serde_json::{Value, json};
use tokio::io::{AsyncRead, ReadBuf};

/// The longest line in bytes: the limit of rmcp's `AsyncRwTransport` (`DEFAULT_MAX_LINE_LENGTH`).
const MOST: usize = 16 << 20;

/// The number of bytes at each end of a line that are searched for its `id`, which is usually its
/// first or last member.
const SEARCHED_BYTES: usize = 256;

/// A reader that replaces lines that are too long.
pub(super) struct Lines<R> {
    input: R,
    most: usize,
    /// The output, of which the first `passed` bytes were already returned to the reader.
    ready: Vec<u8>,
    passed: usize,
    /// The length of the current line so far, in bytes.
    length: usize,
    first: Vec<u8>,
    /// The latest bytes of a line that is being skipped.
    last: Vec<u8>,
    /// `Some` while a line is skipped: whether its request has already received an error.
    dropped: Option<bool>,
    /// Whether the request of a skipped answer is unknown, so that all pending requests must fail.
    is_broken: bool,
}

impl<R> Lines<R> {
    pub fn new(input: R) -> Self {
        Self::within(input, MOST)
    }

    fn within(input: R, most: usize) -> Self {
        Self {
            input,
            most,
            ready: Vec::new(),
            passed: 0,
            length: 0,
            first: Vec::new(),
            last: Vec::new(),
            dropped: None,
            is_broken: false,
        }
    }

    fn take_in(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            match self.dropped {
                None => self.add(piece),
                Some(_) => self.skip(piece),
            }
            if piece.ends_with(b"\n") {
                self.end();
            }
        }
    }

    fn add(&mut self, piece: &[u8]) {
        self.length += piece.len();
        let room = SEARCHED_BYTES.saturating_sub(self.first.len()).min(piece.len());
        self.first.extend_from_slice(&piece[..room]);
        if self.length <= self.most {
            self.ready.extend_from_slice(piece);
            return;
        }
        // The part that was passed on is not valid JSON, so it is not taken for a message.
        self.ready.push(b'\n');
        let id = first_id(&self.first);
        self.dropped = Some(id.is_some());
        self.refuse(id);
        self.skip(piece);
    }

    fn skip(&mut self, piece: &[u8]) {
        self.last.extend_from_slice(&piece[piece.len().saturating_sub(SEARCHED_BYTES)..]);
        let excess = self.last.len().saturating_sub(SEARCHED_BYTES);
        self.last.drain(..excess);
    }

    fn end(&mut self) {
        if self.dropped.take() == Some(false) {
            let id = last_id(&self.last);
            self.is_broken |= id.is_none();
            self.refuse(id);
        }
        self.length = 0;
        self.first.clear();
        self.last.clear();
    }

    fn refuse(&mut self, id: Option<Value>) {
        let Some(id) = id else { return };
        let said = format!(
            "the answer is longer than {} MiB, the most that is taken; ask for less at once",
            self.most >> 20
        );
        let error =
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32_603, "message": said}});
        self.ready.extend_from_slice(error.to_string().as_bytes());
        self.ready.push(b'\n');
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        const CHUNK: usize = 16 << 10;
        let lines = self.get_mut();
        while lines.passed == lines.ready.len() {
            if lines.is_broken {
                tracing::warn!(
                    "a server's answer was too long, and did not say to what; it is ended"
                );
                return Poll::Ready(Ok(()));
            }
            lines.ready.clear();
            lines.passed = 0;
            let mut chunk = [std::mem::MaybeUninit::uninit(); CHUNK];
            let mut chunk = ReadBuf::uninit(&mut chunk);
            ready!(Pin::new(&mut lines.input).poll_read(context, &mut chunk))?;
            if chunk.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            lines.take_in(chunk.filled());
        }
        let rest = &lines.ready[lines.passed..];
        let part = &rest[..rest.len().min(out.remaining())];
        out.put_slice(part);
        lines.passed += part.len();
        Poll::Ready(Ok(()))
    }
}

/// Returns the `id` at the beginning of a message, if only scalar members precede it.
fn first_id(text: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(text);
    let mut rest = text.trim_start().strip_prefix('{')?;
    loop {
        let (key, after) = rest.trim_start().strip_prefix('"')?.split_once('"')?;
        let after = after.trim_start().strip_prefix(':')?.trim_start();
        // A nested value may contain an `id` of its own.
        let end =
            after.find([',', '{', '[', '}']).filter(|end| after[*end..].starts_with([',', '}']))?;
        if key == "id" {
            return id_of(&after[..end]);
        }
        rest = &after[end + 1..];
    }
}

/// Returns the `id` at the end of a message, if it is the last member or only `jsonrpc` follows it.
fn last_id(text: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(text);
    let rest = text.trim_end().strip_suffix('}')?;
    let (_, after) = rest.rsplit_once("\"id\"")?;
    let after = after.trim_start().strip_prefix(':')?;
    let (id, others) = after.split_once(',').unwrap_or((after, ""));
    let is_last = others.trim().is_empty() || others.trim().starts_with("\"jsonrpc\"");
    if is_last && !others.contains(['{', '}']) { id_of(id) } else { None }
}

fn id_of(text: &str) -> Option<Value> {
    let id: Value = serde_json::from_str(text.trim()).ok()?;
    (id.is_number() || id.is_string()).then_some(id)
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn read(text: &str) -> Vec<Value> {
        let mut out = String::new();
        Lines::within(text.as_bytes(), 1_000).read_to_string(&mut out).await.unwrap();
        out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    #[tokio::test]
    async fn an_answer_that_is_too_long_is_an_error_of_its_request() {
        let long = "x".repeat(5_000);
        let after = r#"{"jsonrpc":"2.0","id":8,"result":{}}"#;
        for line in [
            format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"id":1,"text":"{long}"}}}}"#),
            format!(r#"{{ "id" : 7, "result": "{long}"}}"#),
            format!(
                r#"{{"result":{{"id":1,"text":"{long}","last":{{"id":2}}}},"jsonrpc":"2.0","id":7}}"#
            ),
            format!(r#"{{"result":{{"text":"{long}"}}, "id": 7, "jsonrpc": "2.0"}} "#),
        ] {
            let read = read(&format!("{line}\n{after}\n")).await;
            assert_eq!(read.len(), 2, "{read:?}");
            assert_eq!((&read[0]["id"], &read[1]["id"]), (&json!(7), &json!(8)));
            assert!(read[0]["error"]["message"].as_str().unwrap().contains("ask for less"));
        }
    }

    #[tokio::test]
    async fn where_nobody_knows_to_what_it_was_the_end_has_come() {
        let long = "x".repeat(5_000);
        let line = format!(r#"{{"result":{{"id":7}},"id":7,"more":{{"x":"{long}"}}}}"#);
        let after = r#"{"jsonrpc":"2.0","id":8,"result":{}}"#;
        assert_eq!(read(&format!("{after}\n")).await.len(), 1);
        let read =
            read(&format!("{{\"result\":{line},\"x\":{line}}}\n{}{after}\n", " ".repeat(20_000)))
                .await;
        assert_eq!(read, [] as [Value; 0]);
    }
}
