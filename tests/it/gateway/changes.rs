//! What changes while the gateway runs: approvals, lists, the servers file.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Client, post, text};
use super::{SEARCH, Served, Site, has_notes, ids};
use crate::drill::{processes, python};
use crate::http::{Server, get, post as post_json, until};
use crate::support::entry;

#[test]
fn an_approval_counts_from_the_next_request_on() {
    let site = Site::new(json!({}));
    let mut client = site.client(&["--pin-mode", "strict"]);
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
    let site = Site::new(json!({}));
    let file = &site.sandbox.arg("servers.json");
    let server = Server::by_static(&site.sandbox, &["--servers", file, "--pin-mode", "strict"]);
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
    let site = Site::new(json!({}));
    let pins = ["--pins", "/proc/none/pins.json"];
    let mut client = site.client(&pins);
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
    let servers = site.sandbox.arg("servers.json");
    let listed = ["tools", "list", "--servers", &servers];
    let said = site.sandbox.fails(5, &[&listed[..], &pins].concat());
    assert!(said.contains("--pins FILE") && said.contains("--pin-mode off"), "{said}");
}

/// A server that announces a new tool before it answers the call that adds it. With `hang` it lists
/// its tools no more.
const GROWING: &str = r#"
import json, sys
names, hangs = ["grow", "hang"], False
def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    number, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {"listChanged": True}},
                  "serverInfo": {"name": "growing", "version": "1"}}
    elif method == "tools/list":
        if hangs:
            continue
        result = {"tools": [{"name": name, "description": f"Measures the {name} of sunflowers",
                             "annotations": {"readOnlyHint": True},
                             "inputSchema": {"type": "object"}} for name in names]}
    elif method == "tools/call":
        hangs = params["name"] == "hang"
        names.append(f"height{len(names)}")
        say(method="notifications/tools/list_changed")
        result = {"content": [{"type": "text", "text": names[-1]}]}
    else:
        result = {}
    if number is not None:
        say(id=number, result=result)
"#;

#[test]
fn a_tool_is_found_right_after_its_server_announced_it() {
    let site = Site::new(json!({"growing": {"command": python(), "args": ["-c", GROWING]}}));
    let mut client = site.with_notes(&[]);
    let heights = json!({"query": "measure the height of sunflowers", "limit": 50});
    for _ in 0..3 {
        let new = client.call("call_tool", json!({"tool_name": "growing__grow"}));
        let new = format!("growing__{}", text(&new));
        let found = client.find(heights.clone());
        assert!(ids(&found).contains(&new.as_str()), "{new}: {found}");
    }
    client.call("call_tool", json!({"tool_name": "growing__hang"}));
    let began = Instant::now();
    let found = client.find(heights.clone());
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let note = found["note"].as_str().unwrap();
    assert!(note.contains("growing announced other tools and has not listed them"), "{note}");
    assert_eq!(found["unavailable_servers"][0]["server"], "growing", "{found}");
    assert!(ids(&found).contains(&"growing__height4"), "{found}");
    // Other servers do not wait for it.
    let found = client.find(json!({"query": SEARCH, "server": "notes"}));
    assert!(has_notes(&found) && found.get("note").is_none(), "{found}");
}

/// Adds a server with one tool, and without prompts and resources, to the servers file.
fn add_plain(site: &Site, name: &str) {
    let tools = json!([{"name": name, "description": "Adds numbers"}]);
    let script = site.sandbox.put("plain.json", tools.to_string());
    let file = site.sandbox.path("servers.json");
    let mut servers: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    servers["mcpServers"]["plain"] = entry("scripted", &[site.mark(), &script]);
    std::fs::write(&file, servers.to_string()).unwrap();
}

#[test]
fn a_list_of_prompts_starts_only_servers_that_have_some() {
    let site = Site::new(json!({}));
    add_plain(&site, "add");
    let runs = |script: &str| processes(site.mark()).iter().any(|line| line.contains(script));
    assert!(site.with_notes(&[]).end());
    for method in ["prompts/list", "resources/list", "resources/templates/list"] {
        let mut client = site.client(&[]);
        let listed = client.ask(method, json!({}));
        assert!(listed.to_string().contains("not"), "{method}: {listed}");
        assert!(runs("notes.py") && !runs("scripted.py"), "{method}");
        // A call starts the other one.
        let called = json!({"tool_name": "plain__add", "arguments": {}});
        client.call("call_tool", called);
        assert!(runs("scripted.py"));
        assert!(client.end());
    }
}

#[test]
fn changes_of_lists_are_not_told_one_by_one() {
    let site = Site::new(json!({}));
    let mut client = site.with_notes(&[]);
    client.ask("prompts/list", json!({}));
    std::thread::sleep(Duration::from_secs(6));
    client.ask("ping", json!({}));
    client.heard.clear();
    let began = Instant::now();
    let prompts = "notifications/prompts/list_changed";
    let told = |client: &Client| client.heard.iter().filter(|m| m["method"] == prompts).count();
    while began.elapsed() < Duration::from_secs(2) {
        client.call("notes__learn_translation", json!({"all": true, "forget": told(&client) > 9}));
        client
            .call("notes__search_notes", json!({"query": began.elapsed().as_millis().to_string()}));
        std::thread::sleep(Duration::from_millis(250));
    }
    assert_eq!(told(&client), 1, "{:?}", client.heard);
    client.heard.clear();
    // The others come together.
    client.hear(prompts);
    assert_eq!(told(&client), 0);
}

#[test]
fn the_gateway_over_http_reads_its_servers_file_again_on_sighup() {
    let site = Site::new(json!({}));
    let served = Served::start(&site, &[]);
    let port = served.0.port;
    let alive = get(port, "/healthz").ok();
    assert_eq!(alive["status"], "ok");
    let find = json!({"name": "find_tools", "arguments": {"query": "add numbers"}});
    let adds = || {
        let session = served.session("/mcp");
        let listed = served.ask("/mcp", &session, "tools/list", json!({}));
        let found = served.ask("/mcp", &session, "tools/call", find.clone());
        let hint = listed["tools"][0]["description"].as_str().unwrap().contains(" plain (");
        (text(&found).contains("plain__add"), hint)
    };
    assert_eq!(adds(), (false, false));
    add_plain(&site, "add_numbers");
    served.0.signal("HUP");
    until("the new server is found, and the hint names it", || adds() == (true, true));
    // A broken file changes nothing.
    std::fs::write(site.sandbox.path("servers.json"), "{broken").unwrap();
    served.0.signal("HUP");
    let metrics = || get(port, "/metrics").text();
    until("the reload is refused", || metrics().contains("result=\"failed\""));
    assert_eq!(adds(), (true, true));
    let (reply, _) = post(port, "/healthz", &[], &json!({}));
    assert_eq!(reply.status, 405);
}
