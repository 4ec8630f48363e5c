//! `toolroute serve` and the servers behind it: nobody waits for one that is slow or gone.

use serde_json::{Value, json};

use crate::drill::python;
use crate::http::{Server, get, post, server_row, until};
use crate::support::{CommandExt as _, Sandbox, entry, ids};

/// A servers file with the notes, one that never answers, and one that ends at once.
fn servers(sandbox: &Sandbox) -> String {
    let (python, mark) = (python(), sandbox.mark());
    sandbox.servers(&json!({
        "notes": entry("notes", &[mark]),
        "silent": {"command": python, "args": ["-c", "import time; time.sleep(600)", mark]},
        "broken": {"command": python, "args": ["-c", "raise SystemExit(3)", mark]},
    }))
}

fn state(port: u16, name: &str) -> Value {
    server_row(port, name)["state"].clone()
}

#[test]
fn it_listens_while_servers_are_asked_and_says_which_are_missing() {
    let sandbox = Sandbox::new();
    let servers = servers(&sandbox);
    let server =
        Server::by_static(&sandbox, &["--servers", &servers, "--deny", "notes__delete_note"]);
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
    assert_eq!(ready.ok()["missing"], json!(["broken", "silent"]));
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
    let sandbox = Sandbox::new();
    let servers = servers(&sandbox);
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
    let sandbox = Sandbox::new();
    let file = |names: &[&str]| {
        let of_name = |name: &&str| ((*name).to_owned(), entry(name, &[sandbox.mark()]));
        sandbox.servers(&names.iter().map(of_name).collect())
    };
    let servers = file(&["parts"]);
    let server = Server::by_static(&sandbox, &["--servers", &servers]);
    let port = server.port;
    until("the parts are listed", || state(port, "parts") == "ready");
    file(&["parts", "notes"]);
    let reloaded = post(port, "/v1/reload", &json!({})).ok();
    assert_eq!(state(port, "notes"), "ready", "{reloaded}");
    assert!(reloaded["tools"].as_u64().unwrap() > 5, "{reloaded}");
}

#[test]
fn a_saved_list_of_a_server_and_the_server_are_the_same_tools() {
    let sandbox = Sandbox::new();
    let servers = sandbox.servers(&json!({"notes": entry("notes", &[sandbox.mark()])}));
    let listed = sandbox.json(&["tools", "list", "--servers", &servers]);
    let saved = |tool: &Value| {
        let mut saved = tool["mcp"].as_object().cloned().unwrap_or_default();
        for (from, to) in [
            ("name", "name"),
            ("title", "title"),
            ("description", "description"),
            ("input_schema", "inputSchema"),
        ] {
            tool.get(from).map(|value| saved.insert(to.to_owned(), value.clone()));
        }
        Value::Object(saved)
    };
    let tools: Vec<Value> = listed.as_array().unwrap().iter().map(saved).collect();
    let text = serde_json::to_string_pretty(&json!({"tools": tools})).unwrap();
    let file = sandbox.put("notes.json", &text);
    let both = ["--tools", &file, "--servers", &servers];
    let validate = |code: i32| {
        let found = sandbox.toolroute().args(["tools", "validate"]).args(both).assert().code(code);
        String::from_utf8(found.get_output().stdout.clone()).unwrap()
    };
    let said = validate(0);
    assert!(said.contains(&format!("{} tools, 0 errors", tools.len())), "{said}");
    {
        let server = Server::by_static(&sandbox, &both);
        until("the notes are there", || {
            matches!(state(server.port, "notes").as_str(), Some("ready" | "idle"))
        });
        let reloaded = post(server.port, "/v1/reload", &json!({})).ok();
        assert_eq!(reloaded["changed"], 0, "{reloaded}");
    }
    sandbox.write("notes.json", text.replace("\"description\": \"", "\"description\": \"Now "));
    let said = validate(3);
    assert!(said.contains(&format!("{} tools whose ids", tools.len())), "{said}");
    assert!(said.contains("1 error,"), "{said}");
}

#[test]
fn the_tools_of_a_file_stay_beside_those_that_their_server_lists() {
    let sandbox = Sandbox::new();
    let servers = servers(&sandbox);
    let tools = concat!(
        r#"{"server": "notes", "name": "print_note", "description": "Prints a note"}"#,
        "\n",
        r#"{"server": "others", "name": "knit", "description": "Knits a jumper"}"#
    );
    let tools = &sandbox.put("tools.jsonl", tools);
    let args = ["serve", "--tools", tools, "--servers", &servers, "--model", "static"];
    let start = || {
        let server = Server::start(&sandbox, &args);
        let is_listed = || {
            let state = state(server.port, "notes");
            state == "ready" || state == "idle"
        };
        until("the notes are listed", is_listed);
        let found = get(server.port, "/v1/tools?limit=100").ok();
        let tools = found["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["id"].as_str().unwrap().to_owned()).collect::<Vec<String>>()
    };
    let first = start();
    assert!(first.iter().any(|id| id == "notes__print_note"), "{first:?}");
    assert!(first.iter().any(|id| id == "notes__search_notes"), "{first:?}");
    let (mut first, mut second) = (first, start());
    first.sort();
    second.sort();
    assert_eq!(first, second);
}

#[test]
fn nobody_agrees_to_a_call_of_a_tool_without_a_server() {
    let sandbox = Sandbox::new();
    let servers = sandbox.servers(&json!({"notes": entry("notes", &[sandbox.mark()])}));
    let tool =
        json!({"server": "gone", "name": "delete_ledger", "description": "Deletes the ledger"});
    let tools = sandbox.put("tools.json", json!([tool]).to_string());
    let server = Server::by_static(&sandbox, &["--servers", &servers, "--tools", &tools]);
    let called = post(server.port, "/v1/call", &json!({"tool": "gone__delete_ledger"})).ok();
    assert_eq!(called["outcome"], "failed", "{called:#}");
    assert_eq!(called["attempts"][0]["because"]["skip"], "no_server", "{called:#}");
    let asked = json!({"prompt": "delete the ledger", "dry_run": true});
    let draft = post(server.port, "/v1/run", &asked).ok();
    let step = &draft["steps"][0];
    assert_eq!(step["tool"], "gone__delete_ledger", "{draft:#}");
    assert_eq!(step["state"], "failed", "{draft:#}");
    assert_eq!(draft["complete"], false);
    assert!(step["why"].as_str().unwrap().contains("has no server here"), "{draft:#}");
}
