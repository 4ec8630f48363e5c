//! What a user says of calls: when they are sent again, how long they may take, what is done with long
//! answers. Over the command line, the gateway and HTTP.

use serde_json::{Value, json};

use crate::gateway::client::text;
use crate::http::{Server, get, post};
use crate::stand_ins::{gateway, journal, scripted};
use crate::support::Sandbox;

fn tool(name: &str, reads: bool, does: Value) -> Value {
    json!({"name": name, "description": format!("{name} of the stock"), "does": does,
           "annotations": {"readOnlyHint": reads}})
}

/// The sandbox's servers file with more members in the entry of a server.
fn hint(sandbox: &Sandbox, server: &str, members: Value) {
    let path = sandbox.path("servers.json");
    let mut file: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let entry = file["mcpServers"][server].as_object_mut().unwrap();
    entry.extend(members.as_object().unwrap().clone());
    sandbox.write("servers.json", file.to_string());
}

fn call(sandbox: &Sandbox, tool: &str, more: &[&str]) -> Value {
    let servers = sandbox.arg("servers.json");
    let mut command = sandbox.toolroute();
    command.args(["call", tool, "--json", "--servers", &servers]).args(more);
    serde_json::from_slice(&command.output().unwrap().stdout).unwrap()
}

#[test]
fn a_call_is_sent_again_as_often_and_after_what_its_user_says() {
    let shaky = json!([{"error": "try later"}, {"error": "try later"}, {"answer": "12 left"}]);
    let sandbox = scripted(&[(
        "shop",
        json!([tool("count", true, shaky.clone()), tool("book", false, shaky)]),
    )]);
    let report = call(&sandbox, "shop__count", &[]);
    assert_eq!(report["outcome"], "failed", "a tool's own word is final: {report}");
    hint(&sandbox, "shop", json!({"callHints": {"retry": {"on": ["error"], "most": 2}}}));
    let report = call(&sandbox, "shop__count", &[]);
    assert_eq!((&report["outcome"], &report["text"]), (&json!("answered"), &json!("12 left")));
    assert_eq!(report["attempts"][0]["tries"], 3);
    let before = journal(&sandbox, "shop").len();
    let report = call(&sandbox, "shop__book", &[]);
    assert_eq!(report["attempts"][0]["tries"], 1, "what may have been done is not done twice");
    assert_eq!(journal(&sandbox, "shop").len(), before + 1);
    // An overlay says it of one tool, over nothing.
    hint(&sandbox, "shop", json!({"callHints": {}}));
    let overlay = sandbox.put(
        "overlay.toml",
        "[[overlay]]\nmatch = \"shop__count\"\n\
         routing.call_hints.retry = { on = [\"error\"], most = 2 }\n",
    );
    let report = call(&sandbox, "shop__count", &["--overlay", &overlay]);
    assert_eq!(report["attempts"][0]["tries"], 3, "{report}");
    // A slip is told, and costs the server.
    hint(&sandbox, "shop", json!({"callHints": {"retry": {"most": 99}}}));
    let servers = sandbox.arg("servers.json");
    let said = sandbox.fails(3, &["call", "shop__count", "--servers", &servers]);
    assert!(said.contains("expected `most` of 0 to 10, found 99"), "{said}");
}

#[test]
fn steady_progress_keeps_a_call_alive_up_to_the_longest_request() {
    let steady = json!({"progress": [8, 0.5], "answer": "done"});
    let silent = json!({"sleep": 4, "answer": "done"});
    let sandbox =
        scripted(&[("shop", json!([tool("crawl", true, steady), tool("wait", true, silent)]))]);
    hint(&sandbox, "shop", json!({"timeout": 2000}));
    let report = call(&sandbox, "shop__crawl", &[]);
    assert_eq!(report["outcome"], "answered", "{report}");
    assert!(report["took_ms"].as_f64().unwrap() > 3_900.0, "{report}");
    let report = call(&sandbox, "shop__wait", &[]);
    assert_eq!(report["outcome"], "failed", "{report}");
    let report = call(&sandbox, "shop__crawl", &["--longest-request", "3"]);
    assert_eq!(report["outcome"], "failed", "{report}");
    assert!(report["took_ms"].as_f64().unwrap() < 3_900.0, "{report}");
    hint(&sandbox, "shop", json!({"toolHints": {"wa*": {"timeout_ms": 20000}}}));
    let report = call(&sandbox, "shop__wait", &[]);
    assert_eq!(report["outcome"], "answered", "the narrower word counts: {report}");
}

