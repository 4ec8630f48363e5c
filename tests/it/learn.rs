//! `toolroute learn`, and what it does to rankings.

use std::path::Path;

use serde_json::Value;

use crate::support::{CommandExt as _, Sandbox, ids, repo, samples, shared};

/// Tools that say little of themselves, and how they were asked for.
const TOOLS: &str = "{\"name\": \"alpha\", \"description\": \"Alpha service\"}\n\
                     {\"name\": \"beta\", \"description\": \"Beta service\"}\n\
                     {\"name\": \"gamma\", \"description\": \"Plans a trip by train\"}\n";
const PAST: &str = "{\"query\": \"what goes well with red lentils\", \"tools\": [\"alpha\"]}\n\
                    {\"query\": \"a soup for six people\", \"tools\": [\"alpha\"]}\n\
                    {\"query\": \"how long do I bake bread\", \"gold\": [\"alpha\", \"nobody\"]}\n\
                    {\"query\": \"who won the match last night\", \"tools\": [\"beta\"]}\n\
                    {\"query\": \"the league table of this season\", \"tools\": [\"beta\"]}\n\
                    {\"query\": \"lost\"}\n";

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of a sandbox are UTF-8")
}

fn route(sandbox: &Sandbox, tools: &Path, more: &[&str], prompt: &str) -> Value {
    let args = ["route", "--tools", text(tools), "--min-confidence", "0", prompt];
    sandbox.json(&[&args[..], more].concat())
}

#[test]
fn a_tool_is_found_by_what_it_served_and_says_so() {
    let sandbox = Sandbox::new();
    let tools = sandbox.write("tools.jsonl", TOOLS);
    let past = sandbox.write("past.jsonl", PAST);
    let usage = sandbox.path("usage");
    let args = ["learn", "--tools", text(&tools), text(&past), "--output", text(&usage)];
    let report = sandbox.json(&args);
    assert_eq!((&report["tools_learned"], &report["prompts_used"]), (&2.into(), &5.into()));
    assert_eq!(report["unknown_ids"], serde_json::json!(["nobody"]));
    assert_eq!(report["bad"][0]["line"], 6);

    let with = ["--usage", text(&usage)];
    for (prompt, wanted) in [
        ("a recipe for lentil soup", "alpha"),
        ("football results", "beta"),
        ("a train to Haifa", "gamma"),
    ] {
        for strategy in ["semantic", "hybrid"] {
            let more = [&with[..], &["--strategy", strategy]].concat();
            let answer = route(&sandbox, &tools, &more, prompt);
            assert_eq!(ids(&answer)[0], wanted, "{strategy}: {prompt}: {answer}");
            let explanation = &answer["tools"][0]["explanation"];
            if wanted == "gamma" {
                assert!(explanation.get("usage").is_none(), "{explanation}");
                continue;
            }
            assert!(explanation["usage"]["moved"].as_f64().unwrap() > 0.1, "{explanation}");
            assert!(explanation["why"].as_str().unwrap().contains("; learned from "));
        }
    }
    let explain = ["route", "--tools", text(&tools), "--usage", text(&usage), "--explain", "soup"];
    let shown = sandbox.run(&explain).stdout;
    assert!(String::from_utf8(shown).unwrap().contains("usage      3 prompts"), "no usage");
}

#[test]
fn what_was_learned_can_be_taken_back_and_added_to() {
    let sandbox = Sandbox::new();
    let tools = sandbox.write("tools.jsonl", TOOLS);
    let lines: Vec<&str> = PAST.lines().take(5).collect();
    let (one, two) = (lines[..2].join("\n"), lines[2..].join("\n"));
    let (all, one, two) = (
        sandbox.write("all.jsonl", PAST),
        sandbox.write("one.jsonl", one),
        sandbox.write("two.jsonl", two),
    );
    let (at_once, in_two) = (sandbox.path("at-once"), sandbox.path("in-two"));
    let learn = |more: &[&str], output: &Path| {
        let args = ["learn", "--tools", text(&tools), "--output", text(output), "--quiet"];
        sandbox.run(&[&args[..], more].concat())
    };
    learn(&[text(&all)], &at_once);
    learn(&[text(&two)], &in_two);
    learn(&[text(&one)], &in_two);
    let bytes = |path: &Path| std::fs::read(path).unwrap();
    assert_eq!(bytes(&at_once), bytes(&in_two));

    let prompt = "a recipe for lentil soup";
    let plain = route(&sandbox, &tools, &[], prompt);
    let with = route(&sandbox, &tools, &["--usage", text(&in_two)], prompt);
    assert_ne!(plain, with);
    learn(&["--forget", "alpha", "--forget", "beta", "--forget", "gamma"], &in_two);
    assert_eq!(plain, route(&sandbox, &tools, &["--usage", text(&in_two)], prompt));

    let from_variable = |more: &[&str]| {
        let args = ["route", "--tools", text(&tools), "--min-confidence", "0", "--json", prompt];
        let mut command = sandbox.toolroute();
        command.args(args).args(more).env("TOOLROUTE_USAGE", &at_once);
        let output = command.assert().success().get_output().stdout.clone();
        serde_json::from_slice::<Value>(&output).unwrap()
    };
    assert_eq!(from_variable(&[]), with);
    assert_eq!(from_variable(&["--no-usage"]), plain);
    learn(&[text(&one), "--fresh"], &at_once);
    assert!(bytes(&at_once).len() < bytes(&in_two).len() + 20_000);
}

