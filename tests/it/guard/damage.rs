//! Files that were damaged or were left by a killed process.

use std::io::Write as _;
use std::path::Path;

use serde_json::json;

use crate::support::{CommandExt as _, Sandbox};

/// Changes one byte at each of so many places of a file, and gives the copies.
fn damaged(path: &Path, places: usize) -> impl Iterator<Item = (usize, Vec<u8>)> {
    let whole = std::fs::read(path).unwrap();
    (0..places).map(move |place| {
        let mut copy = whole.clone();
        let at = place * copy.len() / places + place * 7 % 64;
        let at = at.min(copy.len() - 1);
        copy[at] ^= 1 << (place % 8);
        (at, copy)
    })
}

/// Answers of a command over damaged copies of a file: each is as over the whole file, or it is said that
/// something is wrong.
fn no_silent_wrong(sandbox: &Sandbox, path: &Path, args: &[&str]) -> usize {
    let ask = || {
        let output = sandbox.toolroute().args(args).output().unwrap();
        (output.stdout, output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let whole = ask();
    assert!(whole.1, "{}", whole.2);
    let before = std::fs::read(path).unwrap();
    let mut told = 0;
    for (at, copy) in damaged(path, 96) {
        std::fs::File::create(path).unwrap().write_all(&copy).unwrap();
        let answer = ask();
        let is_told = !answer.1 && !answer.2.is_empty();
        assert!(is_told || answer.0 == whole.0, "byte {at}: another answer, and nothing is said");
        assert!(!answer.2.contains("panicked"), "byte {at}: {}", answer.2);
        told += usize::from(is_told);
    }
    std::fs::write(path, before).unwrap();
    told
}

#[test]
fn a_damaged_log_never_answers_wrongly_without_a_word() {
    let sandbox = Sandbox::new();
    let log = sandbox.path("log.db");
    let path = log.to_str().unwrap();
    let rows: Vec<String> = (0..60)
        .map(|n| {
            json!({"tool": format!("mail__send_{}", n % 5), "success": n % 3 > 0, "prompt": format!("send it {n}"),
                   "at": 1_700_000_000_000i64 + n * 60_000, "duration_ms": 40 + n, "error_kind": "timeout"})
            .to_string()
        })
        .collect();
    let rows = sandbox.put("rows.jsonl", rows.join("\n"));
    let add = ["feedback", "add", "--input", &rows, "--feedback", path];
    sandbox.run(&[&add[..], &["--no-vectors", "--keep-days", "36500"]].concat());
    let told = no_silent_wrong(&sandbox, &log, &["feedback", "export", "--feedback", path]);
    assert!(told > 24, "{told} of 96 were found");
}

/// Discharges the obligations of a request, with a ledger.
fn conduct(sandbox: &Sandbox, ledger: &str) {
    let folder = crate::conduct::examples(sandbox);
    let (tools, runners) = (format!("{folder}/tools.jsonl"), format!("{folder}/runners.toml"));
    let request = format!("{folder}/math.json");
    let files = ["--tools", &tools, "--runners", &runners, "--ledger", ledger];
    sandbox.run(&[&["conduct", &request], &files[..]].concat());
}

#[test]
fn a_damaged_ledger_never_answers_wrongly_without_a_word() {
    let sandbox = Sandbox::new();
    let ledger = sandbox.path("ledger.sqlite");
    let path = ledger.to_str().unwrap();
    conduct(&sandbox, path);
    let told = no_silent_wrong(
        &sandbox,
        &ledger,
        &["ledger", "show", "--assertions", "--ledger", path, "--json"],
    );
    // Most of so small a ledger is empty pages.
    assert!(told > 2, "{told} of 96 were found");
}

#[test]
fn what_a_killed_import_left_goes_with_the_next() {
    let sandbox = Sandbox::new();
    let clients =
        sandbox.write("clients.json", json!({"mcpServers": {"a": {"command": "x"}}}).to_string());
    let to = sandbox.path("servers.json");
    let args = ["import", "--file", clients.to_str().unwrap(), "--to", to.to_str().unwrap()];
    // A write that is killed before its end leaves the file that it was filling.
    let left = sandbox.write(".servers.json.Ab12cD.toolroute-new", "{");
    let young = sandbox.write(".servers.json.Ef34gH.toolroute-new", "{");
    let other = sandbox.write(".other.json.Ab12cD.toolroute-new", "{");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3_600);
    for path in [&left, &other] {
        std::fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    }
    let mut command = sandbox.toolroute();
    command.env("HOME", sandbox.path("home")).args(args);
    command.assert().success();
    assert!(to.exists() && !left.exists() && young.exists() && other.exists());
}