#[test]
fn the_rest_of_a_long_answer_is_read_by_the_handle_that_its_beginning_names() {
    let whole: String = (0..400).map(|n| format!("Item {n} is in stock. ")).collect();
    let sandbox = scripted(&[("shop", json!([tool("list", true, json!({"answer": whole}))]))]);
    let mut client = gateway(&sandbox, &["--max-chars", "1000"], 1);
    let cut = client.call("call_tool", json!({"tool_name": "shop__list"}));
    let said = text(&cut);
    assert!(said.len() < 1_100, "{said}");
    let handle = said.split("under handle ").nth(1).unwrap();
    let handle: String = handle.chars().take_while(char::is_ascii_hexdigit).collect();
    let (mut read, mut offset) = (String::new(), 0);
    loop {
        let asked = json!({"handle": handle, "offset": offset, "max_chars": 3_000});
        let page = client.call("read_more", asked);
        assert_eq!(page["isError"], false, "{page}");
        let part = page["content"][0]["text"].as_str().unwrap();
        read.push_str(part);
        offset += part.chars().count();
        if !page["content"][1]["text"].as_str().unwrap().contains("gives the next") {
            break;
        }
    }
    assert_eq!(read, whole);
    let unknown = client.call("read_more", json!({"handle": "00"}));
    assert!(text(&unknown).contains("nothing is kept under the handle `00`"), "{unknown}");
    assert!(text(&client.call("read_more", json!({}))).contains("expected `handle`"));
    let servers = sandbox.arg("servers.json");
    let server = Server::by_static(&sandbox, &["--servers", &servers, "--max-chars", "1000"]);
    let report = post(server.port, "/v1/call", &json!({"tool": "shop__list"})).ok();
    let handle = report["truncation"]["handle"].as_str().unwrap();
    let page = get(server.port, &format!("/v1/outputs/{handle}?chars=20")).ok();
    assert_eq!((&page["text"], &page["next_offset"]), (&json!(&whole[..20]), &json!(20)));
    assert_eq!(get(server.port, "/v1/outputs/00").error().0, 404);
    assert_eq!(get(server.port, &format!("/v1/outputs/{handle}?chars=0")).error().0, 400);
}

#[test]
fn a_long_answer_is_summarised_where_its_user_says_so() {
    let filler: String =
        (0..300).map(|n| format!("The shelf number {n} is made of wood. ")).collect();
    let whole = format!("{filler}The milk is sold out until Thursday. {filler}");
    let sandbox = scripted(&[("shop", json!([tool("list", true, json!({"answer": whole}))]))]);
    hint(&sandbox, "shop", json!({"callHints": {"summarize": true}}));
    let typed = ["--prompt", "is there any milk", "--max-chars", "400", "--model", "static"];
    let report = call(&sandbox, "shop__list", &typed);
    assert!(report["text"].as_str().unwrap().contains("milk is sold out"), "{report}");
    assert_eq!(report["truncation"]["summarized"], true, "{report}");
    let mut client = gateway(&sandbox, &["--max-chars", "400"], 1);
    client.call("find_tools", json!({"query": "is there any milk", "min_score": -1}));
    let called = client.call("call_tool", json!({"tool_name": "shop__list"}));
    let summary = text(&called);
    assert!(summary.contains("milk is sold out") && summary.contains("[summary of"), "{summary}");
    hint(&sandbox, "shop", json!({"callHints": {"summarize": false}}));
    let report = call(&sandbox, "shop__list", &typed);
    assert_eq!(report["truncation"]["summarized"], false, "{report}");
}
