//! `toolroute batch`: order, bad rows, candidates, and going on after an interruption.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Sandbox, ids, samples};

fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn rows_come_back_in_order_and_a_bad_one_is_told_by_its_line() {
    let sandbox = Sandbox::new();
    let input = sandbox.write(
        "q.jsonl",
        "{\"id\": \"a\", \"query\": \"what is the weather like now\"}\n\
         \n\
         {\"id\": 2, \"query\": \"  \"}\n\
         not json\n\
         {\"id\": \"b\", \"query\": \"compute 2+2\", \"candidates\": [\"EvalMath\", \"PeopleSQL\"]}\n\
         {\"id\": \"c\", \"query\": \"x\", \"candidates\": [\"nope\"]}\n",
    );
    let output = sandbox.path("r.jsonl");
    let tools = samples();
    let args = ["batch", "--tools", &tools, "--limit", "3", "--input"];
    let mut command = sandbox.toolroute();
    let done = command.args(args).arg(&input).arg("--output").arg(&output).assert().success();
    let rows = rows(&fs::read_to_string(&output).unwrap());
    let seen: Vec<&Value> = rows.iter().map(|row| &row["id"]).collect();
    assert_eq!(seen, [&Value::from("a"), &2.into(), &Value::Null, &"b".into(), &"c".into()]);
    assert_eq!(ids(&rows[0])[0], "meteo__current_weather");
    assert_eq!(ids(&rows[0]).len(), 3);
    assert_eq!(ids(&rows[3]), ["EvalMath", "PeopleSQL"]);
    for (row, line) in [(1, 3), (2, 4), (4, 6)] {
        assert_eq!((rows[row]["line"].as_i64(), ids(&rows[row]).len()), (Some(line), 0));
        assert!(rows[row]["error"].is_string());
    }
    let stderr = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert!(stderr.contains("line 3:") && stderr.contains("line 4:"), "{stderr}");
    let strict = sandbox
        .toolroute()
        .args(args)
        .arg(&input)
        .arg("--output")
        .arg(&output)
        .arg("--strict")
        .assert();
    strict.code(3);
}

#[test]
fn filters_and_strategies_hold_in_a_batch_and_stdout_takes_the_rows() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("q.jsonl", "{\"id\": 1, \"query\": \"search the web\"}\n");
    let tools = samples();
    let args = ["batch", "-s", "keyword", "--max-cost", "tiny", "--explain", "--tools", &tools];
    let mut command = sandbox.toolroute();
    let output = command.args(args).arg("-i").arg(&input).args(["-o", "-"]).assert().success();
    let rows = rows(&String::from_utf8(output.get_output().stdout.clone()).unwrap());
    assert_eq!(rows.len(), 1);
    let tools = rows[0]["tools"].as_array().unwrap();
    assert!(!tools.is_empty());
    assert!(tools.iter().all(|tool| tool["explanation"]["tiers"]["cost"] == "tiny"));
}

#[test]
fn an_interrupted_batch_goes_on_where_it_stopped_and_ends_the_same() {
    let sandbox = Sandbox::new();
    let tools = samples();
    let queries: String = (0..1_200)
        .map(|at| {
            format!(
                "{{\"id\": {at}, \"query\": \"task {at}: tell me the weather of city {at}\"}}\n"
            )
        })
        .collect();
    let input = sandbox.write("q.jsonl", queries);
    let whole = sandbox.path("whole.jsonl");
    let args = |output: &std::path::Path| {
        let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
        let args = ["batch", "--tools", &tools, "-i", &text(&input), "-o", &text(output), "--json"];
        args.map(ToString::to_string)
    };
    sandbox.toolroute().args(args(&whole)).assert().success();
    let cut = sandbox.path("cut.jsonl");
    let partial = sandbox.path("cut.jsonl.partial");
    let template = sandbox.toolroute();
    let mut child = Command::new(template.get_program());
    child.args(args(&cut)).stdout(Stdio::null()).stderr(Stdio::null());
    for (name, value) in template.get_envs() {
        if let Some(value) = value {
            child.env(name, value);
        }
    }
    let mut child = child.spawn().unwrap();
    let lines = || fs::read_to_string(&partial).map_or(0, |text| text.lines().count());
    let start = Instant::now();
    while lines() < 300 && child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_secs(300), "the batch does not move");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!cut.exists(), "an unfinished batch must not look finished");
    let output = sandbox.toolroute().args(args(&cut)).assert().success();
    let summary: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert!(summary["resumed"].as_u64().unwrap() >= 256, "{summary}");
    assert_eq!(fs::read(&cut).unwrap(), fs::read(&whole).unwrap());
    assert!(!partial.exists());
}
