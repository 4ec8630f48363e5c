//! `toolroute tools`, and what the other commands print for programs.

use crate::support::{CommandExt as _, Sandbox, repo, samples};

#[test]
fn the_sample_catalog_is_whole() {
    let sandbox = Sandbox::new();
    let verdict = sandbox.json(&["tools", "validate", "--tools", &samples()]);
    assert_eq!((&verdict["errors"], &verdict["warnings"]), (&0.into(), &0.into()), "{verdict}");
    assert!(verdict["tools"].as_u64().unwrap() >= 60);
}

#[test]
fn a_schema_comes_back_byte_for_byte() {
    let sandbox = Sandbox::new();
    let schema =
        r#"{"type":"object",  "properties":{"b":{"type":"number","default":1.0e3},"a":{}}}"#;
    let row =
        format!("{{\"id\":\"An id: with | odd, signs\",\"name\":\"t\",\"input_schema\":{schema}}}");
    let file = sandbox.put("tools.jsonl", row);
    let shown =
        sandbox.run(&["tools", "show", "An id: with | odd, signs", "--json", "--tools", &file]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains(schema) && shown.contains("An id: with | odd, signs"), "{shown}");
}

#[test]
fn one_bad_tool_does_not_lose_the_others_unless_strict() {
    let sandbox = Sandbox::new();
    let rows =
        "{\"name\": \"good\"}\n{\"name\": \"bad\", \"cost\": \"huge\"}\n{\"name\": \"fine\"}\n";
    let file = &sandbox.put("tools.jsonl", rows);
    let output = sandbox.run(&["tools", "list", "--json", "--tools", file]);
    let listed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    let stderr = String::from_utf8(output.stderr).unwrap();
    for word in ["tools.jsonl:2", "bad", "cost", "huge", "tiny"] {
        assert!(stderr.contains(word), "{word}: {stderr}");
    }
    assert!(sandbox.fails(3, &["tools", "list", "--strict", "--tools", file]).contains("huge"));
    sandbox.fails(3, &["tools", "validate", "--tools", file]);
    let strict = ["tools", "validate", "--strict", "--json", "--tools", file];
    let output = sandbox.toolroute().args(strict).assert().code(3).get_output().stdout.clone();
    let verdict: serde_json::Value = serde_json::from_slice(&output).unwrap();
    assert_eq!((&verdict["tools"], &verdict["errors"]), (&2.into(), &1.into()), "{verdict}");
}

#[test]
fn a_schema_that_is_no_schema_is_warned_of() {
    let sandbox = Sandbox::new();
    let rows = r#"{"name": "kind", "input_schema": {"type": "objekt"}}
{"name": "lacks", "input_schema": {"type": "object", "properties": {"x": {}}, "required": ["x", "y"]}}
{"name": "good", "input_schema": {"type": "object", "properties": {"x": {}}, "required": ["x"]}}"#;
    let file = sandbox.put("tools.jsonl", rows);
    let verdict = sandbox.json(&["tools", "validate", "--tools", &file]);
    assert_eq!((&verdict["errors"], &verdict["warnings"]), (&0.into(), &2.into()), "{verdict}");
    let [kind, lacks] = [0, 1].map(|at| &verdict["problems"][at]);
    assert_eq!((&kind["tool"], &kind["found"]), (&"kind".into(), &"\"objekt\" at /type".into()));
    assert_eq!((&lacks["tool"], &lacks["found"]), (&"lacks".into(), &"\"y\"".into()));
    assert_eq!(lacks["field"], "input_schema");
}

#[test]
fn a_file_without_a_tool_is_told_as_one() {
    let sandbox = Sandbox::new();
    for text in ["[]", "{\"tools\": []}"] {
        let file = sandbox.put("tools.json", text);
        let args = ["tools", "validate", "--json", "--tools", &file];
        let output = sandbox.toolroute().args(args).assert().code(3).get_output().stdout.clone();
        let verdict: serde_json::Value = serde_json::from_slice(&output).unwrap();
        assert_eq!((&verdict["tools"], &verdict["errors"]), (&0.into(), &1.into()), "{text}");
        assert_eq!(verdict["problems"][0]["expected"], "at least one tool", "{verdict}");
        assert!(verdict["problems"][0]["found"].as_str().unwrap().ends_with("tools.json"));
    }
}

#[test]
fn a_file_that_cannot_be_parsed_is_told_with_line_and_column() {
    let sandbox = Sandbox::new();
    for (name, text, said) in [
        (
            "a.yaml",
            "tools:\n  - name: a\n   bad: b\n",
            "a.yaml:3:4: expected YAML, found `bad: b`: ",
        ),
        ("a.toml", "a = 1\n[tools\n", "a.toml:2:7: expected TOML, found `[tools`: "),
        ("a.json", "{\"tools\": [\n oops]}", "a.json:2:2: expected JSON, found `oops]}`: "),
    ] {
        let file = sandbox.put(name, text);
        let validate = ["tools", "validate", "--tools", &file];
        let output =
            sandbox.toolroute().args(validate).assert().code(3).get_output().stdout.clone();
        let told = String::from_utf8(output).unwrap();
        assert!(told.contains(said) && told.contains("; correct the text"), "{told}");
    }
}

