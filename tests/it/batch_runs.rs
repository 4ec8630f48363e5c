//! How `toolroute batch` runs: shards, pipes, interruptions, outputs that are there already.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{CommandExt as _, Sandbox, kill_after, samples, signal_after};

fn prompts(count: usize) -> String {
    let row =
        |at| format!("{{\"id\": {at}, \"query\": \"task {at}: the weather of city {at}\"}}\n");
    (0..count).map(row).collect()
}

fn args(input: &Path, output: &Path) -> Vec<String> {
    let (input, output) = (input.to_string_lossy(), output.to_string_lossy());
    let args = ["batch", "--tools", &samples(), "-i", &input, "-o", &output, "--json"];
    args.map(str::to_owned).to_vec()
}

#[test]
fn an_interrupted_batch_goes_on_where_it_stopped_and_ends_the_same() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("q.jsonl", prompts(1_200));
    let (whole, cut) = (sandbox.path("whole.parquet"), sandbox.path("cut.parquet"));
    sandbox.toolroute().args(args(&input, &whole)).assert().success();
    // An output of another time is there: the first run may replace it, and so may the one that goes on.
    fs::write(&cut, "old").unwrap();
    let mut child = sandbox.toolroute();
    child.args(args(&input, &cut)).arg("--overwrite").stdout(Stdio::null()).stderr(Stdio::null());
    let partial = sandbox.path("cut.parquet.partial");
    kill_after(child.spawn().unwrap(), &partial, 300);
    assert_eq!(fs::read(&cut).unwrap(), b"old", "an unfinished batch must not look finished");
    // A log of executions changes answers, so it makes another job.
    let log = sandbox.path("log.db").to_string_lossy().into_owned();
    let add = ["feedback", "add", "--feedback", &log, "--no-vectors", "--tool", "EvalMath"];
    sandbox.run(&[&add[..], &["--prompt", "x", "--outcome", "success"]].concat());
    let mut command = sandbox.toolroute();
    let other = command.args(args(&input, &cut)).args(["--feedback", &log]).assert().code(2);
    let said = String::from_utf8_lossy(&other.get_output().stderr).into_owned();
    assert!(said.contains("of a job with other options") && partial.exists(), "{said}");
    let done = sandbox.toolroute().args(args(&input, &cut)).assert().success();
    let summary: Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    assert!(summary["resumed"].as_u64().unwrap() >= 256, "{summary}");
    assert_eq!(summary["rows"], 1_200);
    assert_eq!(fs::read(&cut).unwrap(), fs::read(&whole).unwrap());
    assert!(!partial.exists());
}

#[test]
fn ctrl_c_says_how_far_a_batch_came_and_how_it_goes_on() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("q.jsonl", prompts(1_200));
    let (output, partial) = (sandbox.path("r.jsonl"), sandbox.path("r.jsonl.partial"));
    let mut child = sandbox.toolroute();
    child.args(args(&input, &output)).stdout(Stdio::null()).stderr(Stdio::piped());
    let done = signal_after("INT", child.spawn().unwrap(), &partial, 300);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        done.status.code() == Some(130) && said.contains(" of 1200 rows are kept in"),
        "{said}"
    );
    let rest = sandbox.toolroute().args(args(&input, &output)).assert().success();
    let summary: Value = serde_json::from_slice(&rest.get_output().stdout).unwrap();
    let resumed = format!("interrupted: {} of 1200 rows", summary["resumed"]);
    assert!(said.contains(&resumed), "{said} {summary}");
}

#[test]
fn all_shards_together_are_the_whole() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("q.jsonl", format!("not json\n\n{}", prompts(600)));
    let run = |name: &str, shard: &str| {
        let output = sandbox.path(name);
        let mut command = sandbox.toolroute();
        command.args(args(&input, &output)).args(["--shard", shard]).assert().success();
        let text = fs::read_to_string(output).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let whole = run("whole.jsonl", "0/1");
    assert_eq!(whole.len(), 601);
    let shards = [run("0.jsonl", "0/3"), run("1.jsonl", "1/3"), run("2.jsonl", "2/3")];
    let union: Vec<String> = (0..whole.len()).map(|at| shards[at % 3][at / 3].clone()).collect();
    assert_eq!(union, whole);
    assert_eq!(shards.iter().map(Vec::len).sum::<usize>(), 601);
    // A shard may have no row, and its output is there all the same.
    let few = sandbox.write("few.jsonl", prompts(2));
    let output = sandbox.path("none.jsonl");
    let mut command = sandbox.toolroute();
    command.args(args(&few, &output)).args(["--shard", "2/3"]).assert().success();
    assert_eq!(fs::read_to_string(output).unwrap(), "");
}

