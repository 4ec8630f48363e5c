//! The plain design beside twenty lines of Python, and what the policy decides among equals.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::drill::python;
use crate::http::{Server, post};
use crate::support::{CommandExt as _, Sandbox, ids, repo, rows, samples};

/// Prompts of which the tuned blend reads or ranks each in a way of its own.
const PROMPTS: [&str; 7] = [
    "do I need an umbrella in Haifa tomorrow",
    "refund the paymnet of the last custmer",
    "don't delete the branch, just list the commits",
    "find a flat, then book a visit and write it to the calendar",
    "call EvalMath on my shopping list",
    "show me the keys",
    "מה מזג האוויר מחר in Haifa",
];

/// The rows of `batch --explain` over the sample catalog by the plain blend.
fn batch(sandbox: &Sandbox, strategy: &str, more: &[&str]) -> Vec<Value> {
    let row = |(id, query): (usize, &&str)| json!({"id": id, "query": query}).to_string();
    let prompts: Vec<String> = PROMPTS.iter().enumerate().map(row).collect();
    let input = sandbox.write("prompts.jsonl", prompts.join("\n"));
    let tools = samples();
    let args = ["batch", "--tools", &tools, "--limit", "1000", "--explain", "-s", strategy];
    let mut command = sandbox.toolroute();
    command.args(args).args(more).arg("--input").arg(&input).args(["--output", "-"]);
    rows(&command.assert().success().get_output().stdout)
}

/// What one part of the plain blend says of each tool, by itself.
fn raw(row: &Value, part: &str) -> serde_json::Map<String, Value> {
    let tools = row["tools"].as_array().unwrap().iter();
    let raw = tools.map(|tool| {
        let parts = tool["explanation"]["parts"].as_array().unwrap();
        assert_eq!((parts.len(), &parts[0]["name"]), (1, &part.into()), "{tool}");
        assert_eq!(parts[0]["raw"], tool["score"], "{tool}");
        (tool["id"].as_str().unwrap().to_owned(), tool["score"].clone())
    });
    raw.collect()
}