#[test]
fn what_was_typed_wrong_is_json_where_json_is_asked_for() {
    let sandbox = Sandbox::new();
    for (args, said) in [
        (
            &["route", "--json", "--strategi", "keyword"][..],
            "unexpected argument '--strategi' found",
        ),
        (&["tools", "show", "--json"], "the following required arguments were not provided: <ID>"),
        (&["nothing", "--json"], "unrecognized subcommand 'nothing'"),
    ] {
        let told = sandbox.fails(2, args);
        let told: serde_json::Value = serde_json::from_str(&told).expect(&told);
        assert_eq!(told["exit_code"], 2, "{told}");
        assert!(told["error"].as_str().unwrap().starts_with(said), "{told}");
        assert!(!told["error"].as_str().unwrap().contains("Usage"), "{told}");
    }
    assert!(sandbox.fails(2, &["nothing"]).contains("Usage: toolroute"), "for people as before");
    let help = sandbox.run(&["route", "--json", "--help"]).stdout;
    assert!(String::from_utf8(help).unwrap().contains("Usage:"), "help is help");
}

#[test]
fn a_miss_names_what_is_near() {
    let sandbox = Sandbox::new();
    let said = sandbox.fails(3, &["tools", "show", "curent_weather", "--tools", &samples()]);
    assert!(said.contains("meteo__current_weather"), "{said}");
}

#[test]
fn eval_compares_the_strategies_and_hybrid_is_good_on_the_samples() {
    let sandbox = Sandbox::new();
    let queries = repo("examples/queries.jsonl");
    let tools = samples();
    let args = ["eval", "--all", "--tools", &tools, "--queries", queries.to_str().unwrap()];
    let report = sandbox.json(&args);
    let of = |strategy: &str| {
        let rows = report["results"].as_array().unwrap();
        let row = rows.iter().find(|row| row["strategy"] == strategy).unwrap();
        row["ndcg@5"].as_f64().unwrap()
    };
    // The gate for regressions of the ranking: measured 0.79 when it was set.
    assert!(of("hybrid") > 0.75, "{report}");
    assert!(of("hybrid") > of("keyword") && of("semantic") > 0.5, "{report}");
    let table = sandbox.run(&args).stdout;
    assert!(String::from_utf8(table).unwrap().contains("recall@10"));
}

