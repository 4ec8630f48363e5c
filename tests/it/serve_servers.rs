//! `toolroute serve` and the servers behind it: nobody waits for one that is slow or gone.

use std::path::Path;

use serde_json::{Value, json};

use crate::drill::python;
use crate::http::{Server, get, post, until};
use crate::support::{Sandbox, ids, repo};

/// A servers file with the notes, one that never answers, and one that ends at once.
fn servers(sandbox: &Sandbox, python: &Path) -> String {
    let mark = sandbox.dir.path();
    let entries = json!({
        "notes": {"command": python, "args": [repo("tests/servers/notes.py"), mark]},
        "silent": {"command": python, "args": ["-c", "import time; time.sleep(600)", mark]},
        "broken": {"command": python, "args": ["-c", "raise SystemExit(3)", mark]},
    });
    let file = sandbox.write("servers.json", json!({"mcpServers": entries}).to_string());
    file.to_str().unwrap().to_owned()
}

fn state(port: u16, name: &str) -> Value {
    let told = get(port, "/v1/servers").ok();
    let servers = told["servers"].as_array().unwrap();
    servers.iter().find(|server| server["name"] == name).unwrap()["state"].clone()
}

#[test]
fn it_listens_while_servers_are_asked_and_says_which_are_missing() {
    let python = python();
    let sandbox = Sandbox::new();
    let servers = servers(&sandbox, &python);
    let args =
        ["serve", "--servers", &servers, "--model", "static", "--deny", "notes__delete_note"];
    let server = Server::start(&sandbox, &args);
    let port = server.port;
    // It would not be here if it had waited: the silent one has minutes for its handshake.
    assert_eq!(state(port, "silent"), "starting");
    let body = json!({"prompt": "search my notes for orchids", "limit": 1});
    let found = post(port, "/v1/select", &body).ok();
    assert_eq!(ids(&found), ["notes__search_notes"], "{found}");
    until("the broken one is told", || state(port, "broken") == "unavailable");
    assert_eq!(state(port, "notes"), "ready");
    let missing = found["unavailable"].to_string();
    assert!(missing.contains("silent"), "{missing}");
    let ready = get(port, "/readyz");
    assert_eq!(ready.status, 200, "the first seconds are over: {}", ready.text());
    // What may never be called is not found, before and after the sources are read again.
    let denied = || get(port, "/v1/tools/notes__delete_note").status;
    assert_eq!(denied(), 404);
    let refused = post(port, "/v1/call", &json!({"tool": "notes:delete_note"})).text();
    assert!(refused.contains("`notes__delete_note` is not allowed here"), "{refused}");
    assert_eq!(post(port, "/v1/reload", &json!({})).ok()["changed"], 0);
    assert_eq!(denied(), 404);
    assert_eq!(post(port, "/v1/call", &json!({"tool": "notes__illustrate_note"})).status, 200);
}

#[test]
fn the_next_start_begins_with_the_lists_of_the_last() {
    let python = python();
    let sandbox = Sandbox::new();
    let servers = servers(&sandbox, &python);
    let args = ["serve", "--servers", &servers, "--model", "static"];
    {
        let server = Server::start(&sandbox, &args);
        until("the notes are listed", || state(server.port, "notes") == "ready");
    }
    let server = Server::start(&sandbox, &args);
    assert_eq!(state(server.port, "notes"), "idle");
    let listed = get(server.port, "/v1/tools?server=notes").ok();
    assert!(listed["total"].as_u64().unwrap() > 3, "{listed}");
}

#[test]
fn a_reload_waits_for_the_first_lists_of_servers_that_are_new() {
    let python = python();
    let sandbox = Sandbox::new();
    let file = |names: &[&str]| {
        let entry = |name: &&str| {
            let script = repo(&format!("tests/servers/{name}.py"));
            ((*name).to_owned(), json!({"command": python, "args": [script, sandbox.dir.path()]}))
        };
        let entries: serde_json::Map<String, Value> = names.iter().map(entry).collect();
        sandbox.write("servers.json", json!({"mcpServers": entries}).to_string())
    };
    let servers = file(&["parts"]).to_str().unwrap().to_owned();
    let server = Server::start(&sandbox, &["serve", "--servers", &servers, "--model", "static"]);
    let port = server.port;
    until("the parts are listed", || state(port, "parts") == "ready");
    file(&["parts", "notes"]);
    let reloaded = post(port, "/v1/reload", &json!({})).ok();
    assert_eq!(state(port, "notes"), "ready", "{reloaded}");
    assert!(reloaded["tools"].as_u64().unwrap() > 5, "{reloaded}");
}
