//! The transport over stdin and stdout.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rmcp::ErrorData;
use rmcp::model::{JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::{RoleServer, RxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::DEFAULT_MAX_LINE_LENGTH;
use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::malformed::refused_handshake;

/// How rmcp's answer begins to a request before the handshake, if its `_meta` lacks what the protocol
/// of 2026-07-28 requires.
const NO_META: &str = "request _meta is missing";

/// A transport whose errors also tell clients of the older protocol what to do: they have a
/// handshake, and know nothing of `_meta`. It answers lines that rmcp ignores with -32700, without
/// an id, because theirs cannot be read.
pub(super) struct Advising<T> {
    inner: T,
    /// What [`Checked`] finds wrong with lines.
    faults: UnboundedReceiver<String>,
    /// The answer to a line or a handshake that is unreadable, until it is written. It is kept here,
    /// because a call of `receive` may be cancelled.
    answer: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<T: Transport<RoleServer>> Advising<T> {
    pub fn new(inner: T, faults: UnboundedReceiver<String>) -> Self {
        Self { inner, faults, answer: None }
    }

    fn reply(&mut self, message: ServerJsonRpcMessage) {
        let sent = self.inner.send(message);
        // If it cannot be written, nothing else can be, and the next message says so.
        self.answer = Some(Box::pin(async move { drop(sent.await) }));
    }

    fn refuse_line(&mut self, fault: String) {
        self.reply(ServerJsonRpcMessage::error(ErrorData::parse_error(fault, None), None));
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Advising<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        mut item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        if let JsonRpcMessage::Error(refused) = &mut item
            && refused.error.message.starts_with(NO_META)
        {
            let cure = "; a client of the protocol before 2026-07-28 has to send initialize first";
            refused.error.message = format!("{}{cure}", refused.error.message).into();
        }
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(answer) = &mut self.answer {
                answer.as_mut().await;
                self.answer = None;
            }
            let received = tokio::select! {
                biased;
                Some(fault) = self.faults.recv() => {
                    self.refuse_line(fault);
                    continue;
                }
                received = self.inner.receive() => received,
            };
            // The last line is found wrong while the end of the input is read.
            if received.is_none()
                && let Ok(fault) = self.faults.try_recv()
            {
                self.refuse_line(fault);
                continue;
            }
            let message = received?;
            let Some(refused) = refused_handshake(&message) else { return Some(message) };
            self.reply(refused);
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), T::Error>> + Send {
        self.inner.close()
    }
}

/// An input that reports lines that are too long or not JSON. rmcp ignores them without a word, and
/// a client would wait for an answer in vain.
pub(super) struct Checked<R> {
    inner: R,
    faults: UnboundedSender<String>,
    /// The current line, up to the length that rmcp reads.
    line: Vec<u8>,
    /// The number of all its bytes so far.
    length: usize,
}

impl<R> Checked<R> {
    pub fn new(inner: R) -> (Self, UnboundedReceiver<String>) {
        let (faults, found) = unbounded_channel();
        (Self { inner, faults, line: Vec::new(), length: 0 }, found)
    }

    /// Takes in what was read, and returns the lengths of the lines in it that are ignored, each
    /// with what is wrong.
    fn check(&mut self, read: &[u8]) -> Vec<(usize, &'static str)> {
        let mut wrong = Vec::new();
        for piece in read.split_inclusive(|byte| *byte == b'\n') {
            self.length += piece.len();
            if self.length <= DEFAULT_MAX_LINE_LENGTH {
                self.line.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                wrong.extend(self.end_line());
            }
        }
        wrong
    }

    /// Ends the current line, and returns its length if it is ignored, with what is wrong.
    fn end_line(&mut self) -> Option<(usize, &'static str)> {
        let (line, length) = (std::mem::take(&mut self.line), std::mem::take(&mut self.length));
        if length > DEFAULT_MAX_LINE_LENGTH {
            return Some((length, "is too long"));
        }
        (!is_json(&line)).then_some((line.trim_ascii().len(), "is not JSON"))
    }
}

fn is_json(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    line.is_empty() || serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

impl<R: AsyncRead + Unpin> AsyncRead for Checked<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (before, has_room) = (buffer.filled().len(), buffer.remaining() > 0);
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let read = &buffer.filled()[before..];
        let mut wrong = self.check(read);
        // The last line may have no newline.
        if read.is_empty() && has_room {
            wrong.extend(self.end_line());
        }
        for (length, fault) in wrong {
            let said = format!(
                "a line of {length} bytes on stdin {fault}; expected one JSON-RPC message on each line"
            );
            tracing::warn!("{said}");
            // Nobody listens any longer at the end.
            self.faults.send(said).ok();
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[test]
    fn a_line_that_is_not_json_is_noticed_in_whatever_pieces_it_comes() {
        let (mut checked, _faults) = Checked::new(());
        assert_eq!(checked.check(b"{\"a\": 1}\n\n  \r\n[1]\nhel"), []);
        assert_eq!(checked.check(b"lo\n{\"a\":"), [(5, "is not JSON")]);
        assert_eq!(checked.check(b"}\n\xEF\xBB\xBF{}\r\n"), [(6, "is not JSON")]);
        let long = "x".repeat(DEFAULT_MAX_LINE_LENGTH);
        let (length, fault) = checked.check(format!("{long}\n{{}}\n").as_bytes())[0];
        assert_eq!((length, fault), (DEFAULT_MAX_LINE_LENGTH + 1, "is too long"));
    }

    #[tokio::test]
    async fn a_last_line_without_a_newline_is_checked() {
        for (input, said) in
            [("{}\nno json", Some("a line of 7 bytes")), ("no\n{}", None), ("{}\n", None)]
        {
            let (mut checked, mut faults) = Checked::new(input.as_bytes());
            checked.read_to_end(&mut Vec::new()).await.unwrap();
            let mut last = None;
            while let Ok(fault) = faults.try_recv() {
                last = Some(fault);
            }
            let last = last.filter(|fault| !fault.starts_with("a line of 2 bytes"));
            assert_eq!(last.as_deref().map(|fault| &fault[..17]), said, "{input:?}");
        }
    }
}