#[test]
fn a_batch_with_usage_is_another_batch() {
    let sandbox = Sandbox::new();
    let tools = sandbox.write("tools.jsonl", TOOLS);
    let past = sandbox.write("past.jsonl", PAST);
    let queries = sandbox.write("queries.jsonl", "{\"query\": \"soup\", \"gold\": [\"alpha\"]}\n");
    let usage = sandbox.path("usage");
    let common = ["--tools", text(&tools), "--quiet"];
    let learn = ["learn", text(&past), "--output", text(&usage)];
    sandbox.run(&[&learn[..], &common].concat());
    let output = sandbox.path("answers.jsonl");
    let batch = ["batch", "--input", text(&queries), "--output", text(&output), "--explain"];
    let with = ["--usage", text(&usage), "--min-confidence", "0"];
    sandbox.run(&[&batch[..], &common, &with].concat());
    let answers = std::fs::read_to_string(&output).unwrap();
    assert!(answers.contains("\"usage\":{\"prompts\":3,\"share\":0.67"), "{answers}");
    let eval = ["eval", "--queries", text(&queries), "--strategy", "semantic"];
    let scores = sandbox.json(&[&eval[..], &common, &with[..2]].concat());
    assert_eq!(scores["results"][0]["ndcg@5"], 1.0);
}

#[test]
fn files_that_cannot_be_used_are_refused_with_a_cure() {
    let sandbox = Sandbox::new();
    let (tools, usage) = (samples(), sandbox.path("usage"));
    let past = sandbox.write("past.jsonl", "{\"query\": \"rain?\", \"gold\": [\"EvalMath\"]}\n");
    let route = ["route", "--tools", &tools, "rain?", "--usage"];
    let missing = sandbox.fails(5, &[&route[..], &[text(&usage)]].concat());
    assert!(missing.contains("toolroute learn"), "{missing}");
    let foreign = sandbox.fails(3, &[&route[..], &[text(&past)]].concat());
    assert!(foreign.contains("is not a usage file"), "{foreign}");

    let learn = ["learn", "--tools", &tools, text(&past), "--output"];
    let before = std::fs::read(&past).unwrap();
    for more in [&[][..], &["--fresh"]] {
        sandbox.fails(3, &[&learn[..], &[text(&past)], more].concat());
    }
    assert_eq!(std::fs::read(&past).unwrap(), before, "a file of ours was written over");
    sandbox.fails(2, &learn[..5]);
    sandbox.fails(2, &["learn", "--tools", &tools, "--output", text(&usage)]);
    // What was learned is of one catalog.
    sandbox.fails(2, &["eval", "--suite", "/no/such/folder", "--usage", text(&usage)]);
    sandbox.fails(5, &[&learn[..], &["/no/such/folder/usage"]].concat());
    let forget = ["learn", "--tools", &tools, "--forget", "EvalMath", "--output", text(&usage)];
    let missing = sandbox.fails(5, &forget);
    assert!(missing.contains("there is no usage file at") && !usage.exists(), "{missing}");

    // Written by an earlier version.
    for version in [1, 2] {
        std::fs::copy(repo(&format!("tests/data/usage-v{version}")), &usage).unwrap();
        for command in [&route[..], &learn[..]] {
            let old = sandbox.fails(3, &[command, &[text(&usage)]].concat());
            let format = format!("format {version}, expected 3");
            assert!(old.contains(&format) && old.contains("--fresh"), "{old}");
        }
    }
    sandbox.run(&[&learn[..], &[text(&usage), "--fresh", "--quiet"]].concat());
    let other = [&route[..], &[text(&usage), "--model", "static"]].concat();
    let stale = sandbox.fails(3, &other);
    assert!(stale.contains("expected static") && stale.contains("--fresh"), "{stale}");
    let elsewhere = sandbox.write("tools.jsonl", TOOLS);
    let warned = sandbox.run(&["route", "--tools", text(&elsewhere), "x", "--usage", text(&usage)]);
    let warned = String::from_utf8(warned.stderr).unwrap();
    assert!(warned.contains("nothing was learned of any tool of this catalog"), "{warned}");
}

