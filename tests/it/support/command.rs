//! Runs the program under test to its end and checks how it ended.

use std::io::{Seek as _, Write as _};
use std::process::{Command, Output};

/// What tests do with a command, beside what the standard library does.
pub trait CommandExt {
    /// The text that the program reads on stdin.
    fn write_stdin(&mut self, text: impl AsRef<[u8]>) -> &mut Self;

    /// Runs the program to its end.
    fn assert(&mut self) -> Assert;
}

impl CommandExt for Command {
    fn write_stdin(&mut self, text: impl AsRef<[u8]>) -> &mut Self {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_ref()).unwrap();
        file.rewind().unwrap();
        self.stdin(file)
    }

    fn assert(&mut self) -> Assert {
        let output = self.output().expect("a program that starts");
        Assert { command: format!("{self:?}"), output }
    }
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
