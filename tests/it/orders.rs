//! Orders through the command line: those that stand as they are get the right call, and what a tool would do only by
//! halves, or to another thing, is asked about. `scripts/orders.py` measures all catalogs.

use std::fs;

use serde_json::Value;

use crate::support::{Sandbox, repo};

/// A catalog for which the reading of orders was developed.
const CATALOG: &str = "tests/data/orders/museum-loans";

#[test]
fn orders_are_carried_out_as_they_stand_or_asked_about() {
    let sandbox = Sandbox::new();
    let catalog = repo(&format!("{CATALOG}.json"));
    let catalog = catalog.to_str().unwrap();
    let rows = fs::read_to_string(repo(&format!("{CATALOG}.jsonl"))).unwrap();
    let (mut right, mut carried_out) = (0, Vec::new());
    for row in rows.lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        let prompt = row["prompt"].as_str().unwrap();
        let args = ["run", prompt, "--dry-run", "--json", "--tools", catalog];
        let moment = ["--now", "2026-11-26T10:00:00+01:00"];
        let output = sandbox.toolroute().args(args).args(moment).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let is_called = output.status.success() && answer["tool"].is_string();
        let tool = answer["tool"].as_str().unwrap_or_default().rsplit("__").next();
        let is_right = tool == row["tool"].as_str();
        if row["act"] == true {
            let arguments = &answer["arguments"]["arguments"];
            right += usize::from(is_called && is_right && *arguments == row["arguments"]);
        } else if is_called && is_right {
            carried_out.push(prompt.to_owned());
        }
    }
    assert!(right >= 17, "only {right} of 25 orders got the right call");
    assert!(carried_out.is_empty(), "{carried_out:#?}");
}

/// The servers that most people try first, in the names of their captured lists.
const USUAL: [&str; 5] = ["filesystem", "git", "memory", "sqlite", "time"];

#[test]
fn orders_over_the_usual_servers_find_their_tool_and_others_are_doubted() {
    let tools = USUAL.map(|server| repo(&format!("tests/data/captured/{server}.json")));
    let queries = repo("tests/data/usual_servers.jsonl");
    let mut args = vec!["eval", "--queries", queries.to_str().unwrap()];
    args.extend(tools.iter().flat_map(|file| ["--tools", file.to_str().unwrap()]));
    let report = Sandbox::new().json(&args);
    let results = report["results"].as_array().unwrap();
    let hybrid = results.iter().find(|one| one["strategy"] == "hybrid").unwrap();
    let is = |share: &Value, least: f64| share.as_f64().unwrap() >= least;
    assert!(is(&hybrid["ndcg@1"], 0.88) && is(&hybrid["recall@5"], 0.98), "{hybrid}");
    let unserved = &hybrid["unserved"];
    let doubted = unserved["none"].as_f64().unwrap() + unserved["unsure"].as_f64().unwrap();
    assert!(doubted >= 0.73 && hybrid["unsure"].as_f64().unwrap() <= 0.06, "{hybrid}");
}
