//! The pipes of a server's process, as rmcp wants them.

use std::io;
use std::time::Duration;

use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::super::servers::Program;
use super::super::spawn::{self, Child, GroupLease, ProcessOptions, RunningProgram};
use super::lines::Lines;

/// How long a server may take to end once its input has. Who closes a connection gives it less, and
/// kills what is left.
const LONGEST_END: Duration = Duration::from_secs(3);

/// A process that speaks over its pipes.
pub(super) struct Pipes {
    child: Child,
    lines: AsyncRwTransport<RoleClient, Lines<ChildStdout>, ChildStdin>,
}

impl Pipes {
    /// Starts the program. What it says on stderr must be read, and the lease be held.
    pub fn open(
        program: &Program,
        options: &ProcessOptions,
    ) -> io::Result<(Self, Option<ChildStderr>, GroupLease)> {
        let RunningProgram { mut child, lease } = spawn::start(program, options)?;
        let pipes = child.stdout().take().zip(child.stdin().take());
        let (stdout, stdin) = pipes.ok_or_else(|| io::Error::other("it has no pipes"))?;
        let stderr = child.stderr().take();
        let lines = AsyncRwTransport::new_client(Lines::new(stdout), stdin);
        Ok((Self { child, lines }, stderr, lease))
    }
}

impl Transport<RoleClient> for Pipes {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.lines.send(item)
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleClient>>> + Send {
        self.lines.receive()
    }

    /// Closes the server's input, by which it knows that it is to end, and sees to it that it does.
    async fn close(&mut self) -> Result<(), Self::Error> {
        self.lines.close().await?;
        if tokio::time::timeout(LONGEST_END, self.child.wait()).await.is_err() {
            Box::into_pin(self.child.kill()).await?;
        }
        Ok(())
    }
}
