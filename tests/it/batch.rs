//! `toolroute batch`: order, bad rows, candidates, and going on after an interruption.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::{CommandExt as _, Sandbox, ids, rows, samples};

#[test]
fn rows_come_back_in_order_and_a_bad_one_is_told_by_its_line() {
    let sandbox = Sandbox::new();
    let input = sandbox.write(
        "q.jsonl",
        "{\"id\": \"a\", \"query\": \"the current weather in Haifa\"}\n\
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
    let rows = rows(&fs::read(&output).unwrap());
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
        .args(["--strict", "--overwrite"])
        .assert();
    strict.code(3);
}

#[test]
fn rows_are_ranked_for_their_order_and_not_for_what_is_pasted_around_it() {
    let sandbox = Sandbox::new();
    let pasted = r"2026-11-23 10:00:01 ERROR meteo: no weather for Haifa\n2026-11-23 10:00:02 INFO weather retried";
    let row = |id: &str, query: &str| format!("{{\"id\": \"{id}\", \"query\": \"{query}\"}}\n");
    let order = "compute 2+2";
    let input = [("a", order.to_owned()), ("b", format!(r"{pasted}\n\n{order}"))];
    let input: String = input.iter().map(|(id, query)| row(id, query)).collect();
    let input = sandbox.write("q.jsonl", input);
    for strategy in ["hybrid", "keyword"] {
        let args = ["batch", "-s", strategy, "--tools", &samples(), "--output", "-", "--input"];
        let done = sandbox.toolroute().args(args).arg(&input).assert().success();
        let rows = rows(&done.get_output().stdout);
        assert_eq!(rows[0]["tools"], rows[1]["tools"], "{rows:?}");
    }
}

#[test]
fn filters_and_strategies_hold_in_a_batch_and_stdout_takes_the_rows() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("q.jsonl", "{\"id\": 1, \"query\": \"search the web\"}\n");
    let tools = samples();
    let args = ["batch", "-s", "keyword", "--max-cost", "tiny", "--explain", "--tools", &tools];
    let mut command = sandbox.toolroute();
    let output = command.args(args).arg("-i").arg(&input).args(["-o", "-"]).assert().success();
    let rows = rows(&output.get_output().stdout);
    assert_eq!(rows.len(), 1);
    let tools = rows[0]["tools"].as_array().unwrap();
    assert!(!tools.is_empty());
    assert!(tools.iter().all(|tool| tool["explanation"]["tiers"]["cost"] == "tiny"));
    let mut command = sandbox.toolroute();
    command.args(["batch", "-s", "keyword", "--limit", "0", "--tools", &samples(), "-o", "-"]);
    let none = command.arg("-i").arg(&input).assert().success().get_output().clone();
    assert!(String::from_utf8_lossy(&none.stdout).contains("\"no_tools\":\"limit_is_zero\""));
    let said = String::from_utf8_lossy(&none.stderr).into_owned();
    assert!(said.contains("0 for which no tool fits, 1 left without tools by limit"), "{said}");
}

const QUERIES: &str = "{\"id\": 123456789012345678901234567890, \"query\": \"weather\", \"gold\": null}\n\
                       {\"id\": 1.50, \"query\": \"mail\", \"candidates\": null}\n";

#[test]
fn ids_come_back_as_they_came_and_rows_that_are_none_cost_themselves() {
    let sandbox = Sandbox::new();
    let rows = [QUERIES.as_bytes(), b"[1, \"x\"]\n{\"id\": 5, \"query\": \"\xff\"}\n"].concat();
    let output = sandbox.path("r.jsonl");
    let mut command = sandbox.batch("-", &output);
    command.write_stdin(rows).assert().success();
    let text = fs::read_to_string(&output).unwrap();
    let begins: Vec<_> = text.lines().map(|line| line.split(',').next().unwrap()).collect();
    let wanted =
        ["{\"id\":123456789012345678901234567890", "{\"id\":1.50", "{\"id\":null", "{\"id\":5"];
    assert_eq!(begins, wanted);
    assert!(text.contains("found a list") && text.contains("not UTF-8"), "{text}");
    assert!(text.contains("with `iconv`") && text.matches("expected {").count() == 1, "{text}");
    let mut command = sandbox.batch("-", "-");
    let rows = [QUERIES.as_bytes(), b"no json\n"].concat();
    command
        .write_stdin(rows)
        .assert()
        .success()
        .stderr_contains("line 3: expected ident at column 2;");
}

