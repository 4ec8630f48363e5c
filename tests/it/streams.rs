//! Stdin, stdout and stderr as they come: cut off, full, closed, not text.

use std::fs;
use std::process::Stdio;

use serde_json::json;

use crate::support::{CommandExt as _, Sandbox, samples};

/// The command with nothing to read.
fn command(sandbox: &Sandbox, args: &[&str]) -> std::process::Command {
    let mut command = sandbox.toolroute();
    command.args(args).stdin(Stdio::null());
    command
}

#[cfg(target_os = "linux")]
fn full() -> fs::File {
    fs::File::options().write(true).open("/dev/full").unwrap()
}

/// The end of a pipe that nobody reads.
fn broken() -> std::io::PipeWriter {
    std::io::pipe().unwrap().1
}

fn commands<'a>(tools: &'a str, input: &'a str) -> Vec<Vec<&'a str>> {
    vec![
        vec!["route", "-s", "keyword", "--explain", "--timings", "--tools", tools, "weather"],
        vec!["route", "-s", "keyword", "--json", "--tools", tools, "weather"],
        vec!["tools", "list", "--tools", tools],
        vec!["tools", "show", "EvalMath", "--tools", tools],
        vec!["tools", "validate", "--tools", tools],
        vec!["model", "list"],
        vec!["batch", "-s", "keyword", "--tools", tools, "-i", input, "-o", "-"],
        vec!["bench", "-n", "2", "-s", "keyword", "--tools", tools, "--queries", input],
        vec!["completions", "bash"],
        vec!["--help"],
        vec!["--version"],
    ]
}

#[test]
fn a_reader_who_left_ends_a_command_quietly() {
    let sandbox = Sandbox::new();
    let input = sandbox.put("q.jsonl", "{\"query\": \"weather\"}\n");
    for args in commands(&samples(), &input) {
        let output = command(&sandbox, &args).stdout(broken()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {said}");
        assert!(!said.contains("panicked") && !said.contains("cannot write"), "{args:?}: {said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_stdout_is_told_and_a_full_or_broken_stderr_fails_nothing() {
    let sandbox = Sandbox::new();
    let input = sandbox.put("q.jsonl", "{\"query\": \"weather\"}\nnot json\n");
    for args in commands(&samples(), &input) {
        let output = command(&sandbox, &args).stdout(full()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{args:?}: {said}");
        assert!(said.contains("cannot write"), "{args:?}: {said}");
        let loud = [&args[..], &["-vv"]].concat();
        let args = if args[0].starts_with('-') { args } else { loud };
        let output = command(&sandbox, &args).stderr(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        let output = command(&sandbox, &args).stderr(broken()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
    }
    let failing = ["tools", "list", "--tools", "/no/such/file"];
    assert_eq!(command(&sandbox, &failing).stderr(full()).status().unwrap().code(), Some(5));
}

#[test]
fn a_prompt_that_is_not_text_is_bad_data() {
    let sandbox = Sandbox::new();
    let tools = samples();
    let mut route = sandbox.toolroute();
    let output =
        route.args(["route", "-s", "keyword", "--tools", &tools]).write_stdin(&b"\xff\xfe"[..]);
    let said = output.assert().code(3).get_output().stderr.clone();
    assert!(String::from_utf8_lossy(&said).contains("UTF-8"));
}

#[test]
fn escapes_of_a_catalog_do_not_reach_the_terminal_but_json_keeps_them() {
    let sandbox = Sandbox::new();
    let row = r#"{"id":"evil\u001b]0;x\u0007","name":"evil","description":"Sends\nmail\u001b[2J\u009b31m","reliability":"\u001b[31m"}"#;
    let good = row.replace(r#","reliability":"\u001b[31m""#, "");
    let tools = &sandbox.put("tools.jsonl", format!("{good}\n{row}\n"));
    let id = "evil\u{1b}]0;x\u{7}";
    for args in [
        vec!["route", "-s", "keyword", "--explain", "--tools", tools, "send mail"],
        vec!["route", "-s", "keyword", "--tools", tools, "send mail", "--candidates", "\u{1b}[1m"],
        vec!["tools", "list", "--tools", tools],
        vec!["tools", "list", "--strict", "--tools", tools],
        vec!["tools", "show", id, "--tools", tools],
        vec!["tools", "show", "\u{1b}[1m", "--tools", tools],
        vec!["tools", "validate", "--tools", tools],
    ] {
        let output = command(&sandbox, &args).output().unwrap();
        for text in [output.stdout, output.stderr] {
            let text = String::from_utf8(text).unwrap();
            let control = text.chars().find(|c| c.is_control() && *c != '\n');
            assert_eq!(control, None, "{args:?}: {text:?}");
        }
    }
    let shown = sandbox.json(&["tools", "show", id, "--tools", tools]);
    assert_eq!(
        (&shown["id"], &shown["description"]),
        (&id.into(), &"Sends\nmail\u{1b}[2J\u{9b}31m".into())
    );
}

#[test]
fn quiet_is_quiet() {
    let sandbox = Sandbox::new();
    let tools = samples();
    let none = sandbox.write("none.jsonl", "{\"name\": \"bad\", \"cost\": \"huge\"}\n");
    let queries = sandbox
        .write("q.jsonl", "{\"query\":\"2+2\",\"gold\":[\"EvalMath\",\"nope\"]}\nnot json\n");
    let (none, queries) = (none.to_str().unwrap(), queries.to_str().unwrap());
    let dies = "echo Traceback of the server >&2; exit 1";
    let servers = json!({"dead": {"command": "/bin/sh", "args": ["-c", dies]}, "bad": 3});
    let servers = sandbox.servers(&servers);
    for args in [
        vec!["tools", "list", "--tools", &tools],
        vec!["tools", "list", "--tools", &tools, "--servers", &servers],
        vec!["tools", "list", "--tools", none],
        vec!["model", "list"],
        vec!["eval", "-s", "keyword", "--tools", &tools, "--queries", queries],
        vec!["bench", "-n", "2", "-s", "keyword", "--tools", &tools, "--queries", queries],
        vec!["batch", "-s", "keyword", "--tools", &tools, "-i", queries, "-o", "-"],
    ] {
        let output = command(&sandbox, &args).arg("--quiet").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
        let output = command(&sandbox, &args).output().unwrap();
        assert_ne!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    }
}