/// What `tests/plain.py` makes of both parts.
fn twin(cosines: &Value, bm25: &Value) -> Vec<(String, f64)> {
    let mut python = Command::new(python())
        .arg(repo("tests/plain.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let asked = json!({"cosines": cosines, "bm25": bm25}).to_string();
    python.stdin.take().unwrap().write_all(asked.as_bytes()).unwrap();
    serde_json::from_slice(&python.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn the_plain_blend_is_what_twenty_lines_of_python_make_of_both_parts() {
    let sandbox = Sandbox::new();
    let plain = ["--blend", "plain"];
    let meaning = batch(&sandbox, "semantic", &plain);
    let words = batch(&sandbox, "keyword", &plain);
    let both = batch(&sandbox, "hybrid", &plain);
    let tuned = batch(&sandbox, "hybrid", &["--min-confidence", "0"]);
    for (at, prompt) in PROMPTS.iter().enumerate() {
        let cosines = raw(&meaning[at], "semantic").into();
        let expected = twin(&cosines, &raw(&words[at], "keyword").into());
        let found = both[at]["tools"].as_array().unwrap();
        assert!(found.len() > 50 && found.len() == expected.len(), "all tools are ranked");
        for (tool, (id, score)) in found.iter().zip(&expected) {
            let ours = tool["score"].as_f64().unwrap();
            assert!((ours - score).abs() < 1e-6, "{prompt}: {tool} is {score} in Python");
            let same = found.iter().find(|tool| tool["id"] == id.as_str()).unwrap();
            let its = same["score"].as_f64().unwrap();
            assert!((its - score).abs() < 1e-6, "{prompt}: {id} is {score} in Python, {its} here");
            let parts = tool["explanation"]["parts"].as_array().unwrap();
            let names: Vec<&str> =
                parts.iter().map(|part| part["name"].as_str().unwrap()).collect();
            assert_eq!(names, ["semantic", "keyword"], "{prompt}: nothing else counts");
        }
        assert!(both[at]["confidence"].is_null() && both[at]["read_as"].is_null(), "{prompt}");
        assert_ne!(both[at]["tools"], tuned[at]["tools"], "{prompt}");
    }
}

#[test]
fn what_would_change_the_plain_blend_is_refused_beside_it() {
    let sandbox = Sandbox::new();
    let tools = samples();
    let route = ["route", "--tools", &tools, "--blend", "plain", "show me the keys"];
    for more in [
        &["--semantic-weight", "0.5"][..],
        &["--whole"],
        &["--signal", "intent=0.5"],
        &["--policy-band", "0.1"],
    ] {
        let said = sandbox.fails(2, &[&route[..], more].concat());
        assert!(said.contains(more[0]) && said.contains("--blend plain"), "{said}");
    }
    // What a file says for every day gives way to what was typed.
    let config = &sandbox.put("mine.toml", "semantic_weight = 0.4\nwhole = true\n");
    let plain = sandbox.json(&[&route[..], &["--config", config]].concat());
    assert_eq!(plain, sandbox.json(&route));
    let config = sandbox.put("plain.toml", "blend = \"plain\"\n");
    let by_file = ["route", "--tools", &tools, "--config", &config, route[5]];
    assert_eq!(sandbox.json(&by_file), plain);
}

/// Four tools that say the same of themselves, one of which declares nothing.
fn equals(sandbox: &Sandbox) -> String {
    let text = "Searches the archive for documents that hold some words";
    let tool = |server: &str, more: Value| {
        let mut tool = json!({"server": server, "name": "search", "description": text});
        tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tool.to_string()
    };
    let tools = [
        tool("west", json!({"reliability": "high", "cost": "high", "latency_ms": 100})),
        tool("north", json!({"reliability": "medium", "cost": "tiny", "latency_ms": 5})),
        tool("south", json!({})),
        tool("east", json!({"reliability": "high", "cost": "low", "latency_ms": 900})),
        json!({"server": "misc", "name": "roll_dice", "description": "Rolls dice", "cost": "tiny"})
            .to_string(),
    ];
    sandbox.write("equals.jsonl", tools.join("\n")).to_string_lossy().into_owned()
}

const ASK: &str = "search the archive for documents about ships";

/// The servers of an answer's tools that search, best first.
fn searching(answer: &Value) -> Vec<String> {
    let servers = ids(answer).into_iter().filter_map(|id| id.strip_suffix("__search"));
    servers.map(str::to_owned).collect()
}

#[test]
fn among_equals_the_weakest_tool_that_will_do_comes_first_and_says_why() {
    let sandbox = Sandbox::new();
    let tools = equals(&sandbox);
    let route = |more: &[&str]| sandbox.json(&[&["route", "--tools", &tools, ASK], more].concat());
    let (banded, by_score) = (route(&[]), route(&["--policy-band", "0"]));
    let score = |answer: &Value, at: usize| answer["tools"][at]["score"].as_f64().unwrap();
    assert!(score(&by_score, 0) - score(&by_score, 3) < 0.02, "they are about equal: {by_score}");
    // Reliability, then cost; what declares nothing keeps its place.
    let declaring = |tool: &String| tool != "south";
    let by_score = searching(&by_score);
    let mut by_policy = ["east", "west", "north"].into_iter();
    let placed = by_score.iter().map(|tool| match declaring(tool) {
        true => by_policy.next().unwrap(),
        false => "south",
    });
    assert_eq!(searching(&banded), placed.collect::<Vec<_>>());
    let over = by_score.iter().find(|tool| declaring(tool)).unwrap();
    let (by, because) = match over.as_str() {
        "west" => ("cost", "its cost is low, not high"),
        "north" => ("reliability", "its reliability is high, not medium"),
        _ => panic!("no tool is preferred to another: {by_score:?}"),
    };
    let explained = |tool: &str| {
        let at = searching(&banded).iter().position(|placed| placed == tool).unwrap();
        banded["tools"][at]["explanation"].clone()
    };
    let over = format!("{over}__search");
    let first = explained("east");
    assert_eq!(first["preferred"], json!({"over": over, "by": by, "because": because}));
    let why = first["why"].as_str().unwrap();
    assert!(why.ends_with(&format!("; fits about as well as {over}, and {because}")), "{why}");
    assert!(explained("south").get("preferred").is_none(), "it declares nothing");
    // However many are asked for: the choice is the same, and so is the reason.
    for limit in 1..5 {
        let few = route(&["--limit", &limit.to_string()]);
        assert_eq!(ids(&few), ids(&banded)[..limit]);
        assert_eq!(few["tools"][0], banded["tools"][0]);
    }
}

#[test]
fn every_door_has_the_band() {
    let sandbox = Sandbox::new();
    let tools = equals(&sandbox);
    let route = ["route", "--tools", &tools, ASK];
    let config = sandbox.put("band.toml", "policy_band = 0\n");
    let by_file = sandbox.json(&[&route[..], &["--config", &config]].concat());
    let by_score = sandbox.json(&[&route[..], &["--policy-band", "0"]].concat());
    let banded = sandbox.json(&route);
    assert_eq!(by_file, by_score);
    assert_ne!(ids(&banded), ids(&by_score));
    let input = sandbox.write("one.jsonl", json!({"id": 1, "query": ASK}).to_string());
    let (input, output) = (input.to_str().unwrap(), sandbox.path("out.jsonl"));
    let batch = ["batch", "--tools", &tools, "--input", input, "--output"];
    sandbox.toolroute().args(batch).arg(&output).assert().success();
    let row: Value = serde_json::from_str(&std::fs::read_to_string(output).unwrap()).unwrap();
    assert_eq!(ids(&row)[..4], ids(&banded)[..4]);
    let server = Server::start(&sandbox, &["serve", "--tools", &tools]);
    let select =
        |band: Value| post(server.port, "/v1/select", &json!({"prompt": ASK, "policy_band": band}));
    assert_eq!(ids(&select(Value::Null).ok()), ids(&banded));
    assert_eq!(ids(&select(json!(0)).ok()), ids(&by_score));
    assert_eq!(select(json!(-1)).error(), (400, "invalid_request".to_owned()));
    let near = json!({"prompt": ASK, "policy": {"near_best": -1}});
    assert_eq!(post(server.port, "/v1/select", &near).error(), (400, "invalid_request".to_owned()));
    let said = sandbox.fails(2, &[&route[..], &["--policy-band", "7"]].concat());
    assert!(said.contains("policy band 7") && said.contains("0.02"), "{said}");
}