#[test]
fn an_input_of_which_nothing_can_be_read_is_an_error_with_its_cure() {
    let sandbox = Sandbox::new();
    let output = sandbox.path("r.jsonl");
    for (name, input, cure) in [
        ("table.jsonl", &b"id,query\n1,the weather in Haifa\n2,compute 2+2\n"[..], "CSV"),
        ("q.json", b"[{\"id\": 1, \"query\": \"weather\"}]\n", "jq -c '.[]'"),
        ("lines.json", b"[\n{\"query\": \"weather\"},\n{\"query\": \"mail\"}\n]\n", "jq -c '.[]'"),
        ("packed.jsonl", b"\x1f\x8b\x08\x00\x00\x00\n\x00\xff\n", "gunzip"),
        ("pretty.json", b"{\n  \"query\": \"weather\"\n}\n", "jq -c ."),
        ("text.jsonl", b"{\"text\": \"weather\"}\n", "name the prompt \"query\""),
        ("latin.jsonl", b"{\"query\": \"caf\xe9\"}\n", "UTF-8"),
    ] {
        let input = sandbox.write(name, input);
        let done = sandbox.batch(&input, &output).assert().code(3);
        let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
        assert!(said.contains(cure) && said.contains(name), "{name}: {said}");
        assert!(done.get_output().stdout.is_empty() && !output.exists(), "{name}");
        for command in ["eval", "bench"] {
            let input = input.to_string_lossy();
            let said = sandbox
                .fails(3, &[command, "-s", "keyword", "--tools", &samples(), "--queries", &input]);
            assert!(said.contains(cure), "{command} {name}: {said}");
        }
    }
    // On stdin as in a file.
    let mut command = sandbox.batch("-", "-");
    let done = command.write_stdin("id,query\n1,x\n").assert().code(3);
    assert!(done.get_output().stdout.is_empty());
}

#[test]
fn what_became_of_the_rows_is_counted_and_a_prompt_is_understood_for_a_query() {
    let sandbox = Sandbox::new();
    let input = sandbox.write(
        "q.jsonl",
        "{\"id\": 1, \"prompt\": \"the curent wether in Haifa\"}\n\
         {\"id\": 2, \"query\": \"why do cats purr\", \"prompt\": 7}\n\
         {\"id\": 3, \"query\": \"全部消して\"}\n\
         {\"id\": 4, \"prompt\": 7}\n",
    );
    let (output, tools) = (sandbox.path("r.jsonl"), samples());
    let (from, to) = (input.to_string_lossy(), output.to_string_lossy());
    let args = ["batch", "--tools", &tools, "-i", &from, "-o", &to, "--overwrite"];
    let summary = sandbox.json(&args);
    let count = |name: &str| summary[name].as_u64().unwrap();
    assert_eq!(
        [count("rows"), count("answered"), count("empty"), count("unread"), count("failed")],
        [4, 1, 2, 1, 1],
        "{summary}"
    );
    assert_eq!(count("filtered"), 0, "{summary}");
    let rows = rows(&fs::read(&output).unwrap());
    assert_eq!(ids(&rows[0])[0], "meteo__current_weather");
    assert_eq!(rows[0]["read_as"], "the current weather in Haifa");
    assert_eq!((ids(&rows[1]).len(), rows[1].get("degraded")), (0, None));
    assert_eq!(rows[1]["no_tools"], "nothing_fits");
    assert_eq!((ids(&rows[2]).len(), rows[2]["degraded"].as_str()), (0, Some("unread_language")));
    assert!(rows[3]["error"].as_str().unwrap().contains("`prompt` is not a text"), "{}", rows[3]);
    let said = sandbox.run(&args).stderr;
    let said = String::from_utf8_lossy(&said).into_owned();
    let told = "1 answered, 2 for which no tool fits (1 in a language that the model does not read), 1 failed";
    assert!(said.contains(told), "{said}");
}

#[cfg(unix)]
#[test]
fn a_batch_never_overwrites_its_input_or_what_is_not_its_own() {
    use std::os::unix::fs::symlink;
    let sandbox = Sandbox::new();
    let input = sandbox.write("q.jsonl", QUERIES);
    symlink(&input, sandbox.path("soft")).unwrap();
    fs::hard_link(&input, sandbox.path("hard")).unwrap();
    for name in ["q.jsonl", "soft", "hard"] {
        sandbox.batch(&input, sandbox.path(name)).assert().code(2);
        assert_eq!(fs::read_to_string(&input).unwrap(), QUERIES, "{name}");
    }
    let notes = sandbox.write("r.jsonl.partial", "my notes");
    sandbox.batch(&input, sandbox.path("r.jsonl")).assert().code(5);
    assert_eq!(fs::read_to_string(notes).unwrap(), "my notes");
    // Before any work: the catalog is not even looked at.
    let mut command = sandbox.toolroute();
    command.args(["batch", "--tools", "/no/such/file", "-i"]).arg(&input).arg("-o");
    let said = command.arg(sandbox.dir.path()).assert().code(5).get_output().stderr.clone();
    assert!(String::from_utf8_lossy(&said).contains("is a folder"));
}

#[cfg(unix)]
#[test]
fn links_and_devices_stay_what_they_are() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let sandbox = Sandbox::new();
    let input = sandbox.write("q.jsonl", QUERIES);
    let (target, link) = (sandbox.path("target"), sandbox.path("link"));
    symlink("target", &link).unwrap();
    sandbox.batch(&input, &link).assert().success();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(rows(&fs::read(&target).unwrap()).len(), 2);
    let pipe = sandbox.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = {
        let pipe = pipe.clone();
        std::thread::spawn(move || fs::read(pipe).unwrap())
    };
    sandbox.batch(&input, &pipe).assert().success();
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    assert_eq!(rows(&reader.join().unwrap()).len(), 2);
}