#[test]
fn a_shard_of_a_pipe_has_its_rows_though_its_first_prompt_comes_in_another() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.toolroute();
    command.args(["batch", "-s", "keyword", "--tools", &samples(), "-i", "-", "-o", "-", "-q"]);
    command.args(["--shard", "1/2"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut to = child.stdin.take().unwrap();
    to.write_all(b"bad\nbad\n").unwrap();
    to.flush().unwrap();
    // So that these rows are a group of their own.
    std::thread::sleep(Duration::from_secs(1));
    to.write_all(prompts(1).as_bytes()).unwrap();
    drop(to);
    let done = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success() && said.lines().count() == 1, "{done:?}");
    assert!(said.contains("\"line\":2"), "{said}");
}

#[test]
fn a_pipe_is_answered_row_by_row() {
    let sandbox = Sandbox::new();
    for (format, header, rows) in [
        (
            "jsonl",
            "",
            ["{\"id\": 1, \"query\": \"weather\"}\n", "{\"id\": 2, \"query\": \"mail\"}\n"],
        ),
        ("csv", "id,query\n", ["1,weather\n", "2,mail\n"]),
    ] {
        let mut command = sandbox.toolroute();
        command.args(["batch", "-s", "keyword", "--tools", &samples(), "-i", "-", "-o", "-"]);
        command.args(["--input-format", format, "--output-format", format, "--quiet"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut to = child.stdin.take().unwrap();
        let mut from = BufReader::new(child.stdout.take().unwrap()).lines();
        to.write_all(header.as_bytes()).unwrap();
        for (at, row) in rows.iter().enumerate() {
            to.write_all(row.as_bytes()).unwrap();
            to.flush().unwrap();
            if format == "csv" && at == 0 {
                assert!(from.next().unwrap().unwrap().starts_with("id,tools"));
            }
            // It waits for this row alone: the pipe stays open.
            let line = from.next().unwrap().unwrap();
            assert!(line.contains(&(at + 1).to_string()), "{line}");
        }
        drop(to);
        assert!(from.next().is_none());
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_reader_that_leaves_ends_a_batch_whose_input_stays_open() {
    let sandbox = Sandbox::new();
    for format in ["jsonl", "csv", "jsonl.gz", "arrow", "parquet"] {
        let mut command = sandbox.toolroute();
        command.args(["batch", "-s", "keyword", "--tools", &samples(), "-i", "-", "-o", "-", "-q"]);
        command.args(["--output-format", format]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut to = child.stdin.take().unwrap();
        drop(child.stdout.take());
        to.write_all(prompts(1).as_bytes()).unwrap();
        to.flush().unwrap();
        // Parquet gathers rows, and writes them at the end.
        let to = Some(to).filter(|_| format != "parquet");
        let start = Instant::now();
        while child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(60), "{format} waits for its input");
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(to);
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success() && done.stderr.is_empty(), "{format}: {done:?}");
    }
}

#[test]
fn an_output_that_is_there_is_replaced_only_when_that_is_said() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("q.jsonl", prompts(3));
    let output = sandbox.write("r.jsonl", "mine");
    let words = |more: &[&str]| {
        let mut command = sandbox.toolroute();
        command.args(args(&input, &output)).args(["-s", "keyword"]).args(more);
        command
    };
    // Before any work: the catalog is not even looked at.
    let mut command = sandbox.toolroute();
    command.args(["batch", "--tools", "/no/such/file", "-i"]).arg(&input).arg("-o").arg(&output);
    let said = command.assert().code(2).get_output().stderr.clone();
    assert!(String::from_utf8_lossy(&said).contains("--overwrite"));
    assert_eq!(fs::read_to_string(&output).unwrap(), "mine");
    words(&["--overwrite"]).assert().success();
    assert_eq!(fs::read_to_string(&output).unwrap().lines().count(), 3);
    words(&[]).assert().code(2);
    // The unfinished output of another job is no leave to replace a finished one.
    fs::write(sandbox.path("r.jsonl.partial"), "{\"job\":\"another\"}\n").unwrap();
    let before = fs::read(&output).unwrap();
    words(&["--limit", "1"]).assert().code(2);
    assert_eq!(fs::read(&output).unwrap(), before);
    words(&["--limit", "1", "--overwrite"]).assert().success();
    assert_ne!(fs::read(&output).unwrap(), before);
}
