//! Every server of the servers file is told of with its true state, wherever one looks: in what
//! `find_tools` answers, at `/v1/servers`, and by `doctor`. Each state is that of a real process.

use serde_json::{Value, json};

use super::{SEARCH, Site, has_notes};
use crate::drill::python;
use crate::http::{Server, get, until};
use crate::support::{Sandbox, entry};

/// One server for each way in which it may not be had. The notes take longer than an answer waits.
fn ill() -> Value {
    json!({
        "unset": {"command": python(), "args": ["x.py", "${MY_UNSET_KEY}"], "env": {"B": "${ALSO_UNSET}"}},
        "missing": {"command": "no-such-program-here"},
        "process": {"type": "process", "command": "no-such-program-either", "tools": [{"name": "t"}]},
        "homeless": {"command": python(), "cwd": "/no/such/folder"},
        "ended": {"command": python(), "args": ["-c", "raise SystemExit('SECRET WORDS')"]},
        "closed": {"url": "http://127.0.0.1:9/mcp"},
        "older": {"type": "sse", "url": "http://127.0.0.1:9/sse"},
        "off": {"command": python(), "disabled": true},
    })
}

/// What is to be told of each, but for the one that is off.
const TOLD: [(&str, &str); 7] = [
    ("closed", "cannot be reached: nothing listens at its address"),
    ("ended", "cannot be reached: it ended before it answered"),
    ("homeless", "folder not found: /no/such/folder"),
    ("missing", "program not found: no-such-program-here"),
    ("older", "expected type stdio, http, process or openapi, found `sse`"),
    ("process", "program not found: no-such-program-either"),
    ("unset", "needs ALSO_UNSET, MY_UNSET_KEY"),
];

fn assert_told(states: &[(String, String)], where_told: &str) {
    for (name, because) in TOLD {
        let told = states.iter().find(|(server, _)| server == name);
        let (_, told) = told.unwrap_or_else(|| panic!("{where_told}: no {name} in {states:?}"));
        assert!(told.starts_with(because), "{where_told}: {name}: {told}");
        assert!(!told.contains("SECRET"), "{where_told}: what it said itself: {told}");
    }
}

fn pairs(servers: &Value, name: &str, reason: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let servers = servers.as_array().map(Vec::as_slice).unwrap_or_default();
    servers.iter().map(|server| (text(&server[name]), text(&server[reason]))).collect()
}

#[test]
fn an_answer_names_every_server_that_it_lacks_and_asks_to_come_again() {
    let site = Site::with(ill(), &["--slow", "20"]);
    let mut client = site.client(&[]);
    // An answer waits some seconds for the first lists, and no longer.
    let found = client.find(json!({"query": SEARCH}));
    assert!(!has_notes(&found), "{found}");
    let lacking = pairs(&found["unavailable_servers"], "server", "because");
    assert_told(&lacking, "find_tools");
    let notes = ("notes".to_owned(), "starting; ask again in a few seconds".to_owned());
    assert!(lacking.contains(&notes), "{lacking:?}");
    assert!(lacking.iter().all(|(server, _)| server != "off"), "{lacking:?}");
    let note = found["note"].as_str().unwrap();
    assert!(note.contains("notes is still starting") && note.contains("Ask again"), "{note}");
    let found = client.find_until(json!({"query": SEARCH}), has_notes);
    assert!(has_notes(&found) && found.get("note").is_none(), "{found}");
    assert_told(&pairs(&found["unavailable_servers"], "server", "because"), "find_tools");
}

#[test]
fn changes_of_lists_are_told_together_while_servers_start() {
    let slow = |slow: &str| entry("notes", &["x", "--slow", slow]);
    let more = json!({"b": slow("0.3"), "c": slow("0.6"), "d": slow("0.9"), "e": slow("1.2")});
    let site = Site::new(more);
    let mut client = site.client(&[]);
    let all = |found: &Value| found.get("note").is_none();
    let found = client.find_until(json!({"query": SEARCH}), all);
    assert!(all(&found), "{found}");
    client.hear("notifications/prompts/list_changed");
    // Each of the five tells of its prompts when it is connected and when its tools are there.
    let told = |heard: &&Value| heard["method"] == "notifications/prompts/list_changed";
    let more = client.heard.iter().filter(told).count();
    assert!(more < 5, "{more} more: {:?}", client.heard);
}

#[test]
fn a_server_without_prompts_and_resources_changes_none_of_them() {
    let sandbox = Sandbox::new();
    sandbox.servers(&json!({"faulty": entry("faulty", &[sandbox.mark()])}));
    let site = Site { sandbox };
    let mut client = site.client(&[]);
    let is_there = |found: &Value| found["tools"][0]["id"] == "faulty__crash";
    let crash = json!({"query": "faulty__crash"});
    assert!(is_there(&client.find_until(crash.clone(), is_there)));
    // The call ends the server, and the next one starts it again.
    client.call("faulty__crash", json!({"query": "x"}));
    client.call("faulty__fine", json!({"query": "x"}));
    // Changes are told together, after a moment.
    std::thread::sleep(std::time::Duration::from_millis(1_000));
    client.find(crash);
    let lists = ["prompts", "resources"].map(|list| format!("notifications/{list}/list_changed"));
    let told = |heard: &Value| lists.iter().any(|list| heard["method"] == list.as_str());
    assert!(!client.heard.iter().any(told), "{:?}", client.heard);
}

