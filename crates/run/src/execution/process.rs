//! Programs that run once for each call: JSON in, JSON out.
//!
//! The program receives `{"tool": "name", "arguments": {…}}` on stdin, with the call's `key` if it
//! has one, and stdin is then closed. The program writes one JSON value to stdout; output that is
//! not JSON is taken as text. An exit status other than 0 means that the tool failed, and its
//! stderr goes to the log. If a call is cancelled, the program and all processes that it started
//! are killed.

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use super::invoker::{Call, Fault, FaultKind, Invoker, Output, Pending};
use super::servers::{Program, tools_of};
use super::spawn::{self, ProcessOptions, RunningProgram};
use toolroute_catalog::Tool;

/// Limits in bytes for a program that never stops writing.
const MOST_OUTPUT: u64 = 64 << 20;
const MOST_ERRORS: u64 = 64 << 10;

/// A program and its tools.
pub struct ProcessTools {
    program: Program,
    tools: Vec<Tool>,
    options: ProcessOptions,
}

impl ProcessTools {
    /// Creates an invoker. `tools` have the format of MCP's `tools/list`.
    pub fn new(name: &str, (program, tools): (Program, &[Value]), options: ProcessOptions) -> Self {
        Self { program, tools: tools_of(name, tools), options }
    }

    async fn run(&self, call: Call<'_>) -> Result<Output, Fault> {
        let started = spawn::start(&self.program, &self.options).map_err(|error| {
            let said = format!("cannot start `{}`: {error}", self.program.command);
            Fault::before(FaultKind::Unreachable, said)
        })?;
        let RunningProgram { mut child, lease: _lease } = started;
        let (stdin, stdout, stderr) =
            (child.stdin().take(), child.stdout().take(), child.stderr().take());
        let mut asked = json!({"tool": call.tool.name, "arguments": call.arguments});
        if let Some(key) = call.key {
            asked["key"] = key.into();
        }
        let asked = asked.to_string();
        let write = async {
            if let Some(mut stdin) = stdin {
                // A program that reads nothing may still answer.
                stdin.write_all(asked.as_bytes()).await.ok();
                stdin.shutdown().await.ok();
            }
        };
        let ((), said, complaint) =
            tokio::join!(write, read(stdout, MOST_OUTPUT), read_all(stderr, MOST_ERRORS));
        if said.len() as u64 > MOST_OUTPUT {
            return Err(Fault::after(FaultKind::TooLong, "more output than is taken"));
        }
        let status = child.wait().await.map_err(|error| Fault::after(FaultKind::Broken, error))?;
        answer(&said, &complaint, status)
    }
}

/// Converts a program's output to an answer. A program that was killed by a signal has crashed; one
/// that exits with an error status has answered with an error.
fn answer(
    said: &[u8],
    complaint: &[u8],
    status: std::process::ExitStatus,
) -> Result<Output, Fault> {
    let complaint = String::from_utf8_lossy(complaint);
    if status.code().is_none() {
        let said = format!("{status}: {}", complaint.trim());
        return Err(Fault::after(FaultKind::Broken, said));
    }
    let text = String::from_utf8_lossy(said);
    let mut output = match serde_json::from_str::<Value>(text.trim()) {
        Ok(value) => Output::data(value),
        Err(_) => Output::text(text.trim()),
    };
    if !status.success() {
        output.is_error = true;
        if output.text.is_empty() {
            output.text = format!("{status}: {}", complaint.trim());
        }
    }
    Ok(output)
}

async fn read(from: Option<impl AsyncRead + Unpin>, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        // Output before a read error still counts.
        from.take(most + 1).read_to_end(&mut bytes).await.ok();
    }
    bytes
}

/// Reads to the end and keeps the first bytes: a program whose stderr is closed is killed when it writes
/// on, and a full pipe would block it.
async fn read_all(from: Option<impl AsyncRead + Unpin>, kept: u64) -> Vec<u8> {
    let Some(mut from) = from else { return Vec::new() };
    let bytes = read(Some(&mut from), kept).await;
    tokio::io::copy(&mut from, &mut tokio::io::sink()).await.ok();
    bytes
}

impl Invoker for ProcessTools {
    fn invoke<'a>(&'a self, call: Call<'a>) -> Pending<'a, Result<Output, Fault>> {
        Box::pin(self.run(call))
    }

    fn prepare(&self) -> Pending<'_, Result<(), Fault>> {
        let missing =
            |said: String| Fault::before(FaultKind::Unreachable, &said).with_public_message(said);
        Box::pin(std::future::ready(self.program.check(&self.options).map_err(missing)))
    }

    fn tools(&self) -> Pending<'_, Result<Vec<Tool>, Fault>> {
        Box::pin(std::future::ready(Ok(self.tools.clone())))
    }
}
