//! The pipes of a server's process as an rmcp transport.

use std::io;
use std::time::Duration;

use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::Empty;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::super::servers::Program;
use super::super::spawn::{self, Child, GroupLease, ProcessOptions, RunningProgram};
use super::lines::Lines;

/// The time for a server to exit after its input is closed. Closing a connection allows less time
/// and kills what is left.
const LONGEST_END: Duration = Duration::from_secs(3);

/// A server's process and its pipes.
pub(super) struct Pipes {
    child: Child,
    output: Lines<ChildStdout>,
    /// Only writes.
    input: AsyncRwTransport<RoleClient, Empty, ChildStdin>,
}

impl Pipes {
    /// Starts the program. The caller must read its stderr and hold the lease.
    pub fn open(
        program: &Program,
        options: &ProcessOptions,
    ) -> io::Result<(Self, Option<ChildStderr>, GroupLease)> {
        let RunningProgram { mut child, lease } = spawn::start(program, options)?;
        let pipes = child.stdout().take().zip(child.stdin().take());
        let (stdout, stdin) = pipes.ok_or_else(|| io::Error::other("it has no pipes"))?;
        let stderr = child.stderr().take();
        let input = AsyncRwTransport::new_client(tokio::io::empty(), stdin);
        Ok((Self { child, output: Lines::new(stdout), input }, stderr, lease))
    }
}

impl Transport<RoleClient> for Pipes {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.input.send(item)
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleClient>>> + Send {
        self.output.next()
    }

    /// Closes the server's input, which asks it to exit, and kills it after a grace period.
    async fn close(&mut self) -> Result<(), Self::Error> {
        self.input.close().await?;
        if tokio::time::timeout(LONGEST_END, self.child.wait()).await.is_err() {
            Box::into_pin(self.child.kill()).await?;
        }
        Ok(())
    }
}
