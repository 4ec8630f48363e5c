//! Runs the program under test to its end and checks how it ended.

use std::ffi::OsStr;
use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::{self, Child, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A run of `toolroute` whose stdin is given and whose output is collected.
pub struct Command {
    command: process::Command,
    stdin: Vec<u8>,
    timeout: Option<Duration>,
}

impl Command {
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self { command: process::Command::new(program), stdin: Vec::new(), timeout: None }
    }

    pub fn arg(&mut self, arg: impl AsRef<OsStr>) -> &mut Self {
        self.with(|command| command.arg(arg))
    }

    pub fn args(&mut self, args: impl IntoIterator<Item: AsRef<OsStr>>) -> &mut Self {
        self.with(|command| command.args(args))
    }

    pub fn env(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Self {
        self.with(|command| command.env(name, value))
    }

    pub fn envs<K: AsRef<OsStr>, V: AsRef<OsStr>>(
        &mut self,
        all: impl IntoIterator<Item = (K, V)>,
    ) -> &mut Self {
        self.with(|command| command.envs(all))
    }

    pub fn env_remove(&mut self, name: impl AsRef<OsStr>) -> &mut Self {
        self.with(|command| command.env_remove(name))
    }

    pub fn current_dir(&mut self, folder: impl AsRef<Path>) -> &mut Self {
        self.with(|command| command.current_dir(folder))
    }

    pub fn write_stdin(&mut self, text: impl Into<Vec<u8>>) -> &mut Self {
        self.stdin = text.into();
        self
    }

    /// Kills the program after this time.
    pub fn timeout(&mut self, timeout: Duration) -> &mut Self {
        self.timeout = Some(timeout);
        self
    }

    /// The command itself, for a test that writes to the running program, or kills it.
    pub fn into_inner(self) -> process::Command {
        self.command
    }

    pub fn output(&mut self) -> io::Result<Output> {
        let pipes = self.command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = pipes.stderr(Stdio::piped()).spawn()?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        thread::scope(|scope| {
            // A program that ends early leaves the rest unread, which is no fault.
            scope.spawn(|| stdin.map(|mut stdin| stdin.write_all(&self.stdin).ok()));
            let stdout = scope.spawn(|| read(stdout));
            let stderr = scope.spawn(|| read(stderr));
            let status = wait(&mut child, self.timeout)?;
            Ok(Output { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() })
        })
    }

    pub fn assert(&mut self) -> Assert {
        let output = self.output().expect("a program that starts");
        Assert { command: format!("{:?}", self.command), output }
    }

    fn with(
        &mut self,
        change: impl FnOnce(&mut process::Command) -> &mut process::Command,
    ) -> &mut Self {
        change(&mut self.command);
        self
    }
}

fn read(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    pipe.map(|mut pipe| pipe.read_to_end(&mut bytes).unwrap());
    bytes
}

fn wait(child: &mut Child, timeout: Option<Duration>) -> io::Result<ExitStatus> {
    let Some(timeout) = timeout else { return child.wait() };
    let start = Instant::now();
    while start.elapsed() < timeout {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.kill()?;
    child.wait()
}

/// How a run ended. Each check panics with the whole output.
pub struct Assert {
    command: String,
    output: Output,
}

impl Assert {
    #[track_caller]
    pub fn success(self) -> Self {
        self.code(0)
    }

    #[track_caller]
    pub fn code(self, code: i32) -> Self {
        let holds = self.output.status.code() == Some(code);
        self.check(holds, &format!("exit code {code}"))
    }

    #[track_caller]
    pub fn stdout_contains(self, part: &str) -> Self {
        let holds = String::from_utf8_lossy(&self.output.stdout).contains(part);
        self.check(holds, &format!("{part:?} on stdout"))
    }

    #[track_caller]
    pub fn stderr_contains(self, part: &str) -> Self {
        let holds = String::from_utf8_lossy(&self.output.stderr).contains(part);
        self.check(holds, &format!("{part:?} on stderr"))
    }

    pub fn get_output(&self) -> &Output {
        &self.output
    }

    #[track_caller]
    fn check(self, holds: bool, expected: &str) -> Self {
        let Output { status, stdout, stderr } = &self.output;
        let [stdout, stderr] = [stdout, stderr].map(|bytes| String::from_utf8_lossy(bytes));
        assert!(
            holds,
            "expected {expected} of {}, found {status}\nstdout: {stdout}\nstderr: {stderr}",
            self.command
        );
        self
    }
}
