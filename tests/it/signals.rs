//! Signals, obligations and the configuration, by the program that users run.

use predicates::prelude::*;
use serde_json::Value;

use crate::support::{Sandbox, ids, repo};

fn tools() -> String {
    repo("tests/data/signals/tools.jsonl").to_string_lossy().into_owned()
}

#[test]
fn an_obligation_gets_its_tool_what_comes_after_it_and_what_is_missing() {
    let sandbox = Sandbox::new();
    let tools = tools();
    let ask = |args: &[&str]| sandbox.json(&[&["candidates", "--tools", &tools], args].concat());
    let found = ask(&["REPORT(query.math)", "--have", "expression"]);
    assert_eq!(found["chosen"]["id"], "math__evaluate");
    // A tool for one kind is none for every kind; those that there are are told.
    let any = ask(&["REPORT", "--have", "expression"]);
    assert_eq!(any["chosen"], Value::Null, "{any}");
    let told = sandbox.run(&["candidates", "--tools", &tools, "REPORT"]).stderr;
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains("REPORT(query.math), REPORT(query.people)"), "{told}");
    let found = ask(&["REPORT(query.math)"]);
    assert_eq!(found["chosen"], Value::Null);
    assert_eq!(found["unsatisfied"][0]["missing"], serde_json::json!(["expression"]));
    let found = ask(&["VERIFY"]);
    assert_eq!(found["unsatisfied"], serde_json::json!([]));
}

#[test]
fn context_and_signals_change_an_answer_and_say_so() {
    let sandbox = Sandbox::new();
    let context = r#"{"features": {"languages": ["go"]}}"#;
    let file = sandbox.write("context.json", context);
    let tools = tools();
    let route = |more: &[&str]| {
        let all = [&["route", "format this file", "--model", "static", "--tools", &tools], more];
        sandbox.json(&all.concat())
    };
    let file = file.to_str().unwrap();
    let of = |answer: &Value| -> Value {
        let tools = answer["tools"].as_array().unwrap();
        tools.iter().find(|tool| tool["id"] == "code__gofmt").unwrap().clone()
    };
    let bare = route(&["--min-confidence", "0", "--limit", "50"]);
    let answer = route(&["--context", file, "--min-confidence", "0", "--limit", "50"]);
    let (before, after) = (of(&bare)["score"].as_f64(), of(&answer)["score"].as_f64());
    assert!(after > before, "{answer:#}");
    assert_eq!(
        (&answer["strategy"], &answer["because"]),
        (&"hybrid".into(), &"auto_with_model".into())
    );
    let gofmt = of(&answer);
    let parts = gofmt["explanation"]["parts"].as_array().unwrap();
    let sum: f64 = parts.iter().map(|part| part["contribution"].as_f64().unwrap()).sum();
    assert!((sum - gofmt["score"].as_f64().unwrap()).abs() < 1e-5);
    assert!(parts.iter().any(|part| part["name"] == "language"));
    let stage = ["--stage", "analysis", "--min-confidence", "0", "--limit", "50"];
    let looked = route(&stage);
    assert!(!ids(&looked).contains(&"files__write"), "{looked:#}");
    let bad = r#"{"stages": "analysis"}"#;
    let bad = sandbox.write("bad.json", bad);
    let said =
        sandbox.fails(3, &["route", "x", "--tools", &tools, "--context", bad.to_str().unwrap()]);
    assert!(said.contains("expected a context"), "{said}");
}

#[test]
fn the_configuration_tells_where_each_value_came_from() {
    let sandbox = Sandbox::new();
    sandbox.write("toolroute.toml", "use_semantic_tool_selection = false\nlimit = 2\n");
    let run = |args: &[&str]| {
        let mut command = sandbox.toolroute();
        command.current_dir(sandbox.dir.path()).env("TOOLROUTE_MIN_CONFIDENCE", "0").args(args);
        command.assert()
    };
    let shown = run(&["config", "show", "--json", "--semantic-weight", "0.5"]).success();
    let shown: Value = serde_json::from_slice(&shown.get_output().stdout).unwrap();
    let of = |key: &str| -> Value {
        let all = shown["values"].as_array().unwrap();
        all.iter().find(|value| value["key"] == key).unwrap().clone()
    };
    assert_eq!(of("tool_selection_strategy")["value"], "keyword");
    assert_eq!(of("limit")["origin"]["path"], "toolroute.toml");
    assert_eq!(of("min_confidence")["origin"]["name"], "TOOLROUTE_MIN_CONFIDENCE");
    assert_eq!(of("semantic_weight")["origin"]["from"], "flag");
    assert_eq!(of("threads")["origin"]["from"], "default");
    let tools = tools();
    run(&["route", "translate a text", "--tools", &tools, "--json"])
        .success()
        .stdout(predicate::str::contains("\"strategy\": \"keyword\""))
        .stderr(predicate::str::contains("write tool_selection_strategy = \"keyword\" instead"));
    run(&["config", "check"]).success().stdout(predicate::str::contains("toolroute.toml: good"));
    sandbox.write("toolroute.toml", "limits = 2\n[signals]\nphaze = 1\n");
    run(&["config", "check"]).code(3).stdout(
        predicate::str::contains("did you mean `limit`?").and(predicate::str::contains("phaze")),
    );
    run(&["route", "x", "--tools", &tools]).code(3).stderr(predicate::str::contains("limits"));
}

#[test]
fn logs_in_json_hold_no_prompt_at_info() {
    let sandbox = Sandbox::new();
    let secret = "xylophone";
    let output = sandbox
        .toolroute()
        .args(["route", secret, "--tools", &tools(), "--model", "static", "--log-format", "json"])
        .env("TOOLROUTE_LOG", "info")
        .assert()
        .success();
    let logs = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    let lines: Vec<Value> =
        logs.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert!(lines.iter().any(|line| line["message"] == "selected"), "{logs}");
    assert!(!logs.contains(secret), "{logs}");
}

#[test]
fn every_signal_helps_on_its_own_set_or_is_off() {
    let sandbox = Sandbox::new();
    let folder = repo("tests/data/signals");
    let report = sandbox.json(&["eval", "--signals", folder.to_str().unwrap()]);
    for row in report["signals"].as_array().unwrap() {
        let signal: toolroute::engine::Signal = row["signal"].as_str().unwrap().parse().unwrap();
        let is_on = toolroute::engine::SignalWeights::default().is_on(signal);
        let ndcg = |of: &str, at: usize| row[of][at]["ndcg_at_5"].as_f64().unwrap();
        // A filter has no rank of its own to win: its test is in `engine/judge`.
        let is_filter = row["signal"] == "conflicts";
        // Where its rows are right without any signal, it must be what keeps them so among the others.
        let (off, alone, all_but_it) = (ndcg("own", 0), ndcg("own", 1), ndcg("own", 2));
        let helps = alone > off || (off == 1.0 && alone == 1.0 && all_but_it < 1.0);
        let spares = ndcg("control", 1) >= ndcg("control", 0) - 0.02;
        assert!(!is_on || is_filter || (helps && spares), "{row:#}");
    }
    let all = |which: &str| report[which]["ndcg_at_5"].as_f64().unwrap();
    assert!(all("on") > all("off") + 0.05, "{report:#}");
    let follow_ups = &report["follow_ups"];
    let ndcg = |at: usize| follow_ups[at]["ndcg_at_5"].as_f64().unwrap();
    assert!(ndcg(1) > ndcg(0), "{follow_ups:#}");
}
