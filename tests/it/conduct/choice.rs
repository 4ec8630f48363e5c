//! Which tools are candidates, in which order, and what is asked a second time.

use serde_json::{Value, json};

use super::{Desk, one, rows};

/// A tool that only reads and never does what is wanted, so that the next one is tried.
fn useless(name: &str, satisfies: &str, more: Value) -> Value {
    let mut tool = json!({"id": name, "name": name, "description": "Answers",
        "satisfies": [satisfies], "postconditions": ["!outputs.written"],
        "hints": {"read_only": true}});
    for (member, value) in more.as_object().unwrap() {
        tool[member] = value.clone();
    }
    tool
}

#[test]
fn candidates_and_conduct_go_by_one_rule_and_one_order() {
    let desk = Desk::with(&[
        useless("Any", "REPORT", json!({"reliability": "low"})),
        useless("Bare", "query.x", json!({"reliability": "high", "cost": "low", "latency_ms": 9})),
        useless("Dear", "REPORT(query.x)", json!({"reliability": "high", "cost": "high"})),
        useless(
            "B",
            "report(query.x)",
            json!({"reliability": "high", "cost": "low", "latency_ms": 5}),
        ),
        useless(
            "A",
            "REPORT(query.x)",
            json!({"reliability": "high", "cost": "low", "latency_ms": 5}),
        ),
        useless("Other", "REPORT(query.y)", json!({})),
        useless("Check", "VERIFY(query.x)", json!({})),
    ]);
    let mut before = 0;
    for (asked, wanted) in [
        ("REPORT(query.x)", &["A", "B", "Bare", "Dear", "Any"][..]),
        ("REPORT", &["Any"]),
        ("VERIFY(query.x)", &["Check"]),
        ("VERIFY", &[]),
    ] {
        let found = desk.sandbox.json(&["candidates", asked, "--tools", &desk.fixed[1]]);
        let mut ids: Vec<&str> = found["chosen"]["id"].as_str().into_iter().collect();
        let others = found["alternatives"].as_array().unwrap();
        ids.extend(others.iter().map(|other| other["id"].as_str().unwrap()));
        assert_eq!(ids, wanted, "{asked}");
        let answer = desk.ask(&one(asked, json!({})), &[]).to_string();
        let is_told = |id: &&str| answer.contains(&format!("`{id}` (postcondition"));
        assert!(asked.starts_with("VERIFY") || wanted.iter().all(is_told), "{answer}");
        let runs = rows(&desk.sandbox, "--runs");
        let run: Vec<&str> =
            runs[before..].iter().map(|run| run["tool"].as_str().unwrap()).collect();
        assert_eq!(run, wanted, "{asked}");
        before = runs.len();
    }
    let bare = desk.sandbox.json(&["candidates", "query.x", "--tools", &desk.fixed[1]]);
    assert_eq!(bare["chosen"]["id"], "A");
}

#[test]
fn what_is_not_said_twice_is_told_as_uncertain_unless_it_changes_with_time() {
    let tool = |name: &str, tags: Value| {
        json!({"id": name, "name": name, "description": "Draws a number", "tags": tags,
            "satisfies": [format!("REPORT(draw.{name})")], "reliability": "high",
            "hints": {"read_only": true}})
    };
    let desk = Desk::with(&[tool("Dice", json!([])), tool("Weather", json!(["volatile"]))]);
    let script = desk.sandbox.write("nothing.sql", "");
    let runner = |name: &str| {
        format!(
            "[{name}]\nbuiltin = \"sql\"\nscript = {script:?}\nquery = \"SELECT random() AS n\"\n"
        )
    };
    std::fs::write(&desk.fixed[3], runner("Dice") + &runner("Weather")).unwrap();
    let doubted = desk.ask(&one("REPORT(draw.Dice)", json!({})), &[]);
    let entry = &doubted["obligations"][0];
    assert!(entry["uncertain"].as_str().unwrap().contains("at first and then"), "{doubted}");
    assert_eq!(entry["brought_about"][0]["type"], "JUSTIFY(verification)");
    assert!(doubted["text"].as_str().unwrap().contains("I am not sure of this"));
    // Said otherwise in another request, which is no evidence against what changes.
    for _ in 0..2 {
        let drawn = desk.ask(&one("REPORT(draw.Weather)", json!({})), &[]);
        assert_eq!(drawn["complete"], true, "{drawn}");
    }
}
