//! What changes while the gateway runs: approvals, lists, the servers file.

use serde_json::json;

use super::client::text;
use super::{SEARCH, Site};
use crate::drill::python;

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
