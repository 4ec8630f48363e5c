//! Clients of the newest protocol: no handshake, and every result says that it is complete.

use serde_json::{Value, json};

use super::Site;
use super::client::{Client, text};

/// What every request says of its client.
fn with_meta(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "by-hand", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

/// One request of each kind that has a result.
fn requests() -> [(&'static str, Value); 9] {
    [
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "notes__search_notes", "arguments": {"query": "rye"}})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "notes__summarise", "arguments": {"title": "today"}})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "note://today"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "notes__summarise"},
                   "argument": {"name": "title", "value": "t"}}),
        ),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/resource", "uri": "note://{title}"},
                   "argument": {"name": "title", "value": "t"}}),
        ),
    ]
}

#[test]
fn every_result_says_that_it_is_complete_to_those_who_know_the_word() {
    // Servers of both protocols behind it.
    for options in [&[][..], &["--protocol", "newest"]] {
        let site = Site::with(json!({}), options);
        let mut newest = site.start(&[]);
        let about = newest.ask("server/discover", with_meta(json!({})));
        assert_eq!(about["resultType"], "complete", "{about}");
        let mut older = site.client(&[]);
        for (method, params) in requests() {
            let result = newest.ask(method, with_meta(params.clone()));
            assert_eq!(result["resultType"], "complete", "{method}: {result}");
            let result = older.ask(method, params);
            assert!(result.get("resultType").is_none(), "{method}: {result}");
        }
        assert!(refuses(&mut newest, "other://x"));
    }
}

fn refuses(client: &mut Client, uri: &str) -> bool {
    let number = client.send("resources/read", with_meta(json!({"uri": uri})));
    client.answer_to(number)["error"]["code"] == -32602
}

#[test]
fn who_listens_hears_of_the_resource_that_was_named() {
    let site = Site::new(json!({}));
    let mut client = site.start(&[]);
    client.ask("server/discover", with_meta(json!({})));
    let found =
        client.ask("tools/call", with_meta(json!({"name": "notes__count_notes", "arguments": {}})));
    assert_eq!(text(&found), "{\"count\": 3}");
    let wanted = json!({"notifications": {"resourceSubscriptions": ["note://today"]}});
    client.send("subscriptions/listen", with_meta(wanted));
    let told = client.hear("notifications/resources/updated");
    assert_eq!(told["params"]["uri"], "note://today");
}
