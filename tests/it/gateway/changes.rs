//! What changes while the gateway runs: approvals, lists, the servers file.

use serde_json::json;

use super::client::text;
use super::{SEARCH, Site, has_notes};
use crate::drill::python;
use crate::http::{Server, get, post as post_json};

#[test]
fn an_approval_counts_from_the_next_request_on() {
    let python = python();
    let site = Site::new(&python, json!({}));
    let mut client = site.client(&["--pin-mode", "strict"]);
    client.begin();
    let found = client.find_until(json!({"query": SEARCH}), |found| !found["held_back"].is_null());
    assert_eq!(found["held_back"][0]["id"], "notes__search_notes", "{found}");
    let note = found["note"].as_str().unwrap();
    assert!(note.contains("pins hold back the tools of notes"), "{note}");
    site.sandbox.run(&["pins", "approve", "notes__search_notes"]);
    let found = client.find(json!({"query": SEARCH}));
    assert!(has_notes(&found), "{found}");
    assert!(!found["held_back"].to_string().contains("notes__search_notes"), "{found}");
    assert_eq!(found["unavailable_servers"][0]["because"], "6 tools held back by pins");
    site.sandbox.run(&["pins", "approve", "--server", "notes"]);
    let called = json!({"tool_name": "notes__count_notes"});
    assert_eq!(text(&client.call("call_tool", called)), "{\"count\": 3}");
    let listed = client.ask("prompts/list", json!({}));
    assert_eq!(listed["prompts"][0]["name"], "notes__summarise");
}

#[test]
fn an_approval_counts_for_a_running_http_api_too() {
    let python = python();
    let site = Site::new(&python, json!({}));
    let file = site.sandbox.path("servers.json");
    let file = file.to_str().unwrap();
    let args = ["serve", "--servers", file, "--model", "static", "--pin-mode", "strict"];
    let server = Server::start(&site.sandbox, &args);
    let select = || post_json(server.port, "/v1/select", &json!({"prompt": SEARCH})).ok();
    assert_eq!(select()["held_back"][0]["id"], "notes__search_notes");
    site.sandbox.run(&["pins", "approve", "--server", "notes"]);
    let selected = select();
    assert_eq!(selected["tools"][0]["id"], "notes__search_notes", "{selected}");
    assert!(selected["held_back"].as_array().is_none_or(Vec::is_empty), "{selected}");
    assert_eq!(get(server.port, "/v1/servers").ok()["servers"][0]["tools"], 7);
}

#[test]
fn pins_that_cannot_be_written_are_one_reason_everywhere() {
    let python = python();
    let site = Site::new(&python, json!({}));
    let pins = ["--pins", "/proc/none/pins.json"];
    let mut client = site.client(&pins);
    client.begin();
    let found = client.find_until(json!({"query": SEARCH}), |found| !found["held_back"].is_null());
    let called = client.call("call_tool", json!({"tool_name": "notes__search_notes"}));
    for said in [
        found["held_back"][0]["because"].as_str().unwrap(),
        found["unavailable_servers"][0]["because"].as_str().unwrap(),
        found["note"].as_str().unwrap(),
        text(&called),
    ] {
        assert!(said.contains("cannot lock the pins at /proc/none/pins.json"), "{said}");
        assert!(said.contains("--pins FILE") && said.contains("--pin-mode off"), "{said}");
        assert!(!said.contains("approve") && !said.contains("--allow"), "{said}");
    }
    let servers = site.sandbox.path("servers.json");
    let listed = ["tools", "list", "--servers", servers.to_str().unwrap()];
    let said = site.sandbox.fails(5, &[&listed[..], &pins].concat());
    assert!(said.contains("--pins FILE") && said.contains("--pin-mode off"), "{said}");
}