#[test]
fn a_servers_file_without_servers_is_told_at_the_start() {
    let sandbox = Sandbox::new();
    sandbox.servers(&json!({}));
    let site = Site { sandbox };
    let ended = site.command(&["--model", "static"]).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.contains("names no server to start"), "{said}");
}

#[test]
fn a_server_whose_tools_are_held_back_says_how_many() {
    let site = Site::new(json!({}));
    let mut client = site.client(&["--pin-mode", "strict"]);
    let held =
        |found: &Value| found["unavailable_servers"][0]["because"] == "7 tools held back by pins";
    let found = client.find_until(json!({"query": SEARCH}), held);
    assert!(held(&found), "{found}");
    let file = &site.sandbox.arg("servers.json");
    let server = Server::by_static(&site.sandbox, &["--servers", file, "--pin-mode", "strict"]);
    until("the notes are asked", || {
        let told = get(server.port, "/v1/servers").ok();
        told["servers"][0]["reason"] == "7 tools held back by pins"
    });
    let doctor = site.sandbox.toolroute().args(["doctor", "--json", "--servers", file]).output();
    let said = String::from_utf8(doctor.unwrap().stdout).unwrap();
    assert!(said.contains("`notes` answers with 7 tools, 7 of them held back by pins"), "{said}");
}

#[test]
fn the_http_api_lists_every_server_of_the_file() {
    let site = Site::with(ill(), &["--slow", "2"]);
    let file = site.sandbox.arg("servers.json");
    let server = Server::by_static(&site.sandbox, &["--servers", &file]);
    let servers = || get(server.port, "/v1/servers").ok()["servers"].take();
    let state = |name: &str| {
        let states = pairs(&servers(), "name", "state");
        states.into_iter().find(|(server, _)| server == name).map(|(_, state)| state)
    };
    assert_eq!(state("notes").as_deref(), Some("starting"));
    assert_eq!(state("off").as_deref(), Some("disabled"));
    until("the notes are there", || state("notes").as_deref() == Some("ready"));
    for (name, _) in TOLD {
        until(name, || state(name).as_deref() == Some("unavailable"));
    }
    assert_told(&pairs(&servers(), "name", "reason"), "/v1/servers");
    // Who cannot be started is not tried, and says why.
    let page = get(server.port, "/").text();
    assert!(page.contains("id=\"servers\""), "the page shows what /v1/servers says");
}

#[test]
fn doctor_waits_for_a_slow_start_says_so_and_lists_every_server() {
    let site = Site::with(ill(), &["--slow", "6"]);
    let file = site.sandbox.path("servers.json");
    let mut doctor = site.sandbox.toolroute();
    doctor.args(["doctor", "--model", "static", "--servers", file.to_str().unwrap()]);
    let output = doctor.output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("still starting: notes"), "{told}");
    let said = String::from_utf8(output.stdout).unwrap();
    for found in [
        "`notes` answers with 7 tools",
        "`off`: disabled",
        "server `unset`: needs ALSO_UNSET, MY_UNSET_KEY",
        "server `missing`: program not found: no-such-program-here",
        "server `homeless`: folder not found: /no/such/folder",
        "server `ended` does not answer",
        "server `closed` does not answer",
        "server `older`: expected type stdio",
    ] {
        assert!(said.contains(found), "{found}: {said}");
    }
    let mut doctor = site.sandbox.toolroute();
    doctor.args(["doctor", "--model", "static", "--no-start", "--servers"]).arg(file);
    let said = String::from_utf8(doctor.output().unwrap().stdout).unwrap();
    let count = "3 of 9 can be started; not homeless, missing, process, off, older, unset";
    assert!(said.contains(count), "{said}");
}

/// A server that lists a tool only to clients that offer sampling, as the reference servers do.
const PICKY: &str = r#"
import json, sys
offers = {}
for line in sys.stdin:
    message = json.loads(line)
    number, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if method == "initialize":
        offers = params["capabilities"]
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "picky", "version": "1"}}
    else:
        names = ["plain"] + (["ask_the_model"] if "sampling" in offers else [])
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
    if number is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)
"#;

#[test]
fn tools_that_a_server_keeps_from_the_gateway_are_told() {
    let site = Site::new(json!({"picky": {"command": python(), "args": ["-c", PICKY]}}));
    let file = site.sandbox.arg("servers.json");
    let servers = ["--servers", &file, "--model", "static"];
    let doctor = site.sandbox.toolroute().arg("doctor").args(servers).output().unwrap();
    let said = String::from_utf8(doctor.stdout).unwrap();
    let more = "`picky` answers with 1 tool; 1 more it lists only to clients that offer sampling \
                or roots, which the gateway does not: ask_the_model";
    assert!(said.contains(more), "{said}");
    assert!(said.contains("`notes` answers with 7 tools\n"), "{said}");
    // What doctor saw is in the server's state from then on.
    let server = Server::start(&site.sandbox, &[&["serve"][..], &servers].concat());
    let told = pairs(&get(server.port, "/v1/servers").ok()["servers"], "name", "reason");
    let picky = "without 1 tool that it lists only to clients with sampling or roots";
    assert_eq!(told[1], ("picky".to_owned(), picky.to_owned()));
    assert_eq!(told[0].1, "");
}
