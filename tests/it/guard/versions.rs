//! Pins by time and by version: newcomers, and files of an older version.

use std::path::Path;

use serde_json::{Value, json};

use super::{PROMPT, Site, has_search, search, with};

/// The file of pins as version 1 had it: without a checksum, and with hashes without `_meta`.
fn pins_of_version_1(pins: &Path) {
    let mut whole: Value = serde_json::from_slice(&std::fs::read(pins).unwrap()).unwrap();
    whole["version"] = json!(1);
    whole.as_object_mut().unwrap().remove("sha256").expect("version 2 has a checksum");
    for server in whole["servers"].as_object_mut().unwrap().values_mut() {
        for pin in server.as_object_mut().unwrap().values_mut() {
            pin.as_object_mut().unwrap().remove("since");
            let seen = pin["agreed"].as_object_mut().unwrap();
            if let Some(mcp) = seen["definition"].get_mut("mcp") {
                mcp.as_object_mut().unwrap().remove("_meta");
            }
            let hash =
                toolroute_vectors::durable::sha256_hex(seen["definition"].to_string().as_bytes());
            seen.insert("sha256".into(), hash.into());
            seen.remove("tool_sha256");
        }
    }
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
    pins_of_version_1(&pins);
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
fn pins_of_an_older_version_are_taken_over_with_a_word() {
    let site = Site::new();
    site.route(&[]);
    let pins = site.sandbox.path("pins.json");
    pins_of_version_1(&pins);
    let (answer, said) = site.route(&[]);
    assert!(has_search(&answer) && answer.get("held_back").is_none(), "{answer} {said}");
    assert!(said.contains("`_meta` and `icons` of 1 tools of `notes` are pinned"), "{said}");
    let (_, said) = site.route(&[]);
    assert!(!said.contains("are pinned"), "{said}");
    site.list(&[with("_meta", json!({"example.org/build": 2}))]);
    assert!(!has_search(&site.route(&[]).0));
    // One that changed in other ways is held back, whoever pinned it.
    site.list(&[search()]);
    site.route(&[]);
    pins_of_version_1(&pins);
    site.list(&[with("inputSchema", json!({"type": "object"}))]);
    assert!(!has_search(&site.route(&[]).0));
    // Neither does a damaged file let anything in.
    let text = std::fs::read_to_string(&pins).unwrap();
    std::fs::write(&pins, text.replacen("first_use", "first-use", 1).replacen("a", "b", 1))
        .unwrap();
    let args = site.args(&["route", PROMPT], &["--refresh", "--model", "static"]);
    let refused = site.sandbox.toolroute().args(args).assert().code(3).get_output().clone();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("expected pins of version 2"), "{said}");
    let shown = String::from_utf8(refused.stdout).unwrap();
    assert!(shown.contains("held back: notes__search_notes"), "{shown}");
}
