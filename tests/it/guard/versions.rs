//! Pins by time, and files of pins that cannot be read.

use std::path::Path;

use serde_json::{Value, json};

use super::{PROMPT, Site, search};
use crate::support::CommandExt as _;

/// Makes all pins 30 days older.
fn age(pins: &Path) {
    let mut whole: Value = serde_json::from_slice(&std::fs::read(pins).unwrap()).unwrap();
    for server in whole["servers"].as_object_mut().unwrap().values_mut() {
        for pin in server.as_object_mut().unwrap().values_mut() {
            let since = pin["since"].as_u64().unwrap();
            pin["since"] = json!(since - 30 * 24 * 3600);
        }
    }
    let servers = whole["servers"].to_string();
    whole["sha256"] = toolroute_vectors::durable::sha256_hex(servers.as_bytes()).into();
    std::fs::write(pins, whole.to_string()).unwrap();
}

#[test]
fn a_tool_that_came_after_the_others_is_ranked_a_little_lower_until_it_is_approved() {
    let site = Site::new();
    let newcomer = |answer: &Value, id: &str| {
        let tools = answer["tools"].as_array().unwrap().iter();
        let found =
            tools.filter(|tool| tool["id"] == id).map(|tool| tool["explanation"]["parts"].clone());
        let parts = found.map(|parts| parts.as_array().unwrap().clone()).next().unwrap();
        parts
            .iter()
            .any(|part| part["name"] == "newcomer" && part["contribution"].as_f64() < Some(0.0))
    };
    let pins = site.sandbox.path("pins.json");
    let (before, _) = site.route(&["--explain"]);
    assert!(!newcomer(&before, "notes__search_notes"), "all are new: {before}");
    age(&pins);
    site.list(&[search(), json!({"name": "find_notes", "description": "Finds notes by words."})]);
    let (after, _) = site.route(&["--explain"]);
    assert!(
        newcomer(&after, "notes__find_notes") && !newcomer(&after, "notes__search_notes"),
        "{after}"
    );
    let listed = || site.sandbox.json(&["pins", "list"]);
    let marked = |listed: Value| {
        let listed = listed.as_array().unwrap().iter();
        listed
            .filter(|pin| pin["newcomer"] == true)
            .map(|pin| pin["id"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(marked(listed()), ["notes__find_notes"]);
    let approved = site.sandbox.json(&["pins", "approve", "notes__find_notes"]);
    assert_eq!((&approved["approved"], marked(listed())), (&json!(["notes__find_notes"]), vec![]));
    let (approved, _) = site.route(&["--explain"]);
    assert!(!newcomer(&approved, "notes__find_notes"), "{approved}");
}

#[test]
fn a_file_of_pins_that_cannot_be_read_lets_nothing_in() {
    let site = Site::new();
    site.route(&[]);
    let pins = site.sandbox.path("pins.json");
    let whole = std::fs::read_to_string(&pins).unwrap();
    let older = whole.replacen("\"version\": 2", "\"version\": 1", 1);
    for damaged in [older, whole.replacen("since", "sincE", 1)] {
        assert_ne!(damaged, whole);
        std::fs::write(&pins, damaged).unwrap();
        let args = site.args(&["route", PROMPT], &["--refresh", "--model", "static"]);
        let refused = site.sandbox.toolroute().args(args).assert().code(3).get_output().clone();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.contains("expected pins of version 2"), "{said}");
        let shown = String::from_utf8(refused.stdout).unwrap();
        assert!(shown.contains("held back: notes__search_notes"), "{shown}");
    }
}