#[test]
fn bench_reports_every_stage() {
    let sandbox = Sandbox::new();
    let queries = repo("examples/queries.jsonl");
    let tools = samples();
    let args = ["bench", "-n", "12", "--tools", &tools, "--queries", queries.to_str().unwrap()];
    let report = sandbox.json(&args);
    let stages: Vec<_> = report["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["stage"].as_str().unwrap())
        .collect();
    assert_eq!(stages, ["tokenize", "embed", "search", "keyword", "fuse", "policy", "total"]);
    assert!(report["throughput_per_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn completions_and_help_are_there() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let output = sandbox.toolroute().args(["completions", shell]).assert().success();
        output.stdout_contains("toolroute");
    }
    // A shell runs this at its start, in whatever folder.
    let broken = sandbox.write("toolroute.toml", "a = [");
    let folder = broken.parent().unwrap();
    sandbox.toolroute().args(["completions", "bash"]).current_dir(folder).assert().success();
    let script = sandbox.json(&["completions", "bash"]);
    assert!(script["shell"] == "bash" && script["script"].as_str().unwrap().contains("toolroute"));
    let help = sandbox.toolroute().arg("--help").assert().success();
    help.stdout_contains("Exit codes");
}

#[test]
fn eval_survives_rows_that_cannot_be_scored_and_knows_every_spelling_of_an_id() {
    let sandbox = Sandbox::new();
    let mut rows = b"{\"query\":\"EvalMath\",\"gold\":[\"EvalMath\"]}\n".to_vec();
    rows.extend(b"{\"query\":\"current weather\",\"gold\":[\"meteo:current_weather\"]}\n");
    rows.extend(b"{\"query\":\"\xff\",\"gold\":[\"EvalMath\"]}\n");
    rows.extend(b"{\"query\":\"x\",\"gold\":[\"EvalMath\"],\"candidates\":[\"nope\"]}\n");
    rows.extend(b"{\"query\":\"x\"}\n");
    rows.extend(b"{\"query\":\"EvalMath\",\"tools\":[\"EvalMath\"]}\n");
    rows.extend(b"{\"query\":\"x\",\"gold\":[\"meteo__curent_weather\"]}\n");
    rows.extend(b"{\"query\":\"EvalMath\",\"gold\":[\"EvalMath\",\"nowhere_at_all\"]}\n");
    let queries = sandbox.write("q.jsonl", rows);
    let (tools, queries) = (samples(), queries.to_str().unwrap());
    let args = ["eval", "-s", "keyword", "--tools", &tools, "--queries", queries];
    let report = sandbox.json(&args);
    let lines: Vec<_> = report["bad"].as_array().unwrap().iter().map(|row| &row["line"]).collect();
    assert_eq!(lines, [3, 4, 5, 7, 8]);
    let said = |at: usize| report["bad"][at]["error"].as_str().unwrap();
    assert!(said(2).contains("no ids in \"gold\""), "{report}");
    assert!(said(3).contains("did you mean `meteo__current_weather`"), "{report}");
    assert!(said(3).contains("left out") && said(4).contains("scored by the others"), "{report}");
    let result = &report["results"][0];
    assert_eq!((&report["queries"], &result["mrr"]), (&4.into(), &1.0.into()), "{report}");
    assert_eq!(result["recall@5"], 1.0, "{report}");
    assert_eq!(report.get("misses"), None);
    let misses = sandbox.json(&[&args[..], &["--misses"]].concat())["misses"].clone();
    assert_eq!(misses, serde_json::json!([]), "all right tools are first");
    let args = ["bench", "-n", "3", "-s", "keyword", "--tools", &tools, "--queries", queries];
    let said = String::from_utf8(sandbox.run(&args).stderr).unwrap();
    assert!(said.contains("line 3:"), "{said}");
    sandbox.fails(3, &[&args[..], &["--strict"]].concat());
    let none = sandbox.fails(2, &["bench", "-n", "0", "--tools", &tools, "--queries", queries]);
    assert!(none.contains("invalid value '0'"), "{none}");
    let misses = sandbox.put("m.jsonl", "{\"query\":\"zzz\",\"gold\":[\"EvalMath\"]}\n");
    let args = ["eval", "-s", "keyword", "--tools", &tools, "--queries", &misses];
    let table = String::from_utf8(sandbox.run(&args).stdout).unwrap();
    assert!(table.contains("0.0000") && !table.contains("-0.0000"), "{table}");
    let args = [&args[..], &["--misses"]].concat();
    let missed = sandbox.json(&args)["misses"][0].clone();
    assert_eq!((&missed["line"], &missed["gold"][0]), (&1.into(), &"EvalMath".into()));
    assert!(missed["rank"].is_null() && missed["id"].is_null(), "{missed}");
    let table = String::from_utf8(sandbox.run(&args).stdout).unwrap();
    assert!(table.contains("right tools") && table.contains("line 1"), "{table}");
    sandbox.fails(2, &["eval", "--suite", "x", "--misses"]);
    let none = sandbox.put("none.jsonl", "{\"query\": \"x\", \"gold\": [\"nope\"]}\n");
    let args = ["eval", "-s", "keyword", "--tools", &tools, "--queries", &none];
    assert!(sandbox.fails(3, &args).contains("has a gold answer"));
}

#[test]
fn what_a_tool_declares_for_the_conductor_is_checked() {
    let sandbox = Sandbox::new();
    let good = serde_json::json!({"name": "good", "satisfies": ["query.x", "REPORT", "verify(y)"],
        "preconditions": ["is_known"], "postconditions": ["outputs.result > 1"]});
    let bad = serde_json::json!({"name": "bad", "satisfies": ["garbage(", "FOO(bar)"],
        "preconditions": ["a b c ("], "postconditions": ["outputs.result >"]});
    let file = &sandbox.put("tools.jsonl", format!("{good}\n{bad}\n"));
    let verdict = sandbox.json(&["tools", "validate", "--tools", file]);
    let fields = |id: &str| {
        let problems = verdict["problems"].as_array().unwrap();
        let own = problems.iter().filter(|problem| problem["tool"] == id);
        own.map(|problem| problem["field"].as_str().unwrap_or_default()).collect::<Vec<_>>()
    };
    assert_eq!(fields("bad"), ["satisfies", "satisfies", "preconditions", "postconditions"]);
    assert_eq!(fields("good"), [""; 0], "{verdict}");
    let said = sandbox.fails(2, &["candidates", "REPORT(bar", "--tools", file]);
    assert!(said.contains("is no obligation"), "{said}");
}

#[test]
fn a_list_without_any_tool_is_no_success() {
    let sandbox = Sandbox::new();
    let none = sandbox.write("servers.json", r#"{"mcpServers": {}}"#);
    let args = ["tools", "list", "--servers", none.to_str().unwrap()];
    assert!(sandbox.fails(3, &args).contains("no usable tool"));
    sandbox.fails(3, &[&args[..], &["--json"]].concat());
}

#[test]
fn a_table_is_as_wide_as_the_screen() {
    let sandbox = Sandbox::new();
    let args = ["tools", "list", "--tools", &samples()];
    let listed = sandbox.toolroute().env("COLUMNS", "80").args(args).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.lines().all(|line| line.chars().count() <= 80), "{listed}");
}

#[test]
fn what_an_overlay_says_of_a_tool_is_shown() {
    let sandbox = Sandbox::new();
    let overlay = sandbox
        .put("overlay.toml", "[[overlay]]\nmatch = \"EvalMath\"\nrouting = { priority = 90 }\n");
    let args = ["tools", "show", "EvalMath", "--tools", &samples()];
    let shown = sandbox.run(&[&args[..], &["--overlay", &overlay]].concat());
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains(r#"routing   {"priority":90}"#), "{shown}");
}