/// At least half of what five past prompts a tool give in `docs/benchmarks.md`.
#[test]
fn past_prompts_help_on_public_sets() {
    for (name, model, gain) in [("toollens", "static", 0.1), ("metatool", "toolroute-l6-v1", 0.03)]
    {
        let set = shared(&format!("data/{name}"))
            .expect("the shared data; TOOLROUTE_SHARED names its folder");
        let sandbox = Sandbox::new();
        let tools = set.join("tools.jsonl");
        let rows = |name: &str| std::fs::read_to_string(set.join(name)).unwrap();
        let mut seen = std::collections::HashMap::new();
        let past: String = rows("train_queries.jsonl")
            .lines()
            .filter(|line| {
                let row: Value = serde_json::from_str(line).unwrap();
                let count = seen.entry(row["gold"][0].to_string()).or_insert(0);
                *count += 1;
                *count <= 5
            })
            .map(|line| line.to_owned() + "\n")
            .collect();
        let past = sandbox.write("past.jsonl", past);
        let queries: String =
            rows("queries.jsonl").lines().take(300).map(|l| l.to_owned() + "\n").collect();
        let queries = sandbox.write("queries.jsonl", queries);
        let eval = ["eval", "--all", "--tools", text(&tools), "--queries", text(&queries)];
        let ndcg = |more: &[&str]| {
            let report = sandbox.json(&[&eval[..], &["--model", model], more].concat());
            let semantic = &report["results"][1]["ndcg@5"];
            let hybrid = &report["results"][2]["without_abstention"]["ndcg@5"];
            [semantic, hybrid].map(|mean| mean.as_f64().unwrap())
        };
        let usage = sandbox.path(model);
        let learn = ["learn", "--tools", text(&tools), text(&past), "-o", text(&usage), "-q"];
        sandbox.run(&[&learn[..], &["--model", model]].concat());
        let [_, before] = ndcg(&[]);
        let [learned, hybrid] = ndcg(&["--usage", text(&usage)]);
        assert!(hybrid > before + gain, "{name}, {model}: {before} {hybrid}");
        assert!(hybrid > learned - 0.01, "{name}, {model}: {learned} {hybrid}");
    }
}

#[test]
fn past_prompts_show_how_vaguely_users_ask() {
    let sandbox = Sandbox::new();
    let set = repo("tests/data/trial/company");
    let tools = set.join("tools");
    let read = |file: &str| std::fs::read_to_string(set.join(file)).unwrap();
    let rows = read("queries.jsonl");
    let (past, asked): (Vec<_>, Vec<_>) = rows.lines().enumerate().partition(|(at, _)| at % 2 == 0);
    let lines = |rows: Vec<(usize, &str)>| -> String {
        rows.into_iter().map(|(_, row)| format!("{row}\n")).collect()
    };
    let past = sandbox.write("past.jsonl", lines(past));
    let others = read("offtopic.jsonl");
    let asked = lines(asked) + others.trim_end();
    let asked = sandbox.write("asked.jsonl", &asked);
    let usage = sandbox.path("usage");
    let learn = ["learn", "--tools", text(&tools), text(&past), "--output", text(&usage)];
    let report = sandbox.json(&learn);
    assert_eq!(report["served"]["prompts"], report["prompts_used"]);

    let doubted = |more: &[&str]| {
        let eval = ["eval", "--tools", text(&tools), "--queries", text(&asked)];
        let found = sandbox.json(&[&eval[..], more].concat())["results"][0].clone();
        let share = |row: &Value, fit: &str| row[fit].as_f64().unwrap();
        let others = &found["unserved"];
        (share(&found, "unsure"), share(others, "none") + share(others, "unsure"))
    };
    let (before, after) = (doubted(&[]), doubted(&["--usage", text(&usage)]));
    assert!(before.0 > 0.2 && after.0 < 0.15, "served: {before:?}, then {after:?}");
    assert!(after.1 > 0.8, "not served: {before:?}, then {after:?}");
}
