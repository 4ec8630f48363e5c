//! The transport over stdin and stdout.

use rmcp::model::{JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::{RoleServer, RxJsonRpcMessage};
use rmcp::transport::Transport;

/// How rmcp's answer begins to a request before the handshake, if its `_meta` lacks what the protocol
/// of 2026-07-28 requires.
const NO_META: &str = "request _meta is missing";

/// A transport whose errors also tell clients of the older protocol what to do: they have a
/// handshake, and know nothing of `_meta`. Lines that are not JSON stay unanswered, as in the
/// official SDKs.
pub(super) struct Advising<T>(pub T);

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
        self.0.send(item)
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleServer>>> + Send {
        self.0.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), T::Error>> + Send {
        self.0.close()
    }
}
