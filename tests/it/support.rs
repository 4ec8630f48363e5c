//! A sandboxed `toolroute` and where the test data lies.

mod command;

use std::ffi::OsStr;
use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

pub use self::command::CommandExt;
use crate::drill::python;

/// The binary under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_toolroute");

/// A path below the repository's root.
pub fn repo(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A path below the shared data, or a loud `None` where it is not there.
pub fn shared(path: &str) -> Option<PathBuf> {
    let shared =
        std::env::var_os("TOOLROUTE_SHARED").map_or_else(|| repo("../shared"), PathBuf::from);
    let path = shared.join(path);
    if !path.exists() {
        eprintln!("SKIPPED: {} is not here", path.display());
        return None;
    }
    Some(path)
}

/// The folder of the installed model.
pub fn model_dir() -> PathBuf {
    let store = std::env::var_os("TOOLROUTE_MODELS").map(PathBuf::from);
    let store = store.or_else(|| Some(dirs::data_dir()?.join("toolroute/models")));
    let model = store.expect("a data folder").join("all-MiniLM-L6-v2");
    assert!(model.is_dir(), "no model at {}: run scripts/fetch_model.sh", model.display());
    model
}

/// A place of its own for files and vectors; the model store is the installed one.
pub struct Sandbox {
    pub dir: TempDir,
}

impl Sandbox {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary folder") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a writable sandbox");
        path
    }

    /// The same path as an argument.
    pub fn arg(&self, name: &str) -> String {
        self.path(name).to_str().expect("UTF-8").to_owned()
    }

    /// Writes a file and gives its path as an argument.
    pub fn put(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        self.write(name, text);
        self.arg(name)
    }

    /// What the command line of every process of the sandbox has.
    pub fn mark(&self) -> &str {
        self.dir.path().to_str().expect("UTF-8")
    }

    /// Writes a servers file and gives its path.
    pub fn servers(&self, entries: &Value) -> String {
        self.put("servers.json", json!({ "mcpServers": entries }).to_string())
    }

    /// `toolroute`, with no settings from outside and vectors kept in the sandbox.
    pub fn toolroute(&self) -> Command {
        let mut command = Command::new(PROGRAM);
        let store = model_dir();
        for name in [
            "TOOLS", "MODEL", "INDEX", "LOG", "USAGE", "CONFIG", "SERVERS", "FEEDBACK", "LEDGER",
            "BACKEND", "DEVICE", "BLEND", "TOKEN",
        ] {
            command.env_remove(format!("TOOLROUTE_{name}"));
        }
        command
            .env("TOOLROUTE_MODELS", store.parent().expect("a store around the model"))
            .env("XDG_CONFIG_HOME", self.dir.path().join("config"))
            .env("XDG_CACHE_HOME", self.dir.path().join("cache"))
            .env("XDG_STATE_HOME", self.dir.path().join("state"))
            .env("TOOLROUTE_PINS", self.dir.path().join("pins.json"))
            .env("NO_COLOR", "1")
            .env_remove("COLUMNS");
        command
    }

    /// `toolroute batch`, by words alone, so that no model is loaded.
    pub fn batch(&self, input: impl AsRef<OsStr>, output: impl AsRef<OsStr>) -> Command {
        let mut command = self.toolroute();
        command.args(["batch", "-s", "keyword", "--tools", &samples(), "-i"]).arg(input);
        command.arg("-o").arg(output);
        command
    }

    /// Runs to success and gives the output.
    pub fn run(&self, args: &[&str]) -> Output {
        self.toolroute().args(args).assert().success().get_output().clone()
    }

    /// Runs to success with `--json` and gives what stdout holds.
    pub fn json(&self, args: &[&str]) -> Value {
        let output = self.toolroute().args(args).arg("--json").assert().success();
        serde_json::from_slice(&output.get_output().stdout).expect("stdout is one JSON document")
    }

    /// Runs to the given exit code and gives stderr.
    pub fn fails(&self, code: i32, args: &[&str]) -> String {
        let output = self.toolroute().args(args).assert().code(code);
        String::from_utf8_lossy(&output.get_output().stderr).into_owned()
    }
}

/// Kills a batch once its journal has so many lines, or has ended.
pub fn kill_after(child: std::process::Child, journal: &Path, lines: usize) {
    signal_after("KILL", child, journal, lines);
}

/// Sends a signal to a batch once its journal has so many lines, and returns what it said.
pub fn signal_after(
    signal: &str,
    mut child: std::process::Child,
    journal: &Path,
    lines: usize,
) -> Output {
    let written = || std::fs::read_to_string(journal).map_or(0, |text| text.lines().count());
    let start = std::time::Instant::now();
    while written() < lines && child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < std::time::Duration::from_secs(300), "the batch does not move");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
    child.wait_with_output().unwrap()
}

/// The entry in a servers file of a server of `tests/servers`, with the arguments of its script.
pub fn entry(script: &str, args: &[&str]) -> Value {
    let script = repo(&format!("tests/servers/{script}.py"));
    let args = [&[script.to_str().expect("UTF-8")], args].concat();
    json!({"command": python(), "args": args})
}

/// The sample catalog.
pub fn samples() -> String {
    repo("examples/catalog").to_string_lossy().into_owned()
}

/// Parses JSON lines.
pub fn rows(text: &[u8]) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}

/// The ids of an answer, best first.
pub fn ids(answer: &Value) -> Vec<&str> {
    let tools = answer["tools"].as_array().expect("an answer has tools");
    tools.iter().map(|tool| tool["id"].as_str().expect("a tool has an id")).collect()
}
